#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what each lane's tests did, and says whether anything failed that was not expected to.

A line of the file of expectations is `LANE TEST why`; LANE and TEST may hold the wildcards of a shell.
"""

import argparse
import fnmatch
import sys
from pathlib import Path

import junit


class Expectation:
    def __init__(self, line):
        self.lane, self.test, self.why = (line.split(None, 2) + [""])[:3]
        self.met_by_failure = False
        self.met_by_pass = False

    def names(self, lane, case):
        return (fnmatch.fnmatchcase(lane, self.lane) and
                (case.name == self.test or fnmatch.fnmatchcase(case.name, self.test)))


def read_expectations(path):
    lines = (line.split("#", 1)[0].strip() for line in path.read_text().splitlines())
    return [Expectation(line) for line in lines if line]


def expected(expectations, lane, case):
    """Whether a line names the case; remembers which lines still hold."""
    found = [entry for entry in expectations if entry.names(lane, case)]
    for entry in found:
        if case.outcome == "passed":
            entry.met_by_pass = True
        else:
            entry.met_by_failure = True
    return bool(found)


def seconds_of(results, lane):
    try:
        return (results / f"{lane}.seconds").read_text().strip()
    except OSError:
        return "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--expected", type=Path, required=True)
    parser.add_argument("--broken", default="", help="lanes without results, separated by spaces")
    parser.add_argument("--junit", type=Path, help="directory for results in which expected failures are skipped")
    parser.add_argument("lanes", nargs="+")
    arguments = parser.parse_args()
    expectations = read_expectations(arguments.expected)
    broken = arguments.broken.split()
    rows, unexpected = [], []
    for lane in arguments.lanes:
        if lane in broken:
            rows.append((lane, "-", "did not run", "-", "-", seconds_of(arguments.results, lane)))
            continue
        count = dict.fromkeys(("passed", "failed", "skipped", "expected"), 0)
        cases = list(junit.read(arguments.results / f"{lane}.xml").values())
        for case in cases:
            count[case.outcome] += 1
            named = expected(expectations, lane, case)
            if case.outcome != "passed" and named:
                count["expected"] += 1
                case.outcome = "skipped"
            elif case.outcome == "failed":
                unexpected.append((lane, case))
        if arguments.junit:
            arguments.junit.mkdir(parents=True, exist_ok=True)
            junit.write(arguments.junit / f"compat-{lane}.xml", lane, cases)
        rows.append((lane, *count.values(), seconds_of(arguments.results, lane)))

    for lane, case in unexpected:
        lines = case.message.strip().splitlines() or [""]
        print(f"    failed: {lane}: {case.name}: {lines[0][:200]}")
    for entry in expectations:
        if entry.met_by_pass and not entry.met_by_failure:
            print(f"    passes now, take it off the list: {entry.lane} {entry.test}")
    print(f"{'lane':<14}{'passed':>8}{'failed':>13}{'skipped':>9}{'expected':>10}{'seconds':>9}")
    for row in rows:
        print(f"{row[0]:<14}{row[1]:>8}{row[2]:>13}{row[3]:>9}{row[4]:>10}{row[5]:>9}")
    if unexpected or broken:
        print(f"{len(unexpected)} failed unexpectedly, {len(broken)} lanes did not run")
    return 1 if unexpected or broken else 0


if __name__ == "__main__":
    sys.exit(main())
