# SPDX-License-Identifier: Apache-2.0
"""Asks a libzmq everything about its options and prints the answers as JSON.

    option_probe.py LIBRARY context
    option_probe.py LIBRARY SOCKET_TYPE_NUMBER

Nothing but the C functions is used, so that lengths and NULL pointers are what the library sees. An
answer is "ok" or the name of the errno, for reading options followed by the length and the bytes.
"""

import ctypes
import errno
import json
import sys

IDS = range(-1, 131)
CONTEXT_IDS = range(-1, 101)
FD = 14
ROOM = 300
INTEGERS = [-100, -2, -1, 0, 1, 2, 3, 4, 7, 100, 150, 6553599, 6553600, 2**31 - 1]
# Name: value (None is NULL) and length.
BLOBS = {
    "NULL,0": (None, 0),
    "empty": (b"", 0),
    "1 byte": (b"a", 1),
    "3 bytes": (b"abc", 3),
    "5 bytes": (b"abcde", 5),
    "16 bytes": (b"n" * 16, 16),
    "17 bytes": (b"n" * 17, 17),
    "255 bytes": (b"n" * 255, 255),
    "256 bytes": (b"n" * 256, 256),
    "8 bytes of -5": ((-5).to_bytes(8, sys.byteorder, signed=True), 8),
    "8 bytes of 5": ((5).to_bytes(8, sys.byteorder), 8),
    "metadata of 4 bytes": (b"X-:v", 4),
    "metadata": (b"X-name:value", 12),
    "network": (b"127.0.0.1/8", 11),
    "network of IPv6": (b"::1", 3),
    "network with a suffix": (b"127.0.0.1/8x", 12),
    "32 bytes": (b"k" * 32, 32),
    "39 letters": (b"k" * 39, 39),
    "40 letters": (b"k" * 40, 40),
}


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path, use_errno=True)
        self.c.zmq_ctx_new.restype = ctypes.c_void_p
        self.c.zmq_socket.restype = ctypes.c_void_p
        self.c.zmq_socket.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.c.zmq_close.argtypes = [ctypes.c_void_p]
        self.c.zmq_ctx_term.argtypes = [ctypes.c_void_p]
        self.c.zmq_ctx_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        self.c.zmq_ctx_get.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.c.zmq_setsockopt.argtypes = [
            ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        self.c.zmq_getsockopt.argtypes = [
            ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]

    def verdict(self, result):
        number = self.c.zmq_errno()
        return "ok" if result != -1 else errno.errorcode.get(number, str(number))

    def set(self, socket, option, value, length):
        held = None if value is None else ctypes.create_string_buffer(value, max(len(value), 1))
        return self.verdict(self.c.zmq_setsockopt(socket, option, held, length))

    def get(self, socket, option, length):
        room = ctypes.create_string_buffer(b"#" * ROOM, ROOM)
        size = ctypes.c_size_t(length)
        answer = self.verdict(self.c.zmq_getsockopt(socket, option, room, ctypes.byref(size)))
        if answer != "ok" or option == FD:
            return answer
        return f"{answer} {size.value} {room.raw[:length].rstrip(bytes(1)).hex()}"


def probe_socket(library, socket_type):
    # A context of its own for each option: closed sockets count until they have gone, and that can take
    # longer than it takes to open the next thousand.
    return {str(option): probe_option(library, socket_type, option) for option in IDS}


def probe_option(library, socket_type, option):
    context = library.c.zmq_ctx_new()

    def fresh():
        socket = library.c.zmq_socket(context, socket_type)
        if not socket:
            sys.exit(f"no socket of type {socket_type}")
        return socket

    socket = fresh()
    reads = {f"get {length}": library.get(socket, option, length)
             for length in (0, 3, 4, 5, 8, 32, 41, 255, 256)}
    library.c.zmq_close(socket)
    writes = {}
    values = {str(number): (number.to_bytes(4, sys.byteorder, signed=True), 4) for number in INTEGERS}
    for name, (value, length) in (values | BLOBS).items():
        socket = fresh()
        answer = library.set(socket, option, value, length)
        if answer == "ok":  # what can be read back
            answer += ", then " + "/".join(library.get(socket, option, size) for size in (4, 8, 256))
        writes[f"set {name}"] = answer
        library.c.zmq_close(socket)
    library.c.zmq_ctx_term(context)
    return reads | writes


def probe_context(library):
    answers = {}
    for option in CONTEXT_IDS:
        context = library.c.zmq_ctx_new()

        def get():
            ctypes.set_errno(0)
            return f"{library.c.zmq_ctx_get(context, option)} errno {ctypes.get_errno()}"

        found = {"get": get()}
        for number in INTEGERS:
            answer = library.verdict(library.c.zmq_ctx_set(context, option, number))
            found[f"set {number}"] = f"{answer}, then {get()}"
        answers[str(option)] = found
        library.c.zmq_ctx_term(context)
    return answers


def main():
    library = Library(sys.argv[1])
    if sys.argv[2] == "context":
        answers = probe_context(library)
    else:
        answers = probe_socket(library, int(sys.argv[2]))
    json.dump(answers, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
