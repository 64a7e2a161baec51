#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the results of a test suite on the library under test against those on the genuine library.

What passes there has to pass here: a test that is skipped or missing here but passes there counts as
failed. One that fails on both says nothing about this library and counts as skipped.
"""

import argparse
import sys
from pathlib import Path

import junit


def judge(name, genuine, tested):
    """The case to report for a test, given what it did on either library (None: it was not there)."""
    passes_there = genuine is not None and genuine.outcome == "passed"
    if tested is None:
        if passes_there:
            return junit.Case(name, "failed", "did not run, but passes on the genuine library")
        return junit.Case(name, "skipped", "runs on neither library")
    if tested.outcome == "skipped" and passes_there:
        return junit.Case(name, "failed", f"skipped, but passes on the genuine library: {tested.message}")
    if tested.outcome == "failed" and genuine is not None and genuine.outcome == "failed":
        return junit.Case(name, "skipped", f"fails on the genuine library as well: {tested.message}")
    return tested


def read_all(paths):
    """The cases of all files, each of which must have some."""
    cases = {}
    for path in paths:
        cases.update(junit.read(path) or sys.exit(f"no tests in {path}"))
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--genuine", type=Path, nargs="+", required=True)
    parser.add_argument("--tested", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    genuine, tested = read_all(arguments.genuine), read_all(arguments.tested)
    names = list(tested) + [name for name in genuine if name not in tested]
    cases = [judge(name, genuine.get(name), tested.get(name)) for name in names]
    junit.write(arguments.output, arguments.output.stem, cases)


if __name__ == "__main__":
    main()
