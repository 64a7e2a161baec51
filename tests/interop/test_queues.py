# SPDX-License-Identifier: Apache-2.0
"""High-water marks, back-pressure and lingering."""

import pytest

import content
from harness import PeerError

HWM = 10
BODY_BYTES = 65_536


@pytest.mark.parametrize("sender_kind, receiver_kind", [("PUSH", "PULL"), ("DEALER", "DEALER"),
                                                        ("PAIR", "PAIR"), ("DEALER", "ROUTER")])
@pytest.mark.parametrize("sender_binds", [True, False], ids=["sender-binds", "receiver-binds"])
def test_full_queue_refuses_and_loses_nothing(link, sender_kind, receiver_kind, sender_binds):
    sender, receiver = link.pair(sender_kind, receiver_kind, sender_binds, {"SNDHWM": HWM},
                                 {"RCVHWM": HWM})
    assert sender.poll("out", 10_000)
    flooded = sender.flood("full", BODY_BYTES)
    assert flooded["refusal"] == "EAGAIN"
    accepted = flooded["accepted"]
    assert accepted >= HWM
    strip = 1 if receiver_kind == "ROUTER" else 0
    collected = receiver.start_collect(accepted, strip=strip).result()
    assert collected == {"full": list(range(accepted))}
    assert receiver.try_recv(50) is None
    # The sender has room again.
    assert sender.poll("out", 10_000)
    sender.send(b"room|0|")
    assert receiver.recv()[strip:] == [b"room|0|"]


def test_mandatory_router_refuses_when_the_peer_is_full(link):
    router = link.bind("ROUTER", ROUTER_MANDATORY=1, SNDHWM=HWM)
    dealer = link.connect("DEALER", ROUTING_ID=b"d", RCVHWM=HWM)
    dealer.send(b"here I am")
    assert router.recv() == [b"d", b"here I am"]
    flooded = router.flood("full", BODY_BYTES, envelope=[b"d"])
    assert flooded["refusal"] == "EAGAIN"
    assert flooded["accepted"] >= HWM
    collected = dealer.start_collect(flooded["accepted"]).result()
    assert collected == {"full": list(range(flooded["accepted"]))}


def test_slow_subscriber_misses_messages_but_fast_one_gets_all(link):
    count = 3_000
    xpub = link.bind("XPUB", SNDHWM=HWM, XPUB_VERBOSE=1)
    slow = link.connect("SUB", RCVHWM=HWM, SUBSCRIBE=b"")
    fast = link.connect("SUB", RCVHWM=0, SUBSCRIBE=b"f")
    for _ in range(2):
        xpub.recv()
    # Only the slow one takes these; its queues fill and the rest is dropped.
    xpub.send_all(content.series("slow", count, size=16_384), timeout_ms=20_000)
    xpub.send(b"f")
    assert fast.recv() == [b"f"]
    numbers = []
    while (parts := slow.try_recv(200)) is not None:
        if parts != [b"f"]:
            numbers.append(content.parse_numbered(parts[0])[1])
    assert len(numbers) >= HWM
    assert len(numbers) < count
    assert numbers == sorted(set(numbers))


def test_send_timeout_without_peer(link):
    push = link.connect("PUSH", SNDHWM=5)
    for number in range(5):
        push.send_now(b"%d" % number)
    with pytest.raises(PeerError) as failure:
        push.send_now(b"too much")
    assert failure.value.name == "EAGAIN"
    with pytest.raises(PeerError) as failure:
        push.send(b"too much", timeout_ms=50)
    assert failure.value.name == "EAGAIN"
    pull = link.bind("PULL")
    pull.expect(content.listed(*([b"%d" % number] for number in range(5))))
    assert pull.try_recv(50) is None


@pytest.mark.parametrize("push_binds", [True, False], ids=["PUSH.bind", "PULL.bind"])
def test_close_and_term_right_after_sending_delivers_all(link, push_binds):
    push, pull = link.pair("PUSH", "PULL", push_binds, {"SNDHWM": 0}, {"RCVHWM": 0})
    assert push.poll("out", 10_000)
    spec = content.series("lingering", 20_000)
    push.send_all(spec)
    push.finish(linger_ms=-1)
    pull.expect(spec)


def test_large_messages_linger(link):
    push, pull = link.pair("PUSH", "PULL", False)
    spec = content.series("lingering", 30, size=1_000_000)
    push.send_all(spec)
    pull.start_expect(spec)
    push.finish(linger_ms=-1)
    pull.result()


def test_lingering_waits_for_a_peer_that_comes_later(link):
    push = link.connect("PUSH", RECONNECT_IVL=20)
    spec = content.series("lingering", 500)
    push.send_all(spec)
    push.start_finish(linger_ms=-1)
    link.bind("PULL").expect(spec)
    push.finish_result()


def test_replies_linger(link):
    """A ROUTER answers many requests and goes at once."""
    router, dealer = link.bind("ROUTER"), link.connect("DEALER")
    spec = content.series("ask", 500)
    dealer.send_all(spec)
    router.start_echo(spec, strip=1).result()
    router.finish(linger_ms=-1)
    dealer.expect(spec)


@pytest.mark.parametrize("linger_ms, least_ms, most_ms", [(0, 0, 5_000), (300, 250, 5_000)])
def test_linger_is_limited_without_peer(link, linger_ms, least_ms, most_ms):
    push = link.connect("PUSH")
    push.send(b"nobody will read this")
    assert least_ms <= push.finish(linger_ms=linger_ms) <= most_ms


def test_unread_peer_does_not_block_linger_zero(link):
    push, pull = link.pair("PUSH", "PULL", False, {"SNDHWM": 0}, {"RCVHWM": 1})
    push.send_all(content.series("unread", 200, size=BODY_BYTES))
    assert pull.poll("in", 10_000)
    assert push.finish(linger_ms=0) < 5_000
