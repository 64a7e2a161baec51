# SPDX-License-Identifier: Apache-2.0
"""A Locust master with two workers, without its web pages."""

import csv
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import libraries

HERE = Path(__file__).resolve().parent
USERS, RUN_S, WORKERS = 20, 15, 2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(log, *arguments):
    return subprocess.Popen([sys.executable, "-m", "locust", "-f", str(HERE / "locustfile.py"), *arguments],
                            stdout=log, stderr=subprocess.STDOUT)


def wait_for_library(process, within_s=60):
    """The process imports its modules first."""
    end = time.monotonic() + within_s
    while time.monotonic() < end and not libraries.mapped(process.pid):
        time.sleep(0.1)
    assert libraries.mapped(process.pid) == libraries.expected()


def test_master_and_two_workers(tmp_path):
    port = str(free_port())
    logs = [open(tmp_path / f"{name}.log", "w+b") for name in ("master", "worker1", "worker2")]
    processes = [start(logs[0], "--master", "--headless", "--expect-workers", str(WORKERS), "-u", str(USERS),
                       "-r", str(USERS), "-t", f"{RUN_S}s", "--master-bind-port", port,
                       "--csv", str(tmp_path / "result"), "--stop-timeout", "10")]
    try:
        for log in logs[1:]:
            processes.append(start(log, "--worker", "--master-host", "127.0.0.1", "--master-port", port))
        for process in processes:
            wait_for_library(process)
        statuses = [process.wait(120) for process in processes]
        logs[0].seek(0)
        text = logs[0].read().decode(errors="replace")
        assert statuses == [0, 0, 0], text
        rows = {row["Name"]: row for row in csv.DictReader(open(tmp_path / "result_stats.csv"))}
        # Twenty users, each every 50 ms: half of what is possible is asked for on a busy machine.
        assert int(rows["report"]["Request Count"]) > USERS * RUN_S * 20 / 2, text
        assert int(rows["report"]["Failure Count"]) == 0
        assert not re.search("missing|heartbeat", text), text
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for log in logs:
            log.close()
