# SPDX-License-Identifier: Apache-2.0
"""The library under test and other implementations of ZMTP: every message, in both directions."""

import socket as posix
from contextlib import contextmanager

import pytest
import zmq
from role import DEADLINE_S, MARK, Role, message

# (number of messages, bytes of a part, parts): small ones, header sizes, several parts, large ones.
SHAPES = [(20_000, 16, 1), (300, 254, 1), (300, 255, 1), (300, 256, 1), (2_000, 100, 3), (40, 300_000, 1)]
# Not a stream: a message and its answer before the next.
LOCKSTEP_SHAPES = [(1_000, 16, 1), (200, 256, 1), (200, 100, 3), (20, 300_000, 1)]

HOWS = [pytest.param(True, id="zlink-binds"), pytest.param(False, id="peer-binds")]
MISSING = {"zmq.rs": {"pair", "xpub", "xsub"}, "jszmq": {"pair"}}
# zmq4 drops what its REQ asks and its XSUB subscribes to before a peer is there.
CONNECTS_ONLY = {"zmq4": {"req", "xsub"}}
HAS_HEARTBEATS = {"zeromq.js"}
# As a server jszmq agrees on ZWS2.0/NULL and speaks ZWS2.0 then: the genuine library does not get through either.
CANNOT_BIND = {"jszmq"}


def free_port():
    with posix.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def endpoint(request, tmp_path):
    if request.param == "ipc":
        return f"ipc://{tmp_path}/s"
    return f"{request.param}://127.0.0.1:{free_port()}"


@pytest.fixture(params=HOWS)
def binds(request):
    return request.param


@pytest.fixture
def context():
    made = zmq.Context()
    yield made
    made.destroy(linger=0)


@pytest.fixture
def connect(context, peer, endpoint, binds):
    """Makes a socket of ours and a role of the peer that are attached to each other."""
    name, command = peer

    @contextmanager
    def attach(ours, theirs, *options, **our_options):
        if theirs in MISSING.get(name, ()):
            pytest.skip(f"{name} has no {theirs}")
        if not binds and name in CANNOT_BIND:
            pytest.skip(f"{name} does not keep to the subprotocol that it agrees on")
        if not binds and theirs in CONNECTS_ONLY.get(name, ()):
            pytest.skip(f"{theirs} of {name} needs its peer to be there first")
        socket = context.socket(ours)
        socket.linger = 0
        socket.rcvtimeo = socket.sndtimeo = DEADLINE_S * 1000
        for option, value in our_options.items():
            setattr(socket, option, value)
        if ours == zmq.SUB:
            socket.subscribe(b"")
        if binds:
            socket.bind(endpoint)
        role = Role(command, theirs, "connect" if binds else "bind", endpoint, options)
        try:
            if not binds:
                socket.connect(endpoint)
            yield socket, role
            role.quit()
        finally:
            socket.close()
            role.stop()

    return attach


def send_all(socket, first, count, size, parts):
    for number in range(first, first + count):
        socket.send_multipart(message(number, size, parts))


def expect_all(socket, first, count, size, parts):
    for number in range(first, first + count):
        received = socket.recv_multipart()
        while received == [MARK]:
            received = socket.recv_multipart()
        assert received == message(number, size, parts), f"message {number}"


def send_shapes(socket, role):
    """From us to the peer, which compares every message."""
    first = 0
    for count, size, parts in SHAPES:
        role.start("recv", first, count, size, parts)
        send_all(socket, first, count, size, parts)
        assert role.result() == count
        first += count


def receive_shapes(socket, role):
    """From the peer to us."""
    first = 0
    for count, size, parts in SHAPES:
        role.start("send", first, count, size, parts)
        expect_all(socket, first, count, size, parts)
        assert role.result() == count
        first += count


def ask_shapes(socket, role):
    """We ask, the peer sends everything back."""
    first = 0
    for count, size, parts in LOCKSTEP_SHAPES:
        role.start("echo", count)
        for number in range(first, first + count):
            send_all(socket, number, 1, size, parts)
            expect_all(socket, number, 1, size, parts)
        assert role.result() == count
        first += count


def answer_shapes(socket, role):
    """The peer asks, we send everything back."""
    first = 0
    for count, size, parts in LOCKSTEP_SHAPES:
        role.start("request", first, count, size, parts)
        for _ in range(count):
            socket.send_multipart(socket.recv_multipart())
        assert role.result() == count
        first += count


def test_push_to_pull(connect):
    with connect(zmq.PUSH, "pull") as (socket, role):
        send_shapes(socket, role)


def test_pull_from_push(connect):
    with connect(zmq.PULL, "push") as (socket, role):
        receive_shapes(socket, role)


@pytest.mark.parametrize("theirs", ["rep", "router"])
def test_req_asks(connect, theirs):
    with connect(zmq.REQ, theirs) as (socket, role):
        ask_shapes(socket, role)


@pytest.mark.parametrize("ours", [zmq.REP, zmq.ROUTER], ids=["rep", "router"])
def test_req_is_answered(connect, ours):
    with connect(ours, "req") as (socket, role):
        answer_shapes(socket, role)


def test_dealer_asks_router(connect):
    with connect(zmq.DEALER, "router") as (socket, role):
        ask_shapes(socket, role)


def test_dealer_is_answered_by_router(connect):
    with connect(zmq.ROUTER, "dealer") as (socket, role):
        answer_shapes(socket, role)


def test_dealers_stream_both_ways(connect):
    with connect(zmq.DEALER, "dealer") as (socket, role):
        send_shapes(socket, role)
        receive_shapes(socket, role)


def test_pairs_stream_both_ways(connect):
    with connect(zmq.PAIR, "pair") as (socket, role):
        send_shapes(socket, role)
        receive_shapes(socket, role)


@pytest.mark.parametrize("ours, theirs", [(zmq.PUB, "sub"), (zmq.XPUB, "sub"), (zmq.PUB, "xsub")],
                         ids=["pub-sub", "xpub-sub", "pub-xsub"])
def test_publishes(connect, ours, theirs):
    with connect(ours, theirs) as (socket, role):
        role.start("await")
        for _ in range(DEADLINE_S * 50):
            socket.send(MARK)
            if role.answered(within_s=0.02):
                break
        assert role.result() == 1
        # A publisher does not wait for its subscribers: in pieces that fit their queues.
        for count, size, parts in SHAPES:
            piece = min(count, 200)
            for first in range(0, count, piece):
                role.start("recv", first, piece, size, parts)
                send_all(socket, first, piece, size, parts)
                assert role.result() == piece


@pytest.mark.parametrize("ours, theirs", [(zmq.SUB, "pub"), (zmq.XSUB, "pub"), (zmq.SUB, "xpub")],
                         ids=["sub-pub", "xsub-pub", "sub-xpub"])
def test_subscribes(connect, ours, theirs):
    with connect(ours, theirs) as (socket, role):
        if ours == zmq.XSUB:
            socket.send(b"\x01")
        for _ in range(DEADLINE_S * 50):
            role.call("mark")
            if socket.poll(20):
                break
        assert socket.recv() == MARK
        for count, size, parts in SHAPES:
            piece = min(count, 200)
            for first in range(0, count, piece):
                role.start("send", first, piece, size, parts)
                expect_all(socket, first, piece, size, parts)
                assert role.result() == piece


def test_heartbeats(connect, peer):
    """Each side answers the other's, so that a connection with no messages stays."""
    if peer[0] not in HAS_HEARTBEATS:
        pytest.skip(f"the program of {peer[0]} has no option for heartbeats")
    with connect(zmq.DEALER, "dealer", "heartbeat-ivl=20", "heartbeat-timeout=1000", heartbeat_ivl=20,
                 heartbeat_timeout=1000) as (socket, role):
        monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        receive_shapes(socket, role)
        assert not monitor.poll(1500)
        send_shapes(socket, role)
        socket.disable_monitor()
        monitor.close()
