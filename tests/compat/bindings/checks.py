#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program that prints its checks without arguments and runs one when it is named."""

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import junit

LIMIT_S = 60


def outcome(command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return "failed", f"did not end within {LIMIT_S} s: {(late.stdout or b'').decode(errors='replace')[-500:]}"
    text = done.stdout.decode(errors="replace").strip()
    return ("passed", "") if done.returncode == 0 else ("failed", f"status {done.returncode}: {text[:500]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    names = subprocess.run(arguments.command, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S).stdout
    cases = []
    for name in names.decode().split():
        begin = time.monotonic()
        result, message = outcome([*arguments.command, name])
        print(f"{name}: {result} {message}", flush=True)
        cases.append(junit.Case(f"{arguments.output.stem}::{name}", result, message, time.monotonic() - begin))
    if not cases:
        sys.exit("the program has no checks")
    junit.write(arguments.output, arguments.output.stem, cases)


if __name__ == "__main__":
    main()
