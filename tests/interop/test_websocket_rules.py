# SPDX-License-Identifier: Apache-2.0
"""What peers over WebSockets must not do: which close code it gets, and that it disturbs nobody else.

The bytes that break a rule go past the library of the peer, which reads the answer.
"""

import pytest

import zws
from zws import BINARY, CLOSE, CONTINUATION, FIN, PING, PONG, RSV1, RSV2, RSV3, TEXT, close_data

PROTOCOL_ERROR, UNACCEPTABLE_DATA, NO_TEXT, POLICY, TOO_LARGE = 1002, 1003, 1007, 1008, 1009

# First byte, payload, and the close code that answers.
WRONG_FRAMES = {
    "text": (FIN | TEXT, b"text", UNACCEPTABLE_DATA),
    "empty-text": (FIN | TEXT, b"", UNACCEPTABLE_DATA),
    "first-fragment-of-text": (TEXT, b"te", UNACCEPTABLE_DATA),
    "text-that-is-no-utf-8": (FIN | TEXT, b"\xff\xff", UNACCEPTABLE_DATA),
    "empty-message": (FIN | BINARY, b"", PROTOCOL_ERROR),
    "continuation-of-nothing": (FIN | CONTINUATION, b"\0x", PROTOCOL_ERROR),
    "fragment-of-nothing": (CONTINUATION, b"\0x", PROTOCOL_ERROR),
    "RSV1": (FIN | RSV1 | BINARY, b"\0x", PROTOCOL_ERROR),
    "RSV2": (FIN | RSV2 | BINARY, b"\0x", PROTOCOL_ERROR),
    "RSV3": (FIN | RSV3 | BINARY, b"\0x", PROTOCOL_ERROR),
    "RSV1-on-ping": (FIN | RSV1 | PING, b"", PROTOCOL_ERROR),
    "RSV3-on-close": (FIN | RSV3 | CLOSE, close_data(1000), PROTOCOL_ERROR),
    **{f"opcode-{code}": (FIN | code, b"\0x", PROTOCOL_ERROR) for code in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    "ping-in-fragments": (PING, b"x", PROTOCOL_ERROR),
    "pong-in-fragments": (PONG, b"x", PROTOCOL_ERROR),
    "close-in-fragments": (CLOSE, close_data(1000), PROTOCOL_ERROR),
    "ping-of-126": (FIN | PING, bytes(126), PROTOCOL_ERROR),
    "pong-of-126": (FIN | PONG, bytes(126), PROTOCOL_ERROR),
    "close-of-126": (FIN | CLOSE, close_data(1000) + b"x" * 124, PROTOCOL_ERROR),
    "close-of-one-byte": (FIN | CLOSE, b"\3", PROTOCOL_ERROR),
    "close-that-is-no-utf-8": (FIN | CLOSE, close_data(1000, b"\xce\xba\xe1\xbd\xb9\xed\xa0\x80"), NO_TEXT),
    **{f"close-{code}": (FIN | CLOSE, close_data(code), PROTOCOL_ERROR)
       for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535)},
}


def says_that_it_closes(first, data):
    """Whether it is a close frame, though with a code or a text that is none."""
    return first == FIN | CLOSE and len(data) <= 125


class Stage:
    """A ROUTER under test, a peer that will break a rule, and one that will not."""

    def __init__(self, bench, binds, library, **options):
        self.bench = bench
        self.binds = binds
        self.library = library
        if binds:
            self.router = bench.bound("ROUTER", monitored=True, **options)
            self.good = bench.client(library, identity=b"good")
        else:
            self.router = bench.connected("ROUTER", monitored=True, RECONNECT_IVL=10, **options)
            self.good = bench.server(library, identity=b"good")
            self.router.connect(bench.endpoint + "again")
        self.bad = self.another(b"bad")
        self.converse(self.bad, b"bad")

    def another(self, identity):
        return (self.bench.client if self.binds else self.bench.server)(self.library, identity=identity)

    def converse(self, peer, identity):
        peer.send_parts(b"question", b"")
        assert self.router.recv() == [identity, b"question", b""]
        self.router.send(identity, b"", b"answer")
        assert peer.recv_parts() == [b"", b"answer"]

    def check_end(self, code, comes_again=False):
        """The bad peer is told why and its connection ends; the other one stays."""
        assert self.bad.closed_with() == code
        assert not self.bad.connection.is_reset
        events = zws.told(self.router, "DISCONNECTED")
        assert [name for name, _ in events].count("HANDSHAKE_SUCCEEDED") == 2
        assert events[-1][1] in [value for name, value in events if name in ("ACCEPTED", "CONNECTED")]
        self.converse(self.good, b"good")
        # As over tcp, a peer that breaks a rule may come again, but is not called again; one that closes, or whose
        # next message may be smaller, is.
        if self.binds:
            self.converse(self.another(b"next"), b"next")
        elif comes_again:
            self.converse(self.another(b"bad"), b"bad")
        else:
            assert not self.bench.has_caller(within_s=0.03)


def open_with_null(bench, binds):
    """A monitored ROUTER and a peer of it from which READY is awaited."""
    if binds:
        socket = bench.bound("ROUTER", monitored=True)
        peer = zws.Wsproto(bench.dial(), True)
        assert peer.open(("ZWS2.0/NULL",))
    else:
        socket = bench.connected("ROUTER", monitored=True)
        peer = zws.Wsproto(bench.accept(), False)
        peer.accept(("ZWS2.0/NULL",))
    assert peer.recv().startswith(b"\2\5READY")
    return socket, peer


@pytest.mark.parametrize("wrong", list(WRONG_FRAMES))
def test_wrong_frame(ws_bench, binds, library, wrong):
    stage = Stage(ws_bench, binds, library)
    first, data, code = WRONG_FRAMES[wrong]
    stage.bad.send_parts(b"before")
    stage.bad.raw_frame(first, data)
    assert stage.router.recv() == [b"bad", b"before"]
    stage.check_end(code, comes_again=says_that_it_closes(first, data))


@pytest.mark.parametrize("ws_bench", ["wss"], indirect=True)
@pytest.mark.parametrize("wrong", ["text", "opcode-3", "close-in-fragments", "close-5000"])
def test_wrong_frame_in_tls(ws_bench, binds, library, wrong):
    stage = Stage(ws_bench, binds, library)
    first, data, code = WRONG_FRAMES[wrong]
    stage.bad.raw_frame(first, data)
    stage.check_end(code, comes_again=says_that_it_closes(first, data))


def test_wrong_mask(ws_bench, binds, library):
    """A client masks, a server does not."""
    stage = Stage(ws_bench, binds, library)
    stage.bad.raw_frame(FIN | BINARY, b"\0x", masked=not binds)
    stage.check_end(PROTOCOL_ERROR)


@pytest.mark.parametrize("size, length_bytes", [(5, 2), (125, 8), (126, 8), (65535, 8)])
def test_length_that_could_be_shorter(ws_bench, binds, library, size, length_bytes):
    stage = Stage(ws_bench, binds, library)
    stage.bad.raw_frame(FIN | BINARY, bytes(size), length_bytes=length_bytes)
    stage.check_end(PROTOCOL_ERROR)


def test_length_with_the_highest_bit(ws_bench, binds, library):
    stage = Stage(ws_bench, binds, library)
    stage.bad.connection.send(bytes([FIN | BINARY, 0xff if binds else 0x7f]) + b"\x80" + bytes(7) + b"\0" * 5)
    stage.check_end(PROTOCOL_ERROR)


@pytest.mark.parametrize("first", [FIN | BINARY, BINARY, FIN | TEXT], ids=["binary", "fragment", "text"])
def test_message_between_fragments(ws_bench, binds, library, first):
    stage = Stage(ws_bench, binds, library)
    stage.bad.raw_frame(BINARY, b"\0begin")
    stage.bad.raw_frame(first, b"\0x")
    stage.check_end(PROTOCOL_ERROR)


def test_fragments_that_are_empty_altogether(ws_bench, binds, library):
    stage = Stage(ws_bench, binds, library)
    stage.bad.raw_frame(BINARY)
    stage.bad.raw_frame(CONTINUATION)
    stage.bad.raw_frame(FIN | CONTINUATION)
    stage.check_end(PROTOCOL_ERROR)


@pytest.mark.parametrize("size", [101, 70_000, 5_000_000])
def test_larger_than_allowed(ws_bench, binds, library, size):
    stage = Stage(ws_bench, binds, library, MAXMSGSIZE=100)
    stage.bad.send_parts(bytes(100))
    assert stage.router.recv() == [b"bad", bytes(100)]
    stage.bad.send_parts(bytes(size))
    stage.check_end(TOO_LARGE, comes_again=True)


def test_larger_than_allowed_in_fragments(ws_bench, binds, library):
    stage = Stage(ws_bench, binds, library, MAXMSGSIZE=100)
    stage.bad.send_fragments(b"\0" + bytes(50), bytes(49), bytes(1))
    assert stage.router.recv() == [b"bad", bytes(100)]
    stage.bad.send_fragments(b"\0" + bytes(50), bytes(50), bytes(1), bytes(50))
    stage.check_end(TOO_LARGE, comes_again=True)


def test_length_that_nobody_could_send(ws_bench, binds, library):
    """The head alone costs no memory; the connection is waited for until it ends."""
    stage = Stage(ws_bench, binds, library)
    stage.bad.connection.send(bytes([FIN | BINARY, 0xff if binds else 0x7f]) + (1 << 62).to_bytes(8, "big") +
                              (zws.MASK if binds else b"") + bytes(100))
    stage.converse(stage.good, b"good")
    stage.bad.connection.close()
    assert zws.told(stage.router, "DISCONNECTED")[-1][0] == "DISCONNECTED"
    stage.converse(stage.good, b"good")


@pytest.mark.parametrize("wrong", ["text", "RSV1", "close-999"])
def test_nothing_after_a_wrong_frame_is_read(ws_bench, binds, library, wrong):
    stage = Stage(ws_bench, binds, library)
    first, data, code = WRONG_FRAMES[wrong]
    masked = binds
    stage.bad.connection.send(zws.frame(first, data, masked) + zws.frame(FIN | BINARY, b"\0late", masked))
    assert stage.bad.closed_with() == code
    assert stage.router.try_recv(30) is None


def test_the_reason_reaches_who_does_not_stop(ws_bench, binds, library):
    """A reset, with which kernels answer what comes to a closed socket, could take it back."""
    stage = Stage(ws_bench, binds, library)
    first, data, code = WRONG_FRAMES["text"]
    stage.bad.raw_frame(first, data)
    for _ in range(3):
        assert stage.bad.connection.has_input()
        stage.bad.connection.send(zws.frame(FIN | BINARY, b"\0late", masked=binds))
    stage.check_end(code)


@pytest.mark.parametrize("wrong", ["text", "opcode-3", "RSV2", "empty-message", "ping-of-126", "close-999"])
def test_wrong_frame_instead_of_READY(ws_bench, binds, wrong):
    first, data, code = WRONG_FRAMES[wrong]
    socket, bad = open_with_null(ws_bench, binds)
    bad.raw_frame(first, data)
    assert bad.closed_with() == code
    events = [name for name, _ in zws.told(socket, "DISCONNECTED")]
    assert "HANDSHAKE_SUCCEEDED" not in events


def test_close_instead_of_READY(ws_bench, binds):
    socket, bad = open_with_null(ws_bench, binds)
    bad.close_with(1001)
    assert bad.closed_with() == 1001
    assert "HANDSHAKE_FAILED_NO_DETAIL" in [name for name, _ in zws.told(socket, "DISCONNECTED")]


@pytest.mark.parametrize("payload", [b"\0message", b"\2\3FOO", b"\2"],
                         ids=["message", "unknown-command", "empty-command"])
def test_wrong_command_instead_of_READY(ws_bench, binds, payload):
    socket, bad = open_with_null(ws_bench, binds)
    bad.send(payload)
    assert bad.ends()
    assert "HANDSHAKE_FAILED_PROTOCOL" in [name for name, _ in zws.told(socket, "DISCONNECTED")]


@pytest.mark.parametrize("binds", [True], ids=["binds"])
def test_wrong_frames_of_many_disturb_nobody(ws_bench, binds, library):
    stage = Stage(ws_bench, binds, library)
    others = [ws_bench.client(library, identity=b"%d" % i) for i in range(20)]
    for number, wrong in enumerate(WRONG_FRAMES):
        bad = ws_bench.client(library, identity=b"bad %d" % number)
        first, data, code = WRONG_FRAMES[wrong]
        bad.raw_frame(first, data)
        assert bad.closed_with() == code
    for number, each in enumerate(others):
        stage.converse(each, b"%d" % number)
    stage.converse(stage.good, b"good")
