#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases in JUnit files as ctest and pytest write them.

Without --total: one line about the given files. With --total: a line for each failed case, with the
end of what it printed, and for each lane that failed without one, then "N passed, N failed"; the
status is 1 when anything failed or nothing passed.
"""

import argparse
import pathlib
import sys
import xml.etree.ElementTree as xml

most_lines = 30  # of what a failed case has printed


def outcome(case):
    """passed, failed or skipped. A test that ctest could not start is a failed one."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if case.get("status") == "notrun":
        reason = skipped.get("message", "") if skipped is not None else ""
        return "skipped" if reason.startswith("SKIP_") else "failed"
    if case.get("status") == "fail":
        return "failed"
    if skipped is not None or case.get("status") == "disabled":
        return "skipped"
    return "passed"


def printed(case):
    """What the case has printed, of pytest the traceback as well."""
    elements = [case.find(tag) for tag in ("failure", "error", "system-out")]
    return "\n".join(element.text for element in elements if element is not None and element.text)


def cases(file):
    """(name, outcome, what it printed) of each case; a file that cannot be read is a failure of
    its own."""
    try:
        root = xml.parse(file).getroot()
    except (OSError, xml.ParseError) as problem:
        return [(f"{file.name}: {problem}", "failed", "")]
    return [(case.get("name", "?"), outcome(case), printed(case)) for case in root.iter("testcase")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--total", action="store_true")
    parser.add_argument("--failed-lanes", default="", help="names, separated by spaces")
    arguments = parser.parse_args()
    files = [file for file in arguments.files if file.exists()]
    found = [(file, *case) for file in files for case in cases(file)]
    count = {kind: sum(1 for case in found if case[2] == kind)
             for kind in ("passed", "failed", "skipped")}
    if not arguments.total:
        print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
        return 0
    for file, name, kind, output in found:
        if kind == "failed":
            print(f"    failed: {file.stem}: {name}")
            for line in output.splitlines()[-most_lines:]:
                print(f"        {line}")
    for lane in arguments.failed_lanes.split():
        if not any(file.stem.startswith(lane) and kind == "failed" for file, _, kind, _ in found):
            print(f"    failed: the lane {lane}, without a failed test in its results")
            count["failed"] += 1
    if count["skipped"]:
        print(f"    {count['skipped']} skipped")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
