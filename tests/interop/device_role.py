# SPDX-License-Identifier: Apache-2.0
"""Role `device` of a peer process: zmq_proxy_steerable between two sockets."""

import struct
import threading

import zmq

import options


class Role:
    """A proxy of the library, in a thread of its own, steered over a PAIR."""

    def __init__(self, arguments, reader):
        self.context_ = zmq.Context()
        self.sockets_ = {}
        for name, kind in zip(("front", "back"), arguments.type.split(",")):
            socket = self.context_.socket(getattr(zmq, kind))
            socket.setsockopt(zmq.LINGER, 0)
            options.apply(socket, arguments.option)
            self.sockets_[name] = socket
        self.control_ = self.context_.socket(zmq.PAIR)
        self.control_.bind("inproc://control")
        self.reins_ = self.context_.socket(zmq.PAIR)
        self.reins_.connect("inproc://control")
        self.thread_ = None

    def bind(self, which, endpoint):
        self.sockets_[which].bind(endpoint)

    def run(self):
        self.thread_ = threading.Thread(target=zmq.proxy_steerable, daemon=True, args=(
            self.sockets_["front"], self.sockets_["back"], None, self.control_))
        self.thread_.start()

    def statistics(self):
        """The eight numbers: received and sent at the front, then at the back."""
        self.reins_.send(b"STATISTICS")
        return [struct.unpack("=Q", part)[0] for part in self.reins_.recv_multipart()]

    def terminate(self):
        """Whether the proxy has returned."""
        self.reins_.send(b"TERMINATE")
        self.thread_.join(10)
        return not self.thread_.is_alive()

    def finish(self, linger_ms):
        for socket in (*self.sockets_.values(), self.control_, self.reins_):
            socket.close(linger=linger_ms)
        self.context_.term()
