# SPDX-License-Identifier: Apache-2.0
"""The ClientHello of TLS, read and made by hand, and what a server says to it."""

import os
import ssl
import struct

HANDSHAKE, ALERT = 22, 21
CLIENT_HELLO, SERVER_HELLO, SERVER_KEY_EXCHANGE = 1, 2, 12
# Extensions.
SERVER_NAME, GROUPS, POINT_FORMATS, SIGNATURES = 0, 10, 11, 13
PADDING, ENCRYPT_THEN_MAC, EXTENDED_MASTER_SECRET, SESSION_TICKET = 21, 22, 23, 35
VERSIONS, PSK_MODES, KEY_SHARE, RENEGOTIATION_INFO = 43, 45, 51, 0xff01


def record(body, kind=HANDSHAKE, version=0x0301):
    return struct.pack(">BHH", kind, version, len(body)) + body


def vector(data, length_bytes):
    return len(data).to_bytes(length_bytes, "big") + data


def numbers(data):
    """Numbers of 16 bits."""
    return [value for value, in struct.iter_unpack(">H", data)]


def packed(values):
    return b"".join(struct.pack(">H", value) for value in values)


class Reader:
    """Reads from the front of bytes."""

    def __init__(self, data):
        self.data_ = data

    def take(self, size):
        assert size <= len(self.data_)
        taken, self.data_ = self.data_[:size], self.data_[size:]
        return taken

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def vector(self, length_bytes):
        return self.take(self.number(length_bytes))

    def __bool__(self):
        return bool(self.data_)


class ClientHello:
    """What a client offers. Extensions are a dict of their bodies."""

    def __init__(self, ciphers, extensions, version=0x0303, session_id=b"", compressions=b"\0", random=None):
        self.ciphers = ciphers
        self.extensions = extensions
        self.version = version
        self.session_id = session_id
        self.compressions = compressions
        self.random = random or os.urandom(32)

    @staticmethod
    def read(raw):
        """From the first records of a connection."""
        message = b""
        while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
            kind, _, size = struct.unpack(">BHH", raw.recv(5))
            assert kind == HANDSHAKE
            message += raw.recv(size)
        return ClientHello.parse(message)

    @staticmethod
    def of(context, host="localhost"):
        """What a context of Python offers."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            context.wrap_bio(incoming, outgoing, server_hostname=host).do_handshake()
        except ssl.SSLWantReadError:
            pass
        return ClientHello.parse(outgoing.read()[5:])

    @staticmethod
    def parse(message):
        reader = Reader(message)
        assert reader.number(1) == CLIENT_HELLO
        reader = Reader(reader.vector(3))
        version, random = reader.number(2), reader.take(32)
        session_id, ciphers, compressions = reader.vector(1), numbers(reader.vector(2)), reader.vector(1)
        extensions = {}
        listed = Reader(reader.vector(2))
        while listed:
            kind = listed.number(2)
            assert kind not in extensions
            extensions[kind] = listed.vector(2)
        assert not reader
        return ClientHello(ciphers, extensions, version, session_id, compressions, random)

    def body(self):
        extensions = b"".join(packed([kind]) + vector(data, 2) for kind, data in self.extensions.items())
        body = packed([self.version]) + self.random + vector(self.session_id, 1) + vector(packed(self.ciphers), 2) + \
            vector(self.compressions, 1) + vector(extensions, 2)
        return bytes([CLIENT_HELLO]) + vector(body, 3)


# -- what a server says -------------------------------------------------------------------------

class Choice:
    """What a server has chosen of a ClientHello; `alert` is its number if the server has refused it."""

    version = cipher = group = signature = alert = None


def ask(raw, hello):
    """Sends a ClientHello on a connection; what the server chooses of it.

    In TLS 1.2 this goes as far as ServerKeyExchange, in TLS 1.3, where the rest is encrypted, to ServerHello.
    """
    raw.send(record(hello.body()))
    choice = Choice()
    pending = b""
    while True:
        kind, _, size = struct.unpack(">BHH", raw.recv(5))
        body = raw.recv(size)
        if kind == ALERT:
            choice.alert = body[1]
            return choice
        assert kind == HANDSHAKE
        pending += body
        while len(pending) >= 4 and len(pending) >= 4 + int.from_bytes(pending[1:4], "big"):
            reader = Reader(pending)
            message, content = reader.number(1), Reader(reader.vector(3))
            pending = reader.data_
            if message == SERVER_HELLO:
                read_server_hello(content, choice)
            elif message == SERVER_KEY_EXCHANGE:
                assert content.number(1) == 3  # a named curve
                choice.group = content.number(2)
                content.vector(1)
                choice.signature = content.number(2)
            if message == SERVER_KEY_EXCHANGE or choice.version == 0x0304:
                return choice


def read_server_hello(reader, choice):
    choice.version = reader.number(2)
    reader.take(32)
    reader.vector(1)
    choice.cipher = reader.number(2)
    assert reader.number(1) == 0  # no compression
    extensions = Reader(reader.vector(2))
    while extensions:
        kind, body = extensions.number(2), Reader(extensions.vector(2))
        if kind == VERSIONS:
            choice.version = body.number(2)
        elif kind == KEY_SHARE:
            choice.group = body.number(2)


def all_chosen(dial, make_hello, offered, chosen_of):
    """Every one of `offered` that a server chooses, the best for it first: offers less and less.

    `make_hello(offered)` makes the ClientHello, `chosen_of(choice)` tells which one it was. Also returns the alert
    that the rest was refused with.
    """
    left, chosen = list(offered), []
    while True:
        choice = ask(dial(), make_hello(left))
        if choice.alert is not None:
            return chosen, choice.alert
        one = chosen_of(choice)
        left.remove(one)
        chosen.append(one)
