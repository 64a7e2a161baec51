# SPDX-License-Identifier: Apache-2.0
"""Monitors: both libraries tell the same of the same connections."""

import pytest


def names(events):
    return [event["name"] for event in events]


def delayed(link):
    return ["CONNECT_DELAYED"] if link.transport == "tcp" else []


def test_both_sides_of_a_connection(link):
    server = link.peers.add(link.binder, "ROUTER")
    client = link.peers.add(link.connector, "DEALER")
    server.call("monitor")
    client.call("monitor")
    server.bind(link.endpoint)
    client.connect(link.endpoint)
    expected = delayed(link) + ["CONNECTED", "HANDSHAKE_SUCCEEDED"]
    at_client = client.call("monitor_events", count=len(expected))
    assert names(at_client) == expected
    assert {event["endpoint"] for event in at_client} == {link.endpoint}
    at_server = server.call("monitor_events", count=3)
    assert names(at_server) == ["LISTENING", "ACCEPTED", "HANDSHAKE_SUCCEEDED"]
    assert {event["endpoint"] for event in at_server} == {link.endpoint}
    client.send(b"x")
    server.recv()
    client.kill()
    lost = server.call("monitor_events", count=1)[0]
    assert (lost["name"], lost["value"]) == ("DISCONNECTED", at_server[1]["value"])
    assert names(server.call("unmonitor")) == ["MONITOR_STOPPED"]


def test_a_server_that_comes_and_goes(link):
    client = link.peers.add(link.connector, "DEALER", RECONNECT_IVL=50)
    client.call("monitor")
    client.connect(link.endpoint)
    tried = client.call("monitor_events", count=len(delayed(link)) + 2)
    assert names(tried) == delayed(link) + ["CLOSED", "CONNECT_RETRIED"]
    assert 50 <= tried[-1]["value"] < 100
    server = link.bind("ROUTER")
    told = client.call("monitor_events", until="HANDSHAKE_SUCCEEDED")
    assert names(told)[-2:] == ["CONNECTED", "HANDSHAKE_SUCCEEDED"]
    server.kill()
    lost = client.call("monitor_events", count=2)
    assert names(lost) == ["DISCONNECTED", "CONNECT_RETRIED"]
    assert lost[0]["value"] == told[-2]["value"]


def test_types_that_do_not_fit(link):
    """The side that sees it first closes; nobody reports a handshake that succeeded."""
    server = link.peers.add(link.binder, "PUB")
    server.call("monitor")
    server.bind(link.endpoint)
    link.connect("DEALER")
    told = names(server.call("monitor_events", until="DISCONNECTED"))
    assert told[:2] == ["LISTENING", "ACCEPTED"]
    assert told[-1] == "DISCONNECTED"
    assert "HANDSHAKE_SUCCEEDED" not in told


def test_an_endpoint_in_use(link):
    server = link.bind("ROUTER")
    if link.transport == "ipc":
        pytest.skip("a socket file is taken over")
    other = link.peers.add(link.connector, "ROUTER")
    other.call("monitor")
    with pytest.raises(Exception, match="EADDRINUSE"):
        other.bind(link.endpoint)
    told = other.call("monitor_events", count=2)
    assert names(told) == ["CLOSED", "BIND_FAILED"]
    assert told[1]["value"] == 98
    assert server.running()
