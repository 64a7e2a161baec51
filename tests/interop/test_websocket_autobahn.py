# SPDX-License-Identifier: Apache-2.0
"""The cases of the Autobahn test suite, on a STREAM socket over ws that sends back what it gets."""

import pytest

import zws
from autobahn_cases import CASES, ROUND_TRIPS

LAST = b"the last chunk"


@pytest.fixture
def echoing(ws_bench):
    """Makes peers of the socket. It still serves others when the test is over."""
    socket = ws_bench.bound("STREAM")
    socket.start_echo_chunks(LAST)

    def dial():
        peer = zws.Websockets(ws_bench.dial(), True)
        assert peer.open(offers=())
        return peer

    yield dial
    after = dial()
    after.send(LAST)
    assert after.recv() == LAST
    assert socket.result()


def check_close(peer, code):
    assert peer.next()[:2] == ("close", code)
    assert peer.ends()


@pytest.mark.parametrize("name", list(CASES))
def test_case(echoing, name):
    case = CASES[name]
    peer = echoing()
    for data in case.writes():
        peer.connection.send_refused(data)
    if case.close is None:
        for answer in case.answers:
            assert peer.next() == answer
        peer.raw_frame(zws.FIN | zws.CLOSE, zws.close_data(1000))
        check_close(peer, 1000)
        return
    came = []
    while not came or came[-1][0] != "close":
        came.append(peer.next())
    assert came[:-1] == case.answers[:len(came) - 1]
    assert came[-1][1] == case.close
    assert peer.ends()


@pytest.mark.parametrize("name", list(ROUND_TRIPS))
def test_round_trips(echoing, name):
    count, size = ROUND_TRIPS[name]
    peer = echoing()
    for number in range(count):
        data = (b"%d" % number).ljust(size, b"*")
        peer.send(data)
        assert peer.recv() == data
    peer.close_with(1000)
    check_close(peer, 1000)
