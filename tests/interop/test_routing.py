# SPDX-License-Identifier: Apache-2.0
"""Routing ids of ROUTER and its peers."""

import pytest

import content
from harness import attempts, establish_flow, PeerError


def echo_one(client, router, expected_id=None):
    """One message each way; returns the routing id the router saw."""
    client.send(b"hello")
    routing_id, *parts = router.recv()
    assert parts == [b"hello"]
    if expected_id is not None:
        assert routing_id == expected_id
    router.send(routing_id, b"welcome")
    assert client.recv() == [b"welcome"]
    return routing_id


@pytest.mark.parametrize("routing_id", [b"a", b"named", b"\x01\x02\x00\xff", b"i" * 255],
                         ids=["one", "text", "binary", "255"])
@pytest.mark.parametrize("router_binds", [True, False], ids=["ROUTER.bind", "DEALER.bind"])
def test_explicit_id(link, routing_id, router_binds):
    router, dealer = link.pair("ROUTER", "DEALER", router_binds, {}, {"ROUTING_ID": routing_id})
    echo_one(dealer, router, routing_id)


def test_req_announces_its_id(link):
    router, req = link.bind("ROUTER"), link.connect("REQ", ROUTING_ID=b"asker")
    req.send(b"question")
    assert router.recv() == [b"asker", b"", b"question"]
    router.send(b"asker", b"", b"answer")
    assert req.recv() == [b"answer"]


def test_automatic_ids(link):
    router = link.bind("ROUTER")
    dealers = [link.connect("DEALER") for _ in range(3)]
    ids = [echo_one(dealer, router) for dealer in dealers]
    assert len(set(ids)) == 3
    assert all(len(routing_id) == 5 and routing_id[0] == 0 for routing_id in ids)
    for dealer, routing_id in reversed(list(zip(dealers, ids))):
        router.send(routing_id, b"to " + routing_id)
        assert dealer.recv() == [b"to " + routing_id]


def test_connect_routing_id_names_the_peer(link):
    dealer = link.bind("DEALER", ROUTING_ID=b"announced")
    router = link.connect("ROUTER", CONNECT_ROUTING_ID=b"chosen", ROUTER_MANDATORY=1)
    establish_flow(router, dealer, envelope=[b"chosen"])
    dealer.send(b"hello")
    assert router.recv() == [b"chosen", b"hello"]


def test_mandatory_router_reports_unknown_peers(link):
    router = link.bind("ROUTER", ROUTER_MANDATORY=1)
    with pytest.raises(PeerError) as failure:
        router.send_now(b"nobody", b"text")
    assert failure.value.name == "EHOSTUNREACH"
    dealer = link.connect("DEALER", ROUTING_ID=b"known")
    echo_one(dealer, router, b"known")
    with pytest.raises(PeerError) as failure:
        router.send_now(b"nobody", b"text")
    assert failure.value.name == "EHOSTUNREACH"
    dealer.kill()
    for _ in attempts():
        try:
            router.send_now(b"known", b"text")
        except PeerError as error:
            assert error.name == "EHOSTUNREACH"
            break
        router.poll("in", 5)


def test_plain_router_drops_for_unknown_peers(link):
    router, dealer = link.bind("ROUTER"), link.connect("DEALER", ROUTING_ID=b"known")
    router.send_now(b"nobody", b"text")
    router.send_now(b"nobody", b"two", b"parts")
    echo_one(dealer, router, b"known")
    router.send_now(b"nobody", b"text")
    router.send(b"known", b"after")
    assert dealer.recv() == [b"after"]


def test_id_alone_is_no_message(link):
    router, dealer = link.bind("ROUTER"), link.connect("DEALER", ROUTING_ID=b"known")
    echo_one(dealer, router, b"known")
    router.send(b"known")
    router.send(b"known", b"real")
    assert dealer.recv() == [b"real"]


def test_duplicate_id_is_ignored_without_handover(link):
    router = link.bind("ROUTER")
    first = link.connect("DEALER", ROUTING_ID=b"same")
    echo_one(first, router, b"same")
    second = link.connect("DEALER", ROUTING_ID=b"same")
    second.send(b"not heard")
    # A third peer that comes later is served, so the second has had its turn.
    third = link.connect("DEALER", ROUTING_ID=b"other")
    echo_one(third, router, b"other")
    echo_one(first, router, b"same")
    assert router.try_recv(50) is None
    assert second.try_recv(0) is None


def test_duplicate_id_takes_over_with_handover(link):
    router = link.bind("ROUTER", ROUTER_HANDOVER=1)
    # The first must not come back and take the id again.
    first = link.connect("DEALER", ROUTING_ID=b"same", RECONNECT_IVL=-1)
    echo_one(first, router, b"same")
    second = link.connect("DEALER", ROUTING_ID=b"same")
    echo_one(second, router, b"same")
    router.send(b"same", b"for the second")
    assert second.recv() == [b"for the second"]
    assert first.try_recv(50) is None


def test_probe_router(link):
    router = link.bind("ROUTER")
    dealer = link.connect("DEALER", ROUTING_ID=b"prober", PROBE_ROUTER=1)
    assert router.recv() == [b"prober", b""]
    router.send(b"prober", b"unasked")
    assert dealer.recv() == [b"unasked"]


def test_probing_routers(link):
    bound = link.bind("ROUTER", ROUTING_ID=b"bound")
    connected = link.connect("ROUTER", ROUTING_ID=b"connected", PROBE_ROUTER=1)
    assert bound.recv() == [b"connected", b""]
    spec = content.series("unasked", 100)
    connected.start_expect(spec, strip=1)
    bound.send_all(spec, envelope=[b"connected"])
    assert connected.result() == [[b"bound".hex()]]


@pytest.mark.zlink_only
def test_duplicate_connect_routing_id_is_refused(link):
    link.skip_unless_zlink(link.binder)
    router = link.bind("ROUTER", CONNECT_ROUTING_ID=b"chosen")
    router.connect(link.new_endpoint())
    router.set_option("CONNECT_ROUTING_ID", b"chosen")
    with pytest.raises(PeerError) as failure:
        router.connect(link.new_endpoint())
    assert failure.value.name == "EINVAL"
