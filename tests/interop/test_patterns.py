# SPDX-License-Identifier: Apache-2.0
"""Every classic pattern: numbered messages, multipart shapes and sizes, checked byte by byte."""

import pytest

import content
from harness import attempts, establish_flow, recv_nudging, PeerError

COUNT = 500
UNLIMITED = {"SNDHWM": 0, "RCVHWM": 0}
SUBSCRIBE_ALL = {"SUBSCRIBE": b""}
TIMEOUT_MS = 20_000

CONTENTS = {
    "series": lambda tag: content.series(tag, COUNT),
    "shapes": content.shapes,
    "sizes": content.sizes,
}


def both_orders(*pairs):
    """Parameters (type a, type b, a binds); one order is enough for equal types."""
    orders = []
    for a, b in pairs:
        orders.append(pytest.param(a, b, True, id=f"{a}.bind-{b}"))
        if a != b:
            orders.append(pytest.param(a, b, False, id=f"{a}-{b}.bind"))
    return orders


def transfer(sender, receiver, spec):
    receiver.start_expect(spec, timeout_ms=TIMEOUT_MS)
    sender.send_all(spec, timeout_ms=TIMEOUT_MS)
    receiver.result()


def converse(client, server, spec, envelope=(), strip=0, window=100):
    """The client sends every message and gets it back from the server."""
    server.start_echo(spec, strip=strip, timeout_ms=TIMEOUT_MS)
    answered = client.request(spec, envelope=envelope, window=window, timeout_ms=TIMEOUT_MS)
    assert answered == content.length(spec)
    server.result()


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("PAIR", "PAIR"), ("DEALER", "DEALER")))
def test_both_directions(link, a, b, a_binds, make_spec):
    left, right = link.pair(a, b, a_binds)
    transfer(left, right, make_spec("left"))
    transfer(right, left, make_spec("right"))
    # Both directions at once.
    right.start_echo(make_spec("echo"), timeout_ms=TIMEOUT_MS)
    left.request(make_spec("echo"), window=50, timeout_ms=TIMEOUT_MS)
    right.result()


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("PUSH", "PULL")))
def test_pipeline(link, a, b, a_binds, make_spec):
    push, pull = link.pair(a, b, a_binds)
    transfer(push, pull, make_spec("work"))


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("PUB", "SUB")))
def test_publish_subscribe(link, a, b, a_binds, make_spec):
    pub, sub = link.pair(a, b, a_binds, UNLIMITED, UNLIMITED | SUBSCRIBE_ALL)
    establish_flow(pub, sub)
    transfer(pub, sub, make_spec("news"))


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("XPUB", "XSUB")))
def test_extended_publish_subscribe(link, a, b, a_binds, make_spec):
    xpub, xsub = link.pair(a, b, a_binds, UNLIMITED, UNLIMITED)
    xsub.send(b"\x01")
    assert recv_nudging(xpub, xsub) == [b"\x01"]
    transfer(xpub, xsub, make_spec("news"))


@pytest.mark.parametrize("a, b, a_binds", both_orders(("XPUB", "XSUB")))
def test_upstream_user_messages(link, a, b, a_binds):
    xpub, xsub = link.pair(a, b, a_binds)
    xsub.send(b"\x01")
    assert recv_nudging(xpub, xsub) == [b"\x01"]
    transfer(xsub, xpub, content.series("up", COUNT))
    transfer(xsub, xpub, content.shapes("up"))


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("REQ", "REP"), ("REQ", "ROUTER")))
def test_lockstep_request(link, a, b, a_binds, make_spec):
    req, server = link.pair(a, b, a_binds)
    converse(req, server, make_spec("ask"), strip=2 if b == "ROUTER" else 0, window=1)


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("DEALER", "REP")))
def test_pipelined_requests_to_rep(link, a, b, a_binds, make_spec):
    dealer, rep = link.pair(a, b, a_binds)
    converse(dealer, rep, make_spec("ask"), envelope=[b""])


def test_rep_returns_a_long_envelope(link):
    dealer, rep = link.connect("DEALER"), link.bind("REP")
    hops = [b"hop one", b"\x00" * 5, b"x" * 300]
    converse(dealer, rep, content.series("ask", 20), envelope=[*hops, b""])
    # No delimiter: dropped, and the next request is served.
    dealer.send(b"no", b"delimiter")
    converse(dealer, rep, content.series("again", 1), envelope=[b""])


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("DEALER", "ROUTER")))
def test_dealer_router(link, a, b, a_binds, make_spec):
    dealer, router = link.pair(a, b, a_binds, {"ROUTING_ID": b"worker"}, {"ROUTER_MANDATORY": 1})
    converse(dealer, router, make_spec("ask"), strip=1)
    spec = make_spec("unasked")
    dealer.start_expect(spec, timeout_ms=TIMEOUT_MS)
    router.send_all(spec, envelope=[b"worker"], timeout_ms=TIMEOUT_MS)
    dealer.result()


@pytest.mark.parametrize("make_spec", list(CONTENTS.values()), ids=list(CONTENTS))
@pytest.mark.parametrize("a, b, a_binds", both_orders(("ROUTER", "ROUTER")))
def test_router_router(link, a, b, a_binds, make_spec):
    left, right = link.pair(a, b, a_binds, {"ROUTING_ID": b"left", "ROUTER_MANDATORY": 1},
                            {"ROUTING_ID": b"right", "ROUTER_MANDATORY": 1})
    establish_flow(right, left, strip=1, envelope=[b"left"])
    converse(left, right, make_spec("ask"), envelope=[b"right"], strip=1)


@pytest.mark.parametrize("options", [{"REQ_CORRELATE": 1}, {"REQ_CORRELATE": 1, "REQ_RELAXED": 1}],
                         ids=["correlate", "relaxed"])
def test_req_options_with_rep(link, options):
    req, rep = link.pair("REQ", "REP", False, options)
    converse(req, rep, content.series("ask", 50), window=1)


def test_relaxed_req_asks_again(link):
    req, router = link.pair("REQ", "ROUTER", False, {"REQ_CORRELATE": 1, "REQ_RELAXED": 1})
    req.send(b"first")
    first = router.recv()
    assert first[2:] == [b"", b"first"] and len(first[1]) == 4
    req.send(b"second")
    second = router.recv()
    assert second[2:] == [b"", b"second"]
    assert int.from_bytes(second[1], "little") == (int.from_bytes(first[1], "little") + 1) % 2**32
    router.send(*first)
    router.send(*second)
    assert req.recv() == [b"second"]


def test_state_machines(link):
    req, rep = link.connect("REQ"), link.bind("REP")
    for peer, operation in ((req, "recv"), (rep, "send")):
        with pytest.raises(PeerError) as failure:
            peer.recv() if operation == "recv" else peer.send(b"early")
        assert failure.value.name == "EFSM"
    req.send(b"ask")
    with pytest.raises(PeerError) as failure:
        req.send(b"again")
    assert failure.value.name == "EFSM"
    assert rep.recv() == [b"ask"]
    with pytest.raises(PeerError) as failure:
        rep.recv()
    assert failure.value.name == "EFSM"
    rep.send(b"answer")
    assert req.recv() == [b"answer"]


def test_second_pair_peer_is_not_heard(link):
    first, bound = link.connect("PAIR"), link.bind("PAIR")
    converse(first, bound, content.series("first", 10))
    second = link.connect("PAIR")
    second.send(b"from the second")
    converse(first, bound, content.series("still first", 100))
    assert bound.try_recv(50) is None


def test_newcomer_replaces_a_gone_pair_peer(link):
    bound = link.bind("PAIR", SNDHWM=10)
    first = link.connect("PAIR")
    converse(first, bound, content.series("first", 10))
    first.finish()
    # The departure is known to the bound side only some time later: connect until accepted.
    for number in attempts():
        newcomer = link.connect("PAIR")
        newcomer.send(b"newcomer %d" % number)
        if bound.try_recv(100) == [b"newcomer %d" % number]:
            break
        newcomer.finish()
    converse(newcomer, bound, content.series("second", 10))
