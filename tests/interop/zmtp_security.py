# SPDX-License-Identifier: Apache-2.0
"""PLAIN and CURVE as a hand-driven peer speaks them, step by step."""

import os

from nacl import bindings as nacl
from zmq.utils import z85

import zmtp
from zmtp import COMMAND, LONG, MORE

ZEROS = bytes(64)
# The bit that marks a command inside the box of a MESSAGE; in the header of a frame it is another one.
INNER_COMMAND = 0x02


def named(name, data=b""):
    """The body of a command."""
    return bytes([len(name)]) + name + data


def body_of(frame):
    """The body of a frame with its header."""
    return frame[9:] if frame[0] & LONG else frame[2:]


def recv_command(raw, name):
    """The data of the command that must come next."""
    frame = raw.recv_frame()
    body = body_of(frame)
    assert frame[0] & COMMAND and body.startswith(named(name)), f"{name} expected, {frame[:40]} came"
    return body[1 + len(name):]


def metadata(kind, identity=None):
    data = zmtp.prop(b"Socket-Type", kind.encode())
    if identity is not None:
        data += zmtp.prop(b"Identity", identity)
    return data


class KeyPair:
    def __init__(self, public=None, secret=None):
        """From text in Z85, or a new one."""
        if public is None:
            self.public, self.secret = nacl.crypto_box_keypair()
        else:
            self.public, self.secret = z85.decode(public), z85.decode(secret)


class PlainTraffic:
    """What follows the handshake where nothing is encrypted."""

    def __init__(self, raw):
        self.raw_ = raw

    def send(self, body, flags=0):
        self.raw_.send(zmtp.frame(body, flags))

    def recv(self):
        """The flags and the body of the next frame."""
        frame = self.raw_.recv_frame()
        return frame[0] & ~LONG, body_of(frame)

    def send_message(self, *parts):
        for part in parts[:-1]:
            self.send(part, MORE)
        self.send(parts[-1])

    def recv_message(self):
        parts = []
        while True:
            flags, body = self.recv()
            assert flags in (0, MORE)
            parts.append(body)
            if not flags:
                return parts


class CurveTraffic(PlainTraffic):
    """What follows the handshake of CURVE. The frames are MESSAGE commands in frames of messages."""

    def __init__(self, raw, peer_public, own_secret, role, sent_nonce, received_nonce):
        super().__init__(raw)
        self.keys_ = peer_public, own_secret
        prefixes = b"CurveZMQMESSAGEC", b"CurveZMQMESSAGES"
        self.own_prefix_, self.peer_prefix_ = prefixes if role == "client" else reversed(prefixes)
        self.sent_nonce, self.received_nonce = sent_nonce, received_nonce

    def sealed(self, body, flags=0):
        """The frame that holds a part or a command, with the flags that it would have outside."""
        flags = INNER_COMMAND if flags == COMMAND else flags
        self.sent_nonce += 1
        short = self.sent_nonce.to_bytes(8, "big")
        box = nacl.crypto_box(bytes([flags]) + body, self.own_prefix_ + short, *self.keys_)
        return zmtp.frame(named(b"MESSAGE", short + box))

    def send(self, body, flags=0):
        self.raw_.send(self.sealed(body, flags))

    def recv(self):
        frame = self.raw_.recv_frame()
        assert frame[0] & ~LONG == 0, f"the flags of the frame are {frame[0]}"
        body = body_of(frame)
        assert body[:8] == named(b"MESSAGE")
        assert int.from_bytes(body[8:16], "big") == self.received_nonce + 1
        self.received_nonce += 1
        plain = nacl.crypto_box_open(body[16:], self.peer_prefix_ + body[8:16], *self.keys_)
        return COMMAND if plain[0] == INNER_COMMAND else plain[0], plain[1:]


def curve_client(raw, kind, keys, server_public, minor, identity=None):
    """The client's part; returns the traffic that follows, and the metadata of the server."""
    short_lived = KeyPair()
    raw.greet(minor, b"CURVE")
    nonce = (1).to_bytes(8, "big")
    box = nacl.crypto_box(ZEROS, b"CurveZMQHELLO---" + nonce, server_public, short_lived.secret)
    raw.send(zmtp.command(b"HELLO", b"\x01\x00" + bytes(72) + short_lived.public + nonce + box))

    welcome = recv_command(raw, b"WELCOME")
    assert len(welcome) == 160
    plain = nacl.crypto_box_open(welcome[16:], b"WELCOME-" + welcome[:16], server_public, short_lived.secret)
    server_short, cookie = plain[:32], plain[32:]

    random = os.urandom(16)
    vouch = nacl.crypto_box(short_lived.public + server_public, b"VOUCH---" + random, server_short, keys.secret)
    nonce = (2).to_bytes(8, "big")
    box = nacl.crypto_box(keys.public + random + vouch + metadata(kind, identity), b"CurveZMQINITIATE" + nonce,
                          server_short, short_lived.secret)
    raw.send(zmtp.command(b"INITIATE", cookie + nonce + box))

    ready = recv_command(raw, b"READY")
    assert ready[:8] == (1).to_bytes(8, "big")
    properties = nacl.crypto_box_open(ready[8:], b"CurveZMQREADY---" + ready[:8], server_short, short_lived.secret)
    return CurveTraffic(raw, server_short, short_lived.secret, "client", 2, 1), properties


def curve_server(raw, kind, keys, minor, identity=None):
    """The server's part; returns the traffic that follows, the client's key and its metadata."""
    short_lived, cookie_key = KeyPair(), os.urandom(32)
    raw.greet(minor, b"CURVE")
    hello = recv_command(raw, b"HELLO")
    assert len(hello) == 194 and hello[:74] == b"\x01\x00" + bytes(72)
    client_short, nonce = hello[74:106], hello[106:114]
    assert nonce == (1).to_bytes(8, "big")
    assert nacl.crypto_box_open(hello[114:], b"CurveZMQHELLO---" + nonce, client_short, keys.secret) == ZEROS

    random = os.urandom(16)
    cookie = random + nacl.crypto_secretbox(client_short + short_lived.secret, b"COOKIE--" + random, cookie_key)
    random = os.urandom(16)
    box = nacl.crypto_box(short_lived.public + cookie, b"WELCOME-" + random, client_short, keys.secret)
    raw.send(zmtp.command(b"WELCOME", random + box))

    initiate = recv_command(raw, b"INITIATE")
    assert initiate[:96] == cookie
    nonce = initiate[96:104]
    assert nonce == (2).to_bytes(8, "big")
    plain = nacl.crypto_box_open(initiate[104:], b"CurveZMQINITIATE" + nonce, client_short, short_lived.secret)
    client_public, random, vouch, properties = plain[:32], plain[32:48], plain[48:128], plain[128:]
    vouched = nacl.crypto_box_open(vouch, b"VOUCH---" + random, client_public, short_lived.secret)
    assert vouched == client_short + keys.public

    nonce = (1).to_bytes(8, "big")
    box = nacl.crypto_box(metadata(kind, identity), b"CurveZMQREADY---" + nonce, client_short, short_lived.secret)
    raw.send(zmtp.command(b"READY", nonce + box))
    return CurveTraffic(raw, client_short, short_lived.secret, "server", 1, 2), client_public, properties


def plain_client(raw, kind, name, password, minor, identity=None):
    """The client's part; returns the traffic that follows, and the metadata of the server."""
    raw.greet(minor, b"PLAIN")
    raw.send(zmtp.command(b"HELLO", named(name, named(password))))
    assert recv_command(raw, b"WELCOME") == b""
    raw.send(zmtp.command(b"INITIATE", metadata(kind, identity)))
    return PlainTraffic(raw), recv_command(raw, b"READY")


def plain_server(raw, kind, minor, identity=None):
    """The server's part; returns the traffic that follows, the data of HELLO and the client's metadata."""
    raw.greet(minor, b"PLAIN")
    hello = recv_command(raw, b"HELLO")
    raw.send(zmtp.command(b"WELCOME"))
    properties = recv_command(raw, b"INITIATE")
    raw.send(zmtp.command(b"READY", metadata(kind, identity)))
    return PlainTraffic(raw), hello, properties
