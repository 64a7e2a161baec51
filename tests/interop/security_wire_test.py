# SPDX-License-Identifier: Apache-2.0
"""PLAIN and CURVE on the wire: a socket of the library under test against peers that do the handshake by hand.

The peers announce ZMTP 3.0 as libzmq did up to 4.3.2, or 3.1. Only subscriptions differ: a 3.0 peer has them as
messages, also inside CURVE.
"""

import pytest

import zmtp
from harness import attempts
from test_security import CURVE_CLIENT, KEYS, MECHANISMS
from zmtp import COMMAND
from zmtp_security import KeyPair, curve_client, curve_server, metadata, named, plain_client, plain_server

PASSWORDS = {"admin": "secret"}
SERVER = KeyPair(KEYS["server_public"], KEYS["server_secret"])
CLIENT = KeyPair(KEYS["client_public"], KEYS["client_secret"])
MESSAGES = [[b"one"], [b""], [b"", b"", b""], [b"a", b"", b"bc"], [b"x" * 222], [b"x" * 223], [b"x" * 255],
            [b"x" * 256], [b"y" * 70_000, b"z" * 300_000]]
WITH_IDENTITY = ("DEALER", "REQ", "ROUTER")
# The topics around the sizes where a subscription needs a frame of the long form.
TOPIC_LENGTHS = [0, 5, 212, 213, 221, 222, 244, 246, 254, 256, 1000]


@pytest.fixture(params=[0, 1], ids=["3.0", "3.1"])
def minor(request):
    return request.param


@pytest.fixture(params=["plain", "curve"])
def mechanism(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["serves", "asks"])
def serves(request):
    """Whether the socket under test is the server of the mechanism."""
    return request.param


class Meeting:
    """The socket under test, and the peer behind its handshake."""

    def __init__(self, bench, binds, mechanism, serves, minor, kind, remote, **options):
        self.subscribes_by_command = minor > 0
        identity = b"" if remote in WITH_IDENTITY else None
        if serves:
            security = {key: value for key, value in MECHANISMS[mechanism][0].items()}
            self.peer, self.raw = bench.meet(kind, binds, passwords=PASSWORDS, **security, **options)
        else:
            self.peer, self.raw = bench.meet(kind, binds, **MECHANISMS[mechanism][1], **options)
        if mechanism == "curve" and serves:
            self.traffic, told = curve_client(self.raw, remote, CLIENT, SERVER.public, minor, identity)
        elif mechanism == "curve":
            self.traffic, key, told = curve_server(self.raw, remote, SERVER, minor, identity)
            assert key == CLIENT.public
        elif serves:
            self.traffic, told = plain_client(self.raw, remote, b"admin", b"secret", minor, identity)
        else:
            self.traffic, hello, told = plain_server(self.raw, remote, minor, identity)
            assert hello == named(b"admin", named(b"secret"))
        assert told == metadata(kind, b"" if kind in WITH_IDENTITY else None)

    def recv_subscription(self):
        """The next frame of a subscriber, which may send it only when its application uses the socket."""
        for _ in attempts():
            self.peer.poll("in", 0)
            if not self.raw.stays_silent(0.01):
                return self.traffic.recv()

    def subscription(self, topic, cancel=False):
        """The flags and the body that subscribe to a topic or cancel that."""
        if self.subscribes_by_command:
            return COMMAND, named(b"CANCEL" if cancel else b"SUBSCRIBE", topic)
        return 0, (b"\x00" if cancel else b"\x01") + topic


@pytest.fixture
def meet(bench, binds, mechanism, serves, minor):
    def made(kind, remote, **options):
        return Meeting(bench, binds, mechanism, serves, minor, kind, remote, **options)
    return made


def test_messages_both_ways(meet):
    meeting = meet("DEALER", "DEALER")
    for parts in MESSAGES:
        meeting.traffic.send_message(*parts)
        assert meeting.peer.recv() == parts
        meeting.peer.send(*parts)
        assert meeting.traffic.recv_message() == parts


def test_requests(meet):
    meeting = meet("REP", "REQ")
    for parts in MESSAGES:
        meeting.traffic.send_message(b"", *parts)
        assert meeting.peer.recv() == parts
        meeting.peer.send(*parts)
        assert meeting.traffic.recv_message() == [b"", *parts]


@pytest.mark.parametrize("kind, remote", [("SUB", "PUB"), ("XSUB", "XPUB")])
def test_subscriptions_that_are_sent(meet, kind, remote):
    check_subscriptions_sent(meet(kind, remote), kind, TOPIC_LENGTHS)


# To 3.0 peers libzmq spoils this size without encryption.
@pytest.mark.zlink_only
@pytest.mark.parametrize("kind, remote", [("SUB", "PUB"), ("XSUB", "XPUB")])
def test_subscription_of_255_bytes(meet, kind, remote):
    check_subscriptions_sent(meet(kind, remote), kind, [255])


def check_subscriptions_sent(meeting, kind, lengths):
    """An XSUB may pass them on as messages whatever the version of its peer."""
    for length in lengths:
        topic = bytes([ord("a") + length % 26]) * length
        for cancel in (False, True):
            if kind == "XSUB":
                meeting.peer.send((b"\x00" if cancel else b"\x01") + topic)
            else:
                meeting.peer.call("set_option", name="UNSUBSCRIBE" if cancel else "SUBSCRIBE",
                                  value=f"hex:{topic.hex()}")
            told = meeting.recv_subscription()
            as_message = 0, (b"\x00" if cancel else b"\x01") + topic
            assert told == meeting.subscription(topic, cancel) or (kind == "XSUB" and told == as_message)


def test_a_subscriber_gets_what_is_published(meet):
    meeting = meet("SUB", "PUB", SUBSCRIBE=b"topic")
    assert meeting.recv_subscription() == meeting.subscription(b"topic")
    meeting.traffic.send_message(b"other", b"unwanted")
    meeting.traffic.send_message(b"topic and more", b"", b"wanted")
    assert meeting.peer.recv() == [b"topic and more", b"", b"wanted"]


def topic_of(length):
    topic = b"t%d|" % length
    return topic + b"x" * (length - len(topic))


@pytest.mark.parametrize("kind", ["PUB", "XPUB"])
def test_a_publisher_takes_subscriptions(meet, kind):
    meeting = meet(kind, "SUB")

    def tell(topic, cancel=False):
        flags, body = meeting.subscription(topic, cancel)
        meeting.traffic.send(body, flags)

    for length in TOPIC_LENGTHS[1:]:
        tell(topic_of(length))
    tell(b"cancelled")
    tell(b"cancelled", cancel=True)
    tell(b"last")
    recv_published(meeting, b"last")
    for length in TOPIC_LENGTHS[1:]:
        meeting.peer.send(b"cancelled", b"unwanted")
        meeting.peer.send(topic_of(length)[:-1], b"unwanted")
        meeting.peer.send(topic_of(length), b"wanted")
        assert recv_other_than(meeting, b"last") == [topic_of(length), b"wanted"]
    tell(b"")
    recv_published(meeting, b"anything", besides=b"last")


def recv_published(meeting, body, besides=None):
    """Publishes until that comes back: then all subscriptions that were sent before are known."""
    for _ in attempts():
        meeting.peer.send(body)
        while not meeting.raw.stays_silent(0.05):
            parts = meeting.traffic.recv_message()
            if parts == [body]:
                return
            assert parts == [besides]


def recv_other_than(meeting, body):
    while True:
        parts = meeting.traffic.recv_message()
        if parts != [body]:
            return parts


def test_heartbeats(meet):
    meeting = meet("PULL", "PUSH", HEARTBEAT_IVL=20, HEARTBEAT_TIMEOUT=5_000)
    meeting.traffic.send(named(b"PING", b"\x00\x00context"), COMMAND)
    beats = 0
    pong = False
    while beats < 3 or not pong:
        flags, body = meeting.traffic.recv()
        assert flags == COMMAND
        if body == named(b"PONG", b"context"):
            pong = True
        else:
            assert body.startswith(named(b"PING"))
            meeting.traffic.send(named(b"PONG"), COMMAND)
            beats += 1
    meeting.traffic.send_message(b"after")
    assert meeting.peer.recv() == [b"after"]


# -- refusals -----------------------------------------------------------------------------------


# libzmq misspells the ERROR command of PLAIN.
@pytest.mark.zlink_only
@pytest.mark.parametrize("name, password", [(b"admin", b"wrong"), (b"other", b"secret"), (b"", b"")])
def test_a_wrong_password_is_refused(bench, binds, minor, name, password):
    _, raw = bench.meet("PULL", binds, passwords=PASSWORDS, **MECHANISMS["plain"][0])
    raw.greet(minor, b"PLAIN")
    raw.send(zmtp.command(b"HELLO", named(name, named(password))))
    assert raw.expect_closed() == zmtp.command(b"ERROR", b"\x03400")


def break_box(frame):
    return frame[:-1] + bytes([frame[-1] ^ 1])


BAD_FRAMES = {
    "box": lambda traffic: break_box(traffic.sealed(b"bad")),
    "nonce-again": lambda traffic: repeat_nonce(traffic),
    "not-encrypted": lambda traffic: zmtp.message(b"bad"),
    "empty": lambda traffic: zmtp.message(b""),
    "short": lambda traffic: zmtp.message(named(b"MESSAGE", bytes(24))),
    "other-name": lambda traffic: zmtp.message(traffic.sealed(b"bad")[2:].replace(b"MESSAGE", b"MASSAGE", 1)),
}


def repeat_nonce(traffic):
    traffic.sent_nonce -= 1
    return traffic.sealed(b"bad")


@pytest.mark.parametrize("bad", list(BAD_FRAMES.values()), ids=list(BAD_FRAMES))
def test_a_bad_frame_ends_the_connection(bench, binds, serves, minor, bad):
    meeting = Meeting(bench, binds, "curve", serves, minor, "PULL", "PUSH")
    meeting.traffic.send_message(b"good")
    meeting.raw.send(bad(meeting.traffic))
    meeting.raw.expect_closed()
    assert meeting.peer.recv() == [b"good"]
    assert meeting.peer.try_recv(30) is None


@pytest.mark.zlink_only  # libzmq takes any nonce that is higher than the last
def test_a_gap_between_nonces_ends_the_connection(bench, binds, serves, minor):
    meeting = Meeting(bench, binds, "curve", serves, minor, "PULL", "PUSH")
    meeting.traffic.send_message(b"good")
    assert meeting.peer.recv() == [b"good"]
    meeting.traffic.sent_nonce += 1
    meeting.traffic.send_message(b"behind a gap")
    meeting.raw.expect_closed()
    assert meeting.peer.try_recv(30) is None


def test_no_message_passes_before_the_handshake(bench, binds, serves, minor):
    """A peer that skips the handshake, and one that skips the encryption of it."""
    if serves:
        peer, raw = bench.meet("PULL", binds, passwords=PASSWORDS, **MECHANISMS["curve"][0])
    else:
        peer, raw = bench.meet("PULL", binds, **CURVE_CLIENT)
    raw.send(zmtp.greeting(minor, b"CURVE"))
    raw.send_refused(zmtp.ready("PUSH") + zmtp.message(b"early"))
    raw.expect_closed()
    assert peer.try_recv(30) is None
