#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our zmq.h with another one, mechanically: constants, function types, type layouts.

    compare_header.py OURS OTHER [--may-differ NAME] [--cc CC] [--cxx CXX]

Both headers go through the compiler and only its results are compared, each with and without
ZMQ_BUILD_DRAFT_API. Ours may have more than the other one (it may be newer); anything missing or
different is reported and makes the exit status 1. The version macros may differ, and names given
with --may-differ (against 4.3.4: ZMQ_RECONNECT_STOP_AFTER_DISCONNECT, 3 there and 4 since 4.3.5).
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

VERSION_MACROS = {"ZMQ_VERSION", "ZMQ_VERSION_MAJOR", "ZMQ_VERSION_MINOR", "ZMQ_VERSION_PATCH"}
NAMES = re.compile(r"ZMQ_\w+|E[A-Z0-9]+")
# Linkage differs on purpose, and the function-like macros are compared through their uses.
NOT_CONSTANTS = {"ZMQ_EXPORT", "ZMQ_BUILD_DRAFT_API"}
INTEGER = re.compile(r"[\s0-9a-fA-FxXuUlL()+*|~<>-]+")
MEMBERS = {
    "zmq_msg_t": [],
    "zmq_fd_t": [],
    "zmq_pollitem_t": ["socket", "fd", "events", "revents"],
    "zmq_poller_event_t": ["socket", "fd", "user_data", "events"],
}
CALLBACKS = ["zmq_free_fn", "zmq_timer_fn", "zmq_thread_fn"]


class Header:
    """One header, seen through the compilers with or without the draft API."""

    def __init__(self, path: str, drafts: bool, compilers: argparse.Namespace):
        self.include = f'#include "{pathlib.Path(path).resolve()}"\n'
        self.flags = ["-DZMQ_BUILD_DRAFT_API"] if drafts else []
        self.compilers = compilers

    def preprocess(self, source: str, *flags: str) -> str:
        command = [self.compilers.cc, "-E", "-P", "-x", "c", *flags, *self.flags, "-"]
        return subprocess.run(command, input=source, text=True, check=True,
                              stdout=subprocess.PIPE).stdout

    def run(self, compiler: str, language: str, body: str) -> dict[str, str]:
        """Compiles and runs a program around `body`, which prints one `name value` per line."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            includes = self.include + "#include <cstddef>\n#include <cstdio>\n#include <typeinfo>\n"
            if language == "c":
                includes = self.include + "#include <stddef.h>\n#include <stdio.h>\n"
            source = f"{includes}int main() {{\n{body}return 0;\n}}\n"
            subprocess.run([compiler, "-x", language, *self.flags, "-o", program, "-"],
                           input=source, text=True, check=True)
            output = subprocess.run([program], text=True, check=True, stdout=subprocess.PIPE).stdout
        return dict(line.split(" ", 1) for line in output.splitlines())

    def constants(self) -> dict[str, str]:
        """Value of every object-like macro: integers evaluated, text and others as expanded."""
        definitions = self.preprocess(self.include, "-dM")
        names = [name for name in re.findall(r"^#define (\w+)(?= |$)", definitions, re.M)
                 if NAMES.fullmatch(name) and name not in NOT_CONSTANTS]
        # The marker keeps the line of a macro that expands to nothing.
        lines = self.preprocess(
            self.include + "".join(f'@ "{name}" {name}\n' for name in names)).splitlines()
        expanded = dict(re.fullmatch(r'@ "(\w+)" ?(.*)', line).groups()
                        for line in lines if line.startswith("@ "))
        integers = [name for name, text in expanded.items() if INTEGER.fullmatch(text)]
        body = "".join(f'printf("{name} %lld\\n", (long long)({name}));\n' for name in integers)
        return expanded | self.run(self.compilers.cc, "c", body)

    def functions(self) -> dict[str, str]:
        """Mangled type of every function declared."""
        text = self.preprocess(self.include)
        names = sorted(set(re.findall(r"\b(zmq_\w+)\s*\(", text)))
        body = "".join(f'std::printf("{name} %s\\n", typeid(decltype(&{name})).name());\n'
                       for name in names)
        return self.run(self.compilers.cxx, "c++", body)

    def layouts(self) -> dict[str, str]:
        """Size, alignment, member offsets and member types of the types declared."""
        text = self.preprocess(self.include)
        body = ""
        for name, members in MEMBERS.items():
            if not re.search(rf"\b{name}\b", text):
                continue
            body += (f'std::printf("{name} %zu/%zu/%s\\n", sizeof({name}), alignof({name}), '
                     f"typeid({name}).name());\n")
            for member in members:
                body += (f'std::printf("{name}.{member} %zu/%s\\n", offsetof({name}, {member}), '
                         f"typeid(decltype({name}::{member})).name());\n")
        for name in CALLBACKS:
            if re.search(rf"\b{name}\b", text):
                body += f'std::printf("{name} %s\\n", typeid({name}).name());\n'
        return self.run(self.compilers.cxx, "c++", body)


def compare(what: str, ours: dict[str, str], other: dict[str, str], may_differ: set[str]) -> int:
    """Prints the differences of one kind; returns how many of them are faults."""
    if not other:
        print(f"  {what}: nothing found in the other header")
        return 1
    faults = 0
    for name in sorted(other):
        if name not in ours:
            print(f"  {what}: MISSING {name} = {other[name]!r}")
        elif ours[name] != other[name] and name not in may_differ:
            print(f"  {what}: DIFFERENT {name}: ours {ours[name]!r}, other {other[name]!r}")
        else:
            continue
        faults += 1
    extra = sorted(set(ours) - set(other))
    print(f"  {what}: {len(other)} compared, {faults} faults, {len(extra)} only ours")
    if extra:
        print("    only ours: " + ", ".join(extra))
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", help="our zmq.h")
    parser.add_argument("other", help="the zmq.h to compare with")
    parser.add_argument("--may-differ", action="append", default=[], metavar="NAME",
                        help="constant whose value may differ (repeatable)")
    parser.add_argument("--cc", default="cc", help="C compiler (default: %(default)s)")
    parser.add_argument("--cxx", default="c++", help="C++ compiler (default: %(default)s)")
    arguments = parser.parse_args()
    may_differ = VERSION_MACROS | set(arguments.may_differ)
    faults = 0
    for drafts in (False, True):
        print("with drafts" if drafts else "without drafts")
        ours = Header(arguments.ours, drafts, arguments)
        other = Header(arguments.other, drafts, arguments)
        for what in ("constants", "functions", "layouts"):
            faults += compare(what, getattr(ours, what)(), getattr(other, what)(), may_differ)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
