# SPDX-License-Identifier: Apache-2.0
"""Role `asyncio` of a peer process: one socket of zmq.asyncio."""

import asyncio

import zmq
import zmq.asyncio

import content
import options


class Role:
    """One zmq.asyncio socket, which waits on ZMQ_FD and reads ZMQ_EVENTS."""

    def __init__(self, arguments, reader):
        self.loop_ = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop_)
        self.context_ = zmq.asyncio.Context()
        self.socket_ = self.context_.socket(getattr(zmq, arguments.type))
        self.socket_.setsockopt(zmq.LINGER, 0)
        options.apply(self.socket_, arguments.option)

    def bind(self, endpoint):
        self.socket_.bind(endpoint)

    def connect(self, endpoint):
        self.socket_.connect(endpoint)

    def round_trip(self, spec, timeout_ms):
        """Sends all messages and, at the same time, receives each of them back."""
        return self._run(self._round_trip(spec), timeout_ms)

    def echo(self, spec, strip, timeout_ms):
        return self._run(self._echo(spec, strip), timeout_ms)

    def finish(self, linger_ms):
        self.socket_.close(linger=linger_ms)
        self.context_.term()
        self.loop_.close()

    def _run(self, work, timeout_ms):
        return self.loop_.run_until_complete(asyncio.wait_for(work, timeout_ms / 1000))

    async def _round_trip(self, spec):
        async def send():
            for parts in content.expand(spec):
                await self.socket_.send_multipart(parts)

        async def receive():
            for number, parts in enumerate(content.expand(spec)):
                received = await self.socket_.recv_multipart()
                if received != parts:
                    raise AssertionError(f"answer {number} differs: {content.brief(received)}")

        await asyncio.gather(send(), receive())

    async def _echo(self, spec, strip):
        for number, parts in enumerate(content.expand(spec)):
            received = await self.socket_.recv_multipart()
            if received[strip:] != parts:
                raise AssertionError(f"message {number} differs: {content.brief(received)}")
            await self.socket_.send_multipart(received)
