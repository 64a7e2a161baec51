# SPDX-License-Identifier: Apache-2.0
"""The tests that come with the package, which need node only, and what node can do with the library."""

import json
import subprocess

import pytest

from conftest import ROOT

HERE = ROOT / "tests/web"


@pytest.mark.parametrize("file", sorted(path.name for path in (ROOT / "web/test").glob("*.test.js")))
def test_without_a_network(file):
    done = subprocess.run(["node", "--test", ROOT / "web/test" / file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def null_mechanism(kind, url):
    return subprocess.Popen(["node", HERE / "null_mechanism.mjs", kind, url], stdout=subprocess.PIPE)


@pytest.mark.parametrize("kind, server", [
    ("Pub", "PUB"), ("Sub", "ROUTER"), ("XPub", "PULL"), ("XSub", "XSUB"), ("Req", "DEALER"), ("Rep", "REP"),
    ("Dealer", "PAIR"), ("Router", "REP"), ("Push", "PUSH"), ("Pull", "PULL"),
])
def test_wrong_type_of_a_peer_is_an_error(sockets, kind, server):
    """With ZWS2.0/NULL both sides say what they are."""
    _, url = sockets.bind(server)
    told = json.loads(null_mechanism(kind, url).communicate(timeout=30)[0])
    assert (told["type"], told["code"]) == ("error", "EPROTOTYPE")
    assert f"is a socket of type {server}; {kind.upper()} talks to" in told["message"]


def test_messages_go_with_the_null_mechanism(sockets):
    socket, url = sockets.bind("DEALER")
    client = null_mechanism("Rep", url)
    message = [b"", b"first", b"", b"x" * (1 << 20)]
    socket.send_multipart(message)
    assert socket.recv_multipart() == message
    told = json.loads(client.communicate(timeout=30)[0])
    assert (told["type"], told["peerType"]) == ("connect", "DEALER")


def websocket_flags():
    """What makes this node have a WebSocket: nothing since version 22; None for one that has none."""
    for flags in ([], ["--experimental-websocket"]):
        done = subprocess.run(["node", *flags, "-p", "typeof WebSocket"], capture_output=True, text=True)
        if done.stdout == "function\n":
            return flags
    return None


def test_node_has_sockets(sockets):
    flags = websocket_flags()
    if flags is None:
        pytest.skip("this version of node has no WebSocket")
    socket, url = sockets.bind("REQ")
    client = subprocess.Popen(["node", *flags, HERE / "echo.mjs", url, "50"])
    for i in range(50):
        message = [b"%d" % i, b"", bytes(i * 20_000)]
        socket.send_multipart(message)
        assert socket.recv_multipart() == message
    assert client.wait(30) == 0
