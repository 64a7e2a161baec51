# SPDX-License-Identifier: Apache-2.0
"""One side dies by SIGKILL and is started again on the same endpoint; connect before bind."""

import pytest

import content
from harness import PeerError, attempts, establish_flow, establish_round_trip

LAST = b"last probe"
FAST = {"RECONNECT_IVL": 20}


def check_round_trips(client, server, spec):
    """Synchronises with probes, then every message must come back."""
    server.start_echo_until(LAST)
    establish_round_trip(client, LAST)
    server.result()
    server.start_echo(spec, strip=1)
    assert client.request(spec) == content.length(spec)
    server.result()


def check_flow(sender, receiver, spec):
    establish_flow(sender, receiver)
    receiver.start_expect(spec)
    sender.send_all(spec)
    receiver.result()


def test_router_binds_and_is_restarted(link):
    router, dealer = link.bind("ROUTER"), link.connect("DEALER", **FAST)
    check_round_trips(dealer, router, content.series("before", 100))
    for generation in range(2):
        router.kill()
        router = link.bind("ROUTER")
        check_round_trips(dealer, router, content.series(f"after {generation}", 100))


def test_connecting_dealer_is_restarted(link):
    router = link.bind("ROUTER")
    for generation in range(3):
        dealer = link.connect("DEALER")
        check_round_trips(dealer, router, content.series(f"generation {generation}", 100))
        dealer.kill()


def test_connecting_dealer_is_restarted_with_its_routing_id(link):
    router = link.bind("ROUTER", ROUTER_HANDOVER=1)
    for generation in range(3):
        dealer = link.connect("DEALER", ROUTING_ID=b"same")
        check_round_trips(dealer, router, content.series(f"generation {generation}", 100))
        dealer.kill()


def test_connecting_router_is_restarted(link):
    """The bound DEALER stays."""
    dealer = link.bind("DEALER")
    for generation in range(2):
        router = link.connect("ROUTER")
        check_round_trips(dealer, router, content.series(f"generation {generation}", 100))
        router.kill()


@pytest.mark.parametrize("push_binds", [True, False], ids=["PUSH.bind", "PULL.bind"])
@pytest.mark.parametrize("push_dies", [True, False], ids=["PUSH-killed", "PULL-killed"])
def test_pipeline(link, push_binds, push_dies):
    def start(kind, binds):
        return link.bind(kind) if binds else link.connect(kind, **FAST)

    push, pull = start("PUSH", push_binds), start("PULL", not push_binds)
    check_flow(push, pull, content.series("before", 100))
    if push_dies:
        push.kill()
        push = start("PUSH", push_binds)
    else:
        pull.kill()
        pull = start("PULL", not push_binds)
    check_flow(push, pull, content.series("after", 100))


def test_publisher_restarts(link):
    sub = link.connect("SUB", SUBSCRIBE=b"", **FAST)
    for generation in range(3):
        pub = link.bind("PUB")
        check_flow(pub, sub, content.series(f"generation {generation}", 100))
        pub.kill()


def test_bound_rep_is_restarted(link):
    """A relaxed REQ survives the loss of an answer."""
    req = link.connect("REQ", REQ_RELAXED=1, REQ_CORRELATE=1, **FAST)
    for generation in range(2):
        rep = link.bind("REP")
        rep.start_echo_until(LAST)
        establish_round_trip(req, LAST)
        rep.result()
        rep.start_echo(content.series(f"generation {generation}", 50))
        req.request(content.series(f"generation {generation}", 50), window=1)
        rep.result()
        rep.kill()


@pytest.mark.parametrize("a, b", [("PUSH", "PULL"), ("DEALER", "DEALER"), ("PAIR", "PAIR"),
                                  ("DEALER", "REP"), ("REQ", "REP"), ("DEALER", "ROUTER")])
def test_connect_before_bind(link, a, b):
    """What was sent before the peer exists is delivered once it comes, in order."""
    early = link.connect(a, **FAST)
    count = 1 if a == "REQ" else 300
    spec = content.series("early", count)
    early.send_all(spec, envelope=[b""] if (a, b) == ("DEALER", "REP") else [])
    late = link.bind(b)
    if b == "REP":
        late.start_echo(spec).result()
        assert early.expect(spec, strip=0 if a == "REQ" else 1) in ([[]], [[""]])
    else:
        late.expect(spec, strip=1 if b == "ROUTER" else 0)


def test_messages_sent_while_the_peer_is_away(link):
    push = link.connect("PUSH", **FAST)
    first = link.bind("PULL")
    check_flow(push, first, content.series("before", 10))
    first.kill()
    # Some of these may still be lost in the dying connection, but only from the front.
    push.send_all(content.series("away", 300))
    second = link.bind("PULL")
    push.send(b"end|0|")
    numbers = []
    while (parts := second.recv()) != [b"end|0|"]:
        numbers.append(content.parse_numbered(parts[0])[1])
    assert numbers == list(range(300 - len(numbers), 300))


def test_immediate_sends_only_to_completed_connections(link):
    push = link.connect("PUSH", IMMEDIATE=1, **FAST)
    assert not push.poll("out", 50)
    pull = link.bind("PULL")
    assert push.poll("out", 10_000)
    pull.start_expect(content.series("work", 100))
    push.send_all(content.series("work", 100))
    pull.result()


def test_several_endpoints_on_one_socket(link):
    """A PULL that binds two endpoints and a PUSH that connects to both."""
    second = link.new_endpoint()
    pull, push = link.bind("PULL"), link.connect("PUSH")
    pull.bind(second)
    push.connect(second)
    pull.start_collect(400)
    push.send_all(content.series("work", 400))
    assert sorted(pull.result()["work"]) == list(range(400))


def test_disconnect_and_connect_again(link):
    pull, push = link.bind("PULL"), link.connect("PUSH")
    check_flow(push, pull, content.series("first", 100))
    push.call("disconnect", endpoint=link.endpoint)
    assert not push.poll("out", 50)
    push.connect(link.endpoint)
    check_flow(push, pull, content.series("second", 100))


def wait_until_disconnected(watched, binder):
    """Waits until `watched`, whose monitor is on, reports that its connection has ended.

    The genuine library ends an accepted connection some time after the unbind, when the binder
    enters its socket again; what is sent to the connection until then is lost.
    """
    for _ in attempts():
        binder.poll("in", 10)
        try:
            told = watched.call("monitor_events", count=1, timeout_ms=10)
        except PeerError:
            continue
        if told[0]["name"] == "DISCONNECTED":
            return


def test_unbind_and_bind_again(link):
    pull, push = link.bind("PULL"), link.connect("PUSH", **FAST)
    check_flow(push, pull, content.series("first", 100))
    push.call("monitor")
    pull.call("unbind", endpoint=link.endpoint)
    wait_until_disconnected(push, pull)
    link.bind_again(pull)
    check_flow(push, pull, content.series("second", 100))
