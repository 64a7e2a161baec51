# SPDX-License-Identifier: Apache-2.0
"""The bytes on the wire: a socket of the library under test against hand-driven raw peers."""

import pytest

import zmtp
from harness import Endpoint
from zmtp import Closed, command, frame, greeting, message, ping, pong, prop, ready

READY = {
    "PAIR": "041a0552454144590b536f636b65742d547970650000000450414952",
    "PUB": "04190552454144590b536f636b65742d5479706500000003505542",
    "SUB": "04190552454144590b536f636b65742d5479706500000003535542",
    "REQ": "04260552454144590b536f636b65742d5479706500000003524551084964656e7469747900000000",
    "REP": "04190552454144590b536f636b65742d5479706500000003524550",
    "DEALER": "04290552454144590b536f636b65742d54797065000000064445414c4552"
              "084964656e7469747900000000",
    "ROUTER": "04290552454144590b536f636b65742d5479706500000006524f55544552"
              "084964656e7469747900000000",
    "PULL": "041a0552454144590b536f636b65742d547970650000000450554c4c",
    "PUSH": "041a0552454144590b536f636b65742d547970650000000450555348",
    "XPUB": "041a0552454144590b536f636b65742d547970650000000458505542",
    "XSUB": "041a0552454144590b536f636b65742d547970650000000458535542",
}
DRAFT_READY = {
    "SERVER": "041c0552454144590b536f636b65742d5479706500000006534552564552",
    "CLIENT": "041c0552454144590b536f636b65742d5479706500000006434c49454e54",
    "RADIO": "041b0552454144590b536f636b65742d5479706500000005524144494f",
    "DISH": "041a0552454144590b536f636b65742d547970650000000444495348",
    "GATHER": "041c0552454144590b536f636b65742d5479706500000006474154484552",
    "SCATTER": "041d0552454144590b536f636b65742d547970650000000753434154544552",
    "PEER": "041a0552454144590b536f636b65742d547970650000000450454552",
    "CHANNEL": "041d0552454144590b536f636b65742d54797065000000074348414e4e454c",
}
ACCEPTED = {
    "PAIR": {"PAIR"},
    "PUB": {"SUB", "XSUB"},
    "XPUB": {"SUB", "XSUB"},
    "SUB": {"PUB", "XPUB"},
    "XSUB": {"PUB", "XPUB"},
    "REQ": {"REP", "ROUTER"},
    "REP": {"REQ", "DEALER"},
    "DEALER": {"REP", "DEALER", "ROUTER"},
    "ROUTER": {"REQ", "DEALER", "ROUTER"},
    "PUSH": {"PULL"},
    "PULL": {"PUSH"},
}
TOPIC_LENGTHS = [0, 5, 244, 245, 246, 253, 254, 256, 300, 1000]


class Bench:
    """A socket under test and the raw peers around it."""

    def __init__(self, peers, side, transport):
        self.peers_ = peers
        self.side_ = side
        self.transport = transport
        self.owned_ = []

    def bound(self, kind, **options):
        """The socket under test, bound."""
        endpoint = self.own(Endpoint(self.transport), "release")
        peer = self.peers_.add(self.side_, kind, **options)
        peer.bind(endpoint.text)
        self.address_ = endpoint.address
        return peer

    def dial(self):
        """A raw connection to the bound socket."""
        return self.own(zmtp.dial(self.transport, self.address_), "close")

    def connected(self, kind, **options):
        """The socket under test, connected to a raw listener; returns both."""
        endpoint = self.own(Endpoint(self.transport), "release")
        listener = self.own(zmtp.RawListener(self.transport, endpoint.address), "close")
        peer = self.peers_.add(self.side_, kind, **options)
        peer.connect(endpoint.text)
        return peer, listener

    def meet(self, kind, binds, **options):
        """The socket under test and a raw connection with it, either of them calling."""
        if binds:
            peer = self.bound(kind, **options)
            return peer, self.dial()
        peer, listener = self.connected(kind, **options)
        return peer, self.own(listener.accept(), "close")

    def own(self, thing, method):
        self.owned_.append(getattr(thing, method))
        return thing

    def release(self):
        for release in reversed(self.owned_):
            release()


@pytest.fixture(params=["tcp", "ipc"])
def bench(request, peers, sides):
    made = Bench(peers, sides["zlink"], request.param)
    yield made
    made.release()


@pytest.fixture(params=[True, False], ids=["binds", "connects"])
def binds(request):
    return request.param


def check_serving(bench, pull):
    """A well-behaved PUSH is served, and nothing but its message arrives."""
    good = bench.dial()
    good.handshake("PUSH")
    good.send(message(b"good", b"message"))
    assert pull.recv() == [b"good", b"message"]
    assert pull.try_recv(30) is None


# -- greeting and handshake -------------------------------------------------------------------


@pytest.mark.parametrize("options, padding", [({}, "01"), ({"ROUTING_ID": b"abc"}, "04")],
                         ids=["anonymous", "named"])
def test_greeting(bench, binds, options, padding):
    _, raw = bench.meet("DEALER", binds, **options)
    assert raw.greet().hex() == (f"ff00000000000000{padding}7f03014e554c4c".ljust(128, "0"))


def test_signature_is_sent_unprompted(bench, binds):
    _, raw = bench.meet("PULL", binds)
    assert raw.recv(10) == zmtp.SIGNATURE


@pytest.mark.later
@pytest.mark.parametrize("options, mechanism", [
    ({"PLAIN_SERVER": 1}, b"PLAIN"),
    ({"PLAIN_USERNAME": b"admin", "PLAIN_PASSWORD": b"secret"}, b"PLAIN"),
    ({"CURVE_SERVER": 1, "CURVE_SECRETKEY": b"JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"},
     b"CURVE"),
], ids=["plain-server", "plain-client", "curve-server"])
def test_greeting_names_the_mechanism(bench, options, mechanism):
    _, raw = bench.meet("DEALER", True, **options)
    raw.send(greeting(mechanism=mechanism))
    received = raw.recv(64)
    assert received[:12] == greeting()[:12]
    assert received[12:32] == mechanism.ljust(20, b"\0")
    # Byte 32, as-server, may differ: libzmq never sets it.
    assert received[33:] == bytes(31)


@pytest.mark.parametrize("kind", READY)
def test_ready(bench, binds, kind):
    _, raw = bench.meet(kind, binds)
    raw.greet()
    assert raw.recv_frame().hex() == READY[kind]


@pytest.mark.later
@pytest.mark.zlink_only
@pytest.mark.parametrize("kind", DRAFT_READY)
def test_ready_of_draft_types(bench, kind):
    _, raw = bench.meet(kind, True)
    raw.greet()
    assert raw.recv_frame().hex() == DRAFT_READY[kind]


@pytest.mark.parametrize("kind", ["REQ", "DEALER", "ROUTER"])
def test_ready_with_routing_id(bench, binds, kind):
    _, raw = bench.meet(kind, binds, ROUTING_ID=b"ID1")
    raw.greet()
    assert raw.recv_frame() == ready(kind, b"ID1")


@pytest.mark.parametrize("kind", ["PUSH", "PULL", "PAIR", "REP", "SUB"])
def test_routing_id_is_announced_by_three_types_only(bench, kind):
    _, raw = bench.meet(kind, True, ROUTING_ID=b"ID1")
    raw.greet()
    assert raw.recv_frame().hex() == READY[kind]


@pytest.mark.parametrize("local", ACCEPTED)
def test_accepted_socket_types(bench, local):
    bench.bound(local)
    accepted = set()
    for remote in READY:
        raw = bench.dial()
        raw.greet()
        raw.send(ready(remote, b"" if remote in ("REQ", "DEALER", "ROUTER") else None))
        if raw.is_alive():
            accepted.add(remote)
        raw.close()
    assert accepted == ACCEPTED[local]


def test_connecting_socket_gives_up_after_a_wrong_type(bench):
    push, listener = bench.connected("PUSH", RECONNECT_IVL=10)
    raw = bench.own(listener.accept(), "close")
    raw.handshake("PUB")
    raw.expect_closed()
    assert not listener.has_caller(0.3)
    assert push.poll("in", 0) is False


def test_connecting_socket_calls_again_after_a_loss(bench):
    push, listener = bench.connected("PUSH", RECONNECT_IVL=10)
    for phase in range(4):
        raw = listener.accept()
        if phase >= 1:
            raw.greet()
        if phase >= 2:
            raw.send(ready("PULL"))
            raw.recv_frame()
        raw.close()
    raw = bench.own(listener.accept(), "close")
    raw.handshake("PULL")
    push.send(b"after all")
    assert raw.recv_frame() == message(b"after all")


def test_silent_peer_is_closed_after_the_handshake_interval(bench):
    pull = bench.bound("PULL", HANDSHAKE_IVL=200)
    silent, slow = bench.dial(), bench.dial()
    slow.send(greeting())
    silent.expect_closed()
    slow.expect_closed()
    check_serving(bench, pull)


@pytest.mark.parametrize("received_greeting", [
    zmtp.SIGNATURE[:9] + b"\x01" + greeting()[10:],
    b"\xff" + b"\xa5" * 8 + greeting()[9:],
    greeting()[:32] + b"\x01" + bytes(31),
    greeting()[:33] + b"\xee" * 31,
    greeting(minor=9),
    greeting(major=4),
], ids=["signature-01", "padding", "as-server", "filler", "minor-9", "major-4"])
def test_unusual_greetings_are_accepted(bench, received_greeting):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.send(received_greeting + ready("PUSH"))
    assert raw.recv(64) == greeting()
    assert raw.recv_frame().hex() == READY["PULL"]
    raw.send(message(b"hello"))
    assert pull.recv() == [b"hello"]


# -- older versions ---------------------------------------------------------------------------

OLD_OPENINGS = [
    ("unversioned", "0100", "ff00000000000000047f535256", "030061", "03006869"),
    ("revision-0", "ff00000000000000017f0005" "0100", "ff00000000000000047f0305" "0400535256",
     "020061", "03006869"),
    ("revision-1", "ff00000000000000017f0105" "0000", "ff00000000000000047f0305" "0003535256",
     "000161", "00026869"),
]


@pytest.mark.later
@pytest.mark.parametrize("name, theirs, ours, incoming, outgoing", OLD_OPENINGS,
                         ids=[opening[0] for opening in OLD_OPENINGS])
def test_older_peers(bench, name, theirs, ours, incoming, outgoing):
    dealer = bench.bound("DEALER", ROUTING_ID=b"SRV")
    raw = bench.dial()
    raw.send(bytes.fromhex(theirs))
    expected = bytes.fromhex(ours)
    assert raw.recv(len(expected)).hex() == expected.hex()
    raw.send(bytes.fromhex("020061" if name != "revision-1" else incoming))
    assert dealer.recv() == [b"a"]
    dealer.send(b"hi")
    assert raw.recv(len(outgoing) // 2).hex() == outgoing


# -- frames -----------------------------------------------------------------------------------


@pytest.mark.parametrize("parts, expected", [
    ([b"hello"], "000568656c6c6f"),
    ([b""], "0000"),
    ([b"a", b"", b"b" * 300], "010161" "0100" "02000000000000012c" + "62" * 300),
    ([b"x" * 255], "00ff" + "78" * 255),
    ([b"x" * 256, b""], "030000000000000100" + "78" * 256 + "0000"),
], ids=["single", "empty", "multipart", "255", "256"])
def test_sent_frames(bench, binds, parts, expected):
    push, raw = bench.meet("PUSH", binds)
    raw.handshake("PULL")
    push.send(*parts)
    assert raw.recv(len(expected) // 2).hex() == expected


@pytest.mark.parametrize("data, parts", [
    (frame(b"small", zmtp.LONG), [b"small"]),
    (frame(b"", zmtp.LONG | zmtp.MORE) + frame(b"", zmtp.LONG), [b"", b""]),
    (frame(b"a", zmtp.MORE | 0xf8) + frame(b"b", 0xf0), [b"a", b"b"]),
    (frame(b"y" * 70_000), [b"y" * 70_000]),
], ids=["long-small", "long-empty", "reserved-bits", "70000"])
def test_received_frames(bench, binds, data, parts):
    pull, raw = bench.meet("PULL", binds)
    raw.handshake("PUSH")
    raw.send(data)
    assert pull.recv() == parts


def test_delivery_byte_by_byte(bench, binds):
    dealer, raw = bench.meet("DEALER", binds)
    parts = [b"one", b"", b"x" * 300]
    raw.send_bytewise(greeting() + ready("DEALER", b""))
    raw.recv(64)
    assert raw.recv_frame().hex() == READY["DEALER"]
    raw.send_bytewise(message(*parts) + ping(context=b"c"))
    assert dealer.recv() == parts
    assert raw.recv_frame() == pong(b"c")


def test_delivery_in_one_piece(bench, binds):
    """Greeting and READY at once before anything was read, then many messages at once."""
    dealer, raw = bench.meet("DEALER", binds)
    count = 200
    raw.send(greeting() + ready("DEALER", b""))
    raw.recv(64)
    raw.recv_frame()
    raw.send(b"".join(message(b"%d" % number, b"tail") for number in range(count)))
    for number in range(count):
        assert dealer.recv() == [b"%d" % number, b"tail"]


def test_frames_cut_at_every_place(bench):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.handshake("PUSH")
    data = message(b"ab", b"", b"c" * 260)
    for cut in range(1, len(data)):
        raw.send(data[:cut])
        raw.send(data[cut:])
    for _ in range(1, len(data)):
        assert pull.recv() == [b"ab", b"", b"c" * 260]


def test_request_envelopes(bench):
    req, raw = bench.meet("REQ", False)
    raw.handshake("REP")
    req.send(b"Q")
    assert raw.recv(5).hex() == "0100000151"
    raw.send(message(b"", b"A"))
    assert req.recv() == [b"A"]


def test_correlated_request_envelopes(bench):
    req, raw = bench.meet("REQ", False, REQ_CORRELATE=1)
    raw.handshake("REP")
    ids = []
    for number in range(2):
        req.send(b"Q")
        header = raw.recv_frame()
        assert header[:2].hex() == "0104"
        ids.append(header[2:])
        assert raw.recv(5).hex() == "0100000151"
        raw.send(message(b"????", b"", b"stale"))
        raw.send(message(ids[-1], b"", b"A%d" % number))
        assert req.recv() == [b"A%d" % number]
    assert ids[0] != ids[1]


@pytest.mark.parametrize("reply", [message(b"no delimiter"), message(b"too", b"", b"short id")],
                         ids=["single", "odd-id"])
def test_broken_reply_closes_the_connection(bench, reply):
    req, listener = bench.connected("REQ", RECONNECT_IVL=10)
    raw = bench.own(listener.accept(), "close")
    raw.handshake("REP")
    req.send(b"Q")
    assert raw.recv(5).hex() == "0100000151"
    raw.send(reply)
    raw.expect_closed()
    assert req.try_recv(30) is None


def test_probe_is_an_empty_message(bench, binds):
    dealer, raw = bench.meet("DEALER", binds, PROBE_ROUTER=1)
    raw.handshake("ROUTER", identity=b"")
    expect_frame(dealer, raw, message(b""))


# -- subscriptions ----------------------------------------------------------------------------


def subscription(minor, topic, cancel=False):
    """The bytes of a subscription or its cancellation."""
    if minor == 0:
        return frame((b"\x00" if cancel else b"\x01") + topic)
    return command(b"CANCEL" if cancel else b"SUBSCRIBE", topic)


def test_subscription_vectors():
    """The encoder of this file against captured bytes."""
    assert subscription(1, b"topic").hex() == "040f09535542534352494245746f706963"
    assert subscription(1, b"topic", True).hex() == "040c0643414e43454c746f706963"
    assert subscription(1, b"T" * 300).hex() == (
        "06000000000000013609535542534352494245" + "54" * 300)
    assert subscription(0, b"topic").hex() == "000601746f706963"
    assert subscription(0, b"T" * 300).hex() == "02000000000000012d01" + "54" * 300


@pytest.mark.parametrize("minor", [0, 1])
def test_sent_subscriptions(bench, binds, minor):
    sub, raw = bench.meet("SUB", binds)
    raw.handshake("PUB", minor)
    topics = [b"T" * size for size in TOPIC_LENGTHS]
    for topic in topics:
        sub.set_option("SUBSCRIBE", topic)
        expect_frame(sub, raw, subscription(minor, topic))
    for topic in topics:
        sub.set_option("UNSUBSCRIBE", topic)
        expect_frame(sub, raw, subscription(minor, topic, cancel=True))


@pytest.mark.parametrize("minor", [0, 1])
def test_subscriptions_sent_by_xsub(bench, binds, minor):
    """An XSUB may pass them on as messages whatever the version of its peer."""
    xsub, raw = bench.meet("XSUB", binds)
    raw.handshake("PUB", minor)
    topics = [b"T" * size for size in TOPIC_LENGTHS]
    for cancel in (False, True):
        for topic in topics:
            xsub.send((b"\x00" if cancel else b"\x01") + topic)
            expect_frame(xsub, raw, *(subscription(form, topic, cancel)
                                      for form in range(minor + 1)))


def expect_frame(peer, raw, *allowed):
    """Receives one of the allowed frames while the socket under test is polled.

    A bound socket may take up a connection only when its application uses it.
    """
    for _ in range(400):
        if not raw.stays_silent(0.02):
            break
        peer.poll("in", 0)
    assert raw.recv_frame().hex() in [expected.hex() for expected in allowed]


def test_subscriptions_are_sent_to_each_new_publisher(bench):
    sub = bench.bound("SUB", SUBSCRIBE=b"a")
    for minor in (1, 0, 1):
        raw = bench.dial()
        raw.handshake("XPUB", minor)
        expect_frame(sub, raw, subscription(minor, b"a"))


@pytest.mark.zlink_only
def test_topic_of_255_bytes_for_a_3_0_peer(bench, binds):
    sub, raw = bench.meet("SUB", binds)
    raw.handshake("PUB", 0)
    sub.set_option("SUBSCRIBE", b"T" * 255)
    expect_frame(sub, raw, subscription(0, b"T" * 255))


@pytest.mark.parametrize("peer_minor", [0, 1])
@pytest.mark.parametrize("form", [0, 1], ids=["messages", "commands"])
def test_received_subscriptions(bench, binds, peer_minor, form):
    """A publisher takes both forms from a peer of any version."""
    xpub, raw = bench.meet("XPUB", binds)
    raw.handshake("SUB", peer_minor)
    for topic in (b"a", b"", b"L" * 300):
        raw.send(subscription(form, topic))
        assert xpub.recv() == [b"\x01" + topic]
    xpub.send(b"published")
    assert raw.recv_frame() == message(b"published")
    for topic in (b"", b"L" * 300):
        raw.send(subscription(form, topic, cancel=True))
        assert xpub.recv() == [b"\x00" + topic]
    xpub.send(b"b not wanted")
    xpub.send(b"a wanted", b"body")
    assert raw.recv_frame() + raw.recv_frame() == message(b"a wanted", b"body")


def test_user_messages_of_a_subscriber(bench):
    xpub = bench.bound("XPUB")
    raw = bench.dial()
    raw.handshake("XSUB")
    for parts in ([b"\x02 user"], [b""], [b"text", b"more"]):
        raw.send(message(*parts))
        assert xpub.recv() == parts


# -- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sent, answer", [
    ("04070450494e470000", "040504504f4e47"),
    ("040f0450494e4700006162636465666768", "040d04504f4e476162636465666768"),
    (ping(10, b"0123456789abcdef").hex(), pong(b"0123456789abcdef").hex()),
], ids=["bare", "context", "context-16"])
@pytest.mark.parametrize("minor", [0, 1])
def test_ping_is_answered(bench, binds, minor, sent, answer):
    _, raw = bench.meet("DEALER", binds)
    raw.handshake("DEALER", minor, identity=b"")
    raw.send(bytes.fromhex(sent))
    assert raw.recv_frame().hex() == answer


def test_pings_are_answered_in_order_between_messages(bench):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.handshake("PUSH")
    for number in range(50):
        raw.send(frame(b"first", zmtp.MORE) + ping(context=b"%d" % number) + frame(b"second"))
    for number in range(50):
        assert raw.recv_frame() == pong(b"%d" % number)
        assert pull.recv() == [b"first", b"second"]


@pytest.mark.parametrize("ttl_ms, expected", [(0, "04070450494e470000"),
                                              (1000, "04070450494e47000a")])
def test_heartbeats_are_sent(bench, binds, ttl_ms, expected):
    _, raw = bench.meet("PULL", binds, HEARTBEAT_IVL=50, HEARTBEAT_TTL=ttl_ms,
                        HEARTBEAT_TIMEOUT=5_000)
    raw.handshake("PUSH")
    for _ in range(3):
        assert raw.recv_frame().hex() == expected
        raw.send(pong())


def test_unanswered_heartbeat_closes_the_connection(bench):
    pull = bench.bound("PULL", HEARTBEAT_IVL=50, HEARTBEAT_TIMEOUT=100)
    raw = bench.dial()
    raw.handshake("PUSH")
    assert raw.expect_closed().startswith(ping())
    check_serving(bench, pull)


def test_caller_calls_again_after_silence(bench):
    pull, listener = bench.connected("PULL", HEARTBEAT_IVL=50, HEARTBEAT_TIMEOUT=100,
                                     RECONNECT_IVL=10)
    silent = bench.own(listener.accept(), "close")
    silent.handshake("PUSH")
    silent.expect_closed()
    raw = bench.own(listener.accept(), "close")
    raw.handshake("PUSH")
    raw.send(message(b"back"))
    assert pull.recv() == [b"back"]


@pytest.mark.zlink_only
def test_full_queue_is_not_taken_for_silence(bench):
    """Nothing is read while the application takes nothing, so there is nothing to conclude."""
    pull = bench.bound("PULL", RCVHWM=1, HEARTBEAT_IVL=100, HEARTBEAT_TIMEOUT=200)
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(message(b"first"))
    assert raw.recv_frame() == ping()
    raw.send(message(b"second"))
    for _ in range(6):
        assert raw.recv_frame() == ping()
    assert [pull.recv(), pull.recv()] == [[b"first"], [b"second"]]
    for _ in range(3):
        assert raw.recv_frame() == ping()
        raw.send(pong())
    assert raw.expect_closed().startswith(ping())


def test_time_to_live_closes_a_silent_connection(bench):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(ping(ttl_ds=2))
    assert raw.expect_closed() == pong()
    check_serving(bench, pull)


@pytest.mark.parametrize("data", [
    command(b"UNKNOWN", b"data"),
    command(b"READY", prop(b"Socket-Type", b"PUSH")),
    pong(b"unasked"),
], ids=["unknown", "second-ready", "unasked-pong"])
def test_foreign_commands_are_ignored(bench, binds, data):
    pull, raw = bench.meet("PULL", binds)
    raw.handshake("PUSH")
    raw.send(data + message(b"after"))
    assert pull.recv() == [b"after"]
    assert raw.is_alive()


@pytest.mark.parametrize("data", [
    frame(b"", zmtp.COMMAND),
    frame(b"\xc8PING", zmtp.COMMAND),
    frame(b"\x00", zmtp.COMMAND),
    frame(b"\x09SUBSCRIB", zmtp.COMMAND),
], ids=["empty", "name-too-long", "no-name", "cut-name"])
def test_malformed_commands_deliver_nothing(bench, data):
    """They may be ignored or end the connection."""
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(data)
    raw.is_alive()
    check_serving(bench, pull)


@pytest.mark.zlink_only
@pytest.mark.parametrize("body", [b"\x04PING", b"\x04PING\x00"], ids=["no-ttl", "half-ttl"])
def test_incomplete_ping_reveals_nothing(bench, body):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(frame(body, zmtp.COMMAND))
    try:
        raw.send(ping(context=b"next"))
        assert raw.recv_frame() == pong(b"next")
    except (Closed, BrokenPipeError, ConnectionResetError):
        pass  # closing is right as well
    check_serving(bench, pull)


@pytest.mark.zlink_only
def test_long_time_to_live_does_not_wrap(bench):
    """656 tenths of a second are no 64 ms."""
    bench.bound("PULL")
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(ping(ttl_ds=656))
    assert raw.recv_frame() == pong()
    assert raw.stays_silent(0.3)
    assert raw.is_alive()


@pytest.mark.zlink_only
def test_subscription_command_is_no_message_for_a_dealer(bench):
    dealer = bench.bound("DEALER")
    raw = bench.dial()
    raw.handshake("DEALER", identity=b"")
    raw.send(command(b"SUBSCRIBE", b"a") + message(b"real"))
    assert dealer.recv() == [b"real"]


# -- violations -------------------------------------------------------------------------------

BAD_GREETINGS = {
    "unknown-mechanism": greeting(mechanism=b"XXXX"),
    "lower-case-mechanism": greeting(mechanism=b"null"),
    "other-mechanism": greeting(mechanism=b"PLAIN"),
    "mechanism-padding": greeting(mechanism=b"NULL\0\0x"),
    "no-mechanism": greeting(mechanism=b""),
}

PUSH_TYPE = prop(b"Socket-Type", b"PUSH")
BAD_HANDSHAKES = {
    "value-past-end": command(b"READY", PUSH_TYPE[:-1]),
    "name-past-end": command(b"READY", PUSH_TYPE + b"\x20Ident"),
    "value-length-cut": command(b"READY", PUSH_TYPE + b"\x01X\x00\x00"),
    "huge-value-length": command(b"READY", PUSH_TYPE + b"\x01X\xff\xff\xff\xff1234"),
    "stray-byte": command(b"READY", PUSH_TYPE + b"\x07"),
    "unknown-type": command(b"READY", prop(b"Socket-Type", b"BOGUS")),
    "lower-case-type": command(b"READY", prop(b"Socket-Type", b"push")),
    "wrong-type": ready("PUB"),
    "same-type": ready("PULL"),
    "empty-type": command(b"READY", prop(b"Socket-Type", b"")),
    "other-command": command(b"READX", PUSH_TYPE),
    "hello-command": command(b"HELLO", b"\x05admin\x06secret"),
    "error-command": command(b"ERROR", b"\x03400"),
    "empty-command": frame(b"", zmtp.COMMAND),
    "message-instead": message(b"too early"),
    "frame-of-2^63": bytes([zmtp.COMMAND | zmtp.LONG]) + (1 << 63).to_bytes(8, "big"),
    "frame-of-2^64-1": bytes([zmtp.COMMAND | zmtp.LONG]) + b"\xff" * 8,
}

BAD_TRAFFIC = {
    "frame-of-2^63": bytes([zmtp.LONG]) + (1 << 63).to_bytes(8, "big") + b"body",
    "frame-of-2^64-1": bytes([zmtp.LONG]) + b"\xff" * 8 + b"body",
    "command-of-2^64-1": bytes([zmtp.LONG | zmtp.COMMAND]) + b"\xff" * 8 + b"body",
    "second-part-of-2^64-1": frame(b"first", zmtp.MORE) + bytes([zmtp.LONG]) + b"\xff" * 8,
}


@pytest.mark.parametrize("data", list(BAD_GREETINGS.values()), ids=list(BAD_GREETINGS))
def test_bad_greeting_is_refused(bench, data):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.send(data)
    raw.expect_closed()
    check_serving(bench, pull)


@pytest.mark.parametrize("data", list(BAD_HANDSHAKES.values()), ids=list(BAD_HANDSHAKES))
def test_bad_handshake_is_refused(bench, data):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.greet()
    raw.send(data)
    raw.expect_closed()
    check_serving(bench, pull)


@pytest.mark.zlink_only
@pytest.mark.parametrize("length", [1, 0x7fffffff, 0xffffffff])
def test_missing_property_value_is_refused(bench, length):
    """The metadata end right behind the length of a value that is not empty."""
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.greet()
    raw.send(command(b"READY", PUSH_TYPE + b"\x01X" + length.to_bytes(4, "big")))
    raw.expect_closed()
    check_serving(bench, pull)


@pytest.mark.parametrize("data", list(BAD_TRAFFIC.values()), ids=list(BAD_TRAFFIC))
def test_impossible_frame_closes_the_connection(bench, data):
    pull = bench.bound("PULL")
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(message(b"before") + data)
    assert pull.recv() == [b"before"]
    raw.expect_closed()
    check_serving(bench, pull)


def test_bad_peers_in_the_dialled_direction(bench):
    """The connecting socket survives a bad acceptor and serves others."""
    for data in (greeting(mechanism=b"XXXX"), greeting() + BAD_HANDSHAKES["stray-byte"],
                 greeting() + ready("PUSH") + BAD_TRAFFIC["frame-of-2^64-1"]):
        pull, listener = bench.connected("PULL")
        raw = bench.own(listener.accept(), "close")
        raw.send(data)
        raw.expect_closed()
        endpoint = bench.own(Endpoint(bench.transport), "release")
        pull.bind(endpoint.text)
        bench.address_ = endpoint.address
        check_serving(bench, pull)


@pytest.mark.parametrize("size, passes", [(999, True), (1000, True), (1001, False),
                                          (100_000, False)])
def test_size_limit(bench, size, passes):
    pull = bench.bound("PULL", MAXMSGSIZE=1000)
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(message(b"small"))
    try:
        raw.send(frame(b"x" * size))
    except (BrokenPipeError, ConnectionResetError):
        assert not passes  # closed on sight of the header
    assert pull.recv() == [b"small"]
    if passes:
        assert pull.recv() == [b"x" * size]
        assert raw.is_alive()
    else:
        raw.expect_closed()
    check_serving(bench, pull)


def test_size_limit_drops_the_whole_message(bench):
    pull = bench.bound("PULL", MAXMSGSIZE=1000)
    raw = bench.dial()
    raw.handshake("PUSH")
    raw.send(message(b"one", b"two", b"x" * 1001))
    raw.expect_closed()
    check_serving(bench, pull)


@pytest.mark.parametrize("kind, remote, strip", [("PULL", "PUSH", 0), ("DEALER", "DEALER", 0),
                                                 ("ROUTER", "DEALER", 1), ("REP", "REQ", 0)])
def test_truncated_message_is_not_delivered(bench, kind, remote, strip):
    """The connection ends at every place inside a multipart message."""
    server = bench.bound(kind)
    parts = [b"", b"one", b"x" * 300] if kind == "REP" else [b"one", b"", b"x" * 300]
    data = message(*parts)
    expected = parts[1:] if kind == "REP" else parts
    identity = b"" if remote in ("DEALER", "REQ") else None
    for cut in [*range(1, 12), 13, 14, 15, 16, 50, len(data) - 1]:
        raw = bench.dial()
        raw.handshake(remote, identity=identity)
        assert raw.is_alive()
        raw.send(data[:cut])
        raw.close()
    assert server.try_recv(50) is None
    good = bench.dial()
    good.handshake(remote, identity=identity)
    good.send(data)
    assert server.recv()[strip:] == expected
    if kind != "REP":  # which may not receive before it has answered
        assert server.try_recv(30) is None


def test_truncated_greeting_and_handshake(bench):
    pull = bench.bound("PULL")
    opening = greeting() + ready("PUSH")
    for cut in range(0, len(opening), 3):
        raw = bench.dial()
        raw.send(opening[:cut])
        raw.close()
    check_serving(bench, pull)


def test_other_protocols_deliver_nothing(bench):
    pull = bench.bound("PULL")
    for text in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", bytes(8)):
        raw = bench.dial()
        raw.send(text)
        raw.close()
    check_serving(bench, pull)


@pytest.mark.zlink_only
def test_routing_id_longer_than_255_bytes_is_refused(bench):
    router = bench.bound("ROUTER")
    raw = bench.dial()
    raw.greet()
    raw.send(ready("DEALER", b"i" * 300))
    raw.expect_closed()
    assert router.try_recv(30) is None
