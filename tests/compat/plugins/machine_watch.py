# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: says which tests failed while the machine stood still.

The tests of others have limits of wall-clock time, down to a tenth of a second. A virtual machine may get no
processor for longer than that, and a race may need just that to show: who looks for the cause of a failure has to
know. So a process on each processor asks to be woken every few milliseconds and notes when it was not. It changes no
result. `--pauses FILE` is where the lines go, one for each such test; without it nothing is watched.
"""

import json
import os
import select
import subprocess
import sys
import time

import pytest

TICK_S = 0.005
STILL_S = 0.1


def pytest_addoption(parser):
    parser.addoption("--pauses", metavar="FILE", help="which tests failed while the machine stood still")


def pytest_configure(config):
    path = config.getoption("--pauses")
    if path:
        config.pluginmanager.register(MachineWatch(path), "machine_watch_of_run")


class MachineWatch:
    def __init__(self, path):
        self.path_ = path
        self.begin_ = time.monotonic()
        self.watchers_ = [subprocess.Popen([sys.executable, __file__, str(cpu)], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True)
                          for cpu in os.sched_getaffinity(0)]

    def pytest_runtest_logstart(self):
        self.begin_ = time.monotonic()

    def pytest_runtest_logreport(self, report):
        longest_s = self._longest_s() if report.failed else 0
        if longest_s:
            with open(self.path_, "a", encoding="utf-8") as lines:
                print(f"the machine stood still for {longest_s:.1f} s during {report.nodeid}", file=lines)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        for watcher in self.watchers_:
            watcher.stdin.close()
            watcher.wait()

    def _longest_s(self):
        """For how long at once a processor stood still since the test began."""
        pauses = []
        for watcher in self.watchers_:
            print(file=watcher.stdin, flush=True)
            pauses += json.loads(watcher.stdout.readline())
        return max((end - begin for begin, end in pauses if end > self.begin_), default=0)


def watch(cpu):
    """Prints, for each line it is sent, the pauses since the line before."""
    os.sched_setaffinity(0, {cpu})
    pauses = []
    last = time.monotonic()
    while True:
        asked = select.select([sys.stdin], [], [], TICK_S)[0]
        now = time.monotonic()
        if now - last > STILL_S:
            pauses.append((last, now))
        last = now
        if asked:
            if not sys.stdin.readline():
                return
            print(json.dumps(pauses), flush=True)
            pauses = []


if __name__ == "__main__":
    watch(int(sys.argv[1]))
