# SPDX-License-Identifier: Apache-2.0
"""Socket options as they are written on the command line of a peer."""

import zmq


def value_of(text):
    if text.startswith("hex:"):
        return bytes.fromhex(text[4:])
    return int(text)


def apply(socket, settings):
    for text in settings:
        name, value = text.split("=", 1)
        socket.setsockopt(getattr(zmq, name), value_of(value))
