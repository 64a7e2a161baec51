# SPDX-License-Identifier: Apache-2.0
"""JUnit files as pytest writes them: reading and writing."""

import xml.etree.ElementTree as xml


class Case:
    """One test: its name, `passed`, `failed` or `skipped`, why, and how long it took in seconds."""

    def __init__(self, name, outcome, message="", seconds=0.0):
        self.name = name
        self.outcome = outcome
        self.message = message
        self.seconds = seconds


def read(path):
    """The cases of a file by name. A test that failed and then failed to tear down is one case."""
    cases = {}
    for element in xml.parse(path).getroot().iter("testcase"):
        name = f"{element.get('classname', '')}::{element.get('name')}".removeprefix("tests.")
        outcome, message = "passed", ""
        for kind, means in (("skipped", "skipped"), ("error", "failed"), ("failure", "failed")):
            found = element.find(kind)
            if found is not None:
                outcome, message = means, found.get("message", "")
        case = Case(name, outcome, message, float(element.get("time", 0)))
        if name not in cases or outcome == "failed":
            cases[name] = case
    return cases


def write(path, suite, cases):
    """Writes cases to a file that `read` and continuous-integration servers understand."""
    root = xml.Element("testsuite", name=suite, tests=str(len(cases)))
    for case in cases:
        classname, _, name = case.name.rpartition("::")
        element = xml.SubElement(root, "testcase", classname=classname, name=name,
                                 time=f"{case.seconds:.3f}")
        if case.outcome == "failed":
            xml.SubElement(element, "failure", message=case.message)
        elif case.outcome == "skipped":
            xml.SubElement(element, "skipped", message=case.message)
    xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
