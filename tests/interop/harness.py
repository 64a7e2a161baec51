# SPDX-License-Identifier: Apache-2.0
"""Starts and drives the peer processes of a test."""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OPERATION_MS = 10_000
PEER_DEADLINE_S = 60
ANSWER_MARGIN_S = 10


def readable(descriptor, within_s):
    """Whether a descriptor becomes readable, or reaches its end, within the time."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(within_s * 1000))


class PeerError(Exception):
    """An operation of a peer failed; `name` is the errno name or exception type."""

    def __init__(self, name, message):
        super().__init__(message)
        self.name = name


class PeerDied(Exception):
    """A peer process ended or stopped answering."""


class ForkedProcess:
    """A process that the fork server has started; what subprocess.Popen is for others."""

    def __init__(self, pid, stdin, stdout, status):
        self.pid = pid
        self.stdin = os.fdopen(stdin, "wb")
        self.stdout = os.fdopen(stdout, "rb")
        self.status_ = status
        self.exit_code_ = None

    def wait(self, timeout_s=None):
        """The exit code, negative if a signal has ended the process; None after the timeout."""
        if self.exit_code_ is None:
            if timeout_s is not None and not readable(self.status_, timeout_s):
                return None
            text = os.read(self.status_, 64)
            if not text:
                raise PeerDied("the fork server has ended")
            self.exit_code_ = int(text)
            os.close(self.status_)
        return self.exit_code_

    def poll(self):
        return self.wait(0)

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _pipe(closes_reader, closes_writer):
    """The descriptors of a new pipe, closed by one ExitStack each."""
    ends = os.pipe()
    for stack, end in zip((closes_reader, closes_writer), ends):
        stack.callback(os.close, end)
    return ends


class ForkServer:
    """Starts the peers of one side, see fork_server.py."""

    def __init__(self, environment):
        self.control_, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process_ = subprocess.Popen([sys.executable, str(HERE / "fork_server.py")],
                                             env=environment, stdin=theirs)

    def start(self, arguments, stderr):
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            stdin_read, stdin_write = _pipe(theirs, ours)
            stdout_read, stdout_write = _pipe(ours, theirs)
            status_read, status_write = _pipe(ours, theirs)
            given = [stdin_read, stdout_write, stderr.fileno(), status_write]
            answer = self.ask_(json.dumps(arguments).encode(), given)
            if not answer.isdigit():
                raise PeerDied(f"no peer started: {answer}")
            ours.pop_all()
            return ForkedProcess(int(answer), stdin_write, stdout_read, status_read)

    def ask_(self, request, descriptors):
        """The answer of the server, or how it has ended."""
        try:
            socket.send_fds(self.control_, [request], descriptors)
            answer = self.control_.recv(1024)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        if answer:
            return answer.decode()
        return f"the fork server has ended with status {self.process_.wait(ANSWER_MARGIN_S)}"

    def close(self):
        self.control_.close()
        self.process_.wait(ANSWER_MARGIN_S)


class Side:
    """One of the two installations of pyzmq and the library its processes must load."""

    def __init__(self, name, library, module_path=None):
        self.name = name
        self.library = os.path.realpath(library)
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("LD_", "PYTHONPATH"))}
        if module_path is not None:
            environment["PYTHONPATH"] = str(module_path)
        self.fork_server = ForkServer(environment)

    def close(self):
        self.fork_server.close()

    def check_library(self, mapped):
        """Fails unless the library of this side, and no other libzmq, is in `mapped`."""
        candidates = [path for path in mapped
                      if path == self.library or os.path.basename(path).startswith("libzmq")]
        assert candidates == [self.library], \
            f"a {self.name} process maps {candidates}, expected only {self.library}"


class Peer:
    """A running peer process. Not thread-safe."""

    def __init__(self, side, kind, role="socket", deadline_s=PEER_DEADLINE_S, **options):
        self.name = f"{side.name} {kind}"
        self.side = side
        self.pending_ = b""
        self.stderr_ = tempfile.TemporaryFile()
        self.final_stderr_ = None
        arguments = ["--role", role, "--type", kind, "--deadline-s", str(deadline_s)]
        for option, value in options.items():
            arguments += ["--option", f"{option}={_option_text(value)}"]
        self.process_ = side.fork_server.start(arguments, self.stderr_)
        self.hello_ = None

    @property
    def hello(self):
        """The start report; also the proof of the library loaded."""
        if self.hello_ is None:
            self.hello_ = self._answer(ANSWER_MARGIN_S)
            self.side.check_library(self.hello_["libraries"])
        return self.hello_

    def start(self, operation, **arguments):
        """Begins an operation; `result` waits for it."""
        self.hello
        self.wait_s_ = arguments.get("timeout_ms", OPERATION_MS) / 1000 + ANSWER_MARGIN_S
        line = json.dumps({"op": operation, **arguments}).encode() + b"\n"
        try:
            self.process_.stdin.write(line)
            self.process_.stdin.flush()
        except BrokenPipeError:
            self._raise_died("has closed its input")
        return self

    def result(self):
        return self._answer(self.wait_s_)

    def call(self, operation, **arguments):
        return self.start(operation, **arguments).result()

    # -- operations of the socket role --------------------------------------------------------

    def bind(self, endpoint):
        return self.call("bind", endpoint=endpoint)

    def connect(self, endpoint):
        self.call("connect", endpoint=endpoint)

    def set_option(self, name, value):
        self.call("set_option", name=name, value=_option_text(value))

    def send(self, *parts, timeout_ms=OPERATION_MS):
        self.call("send", parts=[part.hex() for part in parts], timeout_ms=timeout_ms)

    def send_now(self, *parts):
        self.call("send_now", parts=[part.hex() for part in parts])

    def recv(self, timeout_ms=OPERATION_MS):
        return [bytes.fromhex(part) for part in self.call("recv", timeout_ms=timeout_ms)]

    def recv_properties(self, *names, timeout_ms=OPERATION_MS):
        return self.call("recv_properties", names=names, timeout_ms=timeout_ms)

    def try_recv(self, timeout_ms):
        """The next message, or None if there is none within the time."""
        try:
            return self.recv(timeout_ms)
        except PeerError as error:
            if error.name != "EAGAIN":
                raise
            return None

    def join(self, group):
        self.call("join", group=group.hex())

    def leave(self, group):
        self.call("leave", group=group.hex())

    def send_draft(self, body, routing_id=0, group=None, timeout_ms=OPERATION_MS):
        self.call("send_draft", body=body.hex(), routing_id=routing_id,
                  group=None if group is None else group.hex(), timeout_ms=timeout_ms)

    def recv_draft(self, timeout_ms=OPERATION_MS):
        """Body, routing id and group of the next message."""
        body, routing_id, group = self.call("recv_draft", timeout_ms=timeout_ms)
        return bytes.fromhex(body), routing_id, bytes.fromhex(group)

    def poll(self, events, timeout_ms):
        return self.call("poll", events=events, timeout_ms=timeout_ms)

    def start_send_all(self, spec, envelope=(), timeout_ms=OPERATION_MS):
        return self.start("send_all", spec=spec, envelope=[part.hex() for part in envelope],
                          timeout_ms=timeout_ms)

    def send_all(self, spec, envelope=(), timeout_ms=OPERATION_MS):
        self.start_send_all(spec, envelope, timeout_ms).result()

    def start_expect(self, spec, strip=0, timeout_ms=OPERATION_MS):
        return self.start("expect", spec=spec, strip=strip, timeout_ms=timeout_ms)

    def expect(self, spec, strip=0, timeout_ms=OPERATION_MS):
        return self.start_expect(spec, strip, timeout_ms).result()

    def request(self, spec, envelope=(), window=100, timeout_ms=OPERATION_MS):
        return self.call("request", spec=spec, envelope=[part.hex() for part in envelope],
                         window=window, timeout_ms=timeout_ms)

    def start_echo(self, spec, strip=0, timeout_ms=OPERATION_MS):
        return self.start("echo", spec=spec, strip=strip, timeout_ms=timeout_ms)

    def start_echo_until(self, last, timeout_ms=2 * OPERATION_MS):
        return self.start("echo_until", last=last.hex(), timeout_ms=timeout_ms)

    def start_echo_chunks(self, last, timeout_ms=2 * OPERATION_MS):
        return self.start("echo_chunks", last=last.hex(), timeout_ms=timeout_ms)

    def start_collect(self, count, strip=0, timeout_ms=OPERATION_MS):
        return self.start("collect", count=count, strip=strip, timeout_ms=timeout_ms)

    def flood(self, tag, size, envelope=(), quiet_ms=200, timeout_ms=OPERATION_MS):
        return self.call("flood", tag=tag, size=size, quiet_ms=quiet_ms, timeout_ms=timeout_ms,
                         envelope=[part.hex() for part in envelope])

    # -- end of the process -------------------------------------------------------------------

    def finish(self, linger_ms=0):
        """Closes, terminates and waits for a clean exit; returns the duration of the first two."""
        return self.start_finish(linger_ms).finish_result()

    def start_finish(self, linger_ms):
        return self.start("finish", linger_ms=linger_ms)

    def finish_result(self):
        duration_ms = self.result()
        code = self.process_.wait(ANSWER_MARGIN_S)
        if code is None:
            self._raise_died("did not exit after its context was terminated")
        if code != 0:
            self._raise_died(f"exited with {code} after its context was terminated")
        return duration_ms

    def kill(self):
        """Ends the process with SIGKILL."""
        self.process_.kill()
        self.process_.wait()

    def running(self):
        return self.process_.poll() is None

    def release(self):
        """Ends the process if it runs and closes what the test process holds of it."""
        self.kill()
        self.final_stderr_ = self.stderr()
        self.stderr_.close()
        self.process_.stdout.close()
        try:
            self.process_.stdin.close()
        except BrokenPipeError:
            pass  # a request that was never read

    def stderr(self):
        """What the process wrote to stderr, also after `release`."""
        if self.final_stderr_ is not None:
            return self.final_stderr_
        self.stderr_.seek(0)
        return self.stderr_.read().decode(errors="replace")

    # -- helpers ------------------------------------------------------------------------------

    def _answer(self, wait_s):
        descriptor = self.process_.stdout.fileno()
        end = time.monotonic() + wait_s
        while b"\n" not in self.pending_:
            left = end - time.monotonic()
            if left <= 0 or not readable(descriptor, left):
                self._raise_died(f"gave no answer within {wait_s:g} s")
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                self._raise_died(f"exited with {self.process_.wait()}")
            self.pending_ += chunk
        line, self.pending_ = self.pending_.split(b"\n", 1)
        reply = json.loads(line)
        if "error" in reply:
            raise PeerError(reply["error"], f"{self.name}: {reply['error']}: {reply['message']}")
        return reply["ok"]

    def _raise_died(self, what):
        raise PeerDied(f"{self.name} {what}")


class Peers:
    """All peers of one test."""

    def __init__(self):
        self.all_ = []

    def add(self, side, kind, **arguments):
        peer = Peer(side, kind, **arguments)
        self.all_.append(peer)
        return peer

    def finish(self):
        """Ends those that still run in an orderly way, so that a bad end fails the test."""
        for peer in self.all_:
            if peer.running():
                peer.finish()

    def release(self):
        for peer in self.all_:
            peer.release()

    def report(self):
        return [(f"stderr of {peer.name} (pid {peer.process_.pid})", peer.stderr())
                for peer in self.all_]


class Endpoint:
    """An endpoint that nobody else uses while this object lives.

    The tcp port is held by a socket that is bound but does not listen: connecting to it is
    refused, and libraries that set SO_REUSEADDR can still bind it, also repeatedly.
    """

    def __init__(self, transport):
        self.directory_ = self.reservation_ = None
        if transport == "tcp":
            self.reservation_ = socket.socket()
            self.reservation_.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.reservation_.bind(("127.0.0.1", 0))
            self.address = self.reservation_.getsockname()
            self.text = f"tcp://127.0.0.1:{self.address[1]}"
        else:
            self.directory_ = tempfile.mkdtemp(prefix="interop-")
            self.address = os.path.join(self.directory_, "endpoint")
            self.text = f"ipc://{self.address}"

    def release(self):
        if self.reservation_ is not None:
            self.reservation_.close()
        if self.directory_ is not None:
            shutil.rmtree(self.directory_, ignore_errors=True)


class Link:
    """A binding and a connecting side on one endpoint."""

    def __init__(self, peers, binder, connector, transport):
        self.peers = peers
        self.binder = binder
        self.connector = connector
        self.transport = transport
        self.endpoints_ = []
        self.endpoint = self.new_endpoint()

    def skip_unless_zlink(self, *sides):
        """Skips the test if one of the sides is the genuine library."""
        if any(side.name != "zlink" for side in sides):
            pytest.skip("a side whose known defect this is about is the genuine library")

    def new_endpoint(self):
        endpoint = Endpoint(self.transport)
        self.endpoints_.append(endpoint)
        return endpoint.text

    def bind(self, kind, **options):
        peer = self.peers.add(self.binder, kind, **options)
        peer.bind(self.endpoint)
        return peer

    def bind_again(self, peer):
        """Binds the endpoint that `peer` has just unbound. The genuine library gives it up in the
        background, so only zlink has to succeed at once."""
        end = time.monotonic() + (0 if self.binder.name == "zlink" else 5)
        while True:
            try:
                return peer.bind(self.endpoint)
            except PeerError as error:
                if error.name != "EADDRINUSE" or time.monotonic() >= end:
                    raise

    def connect(self, kind, **options):
        peer = self.peers.add(self.connector, kind, **options)
        peer.connect(self.endpoint)
        return peer

    def pair(self, kind_a, kind_b, first_binds, options_a=None, options_b=None, role="socket"):
        """Peers of two types; the first or the second of them binds."""
        options_a, options_b = options_a or {}, options_b or {}
        if first_binds:
            a = self.peers.add(self.binder, kind_a, role=role, **options_a)
            b = self.peers.add(self.connector, kind_b, role=role, **options_b)
            a.bind(self.endpoint)
            b.connect(self.endpoint)
        else:
            a = self.peers.add(self.connector, kind_a, role=role, **options_a)
            b = self.peers.add(self.binder, kind_b, role=role, **options_b)
            b.bind(self.endpoint)
            a.connect(self.endpoint)
        return a, b

    def release(self):
        for endpoint in self.endpoints_:
            endpoint.release()


def attempts(timeout_ms=OPERATION_MS):
    """Counts up until the time is over, then fails: the frame of every polling loop."""
    end = time.monotonic() + timeout_ms / 1000
    number = 0
    while time.monotonic() < end:
        yield number
        number += 1
    raise AssertionError(f"condition not met within {timeout_ms} ms ({number} attempts)")


def recv_nudging(receiver, sender):
    """The next message of `receiver`, while `sender` is polled.

    A socket may take up a new or renewed connection only when its application uses it, so one
    that has nothing more to do in the test must be touched for its subscriptions to go out.
    """
    for _ in attempts():
        sender.poll("in", 0)
        parts = receiver.try_recv(20)
        if parts is not None:
            return parts


def establish_flow(sender, receiver, prefix=b"", strip=0, envelope=()):
    """Sends probes until the receiver has got one, then empties the channel.

    Afterwards every message from `sender` reaches `receiver`, and none is under way.
    """
    for number in attempts():
        try:
            sender.send(*envelope, prefix + b"probe %d" % number)
        except PeerError as error:
            if error.name not in ("EHOSTUNREACH", "EAGAIN"):
                raise
        if receiver.try_recv(20) is not None:
            break
    end = prefix + b"end of probes"
    sender.send(*envelope, end)
    for _ in attempts():
        if receiver.recv()[strip:] == [end]:
            return


def establish_round_trip(client, last):
    """Sends probes to an echoing peer until one comes back, then waits for that of `last`."""
    for number in attempts():
        try:
            client.send(b"probe %d" % number, timeout_ms=50)
        except PeerError as error:
            if error.name != "EAGAIN":
                raise
        if client.try_recv(50) is not None:
            break
    client.send(last)
    for _ in attempts():
        if client.recv() == [last]:
            return


def _option_text(value):
    return f"hex:{value.hex()}" if isinstance(value, bytes) else str(int(value))
