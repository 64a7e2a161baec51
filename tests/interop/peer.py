# SPDX-License-Identifier: Apache-2.0
"""One process with one role in a test, driven by JSON lines on stdin and stdout.

A request is `{"op": name, ...arguments}`; the answer is `{"ok": result}` or
`{"error": errno name or exception type, "message": text}`. The first line written reports the
libraries mapped into the process. Every operation has a time limit, and the process as a whole
ends itself at its deadline with all stacks on stderr, even when a library call is stuck.

Roles: `socket` one socket; `proxy` a user-level proxy between two sockets; `device` the library's;
`asyncio` one socket of zmq.asyncio.
Each is a class `Role` in its own module, whose methods are the operations.
"""

import argparse
import errno
import faulthandler
import importlib
import json
import os
import sys
import traceback

import zmq


def mapped_libraries():
    """Paths of the shared objects with code mapped into this process."""
    paths = set()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(None, 5)
            if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
                paths.add(fields[5])
    return sorted(paths)


class LineReader:
    """Lines of stdin, read without a buffer that polling could not see."""

    def __init__(self):
        self.pending_ = b""

    def has_line(self):
        return b"\n" in self.pending_

    def next_line(self):
        """The next line, or None at the end of input."""
        while not self.has_line():
            chunk = os.read(0, 65536)
            if not chunk:
                return None
            self.pending_ += chunk
        line, self.pending_ = self.pending_.split(b"\n", 1)
        return line


def errno_name(number):
    """Name of a system or ZeroMQ error number."""
    try:
        return zmq.Errno(number).name
    except ValueError:
        return errno.errorcode.get(number, str(number))


def answer(value):
    os.write(1, json.dumps(value).encode() + b"\n")


ROLES = ("socket", "proxy", "device", "asyncio")


def load_all_roles():
    """For who forks peers; a peer that starts by itself loads only what it needs."""
    for role in ROLES:
        importlib.import_module(f"{role}_role")


def serve(role, reader):
    """Answers requests until `finish` or the end of input."""
    while True:
        line = reader.next_line()
        if line is None:
            role.finish(0)
            return
        request = json.loads(line)
        operation = request.pop("op")
        try:
            answer({"ok": getattr(role, operation)(**request)})
        except zmq.ZMQError as error:
            answer({"error": errno_name(error.errno), "message": f"{operation}: {error}"})
        except Exception as error:  # the process reports every failure and stays usable
            traceback.print_exc()
            answer({"error": type(error).__name__, "message": f"{operation}: {error}"})
        if operation == "finish":
            return


def main(command_line=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=ROLES, default="socket")
    parser.add_argument("--type", required=True, help="socket type; FRONT,BACK for a proxy")
    parser.add_argument("--option", action="append", default=[], help="NAME=INT or NAME=hex:BYTES")
    parser.add_argument("--deadline-s", type=float, default=60)
    arguments = parser.parse_args(command_line)
    faulthandler.enable()
    faulthandler.dump_traceback_later(arguments.deadline_s, exit=True)
    reader = LineReader()
    role = importlib.import_module(f"{arguments.role}_role").Role(arguments, reader)
    libraries = mapped_libraries()
    print("loaded", *(path for path in libraries if "libzmq" in os.path.basename(path)),
          file=sys.stderr, flush=True)
    answer({"ok": {"libraries": libraries, "version": zmq.zmq_version()}})
    serve(role, reader)


if __name__ == "__main__":
    main()
