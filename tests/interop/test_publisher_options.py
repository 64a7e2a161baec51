# SPDX-License-Identifier: Apache-2.0
"""Options of publishers and of request sockets, with the other library as the peer."""

import pytest

from harness import PeerError, recv_nudging


def request_of(publisher, subscriber, topic):
    """One subscription the publisher decides about itself."""
    subscriber.set_option("SUBSCRIBE", topic)
    assert recv_nudging(publisher, subscriber) == [b"\x01" + topic]


def test_manual_publisher_gives_other_topics_than_were_asked_for(link):
    publisher = link.bind("XPUB", XPUB_MANUAL=1)
    subscriber = link.connect("SUB")
    request_of(publisher, subscriber, b"")
    publisher.set_option("SUBSCRIBE", b"given")
    publisher.send(b"asked for")
    publisher.send(b"given 1")
    assert subscriber.recv() == [b"given 1"]
    publisher.set_option("UNSUBSCRIBE", b"given")
    publisher.set_option("SUBSCRIBE", b"mark")
    publisher.send(b"given 2")
    publisher.send(b"mark")
    assert subscriber.recv() == [b"mark"]


def test_manual_publisher_hears_what_a_leaving_peer_had_requested(link):
    publisher = link.bind("XPUB", XPUB_MANUAL=1)
    stays, leaves = link.connect("SUB"), link.connect("SUB")
    for subscriber in stays, leaves:
        request_of(publisher, subscriber, b"g")
        publisher.set_option("SUBSCRIBE", b"given")
    leaves.kill()
    assert publisher.recv() == [b"\x00g"]
    publisher.send(b"given")
    assert stays.recv() == [b"given"]


def test_last_value_is_for_the_newcomer_only(link):
    publisher = link.bind("XPUB", XPUB_MANUAL_LAST_VALUE=1)
    subscribers = []
    for number in range(3):
        subscribers.append(link.connect("SUB"))
        request_of(publisher, subscribers[-1], b"T")
        publisher.set_option("SUBSCRIBE", b"T")
        publisher.send(b"T cached", b"%d" % number)
        assert subscribers[-1].recv() == [b"T cached", b"%d" % number]
    publisher.send(b"T for all")
    for subscriber in subscribers:
        assert subscriber.recv() == [b"T for all"]


@pytest.mark.parametrize("binder", ["XPUB", "SUB"])
def test_inverted_matching(link, binder):
    publisher, subscriber = link.pair("XPUB", "SUB", binder == "XPUB", {"INVERT_MATCHING": 1},
                                      {"INVERT_MATCHING": 1})
    request_of(publisher, subscriber, b"a")
    for text in b"a", b"abc", b"", b"b":
        publisher.send(text, b"body")
    assert subscriber.recv() == [b"", b"body"]
    assert subscriber.recv() == [b"b", b"body"]


def test_verboser_shows_everybody(link):
    publisher = link.bind("XPUB", XPUB_VERBOSER=1)
    subscribers = [link.connect("SUB") for _ in range(2)]
    for subscriber in subscribers:
        request_of(publisher, subscriber, b"same")
    subscribers[0].set_option("UNSUBSCRIBE", b"same")
    assert publisher.recv() == [b"\x00same"]
    subscribers[1].kill()
    assert publisher.recv() == [b"\x00same"]


def test_publisher_without_drop_waits_for_a_slow_subscriber(link):
    publisher = link.bind("XPUB", XPUB_NODROP=1, SNDHWM=10, SNDBUF=8192)
    subscriber = link.connect("SUB", RCVHWM=10, RCVBUF=8192)
    request_of(publisher, subscriber, b"")
    accepted = 0
    with pytest.raises(PeerError) as failure:
        for accepted in range(10_000):
            publisher.send_now(b"%d" % accepted, bytes(10_000))
    assert failure.value.name == "EAGAIN"
    for number in range(accepted):
        assert subscriber.recv() == [b"%d" % number, bytes(10_000)]


def test_retried_requests_take_no_late_reply(link):
    req = link.bind("REQ", REQ_RELAXED=1, REQ_CORRELATE=1)
    servers = [link.connect("ROUTER", ROUTING_ID=b"s%d" % number) for number in range(2)]
    asked = []
    for number in range(20):
        req.send(b"question %d" % number)
        server = next(server for _ in range(1000) for server in servers if server.poll("in", 10))
        asked.append((server, server.recv()))
    for server, (routing_id, *envelope, _) in asked[:-1]:
        server.send(routing_id, *envelope, b"late")
    server, (routing_id, *envelope, question) = asked[-1]
    assert question == b"question 19"
    server.send(routing_id, *envelope, b"in time")
    # The genuine library refuses once for each reply it has skipped when it does not wait.
    assert req.recv() == [b"in time"]


def test_id_is_taken_over_while_others_are_read(link):
    router = link.bind("ROUTER", ROUTER_HANDOVER=1)
    for number in range(5):
        dealer = link.connect("DEALER", ROUTING_ID=b"same", RECONNECT_IVL=-1)
        dealer.send(b"from %d" % number, b"more")
        assert router.recv() == [b"same", b"from %d" % number, b"more"]
        router.send(b"same", b"to %d" % number)
        assert dealer.recv() == [b"to %d" % number]
