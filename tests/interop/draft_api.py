# SPDX-License-Identifier: Apache-2.0
"""The draft functions of the library that pyzmq has loaded, which pyzmq does not pass on."""

import ctypes
import os

import zmq

MESSAGE_BYTES = 64


def _load():
    with open("/proc/self/maps") as maps:
        paths = {line.rstrip("\n").split(None, 5)[-1] for line in maps}
    path, = {path for path in paths if os.path.basename(path).startswith("libzmq")}
    return ctypes.CDLL(path, use_errno=True)


class Message:
    """A zmq_msg_t."""

    def __init__(self, library, body=b""):
        self.library_ = library
        self.memory_ = (ctypes.c_uint64 * (MESSAGE_BYTES // 8))()
        self.pointer = ctypes.byref(self.memory_)
        library.zmq_msg_init_buffer(self.pointer, body, ctypes.c_size_t(len(body)))

    def body(self):
        self.library_.zmq_msg_data.restype = ctypes.c_void_p
        self.library_.zmq_msg_size.restype = ctypes.c_size_t
        return ctypes.string_at(self.library_.zmq_msg_data(self.pointer),
                                self.library_.zmq_msg_size(self.pointer))

    def close(self):
        self.library_.zmq_msg_close(self.pointer)


class DraftApi:
    """Draft functions on one socket of pyzmq."""

    def __init__(self, socket):
        self.library_ = _load()
        self.socket_ = ctypes.c_void_p(socket.underlying)

    def set_option(self, number, value):
        """Sets an option that pyzmq does not know to an int or to bytes."""
        data = ctypes.c_int(value) if isinstance(value, int) else ctypes.create_string_buffer(value, len(value))
        self._check(self.library_.zmq_setsockopt(self.socket_, number, ctypes.byref(data),
                                                 ctypes.c_size_t(ctypes.sizeof(data))))

    def join(self, group):
        self._check(self.library_.zmq_join(self.socket_, group))

    def leave(self, group):
        self._check(self.library_.zmq_leave(self.socket_, group))

    def send(self, body, routing_id, group):
        message = Message(self.library_, body)
        try:
            if routing_id:
                self.library_.zmq_msg_set_routing_id(message.pointer, ctypes.c_uint32(routing_id))
            if group is not None:
                self.library_.zmq_msg_set_group(message.pointer, group)
            self._check(self.library_.zmq_msg_send(message.pointer, self.socket_, 0))
        finally:
            message.close()

    def recv(self):
        """Body, routing id and group."""
        message = Message(self.library_)
        try:
            self._check(self.library_.zmq_msg_recv(message.pointer, self.socket_, 0))
            self.library_.zmq_msg_routing_id.restype = ctypes.c_uint32
            self.library_.zmq_msg_group.restype = ctypes.c_char_p
            return (message.body(), self.library_.zmq_msg_routing_id(message.pointer),
                    self.library_.zmq_msg_group(message.pointer))
        finally:
            message.close()

    @staticmethod
    def _check(result):
        if result < 0:
            raise zmq.ZMQError(ctypes.get_errno())
