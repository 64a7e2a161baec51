# SPDX-License-Identifier: Apache-2.0
"""Event loops that wait on ZMQ_FD: a million messages in all, none lost, out of order or late.

The descriptor is edge-triggered, so an edge that is missed stops a loop for good: a loop that receives
nothing for STALL_S has stalled.
"""

import asyncio
import threading

import pytest
import zmq
import zmq.asyncio
import zmq.green

STREAM = 150_000
ANSWERED = 12_500
STALL_S = 20
TRANSPORTS = ["tcp", "ipc"]


@pytest.fixture(params=TRANSPORTS)
def bind_address(request, tmp_path):
    return "tcp://127.0.0.1:*" if request.param == "tcp" else f"ipc://{tmp_path}/s"


def send_from_a_thread(address):
    """The stream comes from a thread that blocks, in bursts with pauses: the loop sleeps in between."""

    def send():
        with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
            socket.linger = -1
            socket.connect(address)
            for number in range(STREAM):
                socket.send(b"%d" % number)
                if number % 5000 == 4999:
                    threading.Event().wait(0.005)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


async def asyncio_stream(bind_address):
    context = zmq.asyncio.Context()
    socket = context.socket(zmq.PULL)
    socket.bind(bind_address)
    sender = send_from_a_thread(socket.last_endpoint)
    for number in range(STREAM):
        if number % 1000 == 0:
            received = await asyncio.wait_for(socket.recv(), STALL_S)
        else:
            received = await socket.recv()
        assert received == b"%d" % number
    await asyncio.to_thread(sender.join, STALL_S)
    context.destroy(linger=0)


async def asyncio_answers(bind_address):
    """Both ends in one loop: each message waits for an edge of its own."""
    context = zmq.asyncio.Context()
    server, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    server.bind(bind_address)
    client.connect(server.last_endpoint)

    async def answer():
        for _ in range(ANSWERED):
            await server.send_multipart(await server.recv_multipart())

    async def ask():
        for number in range(ANSWERED):
            await client.send(b"%d" % number)
            assert await client.recv() == b"%d" % number

    await asyncio.wait_for(asyncio.gather(answer(), ask()), STALL_S * 4)
    context.destroy(linger=0)


def run_on(loop_name, main):
    if loop_name == "uvloop":
        import uvloop
        uvloop.run(main)
    else:
        asyncio.run(main)


@pytest.mark.parametrize("loop_name", ["asyncio", "uvloop"])
def test_stream(loop_name, bind_address):
    run_on(loop_name, asyncio_stream(bind_address))


@pytest.mark.parametrize("loop_name", ["asyncio", "uvloop"])
def test_answers(loop_name, bind_address):
    run_on(loop_name, asyncio_answers(bind_address))


def test_stream_tornado(bind_address):
    from tornado.ioloop import IOLoop
    from zmq.eventloop.zmqstream import ZMQStream

    async def main():
        context = zmq.Context()
        socket = context.socket(zmq.PULL)
        socket.bind(bind_address)
        stream = ZMQStream(socket)
        done = asyncio.Event()
        received = 0

        def on_message(parts):
            nonlocal received
            assert parts == [b"%d" % received]
            received += 1
            if received == STREAM:
                done.set()

        stream.on_recv(on_message)
        sender = send_from_a_thread(socket.last_endpoint)
        seen = -1
        while not done.is_set():
            assert received > seen, f"stalled at {received}"
            seen = received
            try:
                await asyncio.wait_for(done.wait(), STALL_S)
            except asyncio.TimeoutError:
                continue
        sender.join()
        stream.close()
        context.destroy(linger=0)

    IOLoop().run_sync(main)


def test_answers_tornado(bind_address):
    from tornado.ioloop import IOLoop
    from zmq.eventloop.zmqstream import ZMQStream

    async def main():
        context = zmq.Context()
        server, client = (ZMQStream(context.socket(kind)) for kind in (zmq.ROUTER, zmq.DEALER))
        server.bind(bind_address)
        client.connect(server.socket.last_endpoint.decode())
        done = asyncio.Event()
        received = 0

        def on_answer(parts):
            nonlocal received
            assert parts == [b"%d" % received]
            received += 1
            if received == ANSWERED:
                done.set()
            else:
                client.send(b"%d" % received)

        server.on_recv(server.send_multipart)
        client.on_recv(on_answer)
        client.send(b"0")
        await asyncio.wait_for(done.wait(), STALL_S * 4)
        server.close()
        client.close()
        context.destroy(linger=0)

    IOLoop().run_sync(main)


def test_stream_gevent(bind_address):
    import gevent

    context = zmq.green.Context()
    socket = context.socket(zmq.PULL)
    socket.bind(bind_address)
    # A thread of the operating system: the greenlets of this one must not depend on it.
    sender = send_from_a_thread(socket.last_endpoint)
    for number in range(STREAM):
        if number % 1000 == 0:
            with gevent.Timeout(STALL_S):
                received = socket.recv()
        else:
            received = socket.recv()
        assert received == b"%d" % number
    sender.join()
    context.destroy(linger=0)


def test_answers_gevent(bind_address):
    import gevent

    context = zmq.green.Context()
    server, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    server.bind(bind_address)
    client.connect(server.last_endpoint)

    def answer():
        for _ in range(ANSWERED):
            server.send_multipart(server.recv_multipart())

    def ask():
        for number in range(ANSWERED):
            client.send(b"%d" % number)
            assert client.recv() == b"%d" % number

    with gevent.Timeout(STALL_S * 4):
        gevent.joinall([gevent.spawn(answer), gevent.spawn(ask)], raise_error=True)
    context.destroy(linger=0)
