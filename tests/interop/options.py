# SPDX-License-Identifier: Apache-2.0
"""Socket options as they are written on the command line of a peer."""

import zmq

from draft_api import DraftApi

# Options of zlink that pyzmq has no names for.
TLS = {"TLS_CERT": 0x3028, "TLS_KEY": 0x3029, "TLS_CA": 0x302a, "TLS_VERIFY": 0x302b, "TLS_REQUIRE_CLIENT_CERT": 0x302c,
       "TLS_HOSTNAME": 0x302d, "TLS_TRUST_SYSTEM": 0x302e, "TLS_PASSWORD": 0x302f, "TLS_MIN_VERSION": 0x3030,
       "TLS_CIPHERS": 0x3031, "TLS_PINNED": 0x3032}


def value_of(text):
    if text.startswith("hex:"):
        return bytes.fromhex(text[4:])
    return int(text)


def set_one(socket, name, text):
    """Sets an option by its name without ZMQ_."""
    value = value_of(text)
    if name in TLS:
        DraftApi(socket).set_option(TLS[name], value)
    else:
        socket.setsockopt(getattr(zmq, name), value)


def apply(socket, settings):
    for text in settings:
        socket_option, value = text.split("=", 1)
        set_one(socket, socket_option, value)
