# SPDX-License-Identifier: Apache-2.0
"""zmq.asyncio, which relies on ZMQ_FD and ZMQ_EVENTS."""

import pytest

import content

COUNT = 2_000
TIMEOUT_MS = 20_000


@pytest.mark.parametrize("client_binds", [True, False], ids=["client-binds", "server-binds"])
@pytest.mark.parametrize("server_kind, strip", [("DEALER", 0), ("ROUTER", 1)])
def test_round_trip(link, client_binds, server_kind, strip):
    # No mark may drop an answer of the ROUTER while the client is busy sending.
    client, server = link.pair("DEALER", server_kind, client_binds,
                               {"SNDHWM": 0, "RCVHWM": 0}, {"SNDHWM": 0, "RCVHWM": 0},
                               role="asyncio")
    spec = content.series("async", COUNT)
    server.start_echo(spec, strip=strip, timeout_ms=TIMEOUT_MS)
    client.call("round_trip", spec=spec, timeout_ms=TIMEOUT_MS)
    server.result()


def test_back_pressure(link):
    """Small marks make the sender wait for POLLOUT again and again."""
    client, server = link.pair("DEALER", "DEALER", False, {"SNDHWM": 2, "RCVHWM": 2},
                               {"SNDHWM": 2, "RCVHWM": 2}, role="asyncio")
    spec = content.series("pressed", 300, size=65_536)
    server.start_echo(spec, timeout_ms=TIMEOUT_MS)
    client.call("round_trip", spec=spec, timeout_ms=TIMEOUT_MS)
    server.result()


def test_several_async_clients(link):
    server = link.bind("ROUTER", SNDHWM=0)
    clients = [link.connect("DEALER", role="asyncio") for _ in range(3)]
    server.start_echo_until(b"last")
    for number, client in enumerate(clients):
        client.start("round_trip", spec=content.series(f"c{number}", 500), timeout_ms=TIMEOUT_MS)
    for client in clients:
        client.result()
    end = link.connect("DEALER")
    end.send(b"last")
    assert end.recv() == [b"last"]
    assert server.result() == 3 * 500 + 1
