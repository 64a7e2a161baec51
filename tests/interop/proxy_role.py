# SPDX-License-Identifier: Apache-2.0
"""Role `proxy` of a peer process: forwards between two sockets in a loop written in Python."""

import zmq

import options


class Role:
    """Forwards between a front and a back socket in a poll loop written in Python."""

    def __init__(self, arguments, reader):
        self.reader_ = reader
        self.context_ = zmq.Context()
        front, back = arguments.type.split(",")
        self.sockets_ = {}
        for name, kind in (("front", front), ("back", back)):
            socket = self.context_.socket(getattr(zmq, kind))
            socket.setsockopt(zmq.LINGER, 0)
            options.apply(socket, arguments.option)
            self.sockets_[name] = socket

    def bind(self, which, endpoint):
        self.sockets_[which].bind(endpoint)

    def connect(self, which, endpoint):
        self.sockets_[which].connect(endpoint)

    def run(self):
        """Forwards until the next request arrives; returns the messages moved each way."""
        front, back = self.sockets_["front"], self.sockets_["back"]
        poller = zmq.Poller()
        poller.register(front, zmq.POLLIN)
        poller.register(back, zmq.POLLIN)
        poller.register(0, zmq.POLLIN)
        moved = {"forward": 0, "backward": 0}
        while not self.reader_.has_line():
            ready = dict(poller.poll())
            if front in ready:
                back.send_multipart(front.recv_multipart())
                moved["forward"] += 1
            if back in ready:
                front.send_multipart(back.recv_multipart())
                moved["backward"] += 1
            if 0 in ready:
                break
        return moved

    def finish(self, linger_ms):
        for socket in self.sockets_.values():
            socket.close(linger=linger_ms)
        self.context_.term()
