# SPDX-License-Identifier: Apache-2.0
"""Runs the programs and commands of documents as a reader does, and compares what they print.

A block of a language in `PROGRAMS` is a file, whose name stands at the beginning of the line before
the block. Blocks of `sh` are commands, run in the order of the document in one shell and directory;
a block of `text` right behind one is all that it prints.
"""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import Endpoint, readable

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["docs/security.md", "docs/tls.md", "docs/websocket.md"]
PROGRAMS = {"c", "python"}
ADDRESS = "://127.0.0.1:5555"  # in documents; replaced by one that is free
WEB_PORT = " 8000 "           # the same
DEADLINE_S = 60

BLOCK = re.compile(r"(?P<before>[^\n]*)\n+```(?P<language>\w*)\n(?P<body>.*?)^```$",
                   re.DOTALL | re.MULTILINE)
NAME = re.compile(r"`([\w.]+)`")

# Every Python process says so if it has used another library than the one under test.
LIBRARY_CHECK = """
import atexit, ctypes, os, sys

def check():
    if "zmq" not in sys.modules:
        return
    try:
        address = ctypes.cast(ctypes.CDLL(None).zmq_ctx_new, ctypes.c_void_p).value
    except AttributeError:
        return print("pyzmq has used the library of its wheel")
    for line in open("/proc/self/maps"):
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        if begin <= address < end and line.split()[-1] != os.environ["LIBRARY_UNDER_TEST"]:
            print("pyzmq has used", line.split()[-1])

atexit.register(check)
"""


class Commands:
    """A block of commands and what it is to print."""

    def __init__(self, line, body):
        self.line = line
        self.body = body
        self.output = ""


def read_document(text):
    """The files and the commands of a document; fails for a block that is neither."""
    files, commands, end_of_commands = {}, [], None
    for block in BLOCK.finditer(text):
        language, body = block["language"], block["body"]
        line = text.count("\n", 0, block.start("language")) + 1
        name = NAME.match(block["before"])
        if language in PROGRAMS:
            assert name, f"line {line}: this program has no name"
            files[name[1]] = body
        elif language == "sh":
            commands.append(Commands(line, body))
            end_of_commands = block.end()
        else:
            follows = text[end_of_commands:block.start("language")].strip() == "```"
            assert language == "text" and follows, f"line {line}: nothing can be done with this"
            commands[-1].output = body
    return files, commands


def check_all_are_used(files, commands):
    for name in files:
        others = [body for other, body in files.items() if other != name]
        mentions = re.compile(rf"\b{re.escape(name.split('.')[0])}\b")
        assert any(mentions.search(body) for body in others + [each.body for each in commands]), \
            f"nothing uses {name}"


def run_on_terminal(script, directory, environment):
    """What a script of bash prints to a terminal, and its status."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["bash", "-e", "-u", "-o", "pipefail", script], cwd=directory,
                               env=environment, stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs, start_new_session=True)
    os.close(theirs)
    deadline = time.monotonic() + DEADLINE_S
    output = b""
    try:
        while readable(ours, max(0, deadline - time.monotonic())):
            try:
                output += os.read(ours, 65536)
            except OSError:  # nobody has the other end any more
                return output.decode().replace("\r\n", "\n"), process.wait()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        pytest.fail(f"still running after {DEADLINE_S} s:\n{output.decode()}")
    finally:
        os.close(ours)


def run_document(text, directory, environment):
    files, commands = read_document(text)
    assert commands, "there are no commands"
    check_all_are_used(files, commands)
    for name, body in files.items():
        (directory / name).write_text(body)
    script = directory.parent / "commands.sh"
    script.write_text("".join(f"{each.body}echo '--- end of {i}'\n"
                              for i, each in enumerate(commands)))
    output, status = run_on_terminal(str(script), directory, environment)
    for i, each in enumerate(commands):
        printed, end, output = output.partition(f"--- end of {i}\n")
        assert end, f"the commands in line {each.line} end with status {status}:\n{printed}"
        assert printed == each.output, f"the commands in line {each.line} print something else"


@pytest.fixture
def environment(pytestconfig, tmp_path):
    """That of a reader who has installed the library under test, and pyzmq from its wheel."""
    prefix, checks = tmp_path / "installed", tmp_path / "checks"
    for each in ("lib/pkgconfig", "include"):
        (prefix / each).mkdir(parents=True)
    for name in ("libzmq.so", "libzmq.so.5"):
        (prefix / "lib" / name).symlink_to(pytestconfig.library)
    (prefix / "include/zmq.h").symlink_to(ROOT / "include/zmq.h")
    (prefix / "lib/pkgconfig/libzmq.pc").write_text(
        f"libdir={prefix}/lib\nName: libzmq\nDescription: library under test\nVersion: 4.3.5\n"
        f"Libs: -L{prefix}/lib -lzmq\nCflags: -I{prefix}/include\n")
    checks.mkdir()
    (checks / "sitecustomize.py").write_text(LIBRARY_CHECK)
    return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path),
            "LC_ALL": "C", "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig",
            "LD_LIBRARY_PATH": f"{prefix}/lib", "PYTHONPATH": str(checks),
            "LIBRARY_UNDER_TEST": pytestconfig.library, "ZLINK": str(ROOT)}


@pytest.fixture
def directory(tmp_path):
    made = tmp_path / "reader"
    made.mkdir()
    return made


@pytest.mark.zlink_only
@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_is_true(document, directory, environment):
    for program in ("bash", "cc", "pkg-config", "openssl"):
        assert shutil.which(program), f"{program} is not installed"
    endpoint, web = Endpoint("tcp"), Endpoint("tcp")
    try:
        text = (ROOT / document).read_text().replace(
            ADDRESS, endpoint.text.removeprefix("tcp")).replace(
            WEB_PORT, f" {web.text.rpartition(':')[2]} ")
        run_document(text, directory, environment)
    finally:
        endpoint.release()
        web.release()


@pytest.mark.parametrize("text, complaint", [
    ("```sh\necho a\n```\n\n```text\nb\n```\n", "print something else"),
    ("```sh\necho a\n```\n", "print something else"),
    ("```sh\nfalse\n```\n", "status 1"),
    ("```sh\nfalse | true\n```\n", "status 1"),
    ("```python\nprint()\n```\n", "has no name"),
    ("`a.py`:\n```python\nprint()\n```\n\n```sh\ntrue\n```\n", "nothing uses a.py"),
    ("```sh\ntrue\n```\n\nand\n\n```text\na\n```\n", "nothing can be done"),
    ("`a.py`:\n```python\nimport zmq\n```\n\n```sh\npython3 a.py\n```\n", "something else"),
    ("no block", "no commands"),
])
def test_untrue_document_is_found(text, complaint, directory, environment):
    with pytest.raises(AssertionError, match=complaint):
        run_document("\n" + text, directory, environment)


def test_true_document_is_accepted(directory, environment):
    run_document("\nThis is `a.py`.\n\n`a.py`:\n\n```python\nprint('a')\n```\n\n"
                 "```sh\nb=a.py\n```\n\n```sh\npython3 $b # a\n```\n\n```text\na\n```\n", directory, environment)
