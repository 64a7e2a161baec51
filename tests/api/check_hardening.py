#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads from a shared library how it was hardened.

    check_hardening.py LIBRARY [--hardened] [--tls BYTES]

With --hardened: relocations are read-only once it is loaded, and all made then (full RELRO); no stack is
executable and no segment writable and executable; stack protector and checked functions of the C library
are in use; and on processors that know them, targets of jumps are marked. In any case the memory that it
needs beside that of the C library in each thread is no more than --tls, so that it can be loaded late,
and it stays mapped after dlclose().
"""
import argparse
import os
import re
import subprocess
import sys


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def readelf(library: str, *options: str) -> str:
    return output_of("readelf", "--wide", *options, library)


def segments(library: str) -> list[tuple[str, int, str]]:
    """Type, size in memory and flags of each."""
    rows = re.findall(r"^ +([A-Z_]+) +(?:0x[0-9a-f]+ +){4}0x([0-9a-f]+) ([RWE ]{3}) ",
                      readelf(library, "--program-headers"), re.MULTILINE)
    return [(kind, int(size, 16), flags) for kind, size, flags in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--hardened", action="store_true")
    parser.add_argument("--tls", type=int, default=512, help="bytes (default: %(default)s)")
    arguments = parser.parse_args()
    faults = []

    def expect(holds: object, what: str) -> None:
        if not holds:
            faults.append(what)

    parts = segments(arguments.library)
    dynamic = readelf(arguments.library, "--dynamic")
    tls = sum(size for kind, size, _ in parts if kind == "TLS")
    expect(any(kind == "LOAD" for kind, _, _ in parts), "no segments: readelf was not understood")
    expect(tls <= arguments.tls, f"{tls} bytes for each thread, {arguments.tls} are allowed")
    expect("NODELETE" in dynamic, "is unmapped by dlclose")
    if arguments.hardened:
        notes = readelf(arguments.library, "--notes")
        imported = set(re.findall(r" UND (\w+)", readelf(arguments.library, "--dyn-syms")))
        machine = re.search(r"Machine: +(.*)", readelf(arguments.library, "--file-header"))
        expect(any(kind == "GNU_RELRO" for kind, _, _ in parts), "no RELRO")
        expect(re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic), "relocations are made late (no BIND_NOW)")
        expect("TEXTREL" not in dynamic, "code is relocated")
        stacks = [flags for kind, _, flags in parts if kind == "GNU_STACK"]
        expect(stacks and all("E" not in flags for flags in stacks), "stacks are executable")
        expect(not any("W" in flags and "E" in flags for _, _, flags in parts),
               "a segment is writable and executable")
        expect("__stack_chk_fail" in imported, "no stack protector")
        expect(any(re.fullmatch(r"__\w+_chk", name) for name in imported), "no _FORTIFY_SOURCE")
        # The mark of the file for jump targets depends on the start-up code of the C library, too.
        code = output_of("objdump", "--disassemble=zmq_ctx_new", arguments.library)
        if machine and "X86-64" in machine[1]:
            expect("SHSTK" in notes and "endbr64" in code, "no CET")
        elif machine and "AArch64" in machine[1]:
            expect(re.search(r"\b(paciasp|bti)\b", code), "no branch protection")
    print(f"{arguments.library}: {tls} bytes of TLS, {len(faults)} faults")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
