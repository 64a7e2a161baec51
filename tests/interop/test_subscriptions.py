# SPDX-License-Identifier: Apache-2.0
"""Subscriptions: matching, cancelling, topics of critical lengths, reconnects.

XPUB stands for the publisher where the arrival of a subscription must be known.
"""

import pytest

import content
from harness import establish_flow, recv_nudging, PeerError

TOPIC_LENGTHS = [*range(245, 257), 1000]


@pytest.fixture(params=["XPUB.bind-SUB", "XPUB-SUB.bind"])
def xpub_sub(link, request):
    return link.pair("XPUB", "SUB", request.param == "XPUB.bind-SUB")


def subscribe(sub, xpub, *topics):
    """Subscribes and waits until the publisher knows."""
    for topic in topics:
        sub.set_option("SUBSCRIBE", topic)
        assert recv_nudging(xpub, sub) == [b"\x01" + topic]


def unsubscribe(sub, xpub, topic):
    sub.set_option("UNSUBSCRIBE", topic)
    assert recv_nudging(xpub, sub) == [b"\x00" + topic]


def publish(xpub, *messages):
    for parts in messages:
        xpub.send(*parts)


def test_prefix_matching(xpub_sub):
    xpub, sub = xpub_sub
    subscribe(sub, xpub, b"news.")
    publish(xpub, [b"news"], [b"weather.today", b"news.x"], [b"news."], [b"NEWS.x"],
            [b"news.today", b"body"], [b""], [b"news.tomorrow"])
    sub.expect(content.listed([b"news."], [b"news.today", b"body"], [b"news.tomorrow"]))


def test_empty_subscription_matches_everything(xpub_sub):
    xpub, sub = xpub_sub
    subscribe(sub, xpub, b"")
    publish(xpub, [b""], [b"", b"body"], [b"any"], [b"\x00"], [b"\xff" * 300])
    sub.expect(content.listed([b""], [b"", b"body"], [b"any"], [b"\x00"], [b"\xff" * 300]))


def test_without_subscription_nothing_arrives(xpub_sub):
    xpub, sub = xpub_sub
    publish(xpub, [b"lost"])
    subscribe(sub, xpub, b"kept")
    publish(xpub, [b"lost again"], [b"kept"])
    assert sub.recv() == [b"kept"]


def test_several_subscriptions_deliver_one_copy(xpub_sub):
    xpub, sub = xpub_sub
    subscribe(sub, xpub, b"a", b"ab", b"b", b"abc")
    publish(xpub, [b"abcd"], [b"c"], [b"b"], [b"a"], [b"end"], [b"ab"])
    sub.expect(content.listed([b"abcd"], [b"b"], [b"a"], [b"ab"]))


def test_unsubscribe(xpub_sub):
    xpub, sub = xpub_sub
    subscribe(sub, xpub, b"a", b"b", b"end")
    publish(xpub, [b"a1"], [b"b1"])
    sub.expect(content.listed([b"a1"], [b"b1"]))
    unsubscribe(sub, xpub, b"a")
    publish(xpub, [b"a2"], [b"b2"], [b"end"])
    sub.expect(content.listed([b"b2"], [b"end"]))
    subscribe(sub, xpub, b"a")
    publish(xpub, [b"a3"])
    assert sub.recv() == [b"a3"]


def test_identical_subscriptions_are_counted(xpub_sub):
    xpub, sub = xpub_sub
    subscribe(sub, xpub, b"a")
    sub.set_option("SUBSCRIBE", b"a")
    sub.set_option("UNSUBSCRIBE", b"a")
    sub.set_option("UNSUBSCRIBE", b"never subscribed")
    subscribe(sub, xpub, b"mark")
    publish(xpub, [b"a1"])
    assert sub.recv() == [b"a1"]
    unsubscribe(sub, xpub, b"a")
    publish(xpub, [b"a2"], [b"mark"])
    assert sub.recv() == [b"mark"]


def test_late_subscription(xpub_sub):
    xpub, sub = xpub_sub
    subscribe(sub, xpub, b"early")
    publish(xpub, [b"late 1"], [b"early 1"])
    assert sub.recv() == [b"early 1"]
    subscribe(sub, xpub, b"late")
    publish(xpub, [b"late 2"], [b"early 2"])
    sub.expect(content.listed([b"late 2"], [b"early 2"]))


def test_topics_of_critical_lengths(xpub_sub):
    """Around the border between short and long frames of commands and of messages."""
    xpub, sub = xpub_sub
    topics = [b"%04d" % size + b"t" * (size - 4) for size in TOPIC_LENGTHS]
    subscribe(sub, xpub, *topics)
    for topic in topics:
        publish(xpub, [topic[:-1]], [topic], [topic + b"longer"])
        sub.expect(content.listed([topic], [topic + b"longer"]))
    for topic in topics:
        unsubscribe(sub, xpub, topic)
    subscribe(sub, xpub, b"end")
    publish(xpub, *([topic] for topic in topics), [b"end"])
    assert sub.recv() == [b"end"]


def test_binary_topics(xpub_sub):
    xpub, sub = xpub_sub
    topics = [b"\x00", b"\x01", b"\x00\x00", b"\xff\xfe\x00\x01", bytes(range(256))]
    subscribe(sub, xpub, *topics)
    wanted = [[topic + b"\x00tail"] for topic in topics]
    publish(xpub, [b"\x02"], *wanted, [b"\xff\xfe\x00"])
    sub.expect(content.listed(*wanted))
    unsubscribe(sub, xpub, b"\x00")
    publish(xpub, [b"\x00\x05"], [b"\x00\x00\x05"])
    assert sub.recv() == [b"\x00\x00\x05"]


def test_many_subscriptions(xpub_sub):
    xpub, sub = xpub_sub
    topics = [b"topic/%03d/" % number for number in range(300)]
    subscribe(sub, xpub, b"connected")
    for topic in topics:
        sub.set_option("SUBSCRIBE", topic)
    xpub.expect(content.listed(*([b"\x01" + topic] for topic in topics)))
    wanted = [[topic, b"body"] for topic in topics]
    xpub.send_all(content.listed(*wanted))
    sub.expect(content.listed(*wanted))


def test_departure_cancels_subscriptions(link):
    xpub, sub = link.bind("XPUB"), link.connect("SUB")
    subscribe(sub, xpub, b"a", b"b")
    sub.kill()
    assert sorted([xpub.recv(), xpub.recv()]) == [[b"\x00a"], [b"\x00b"]]


def test_bound_sub_with_connecting_pub(link):
    pub, sub = link.pair("PUB", "SUB", False, {}, {"SUBSCRIBE": b"t"})
    establish_flow(pub, sub, prefix=b"t")
    publish(pub, [b"u lost"], [b"t one"], [b"t two", b"body"])
    sub.expect(content.listed([b"t one"], [b"t two", b"body"]))


def test_bound_sub_hears_several_publishers(link):
    sub = link.bind("SUB", SUBSCRIBE=b"")
    pubs = [link.connect("PUB") for _ in range(3)]
    for number, pub in enumerate(pubs):
        establish_flow(pub, sub, prefix=b"%d " % number)
    sub.start_collect(3 * 100)
    for number, pub in enumerate(pubs):
        pub.send_all(content.series(f"p{number}", 100))
    assert sub.result() == {f"p{number}": list(range(100)) for number in range(3)}


@pytest.mark.parametrize("publisher", ["PUB", "XPUB"])
def test_resubscription_after_restart_of_the_publisher(link, publisher):
    topics = [b"a", b"b", b"\x00long" + b"x" * 300]
    first = link.bind(publisher)
    sub = link.connect("SUB", RECONNECT_IVL=20)
    for topic in [*topics, b"cancelled"]:
        sub.set_option("SUBSCRIBE", topic)
    sub.set_option("UNSUBSCRIBE", b"cancelled")
    establish_flow(first, sub, prefix=b"a")
    first.kill()
    second = link.bind(publisher)
    if publisher == "XPUB":
        received = sorted(recv_nudging(second, sub) for _ in topics)
        assert received == sorted([b"\x01" + topic] for topic in topics)
    else:
        establish_flow(second, sub, prefix=b"b")
    publish(second, [b"cancelled"], *([topic] for topic in topics))
    sub.expect(content.listed(*([topic] for topic in topics)))


def test_subscriptions_reach_a_publisher_that_restarts_and_connects(link):
    sub = link.bind("SUB", SUBSCRIBE=b"x")
    first = link.connect("XPUB")
    assert recv_nudging(first, sub) == [b"\x01x"]
    first.kill()
    second = link.connect("XPUB")
    assert recv_nudging(second, sub) == [b"\x01x"]
    publish(second, [b"y"], [b"x1"])
    assert sub.recv() == [b"x1"]


def test_xpub_verbosity(link):
    """Without the option only the first of equal subscriptions is passed up, with it each."""
    xpub = link.bind("XPUB")
    one, two = link.connect("SUB"), link.connect("SUB")
    subscribe(one, xpub, b"same")
    two.set_option("SUBSCRIBE", b"same")
    subscribe(two, xpub, b"own")
    xpub.set_option("XPUB_VERBOSE", 1)
    subscribe(two, xpub, b"same")


def test_welcome_message(link):
    sub = link.connect("SUB", SUBSCRIBE=b"welcome")
    xpub = link.bind("XPUB", XPUB_WELCOME_MSG=b"welcome!")
    assert recv_nudging(sub, xpub) == [b"welcome!"]


def test_publisher_cannot_receive_and_subscriber_cannot_send(link):
    pub, sub = link.bind("PUB"), link.connect("SUB")
    for action in (lambda: pub.recv(100), lambda: sub.send(b"x", timeout_ms=100)):
        with pytest.raises(PeerError) as failure:
            action()
        assert failure.value.name == "ENOTSUP"


@pytest.mark.zlink_only
def test_upstream_multipart_message_stays_whole(link):
    """Parts after the first may look like subscriptions."""
    link.skip_unless_zlink(link.binder, link.connector)
    xpub, xsub = link.pair("XPUB", "XSUB", True)
    xsub.send(b"\x05a", b"\x01b", b"c")
    assert xpub.recv() == [b"\x05a", b"\x01b", b"c"]


def test_subscribers_come_and_go(link):
    xpub = link.bind("XPUB")
    for number in range(3):
        sub = link.connect("SUB", SUBSCRIBE=b"s")
        assert xpub.recv() == [b"\x01s"]
        xpub.send(b"s%d" % number)
        assert sub.recv() == [b"s%d" % number]
        sub.kill()
        assert xpub.recv() == [b"\x00s"]
