# SPDX-License-Identifier: Apache-2.0
"""A hand-driven ZMTP peer on a plain socket."""

import select
import socket
import time

from harness import readable

DEADLINE_S = 10

MORE, LONG, COMMAND = 0x01, 0x02, 0x04

# Peers of ZMTP 2.0 announce their type by its number.
TYPE_NUMBERS = ["PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH", "XPUB",
                "XSUB"]

SIGNATURE = bytes.fromhex("ff00000000000000017f")


def greeting(minor=1, mechanism=b"NULL", major=3):
    """A 64-byte greeting of ZMTP 3."""
    return SIGNATURE + bytes([major, minor]) + mechanism.ljust(20, b"\0") + bytes(32)


def frame(body, flags=0):
    """A frame in the short form if it fits and LONG is not asked for."""
    if len(body) > 255 or flags & LONG:
        return bytes([flags | LONG]) + len(body).to_bytes(8, "big") + body
    return bytes([flags, len(body)]) + body


def frame_1_0(body, flags=0):
    """A frame of ZMTP 1.0."""
    if len(body) > 253:
        return b"\xff" + (len(body) + 1).to_bytes(8, "big") + bytes([flags]) + body
    return bytes([len(body) + 1, flags]) + body


def message(*parts):
    return b"".join(frame(part, MORE) for part in parts[:-1]) + frame(parts[-1])


def command(name, data=b""):
    return frame(bytes([len(name)]) + name + data, COMMAND)


def prop(name, value):
    """A metadata property."""
    return bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value


def ready(kind, identity=None):
    """READY for a socket type, with an Identity if one is given."""
    data = prop(b"Socket-Type", kind.encode())
    if identity is not None:
        data += prop(b"Identity", identity)
    return command(b"READY", data)


def ping(ttl_ds=0, context=b""):
    return command(b"PING", ttl_ds.to_bytes(2, "big") + context)


def pong(context=b""):
    return command(b"PONG", context)


class Closed(Exception):
    """The other side has closed the connection."""


class RawPeer:
    """One connection. All waiting has a deadline."""

    def __init__(self, connection):
        self.socket_ = connection
        self.socket_.settimeout(DEADLINE_S)
        if connection.family == socket.AF_INET:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending_ = b""

    def send(self, data):
        self.socket_.sendall(data)

    def send_refused(self, data):
        """What the other side may refuse before all of it has been sent."""
        try:
            self.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def send_bytewise(self, data):
        for value in data:
            self.socket_.sendall(bytes([value]))

    def recv(self, size):
        """Exactly `size` bytes."""
        while len(self.pending_) < size:
            try:
                chunk = self.socket_.recv(65536)
            except TimeoutError:
                raise AssertionError(
                    f"{size} bytes expected, only {self.pending_.hex()} came") from None
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise Closed(f"after {len(self.pending_)} of {size} bytes")
            self.pending_ += chunk
        data, self.pending_ = self.pending_[:size], self.pending_[size:]
        return data

    def recv_frame(self):
        """The bytes of the next frame, header included."""
        header = self.recv(1)
        header += self.recv(8 if header[0] & LONG else 1)
        return header + self.recv(int.from_bytes(header[1:], "big"))

    def greet(self, minor=1, mechanism=b"NULL"):
        """Exchanges greetings; returns the one received."""
        self.send(greeting(minor, mechanism))
        return self.recv(64)

    def handshake(self, kind, minor=1, identity=None):
        """Greetings and READY both ways; returns the READY frame received."""
        self.greet(minor)
        self.send(ready(kind, identity))
        return self.recv_frame()

    def is_alive(self):
        """Whether a PING is answered; False if the connection is closed instead."""
        context = b"alive?"
        try:
            self.send(ping(context=context))
            while self.recv_frame() != pong(context):
                pass
            return True
        except (Closed, BrokenPipeError, ConnectionResetError):
            return False

    def expect_closed(self):
        """Waits until the other side closes; returns what it sent before."""
        received = self.pending_
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            try:
                chunk = self.socket_.recv(65536)
            except TimeoutError:
                break
            except ConnectionResetError:
                return received
            if not chunk:
                return received
            received += chunk
        raise AssertionError("the connection was not closed")

    def sees_end(self, within_s):
        """Whether the other side closes within that time, read or not what it sent before."""
        poll = select.poll()
        poll.register(self.socket_, select.POLLRDHUP)
        return bool(poll.poll(within_s * 1000))

    def stays_silent(self, duration_s):
        """Whether neither bytes nor the end of the stream arrive for that time."""
        return not self.pending_ and not readable(self.socket_, duration_s)

    def close(self):
        self.socket_.close()


class RawListener:
    """Accepts connections of a library that connects."""

    def __init__(self, transport, address):
        if transport == "tcp":
            self.socket_ = socket.socket()
            self.socket_.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        else:
            self.socket_ = socket.socket(socket.AF_UNIX)
        self.socket_.bind(address)
        self.socket_.listen()
        self.socket_.settimeout(DEADLINE_S)

    def accept(self):
        return RawPeer(self.socket_.accept()[0])

    def has_caller(self, within_s):
        return readable(self.socket_, within_s)

    def close(self):
        self.socket_.close()


def dial(transport, address):
    """Connects to a library that is bound."""
    connection = socket.socket(socket.AF_INET if transport == "tcp" else socket.AF_UNIX)
    connection.connect(address)
    return RawPeer(connection)
