# SPDX-License-Identifier: Apache-2.0
"""STREAM sockets and raw ROUTER sockets: plain bytes."""

import pytest


def meet(link, kind, **options):
    """Two sockets of the kind and the id by which each knows the other."""
    server, client = link.bind(kind, **options), link.connect(kind, **options)
    to_client, notice = server.recv()
    assert notice == b""
    to_server, notice = client.recv()
    assert notice == b""
    return server, to_client, client, to_server


def collect(peer, routing_id, size):
    """Receives chunks until there are `size` bytes."""
    received = b""
    while len(received) < size:
        sender, chunk = peer.recv()
        assert sender == routing_id
        assert 0 < len(chunk) <= 8192
        received += chunk
    return received


@pytest.mark.parametrize("kind, options", [("STREAM", {}), ("ROUTER", {"ROUTER_RAW": 1})],
                         ids=["STREAM", "raw-ROUTER"])
def test_bytes_both_ways(link, kind, options):
    server, to_client, client, to_server = meet(link, kind, **options)
    data = bytes(range(256)) * 400
    client.send(to_server, data)
    assert collect(server, to_client, len(data)) == data
    server.send(to_client, b"answer")
    assert collect(client, to_server, 6) == b"answer"


def test_many_small_messages(link):
    server, to_client, client, to_server = meet(link, "STREAM")
    data = b"".join(b"%d," % number for number in range(500))
    for number in range(500):
        client.send(to_server, b"%d," % number)
    assert collect(server, to_client, len(data)) == data


def test_end_of_a_connection(link):
    server, to_client, client, to_server = meet(link, "STREAM", RECONNECT_IVL=10_000)
    server.send(to_client, b"last words")
    server.send(to_client, b"")
    assert collect(client, to_server, 10) == b"last words"
    # The genuine library closes once its application uses the socket again.
    for _ in range(400):
        server.poll("in", 20)
        if client.poll("in", 0):
            break
    assert client.recv() == [to_server, b""]
