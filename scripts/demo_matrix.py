#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets separate processes exchange counted and checked messages and prints a row per combination.

Each process loads the library of the directory it is given: zlink or genuine libzmq. A row is OK
when both processes loaded the library meant for them, every message arrived once, in order and
unchanged, and both ended by themselves.
"""

import argparse
import dataclasses
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

TIME_LIMIT_S = 60
# Both ends have counted everything by then: only closing is left.
END_LIMIT_S = 5

# name: (shown as, messages that the talker sends / receives per counted message, the end whose clock counts)
PATTERNS = {
    "pair": ("PAIR", (1, 1), "talker"),
    "pipeline": ("PUSH/PULL", (1, 0), "listener"),
    "pubsub": ("PUB/SUB", (2, 0), "listener"),
    "reqrep": ("REQ/REP", (1, 1), "talker"),
    "dealer": ("DEALER/ROUTER", (1, 1), "talker"),
}


class Failure(Exception):
    """Why a row is not OK."""


@dataclasses.dataclass
class Result:
    sent: int
    received: int
    seconds: float


class Peer:
    """One demo_peer process."""

    def __init__(self, program, library_dir, *arguments):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(library_dir))
        self.library = (library_dir / "libzmq.so.5").resolve()
        self.deadline = time.monotonic() + TIME_LIMIT_S
        self.partner = None
        self.pending = b""
        self.process = subprocess.Popen(
            [program, *arguments], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def expect(self, key):
        """Returns the words after `key` on the next line, which has to begin with it."""
        while b"\n" not in self.pending:
            if time.monotonic() > self.deadline:
                raise Failure("too slow")
            if not select.select([self.process.stdout], [], [], 0.1)[0]:
                # What stopped the partner is the cause; our own time-out would only follow it.
                if self.partner and self.partner.process.poll():
                    raise Failure(self.partner.last_words())
                continue
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise Failure(self.last_words())
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        words = line.decode().split()
        if not words or words[0] != key:
            raise Failure(f"unexpected output: {line.decode()}")
        return words[1:]

    def expect_library(self):
        version, file = self.expect("LIBRARY")
        if pathlib.Path(file) != self.library:
            raise Failure(f"loaded {file}")
        return version

    def expect_result(self):
        sent, received, seconds = self.expect("RESULT")
        return Result(int(sent), int(received), float(seconds))

    def go(self):
        try:
            self.process.stdin.write(b"go\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(self.last_words()) from None

    def expect_end(self):
        try:
            status = self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failure("does not end") from None
        if status:
            raise Failure(self.last_words())

    def last_words(self):
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            return "stopped talking"
        said = self.process.stderr.read().decode(errors="replace").strip().splitlines()
        if status < 0:
            return f"a process was killed by signal {-status}"
        return said[-1] if said else f"ended with status {status}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


@dataclasses.dataclass
class Matrix:
    program: str
    libraries: dict
    count: int
    scratch: str
    rows: int = 0
    failures: int = 0

    def count_for(self, pattern):
        # One round trip at a time waits for the network each time.
        return self.count // 4 if pattern == "reqrep" else self.count

    def endpoint(self, transport):
        if transport == "tcp":
            return "tcp://127.0.0.1:*"
        return f"ipc://{self.scratch}/{self.rows}"

    def row(self, transport, pattern, talker, listener, binder, run):
        """Runs one combination and prints its row."""
        started = time.monotonic()
        messages = "-"
        rate = "-"
        try:
            results = run()
            messages, seconds = self.judge(pattern, results)
            rate = f"{messages / max(seconds, 1e-9):,.0f}"
            verdict = "OK"
        except Failure as failure:
            self.failures += 1
            verdict = f"FAILED: {failure}"
        self.rows += 1
        print(f"{transport:<7} {PATTERNS[pattern][0]:<14} {talker:<8} {listener:<8} {binder:<9}"
              f" {messages:>8} {rate:>12} {time.monotonic() - started:6.1f} s  {verdict}", flush=True)

    def judge(self, pattern, results):
        """Returns (messages that were received and verified, seconds), or raises Failure."""
        talked, listened = results
        count = self.count_for(pattern)
        per_sent, per_received = PATTERNS[pattern][1]
        expected = (per_sent * count, per_received * count, count, per_received * count)
        counted = (talked.sent, talked.received, listened.received, listened.sent)
        if counted != expected:
            raise Failure(f"counted {counted}, expected {expected}")
        clock = talked if PATTERNS[pattern][2] == "talker" else listened
        return listened.received + talked.received, clock.seconds

    def processes(self, transport, pattern, talker, listener, talker_binds):
        common = ["--pattern", pattern, "--count", str(self.count_for(pattern))]
        ends = {"talker": (self.libraries[talker], [*common, "--talker"]),
                "listener": (self.libraries[listener], common)}
        first, second = ("talker", "listener") if talker_binds else ("listener", "talker")
        with Peer(self.program, ends[first][0], *ends[first][1],
                  "--bind", "--endpoint", self.endpoint(transport)) as binding:
            binding.expect_library()
            endpoint = binding.expect("ENDPOINT")[0]
            with Peer(self.program, ends[second][0], *ends[second][1],
                      "--endpoint", endpoint) as connecting:
                connecting.expect_library()
                connecting.expect("ENDPOINT")
                binding.partner, connecting.partner = connecting, binding
                peers = {first: binding, second: connecting}
                if pattern == "pubsub":
                    peers["listener"].expect("READY")
                    peers["talker"].go()
                # The listener's complaint says more than the talker's time-out that follows it.
                heard = peers["listener"].expect_result()
                told = peers["talker"].expect_result()
                connecting.expect_end()
                binding.expect_end()
                return told, heard

    def threads(self, pattern):
        with Peer(self.program, self.libraries["zlink"], "--inproc", "--pattern", pattern,
                  "--count", str(self.count_for(pattern))) as peer:
            peer.expect_library()
            results = peer.expect_result(), peer.expect_result()
            peer.expect_end()
            return results

    def run(self):
        others = [name for name in self.libraries if name != "zlink"]
        pairs = [("zlink", "zlink")]
        for other in others:
            pairs += [("zlink", other), (other, "zlink")]
        print(f"{'':<7} {'pattern':<14} {'talker':<8} {'listener':<8} {'binds':<9}"
              f" {'messages':>8} {'messages/s':>12} {'took':>8}  result")
        for transport in ("tcp", "ipc"):
            for pattern in PATTERNS:
                for talker, listener in pairs:
                    for binder in ("talker", "listener"):
                        self.row(transport, pattern, talker, listener, binder,
                                 lambda: self.processes(transport, pattern, talker, listener,
                                                        binder == "talker"))
        for pattern in PATTERNS:
            self.row("inproc", pattern, "zlink", "zlink", "listener", lambda: self.threads(pattern))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the demo_peer program")
    parser.add_argument("--zlink", required=True, type=pathlib.Path,
                        help="directory with zlink's libzmq.so.5")
    parser.add_argument("--genuine", type=pathlib.Path,
                        help="directory with a genuine libzmq.so.5")
    parser.add_argument("--count", type=int, default=20000, help="messages per combination")
    arguments = parser.parse_args()
    libraries = {"zlink": arguments.zlink.absolute()}
    if arguments.genuine:
        libraries["genuine"] = arguments.genuine.absolute()
    with tempfile.TemporaryDirectory(prefix="zlink-demo-") as scratch:
        matrix = Matrix(arguments.program, libraries, arguments.count, scratch)
        matrix.run()
    print(f"{matrix.rows - matrix.failures} combinations OK, {matrix.failures} failed")
    return 1 if matrix.failures else 0


if __name__ == "__main__":
    sys.exit(main())
