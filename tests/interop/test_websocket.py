# SPDX-License-Identifier: Apache-2.0
"""Messages over ws and wss with the libraries websockets and wsproto, which either side may have called."""

import asyncio
import threading

import pytest
import websockets.asyncio.client
import websockets.asyncio.server
import websockets.sync.client

import content
import zws
from zws import BINARY, CONTINUATION, FIN, PONG

# A payload has a byte more than its body: around each length that changes the head of a frame, on either of the two.
SIZES = [0, 1, 123, 124, 125, 126, 127, 65533, 65534, 65535, 65536, 65537, 1_000_000]
HUGE_BYTES = 64 * 1024 * 1024

ways = pytest.mark.parametrize("ws_bench", ["ws", "wss"], indirect=True)


def check_both_ways(socket, peer, spec):
    socket.start_expect(spec)
    for parts in content.expand(spec):
        peer.send_parts(*parts)
    socket.result()
    socket.start_send_all(spec)
    for parts in content.expand(spec):
        assert peer.recv_parts() == parts
    socket.result()


@ways
def test_sizes(ws_bench, binds, library):
    check_both_ways(*ws_bench.meet("DEALER", binds, library), content.sizes("s", SIZES))


@ways
def test_huge_message(ws_bench, binds):
    socket, peer = ws_bench.meet("DEALER", binds, "websockets")
    spec = content.series("huge", 1, size=HUGE_BYTES)
    body, = next(content.expand(spec))
    socket.start_expect(spec)
    peer.send_parts(body)
    socket.result()
    socket.start_send_all(spec)
    assert peer.recv_parts() == [body]
    socket.result()


@ways
def test_many_messages_in_order(ws_bench, binds, library):
    check_both_ways(*ws_bench.meet("DEALER", binds, library), content.series("many", 2000))


@ways
def test_parts(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library)
    spec = content.shapes("p")
    socket.start_echo(spec)
    for parts in content.expand(spec):
        peer.send_parts(*parts)
    for parts in content.expand(spec):
        assert peer.recv_parts() == parts
    socket.result()


def test_unknown_flags_mean_nothing(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library)
    peer.send(b"\xf9more")
    peer.send(b"\xf8last")
    assert socket.recv() == [b"more", b"last"]


# -- fragments and control frames -------------------------------------------------------------


FRAGMENTS = {
    "two": [b"\0one", b"two"],
    "bytes": [bytes([value]) for value in b"\0abcdefgh"],
    "flags-alone": [b"\0", b"", b"body"],
    "empty-last": [b"\0body", b""],
    "empty-first": [b"", b"\0body"],
    "empty-everywhere": [b"", b"", b"\0", b"", b"body", b"", b""],
    "more-parts": [b"\1first", b" part"],
    "large": [b"\0" + bytes(70_000), b"x" * 130, b"y" * 65536, b"z"],
}


@pytest.mark.parametrize("name", list(FRAGMENTS))
def test_fragments(ws_bench, binds, library, name):
    """Alone, and with pings and pongs between them."""
    socket, peer = ws_bench.meet("DEALER", binds, library)
    pieces = FRAGMENTS[name]
    whole = b"".join(pieces)
    expected = [whole[1:], b"end"] if whole[0] == zws.MORE else [whole[1:]]
    for between in (None, lambda: (peer.ping(b"between"), peer.pong(b"nobody asked"))):
        peer.send_fragments(*pieces, between=between)
        if len(expected) == 2:
            peer.send(b"\0end")
        assert socket.recv() == expected
    for _ in pieces[1:]:
        assert peer.next() == ("pong", b"between")


def test_many_fragments(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library)
    peer.send_fragments(b"\0", *[b"%05d" % number for number in range(5000)])
    assert socket.recv() == [b"".join(b"%05d" % number for number in range(5000))]


def test_READY_in_fragments(ws_bench, binds):
    if binds:
        socket, peer = ws_bench.bound("DEALER"), zws.Wsproto(ws_bench.dial(), True)
        assert peer.open(("ZWS2.0/NULL",))
    else:
        socket, peer = ws_bench.connected("DEALER"), None
        peer = zws.Wsproto(ws_bench.accept(), False)
        peer.accept(("ZWS2.0/NULL",))
    ready = zws.ready("DEALER")
    for first, piece in ((BINARY, b""), (CONTINUATION, ready[:1]), (CONTINUATION, ready[1:9])):
        peer.raw_frame(first, piece)
        peer.ping(b"on the way")
    peer.raw_frame(FIN | CONTINUATION, ready[9:])
    peer.send_parts(b"message")
    assert socket.recv() == [b"message"]
    assert peer.recv() == ready
    for _ in range(3):
        assert peer.next() == ("pong", b"on the way")


@pytest.mark.parametrize("size", [0, 1, 16, 17, 124, 125])
def test_ping_is_answered_with_its_payload(ws_bench, binds, library, size):
    _, peer = ws_bench.meet("DEALER", binds, library)
    peer.round_trip(bytes(range(size)))


def test_pings_among_messages(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library)
    for number in range(200):
        peer.ping(b"%d" % number)
        peer.send_parts(b"%d" % number)
    for number in range(200):
        assert socket.recv() == [b"%d" % number]
    # Of pings that follow each other the last has to be answered.
    answered = []
    while not answered or answered[-1] != b"199":
        kind, data = peer.next()
        assert kind == "pong"
        answered.append(data)
    assert answered == sorted(answered, key=int)


def test_pong_that_nobody_asked_for(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library)
    peer.pong()
    peer.pong(bytes(125))
    peer.send_parts(b"x")
    assert socket.recv() == [b"x"]


def test_heartbeats_are_answered(ws_bench, binds, library):
    """A connection with nothing on it but heartbeats stays."""
    socket, peer = ws_bench.meet("DEALER", binds, library, monitored=True, HEARTBEAT_IVL=20,
                                 HEARTBEAT_TIMEOUT=400)
    for _ in range(30):
        assert peer.next() == ("ping", b"")
    peer.send_parts(b"still here")
    assert socket.recv() == [b"still here"]


def test_heartbeats_that_nobody_answers(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library, monitored=True, HEARTBEAT_IVL=20, RECONNECT_IVL=10)
    assert zws.told(socket, "DISCONNECTED")
    assert peer.next() == ("ping", b"")
    if not binds:
        ws_bench.server(library).send_parts(b"again")
        assert socket.recv() == [b"again"]


@pytest.mark.parametrize("first", [FIN | PONG, FIN | BINARY], ids=["pong", "message"])
def test_any_traffic_keeps_a_connection(ws_bench, binds, first):
    socket, peer = ws_bench.meet("DEALER", binds, "wsproto", HEARTBEAT_IVL=20, HEARTBEAT_TIMEOUT=500)
    for number in range(20):
        assert peer.connection.receive()
        peer.raw_frame(first, b"\0x")
        if first == FIN | BINARY:
            assert socket.recv() == [b"x"]
    peer.send_parts(b"end")
    assert socket.recv() == [b"end"]


# -- the end ----------------------------------------------------------------------------------


@ways
@pytest.mark.parametrize("code", [None, 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 4999])
def test_close_is_answered(ws_bench, binds, code):
    """With the same code, after what was sent before."""
    socket, peer = ws_bench.meet("DEALER", binds, "websockets", monitored=True, RECONNECT_IVL=10)
    peer.send_parts(b"last", b"words")
    peer.raw_frame(FIN | zws.CLOSE, b"" if code is None else zws.close_data(code, "Auf Wiederhören".encode()))
    assert peer.next() == ("close", code or zws.NO_CODE, b"")
    assert peer.ends()
    assert socket.recv() == [b"last", b"words"]
    assert zws.told(socket, "DISCONNECTED")
    if not binds:
        ws_bench.server("websockets").send_parts(b"again")
        assert socket.recv() == [b"again"]


def test_close_of_the_library(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library, monitored=True)
    peer.close_with(1001, "going away")
    assert peer.next()[:2] == ("close", 1001)
    assert zws.told(socket, "DISCONNECTED")


def test_close_between_fragments(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library, monitored=True)
    peer.send_parts(b"whole")
    peer.raw_frame(BINARY, b"\0half")
    peer.raw_frame(FIN | zws.CLOSE, zws.close_data(1000))
    assert peer.closed_with() == 1000
    assert socket.recv() == [b"whole"]
    assert zws.told(socket, "DISCONNECTED")
    assert socket.try_recv(20) is None


def test_end_without_close(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library, monitored=True, RECONNECT_IVL=10)
    peer.send_parts(b"last")
    peer.connection.close()
    assert socket.recv() == [b"last"]
    assert zws.told(socket, "DISCONNECTED")


def test_what_is_left_is_sent_before_the_end(ws_bench, binds, library):
    """A socket that is closed delivers what waits, within its linger time."""
    socket, peer = ws_bench.meet("DEALER", binds, library)
    spec = content.series("left", 500, size=1000)
    socket.send_all(spec)
    socket.start_finish(linger_ms=10_000)
    for parts in content.expand(spec):
        assert peer.recv_parts() == parts
    assert peer.closed_with() == 1000
    socket.finish_result()


# -- socket types and limits ------------------------------------------------------------------


def test_type_and_routing_id_with_NULL(ws_bench, binds):
    router, peer = ws_bench.meet("ROUTER", binds, "wsproto", "ZWS2.0/NULL", "DEALER", b"somebody")
    peer.send_parts(b"", b"question")
    assert router.recv() == [b"somebody", b"", b"question"]
    router.send(b"somebody", b"", b"answer")
    assert peer.recv_parts() == [b"", b"answer"]


@pytest.mark.parametrize("protocol, kind", [("ZWS2.0", None), ("ZWS2.0/NULL", "SUB")])
def test_subscriptions(ws_bench, binds, protocol, kind):
    publisher, peer = ws_bench.meet("XPUB", binds, "wsproto", protocol, kind)
    peer.send(b"\0\1top")
    assert publisher.recv() == [b"\1top"]
    publisher.send(b"other")
    publisher.send(b"topic", b"news")
    assert peer.recv_parts() == [b"topic", b"news"]
    peer.send(b"\0\0top")
    assert publisher.recv() == [b"\0top"]
    publisher.send(b"topic", b"late")
    peer.send(b"\0\1")
    assert publisher.recv() == [b"\1"]
    publisher.send(b"end")
    assert peer.recv_parts() == [b"end"]


def test_largest_message_allowed(ws_bench, binds, library):
    socket, peer = ws_bench.meet("DEALER", binds, library, MAXMSGSIZE=1000)
    peer.send_parts(bytes(1000), bytes(1000))
    peer.send_fragments(b"\0" + bytes(999), bytes(1))
    assert socket.recv() == [bytes(1000), bytes(1000)]
    assert socket.recv() == [bytes(1000)]


# -- the libraries as programs use them -------------------------------------------------------


# Not over wss: its threads share the object of TLS, and over that it loses handshakes and close frames of its own server too.
@pytest.mark.parametrize("compression", ["deflate", None])
def test_client_of_websockets(ws_bench, compression):
    router = ws_bench.bound("ROUTER")
    with websockets.sync.client.connect(ws_bench.endpoint, subprotocols=["ZWS2.0"], compression=compression,
                                        max_size=None) as client:
        assert client.subprotocol == "ZWS2.0"
        client.send(b"\0me")
        assert client.recv() == b"\0"
        client.send([b"\0in", b" ", b"fragments"])
        assert router.recv() == [b"me", b"in fragments"]
        router.send(b"me", b"a" * 100_000, b"b")
        assert [client.recv(), client.recv()] == [b"\1" + b"a" * 100_000, b"\0b"]
        assert client.ping().wait(10)
    assert client.close_code == 1000


@ways
def test_asynchronous_client_of_websockets(ws_bench):
    router = ws_bench.bound("ROUTER")
    tls = ws_bench.certificates_.client_context() if ws_bench.certificates_ else None
    endpoint = ws_bench.endpoint.replace("127.0.0.1", "localhost") if tls else ws_bench.endpoint
    echoing = router.start_echo_until(b"199")

    async def converse():
        async with websockets.asyncio.client.connect(endpoint, subprotocols=["ZWS2.0"], ssl=tls) as client:
            await client.send(b"\0me")
            assert await client.recv() == b"\0"
            for number in range(200):
                await client.send(b"\0%d" % number)
            for number in range(200):
                assert await client.recv() == b"\0%d" % number
        assert client.close_code == 1000

    asyncio.run(converse())
    assert echoing.result() == 200


def only_tokens(_, asked):
    """For servers of websockets, which refuse a list with a name that is no token; those with a slash are none."""
    names = ",".join(asked.headers.get_all("Sec-WebSocket-Protocol")).split(",")
    del asked.headers["Sec-WebSocket-Protocol"]
    asked.headers["Sec-WebSocket-Protocol"] = ",".join(name for name in names if "/" not in name)


async def echo(connection):
    assert await connection.recv() == b"\0client"
    await connection.send(b"\0server")
    async for payload in connection:
        await connection.send(payload)


class EchoServer:
    """A server of websockets in a thread."""

    def __init__(self, tls):
        self.ready_ = threading.Event()
        self.thread_ = threading.Thread(target=asyncio.run, args=(self.serve_(tls),))
        self.thread_.start()
        assert self.ready_.wait(zws.DEADLINE_S)

    async def serve_(self, tls):
        self.loop_, self.stop_ = asyncio.get_running_loop(), asyncio.Event()
        async with websockets.asyncio.server.serve(echo, "127.0.0.1", 0, ssl=tls, subprotocols=["ZWS2.0"], max_size=None,
                                                   process_request=only_tokens) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self.ready_.set()
            await self.stop_.wait()

    def close(self):
        self.loop_.call_soon_threadsafe(self.stop_.set)
        self.thread_.join()


@ways
def test_server_of_websockets(ws_bench):
    certificates = ws_bench.certificates_
    server = EchoServer(certificates.server_context() if certificates else None)
    try:
        options = certificates.client_options() if certificates else {}
        dealer = ws_bench.made("DEALER", ROUTING_ID=b"client", **options)
        dealer.connect(f"{ws_bench.scheme}://127.0.0.1:{server.port}/zws")
        assert dealer.request(content.sizes("s", [0, 1, 125, 126, 65535, 65536, 1_000_000])) == 21
        assert dealer.request(content.series("many", 1000)) == 1000
        dealer.finish()
    finally:
        server.close()
