# SPDX-License-Identifier: Apache-2.0
"""Several clients or subscribers on one socket, and chains through a proxy."""

import pytest

import content

PEERS = 5
COUNT = 400


def numbers_of_all(tag):
    return {f"{tag}{number}": list(range(COUNT)) for number in range(PEERS)}


def test_fan_in_to_pull(link):
    pull = link.bind("PULL")
    pushes = [link.connect("PUSH") for _ in range(PEERS)]
    pull.start_collect(PEERS * COUNT)
    for number, push in enumerate(pushes):
        push.start_send_all(content.series(f"push{number}", COUNT))
    for push in pushes:
        push.result()
    assert pull.result() == numbers_of_all("push")


def test_fan_in_of_clients_to_router(link):
    router = link.bind("ROUTER", SNDHWM=0)
    clients = [link.connect("DEALER") for _ in range(PEERS)]
    last = b"last"
    for number, client in enumerate(clients):
        client.start("request", spec=content.series(f"client{number}", COUNT), envelope=[],
                     window=50, timeout_ms=20_000)
    router.start_echo_until(last)
    for client in clients:
        assert client.result() == COUNT
    clients[0].send(last)
    assert clients[0].recv() == [last]
    assert router.result() == PEERS * COUNT + 1


def test_fan_out_to_subscribers(link):
    xpub = link.bind("XPUB", SNDHWM=0, XPUB_VERBOSE=1)
    subs = [link.connect("SUB", SUBSCRIBE=b"all|", RCVHWM=0) for _ in range(PEERS)]
    for _ in subs:
        assert xpub.recv() == [b"\x01all|"]
    for number, sub in enumerate(subs):
        sub.set_option("SUBSCRIBE", b"own%d|" % number)
        assert xpub.recv() == [b"\x01own%d|" % number]
    for number, sub in enumerate(subs):
        sub.start_collect(2 * COUNT)
    xpub.send_all(content.series("all", COUNT))
    for number in range(PEERS):
        xpub.send_all(content.series(f"own{number}", COUNT))
    for number, sub in enumerate(subs):
        assert sub.result() == {"all": list(range(COUNT)), f"own{number}": list(range(COUNT))}


def test_fan_out_to_workers_is_even(link):
    """Round-robin over peers that are known to be connected."""
    push = link.bind("PUSH")
    pulls = [link.connect("PULL") for _ in range(PEERS)]
    # Each of the workers has got a message before the even distribution is counted.
    reached = set()
    sent = 0
    while len(reached) < PEERS:
        assert sent < 10_000, f"only workers {reached} are served"
        push.send(b"probe %d" % sent)
        sent += 1
        for number, pull in enumerate(pulls):
            if pull.try_recv(0 if number in reached else 5) is not None:
                reached.add(number)
    for pull in pulls:
        while pull.try_recv(20) is not None:
            pass
    for pull in pulls:
        pull.start_collect(COUNT)
    push.send_all(content.series("work", PEERS * COUNT))
    shares = [pull.result()["work"] for pull in pulls]
    assert sorted(sum(shares, [])) == list(range(PEERS * COUNT))
    for share in shares:
        assert share == list(range(share[0], PEERS * COUNT, PEERS))


@pytest.mark.parametrize("client_kind, worker_kind",
                         [("REQ", "REP"), ("DEALER", "REP"), ("REQ", "DEALER")])
def test_chain_through_a_proxy(link, client_kind, worker_kind):
    """Clients - ROUTER proxy DEALER - workers; the proxy is the binding side."""
    back = link.new_endpoint()
    proxy = link.peers.add(link.binder, "ROUTER,DEALER", role="proxy")
    proxy.call("bind", which="front", endpoint=link.endpoint)
    proxy.call("bind", which="back", endpoint=back)
    workers = [link.peers.add(link.connector, worker_kind) for _ in range(2)]
    for worker in workers:
        worker.connect(back)
        worker.start_echo_until(b"stop")
    clients = [link.connect(client_kind) for _ in range(3)]
    proxy.start("run")
    rounds = 200
    envelope = [b"".hex()] if client_kind == "DEALER" else []
    for number, client in enumerate(clients):
        # Lockstep keeps the order of answers although two workers share the requests.
        client.start("request", spec=content.series(f"client{number}", rounds), window=1,
                     envelope=envelope, timeout_ms=20_000)
    for client in clients:
        assert client.result() == rounds
    stops = [b"", b"stop"] if client_kind == "DEALER" else [b"stop"]
    for _ in workers:
        clients[0].send(*stops)
        assert clients[0].recv() == stops
    assert sum(worker.result() for worker in workers) == len(clients) * rounds + len(workers)
    # Any request ends the forwarding loop and is answered after the loop's own result.
    moved = proxy.start("bind", which="front", endpoint=link.new_endpoint()).result()
    expected = len(clients) * rounds + len(workers)
    assert moved == {"forward": expected, "backward": expected}
    assert proxy.result() is None


def test_subscription_chain_through_a_proxy(link):
    """SUB - XPUB proxy XSUB - XPUB: subscriptions travel up, messages down."""
    back = link.new_endpoint()
    proxy = link.peers.add(link.binder, "XPUB,XSUB", role="proxy")
    proxy.call("bind", which="front", endpoint=link.endpoint)
    proxy.call("bind", which="back", endpoint=back)
    publisher = link.peers.add(link.connector, "XPUB")
    publisher.connect(back)
    sub = link.connect("SUB", SUBSCRIBE=b"a|")
    proxy.start("run")
    assert publisher.recv() == [b"\x01a|"]
    publisher.send_all(content.series("b", 50))
    publisher.send_all(content.series("a", 300))
    assert sub.start_collect(300).result() == {"a": list(range(300))}
    sub.set_option("UNSUBSCRIBE", b"a|")
    assert publisher.recv() == [b"\x00a|"]
    moved = proxy.start("bind", which="front", endpoint=link.new_endpoint()).result()
    assert moved == {"forward": 2, "backward": 300}
    proxy.result()
