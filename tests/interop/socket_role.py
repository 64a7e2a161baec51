# SPDX-License-Identifier: Apache-2.0
"""Role `socket` of a peer process: one socket."""

import errno
import time

import zmq
import zmq.auth.thread
import zmq.utils.monitor

import content
import options
from draft_api import DraftApi

ZERO_COPY_BYTES = 1_000_000


def hexed(parts):
    return [part.hex() for part in parts]


def unhexed(parts):
    return [bytes.fromhex(part) for part in parts]


class Limit:
    """The time that one operation has."""

    def __init__(self, timeout_ms):
        self.end_ = time.monotonic() + timeout_ms / 1000

    def left_ms(self):
        return max(0, int((self.end_ - time.monotonic()) * 1000))


class Role:
    """Operations on one socket."""

    def __init__(self, arguments, reader):
        self.reader_ = reader
        self.context_ = zmq.Context()
        self.socket_ = self.context_.socket(getattr(zmq, arguments.type))
        self.socket_.setsockopt(zmq.LINGER, 0)
        options.apply(self.socket_, arguments.option)
        self.monitor_ = None
        self.handler_ = None

    # -- endpoints and options ----------------------------------------------------------------

    def bind(self, endpoint):
        self.socket_.bind(endpoint)
        return self.socket_.getsockopt(zmq.LAST_ENDPOINT).rstrip(b"\0").decode()

    def connect(self, endpoint):
        self.socket_.connect(endpoint)

    def unbind(self, endpoint):
        self.socket_.unbind(endpoint)

    def disconnect(self, endpoint):
        self.socket_.disconnect(endpoint)

    # -- security -----------------------------------------------------------------------------

    def authenticate(self, passwords):
        """From now on peers need one of these names and passwords, or any key."""
        self.handler_ = zmq.auth.thread.ThreadAuthenticator(self.context_)
        self.handler_.start()
        self.handler_.configure_plain(domain="global", passwords=passwords)
        self.handler_.configure_curve(domain="global", location=zmq.auth.CURVE_ALLOW_ANY)

    # -- monitor ------------------------------------------------------------------------------

    def monitor(self):
        self.monitor_ = self.socket_.get_monitor_socket()

    def monitor_events(self, count=None, until=None, timeout_ms=10_000):
        """The next events: so many, or up to the first of a name."""
        limit = Limit(timeout_ms)
        events = []
        while len(events) != count and (not events or events[-1]["name"] != until):
            if not self.monitor_.poll(limit.left_ms()):
                raise RuntimeError(f"no more events after {events}")
            told = zmq.utils.monitor.recv_monitor_message(self.monitor_)
            events.append({"name": zmq.Event(told["event"]).name, "value": told["value"],
                           "endpoint": told["endpoint"].decode()})
        return events

    def unmonitor(self):
        """Ends it. The events that were left."""
        self.socket_.monitor(None, 0)
        return self.monitor_events(until="MONITOR_STOPPED")

    def set_option(self, name, value):
        options.set_one(self.socket_, name, value)

    def poll(self, events, timeout_ms):
        wanted = {"in": zmq.POLLIN, "out": zmq.POLLOUT}[events]
        return bool(self.socket_.poll(timeout_ms, wanted) & wanted)

    # -- single messages ----------------------------------------------------------------------

    def send(self, parts, timeout_ms):
        self._send(unhexed(parts), Limit(timeout_ms))

    def send_now(self, parts):
        self.socket_.send_multipart(unhexed(parts), flags=zmq.DONTWAIT)

    def recv(self, timeout_ms):
        return hexed(self._recv(Limit(timeout_ms)))

    def recv_properties(self, names, timeout_ms):
        """Properties of the next message's first part."""
        if not self.socket_.poll(timeout_ms, zmq.POLLIN):
            raise zmq.Again()
        part = self.socket_.recv_multipart(copy=False)[0]
        return {name: part.get(name) for name in names}

    # -- draft functions ----------------------------------------------------------------------

    def join(self, group):
        DraftApi(self.socket_).join(bytes.fromhex(group))

    def leave(self, group):
        DraftApi(self.socket_).leave(bytes.fromhex(group))

    def send_draft(self, body, routing_id, group, timeout_ms):
        self.socket_.setsockopt(zmq.SNDTIMEO, timeout_ms)
        DraftApi(self.socket_).send(bytes.fromhex(body), routing_id,
                                    None if group is None else bytes.fromhex(group))

    def recv_draft(self, timeout_ms):
        self.socket_.setsockopt(zmq.RCVTIMEO, timeout_ms)
        body, routing_id, group = DraftApi(self.socket_).recv()
        return [body.hex(), routing_id, group.hex()]

    # -- many messages ------------------------------------------------------------------------

    def send_all(self, spec, envelope, timeout_ms):
        """Sends what `spec` describes, each message behind the frames of `envelope`."""
        limit = Limit(timeout_ms)
        head = unhexed(envelope)
        for parts in content.expand(spec):
            self._send(head + parts, limit)

    def expect(self, spec, strip, timeout_ms):
        """Receives what `spec` describes; returns the distinct envelopes of `strip` frames."""
        limit = Limit(timeout_ms)
        envelopes = []
        for number, parts in enumerate(content.expand(spec)):
            head = self._expect_one(parts, strip, number, limit)
            if head not in envelopes:
                envelopes.append(head)
        return envelopes

    def request(self, spec, envelope, window, timeout_ms):
        """Sends what `spec` describes and receives each message back, `window` ahead at most."""
        limit = Limit(timeout_ms)
        head = unhexed(envelope)
        unanswered = []
        answered = 0
        for parts in content.expand(spec):
            self._send(head + parts, limit)
            unanswered.append(parts)
            if len(unanswered) == window:
                answered = self._take_answer(unanswered, head, answered, limit)
        while unanswered:
            answered = self._take_answer(unanswered, head, answered, limit)
        return answered

    def echo(self, spec, strip, timeout_ms):
        """Receives what `spec` describes and sends every message back as it came."""
        limit = Limit(timeout_ms)
        for number, parts in enumerate(content.expand(spec)):
            head = self._expect_one(parts, strip, number, limit)
            self._send(unhexed(head) + parts, limit)

    def echo_until(self, last, timeout_ms):
        """Echoes any messages up to and including one whose last part is `last`."""
        limit = Limit(timeout_ms)
        end = bytes.fromhex(last)
        count = 0
        while True:
            parts = self._recv(limit)
            self._send(parts, limit)
            count += 1
            if parts[-1] == end:
                return count

    def echo_chunks(self, last, timeout_ms):
        """As a STREAM: sends each chunk back, up to and including one that is `last`. Returns their number."""
        limit = Limit(timeout_ms)
        end = bytes.fromhex(last)
        count = 0
        while True:
            sender, chunk = self._recv(limit)
            if not chunk:
                continue  # a peer has come or gone
            try:
                self._send([sender, chunk], limit)
            except zmq.ZMQError as error:
                if error.errno != errno.EHOSTUNREACH:
                    raise
            count += 1
            if chunk == end:
                return count

    def collect(self, count, strip, timeout_ms):
        """Receives `count` numbered messages; returns the numbers of each tag in their order."""
        limit = Limit(timeout_ms)
        seen = {}
        for _ in range(count):
            parts = self._recv(limit)[strip:]
            tag, number = content.parse_numbered(parts[0])
            size = len(parts[0]) - len(f"{tag}|{number}|")
            if parts != [content.numbered(tag, number, size)]:
                raise AssertionError(f"damaged message {content.brief(parts)}")
            seen.setdefault(tag, []).append(number)
        return seen

    def flood(self, tag, size, envelope, quiet_ms, timeout_ms):
        """Sends numbered messages without waiting until the socket stays unwritable.

        Returns the number accepted and the errno of the refusal.
        """
        limit = Limit(timeout_ms)
        head = unhexed(envelope)
        accepted = 0
        while limit.left_ms() > 0:
            try:
                self.socket_.send_multipart(
                    head + [content.numbered(tag, accepted, size)], flags=zmq.DONTWAIT)
                accepted += 1
            except zmq.Again as error:
                if not self.socket_.poll(quiet_ms, zmq.POLLOUT):
                    return {"accepted": accepted, "refusal": errno.errorcode[error.errno]}
        raise AssertionError(f"{accepted} messages accepted without a limit")

    def finish(self, linger_ms):
        """Closes the socket, terminates the context; returns how long that took in ms."""
        start = time.monotonic()
        if self.monitor_ is not None:
            self.monitor_.close()
        if self.handler_:
            self.handler_.stop()
        self.socket_.close(linger=linger_ms)
        self.context_.term()
        return int((time.monotonic() - start) * 1000)

    # -- helpers ------------------------------------------------------------------------------

    def _send(self, parts, limit):
        self.socket_.setsockopt(zmq.SNDTIMEO, limit.left_ms())
        copy = all(len(part) < ZERO_COPY_BYTES for part in parts)
        self.socket_.send_multipart(parts, copy=copy)

    def _recv(self, limit):
        self.socket_.setsockopt(zmq.RCVTIMEO, limit.left_ms())
        return self.socket_.recv_multipart()

    def _expect_one(self, parts, strip, number, limit):
        try:
            received = self._recv(limit)
        except zmq.Again:
            raise AssertionError(
                f"message {number} did not arrive: {content.brief(parts)}") from None
        if received[strip:] != parts:
            raise AssertionError(f"message {number} differs: expected {content.brief(parts)}, "
                                 f"received {content.brief(received)}")
        return hexed(received[:strip])

    def _take_answer(self, unanswered, head, answered, limit):
        envelope = self._expect_one(unanswered.pop(0), len(head), answered, limit)
        if envelope != hexed(head):
            raise AssertionError(f"answer {answered} has envelope {envelope}")
        return answered + 1
