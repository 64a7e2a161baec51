#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Autobahn test suite for WebSockets against a STREAM socket on ws, which sends each message back.

As its client, and as its server, to which the socket connects. A case has passed when Autobahn says so. Text messages get
close code 1003, as documented, and an empty message is no chunk of a STREAM: the cases that are about these have passed
when that is what they saw.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import zmq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import junit

AGENT = "zlink"
CLIENT_PORT, SERVER_PORT = 9411, 9412
# Compression is not negotiated; 9.8.1 waits a minute for the echo of a thousand empty messages.
LEFT_OUT = ["12.*", "13.*", "9.8.1"]
# As the server it is spared most of the text, which is refused alike.
LEFT_OUT_OF_SERVER = LEFT_OUT + ["1.1.*", "6.*", "9.1.*", "9.3.*", "9.5.*", "9.7.*"]
ABOUT_EMPTY_MESSAGES = {"1.2.1"}
ABOUT_TEXT = ("1.1.", "6.", "9.1.", "9.3.", "9.5.", "9.7.")
ALSO_TEXT = {"3.2", "3.3", "3.4", "4.1.3", "4.1.4", "4.1.5", "4.2.3", "4.2.4", "4.2.5", "5.3", "5.4", "5.5", "5.6", "5.7",
             "5.8", "5.15", "5.18", "5.19", "5.20", "7.1.1", "7.1.5", "10.1.1"}
GOOD = {"OK", "INFORMATIONAL"}
CASE_MS = 120_000


def echo_for_ever(context):
    socket = context.socket(zmq.STREAM)
    socket.linger = 0
    socket.bind(f"ws://127.0.0.1:{CLIENT_PORT}")
    try:
        while True:
            sender, chunk = socket.recv_multipart(copy=False)
            if len(chunk):
                try:
                    socket.send_multipart([sender, chunk], copy=False)
                except zmq.ZMQError as error:
                    if error.errno != zmq.EHOSTUNREACH:
                        raise
    except zmq.ContextTerminated:
        socket.close()


def echo_case(context, number):
    """Connects for one case and answers until the other side ends it."""
    socket = context.socket(zmq.STREAM)
    socket.linger = 0
    socket.reconnect_ivl = -1
    socket.connect(f"ws://127.0.0.1:{SERVER_PORT}/runCase?case={number}&agent={AGENT}")
    notices = 0
    while notices < 2 and socket.poll(CASE_MS):
        sender, chunk = socket.recv_multipart(copy=False)
        if not len(chunk):
            notices += 1
            continue
        try:
            socket.send_multipart([sender, chunk], copy=False)
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
    socket.close()


def tell(path):
    """Asks the server for something that it does as soon as it is connected to."""
    context = zmq.Context()
    socket = context.socket(zmq.STREAM)
    socket.linger = 0
    socket.reconnect_ivl = -1
    socket.connect(f"ws://127.0.0.1:{SERVER_PORT}/{path}")
    for _ in range(2):  # it has come, it has gone
        if not socket.poll(10_000):
            break
        socket.recv_multipart()
    socket.close()
    context.term()


def results(directory, prefix):
    cases = []
    for name, result in json.loads((directory / "index.json").read_text())[AGENT].items():
        good = result["behavior"] in GOOD and result["behaviorClose"] in GOOD
        is_text = name.startswith(ABOUT_TEXT) or name in ALSO_TEXT
        as_documented = (is_text and result["remoteCloseCode"] == 1003) or name in ABOUT_EMPTY_MESSAGES
        message = f"{result['behavior']}, close {result['behaviorClose']} with {result['remoteCloseCode']}"
        cases.append(junit.Case(f"{prefix}::{name}", "passed" if good or as_documented else "failed", message,
                                result["duration"] / 1000))
    return cases


def run(wstest, mode, work, **settings):
    directory = work / mode
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "spec.json").write_text(json.dumps({"outdir": str(directory), "cases": ["*"], "options": {"failByDrop": False},
                                                     "exclude-agent-cases": {}, **settings}))
    return directory, subprocess.Popen([wstest, "-m", mode, "-s", str(directory / "spec.json")],
                                       stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wstest", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    context = zmq.Context()
    thread = threading.Thread(target=echo_for_ever, args=(context,))
    thread.start()
    directory, process = run(arguments.wstest, "fuzzingclient", arguments.work, **{
        "servers": [{"agent": AGENT, "url": f"ws://127.0.0.1:{CLIENT_PORT}"}], "exclude-cases": LEFT_OUT})
    if process.wait() != 0:
        context.term()
        sys.exit("the client of Autobahn failed")
    cases = results(directory, "autobahn.binds")
    print(f"zlink binds: {len(cases)} cases", flush=True)
    context.term()
    thread.join()

    directory, process = run(arguments.wstest, "fuzzingserver", arguments.work, **{
        "url": f"ws://127.0.0.1:{SERVER_PORT}", "exclude-cases": LEFT_OUT_OF_SERVER})
    try:
        with zmq.Context() as context:
            wait_for_server(context)
            for number in range(1, expected_of_server(cases) + 1):
                echo_case(context, number)
        tell(f"updateReports?agent={AGENT}")
        deadline = time.monotonic() + 30
        while not (directory / "index.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.terminate()
        process.wait()
    of_server = results(directory, "autobahn.connects")
    print(f"zlink connects: {len(of_server)} cases", flush=True)
    junit.write(arguments.output, arguments.output.stem, cases + of_server)


def wait_for_server(context):
    """Until somebody listens."""
    probe = context.socket(zmq.STREAM)
    probe.linger = 0
    probe.reconnect_ivl = 50
    probe.connect(f"tcp://127.0.0.1:{SERVER_PORT}")
    if not probe.poll(30_000):
        sys.exit("the server of Autobahn does not come up")
    probe.close()


def expected_of_server(cases):
    """How many of the cases the server has."""
    left_out = tuple(pattern.removesuffix("*") for pattern in LEFT_OUT_OF_SERVER)
    return sum(not case.name.split("::")[1].startswith(left_out) for case in cases)


if __name__ == "__main__":
    main()
