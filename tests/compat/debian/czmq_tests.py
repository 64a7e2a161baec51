#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the self-tests that are exported by libczmq.so.4, each in a process of its own.

They end the process when something is wrong. Those that need a network of several machines or what a
container has not are left out.
"""

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import junit

LIBRARY = "libczmq.so.4"
TESTS = ["zactor", "zarmour", "zauth", "zcert", "zcertstore", "zchunk", "zclock", "zconfig", "zdigest",
         "zdir", "zdir_patch", "zfile", "zframe", "zgossip", "zhash", "zhashx", "ziflist", "zlist",
         "zlistx", "zloop", "zmonitor", "zmsg", "zpoller", "zproxy", "zrex", "zsock", "zstr",
         "zsys", "zuuid"]
LIMIT_S = 60


def use(test, expected):
    """In the child: checks which libzmq is used, then runs one test."""
    library = ctypes.CDLL(LIBRARY)
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()
              if "libzmq" in line}
    if {os.path.realpath(path) for path in mapped} != {os.path.realpath(expected)}:
        sys.exit(f"uses {sorted(mapped)}, not {expected}")
    getattr(library, f"{test}_test")(ctypes.c_bool(False))


def outcome(test, expected):
    with tempfile.TemporaryDirectory() as directory:
        os.makedirs(f"{directory}/src/selftest-rw")
        os.makedirs(f"{directory}/src/selftest-ro")
        child = subprocess.Popen([sys.executable, __file__, "--test", test, "--expect-library", expected],
                                 cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            text = child.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return "failed", f"did not end within {LIMIT_S} s: " + child.communicate()[0].decode(errors="replace")[-500:]
    if child.returncode == 0:
        return "passed", ""
    return "failed", f"status {child.returncode}: {text.strip()[-500:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expect-library", required=True)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--test")
    arguments = parser.parse_args()
    if arguments.test:
        use(arguments.test, arguments.expect_library)
        return
    cases = []
    for test in TESTS:
        begin = time.monotonic()
        result, message = outcome(test, arguments.expect_library)
        print(f"{test}: {result} {message}", flush=True)
        cases.append(junit.Case(f"czmq::{test}", result, message, time.monotonic() - begin))
    junit.write(arguments.output, "czmq", cases)


if __name__ == "__main__":
    main()
