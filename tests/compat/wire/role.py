# SPDX-License-Identifier: Apache-2.0
"""The process of a peer program, and the messages that both sides know."""

import select
import subprocess
import time

DEADLINE_S = 30
MARK = b"mark"


class RoleError(Exception):
    """A peer program reported an error, ended, or did not answer in time."""


def part(message, index, size):
    if size == 0:
        return b""
    head = b"%d.%d|" % (message, index)
    return head + bytes([ord("a") + message % 26]) * (size - len(head))


def message(number, size, parts):
    return [part(number, index, size) for index in range(parts)]


class Role:
    """A running peer program with one socket. `start` and `result` let both sides work at once."""

    def __init__(self, command, kind, how, endpoint, options=()):
        self.pending_ = b""
        self.process_ = subprocess.Popen([*command, kind, how, endpoint, *options], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
        answer = self._line()
        if answer != "ready":
            self.stop()
            raise RoleError(answer)

    def start(self, *words):
        self.process_.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.process_.stdin.flush()

    def result(self, within_s=DEADLINE_S):
        answer = self._line(within_s)
        if not answer.startswith("done "):
            raise RoleError(answer)
        return int(answer.removeprefix("done "))

    def answered(self, within_s):
        """Whether there is an answer to read."""
        return b"\n" in self.pending_ or bool(select.select([self.process_.stdout], [], [], within_s)[0])

    def call(self, *words):
        self.start(*words)
        return self.result()

    def quit(self):
        """Asks the program to end; fails when it does not, or not cleanly."""
        self.start("quit")
        try:
            status = self.process_.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            raise RoleError("the program did not end") from None
        if status:
            raise RoleError(f"the program ended with {status}")

    def stop(self):
        self.process_.kill()
        self.process_.wait()
        for stream in (self.process_.stdin, self.process_.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def _line(self, within_s=DEADLINE_S):
        end = time.monotonic() + within_s
        while b"\n" not in self.pending_:
            if not select.select([self.process_.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise RoleError(f"no answer within {within_s} s")
            chunk = self.process_.stdout.read1(65536)
            if not chunk:
                raise RoleError(f"the program ended with {self.process_.wait()}")
            self.pending_ += chunk
        line, self.pending_ = self.pending_.split(b"\n", 1)
        return line.decode(errors="replace")
