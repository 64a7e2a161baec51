#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs pmacctd with `plugin_pipe_zmq` on two libraries, and wants the same accounts from both.

Its core process then hands what it has captured to its plugins through ZeroMQ: PUB to SUB over tcp, with PLAIN, and a
handler of ZAP of its own that knows the password. What must come out is computed from the packets that went in.
"""

import argparse
import collections
import contextlib
import csv
import io
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import junit

PACKETS = 20_000
LIVE_PACKETS = 2_000
LIMIT_S = 60
TCP, UDP = 6, 17
NAMES = {TCP: "tcp", UDP: "udp"}
COLUMNS = {"src_host": "SRC_IP", "dst_host": "DST_IP", "src_port": "SRC_PORT", "dst_port": "DST_PORT",
           "proto": "PROTOCOL"}


class Packet:
    """One IPv4 packet of a made-up conversation."""

    def __init__(self, number):
        self.key = {"SRC_IP": f"10.0.0.{number % 50 + 1}", "DST_IP": f"10.0.1.{number % 7 + 1}",
                    "SRC_PORT": str(1000 + number % 100), "DST_PORT": str(53 + number % 3)}
        protocol = UDP if number % 2 else TCP
        self.key["PROTOCOL"] = NAMES[protocol]
        ports = struct.pack("!HH", int(self.key["SRC_PORT"]), int(self.key["DST_PORT"]))
        payload = bytes(10 + number % 200)
        if protocol == UDP:
            segment = ports + struct.pack("!HH", 8 + len(payload), 0) + payload
        else:
            segment = ports + struct.pack("!IIBBHHH", 1, 1, 0x50, 0x10, 8192, 0, 0) + payload
        self.bytes_ = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0, 64, protocol, 0,
                                  socket.inet_aton(self.key["SRC_IP"]), socket.inet_aton(self.key["DST_IP"])) + segment

    @property
    def size(self):
        return len(self.bytes_)

    def ethernet(self):
        return bytes(6) + b"\x02" * 6 + b"\x08\x00" + self.bytes_


def write_capture(path):
    """A file as libpcap saves it."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number in range(PACKETS):
            data = Packet(number).ethernet()
            file.write(struct.pack("<IIII", 1_700_000_000 + number // 1000, 0, len(data), len(data)) + data)


def expected_accounts(aggregate):
    """What pmacctd must have counted: packets and bytes for each combination of the columns."""
    names = [COLUMNS[word] for word in aggregate.split(",")]
    accounts = collections.defaultdict(lambda: [0, 0])
    for number in range(PACKETS):
        packet = Packet(number)
        entry = accounts[tuple(packet.key[name] for name in names)]
        entry[0] += 1
        entry[1] += packet.size
    return {key: tuple(value) for key, value in accounts.items()}


def read_accounts(text, aggregate):
    """The accounts in pmacct's CSV, which may hold several purges, each behind a line of titles."""
    names = [COLUMNS[word] for word in aggregate.split(",")]
    accounts = collections.defaultdict(lambda: [0, 0])
    titles = None
    for row in csv.reader(io.StringIO(text)):
        if "PACKETS" in row:
            titles = row
        elif row:
            record = dict(zip(titles, row))
            entry = accounts[tuple(record[name] for name in names)]
            entry[0] += int(record["PACKETS"])
            entry[1] += int(record["BYTES"])
    return {key: tuple(value) for key, value in accounts.items()}


def total(accounts):
    return sum(packets for packets, _ in accounts.values())


def compare(accounts, expected, what):
    if accounts != expected:
        raise AssertionError(f"{what}: {total(accounts)} packets in {len(accounts)} accounts, "
                             f"not {total(expected)} in {len(expected)}")


class Side:
    """pmacctd on one of the libraries."""

    def __init__(self, name, root, library):
        self.name = name
        self.root_ = root
        self.library_ = os.path.realpath(library)
        multiarch = [str(path) for path in (root / "usr/lib").glob("*-linux-gnu")]
        self.environment_ = {**os.environ, "LD_LIBRARY_PATH": ":".join([os.path.dirname(library), *multiarch])}

    def start(self, directory, settings):
        configuration = directory / "pmacctd.conf"
        configuration.write_text("".join(f"{key}: {value}\n" for key, value in settings))
        self.log_ = open(directory / "log", "w+b")
        daemon = subprocess.Popen([str(self.root_ / "usr/sbin/pmacctd"), "-f", str(configuration)], cwd=directory,
                                  env=self.environment_, stdout=self.log_, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            self.check_library_(daemon)
        except BaseException:
            self.end(daemon)
            raise
        return daemon

    def check_library_(self, daemon):
        """It is linked to libzmq: mapped as soon as the program runs."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end and daemon.poll() is None:
            lines = Path(f"/proc/{daemon.pid}/maps").read_text().splitlines()
            mapped = {os.path.realpath(line.split()[-1]) for line in lines if "libzmq" in line}
            if mapped == {self.library_}:
                return
            if mapped:
                raise AssertionError(f"pmacctd uses {sorted(mapped)}, not {self.library_}")
            time.sleep(0.01)
        raise AssertionError(f"pmacctd did not load libzmq: {self.log()}")

    def log(self):
        self.log_.seek(0)
        return self.log_.read().decode(errors="replace")[-1500:]

    def end(self, daemon):
        """Kills what is left of the daemon and its plugins."""
        try:
            os.killpg(daemon.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        daemon.wait()
        self.log_.close()

    def finish(self, daemon):
        """Waits until it has ended in good order."""
        try:
            status = daemon.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"pmacctd did not end within {LIMIT_S} s: {self.log()}") from None
        if status:
            raise AssertionError(f"pmacctd ended with {status}: {self.log()}")


def zmq_settings(profile, plugins):
    return [("daemonize", "false"), ("plugins", ", ".join(plugins)), ("plugin_pipe_zmq", "true"),
            ("plugin_pipe_zmq_profile", profile)]


def print_settings(directory, name, aggregate, interval_s):
    return [(f"aggregate[{name}]", aggregate), (f"print_output[{name}]", "csv"),
            (f"print_refresh_time[{name}]", interval_s), (f"print_history[{name}]", "1h"),
            (f"print_output_file_append[{name}]", "true"),
            (f"print_output_file[{name}]", directory / f"{name}.csv")]


def run_print(side, directory, profile):
    """A capture file through two plugins that write files, each with other columns."""
    aggregates = {"all": "src_host,dst_host,src_port,dst_port,proto", "hosts": "src_host,proto"}
    write_capture(directory / "capture")
    settings = zmq_settings(profile, [f"print[{name}]" for name in aggregates])
    settings.append(("pcap_savefile", directory / "capture"))
    for name, aggregate in aggregates.items():
        # The interval is longer than the test: the plugin writes once, when the daemon ends.
        settings += print_settings(directory, name, aggregate, 300)
    daemon = side.start(directory, settings)
    try:
        side.finish(daemon)
        result = {}
        for name, aggregate in aggregates.items():
            result[name] = read_accounts((directory / f"{name}.csv").read_text(), aggregate)
            compare(result[name], expected_accounts(aggregate), f"plugin {name}")
        return result
    finally:
        side.end(daemon)


def wait_for_accounts(path, aggregate, key, packets):
    """The account `key` in the file of a plugin once it has so many packets, or when the time is over."""
    account = {}
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end and total(account) < packets:
        written = read_accounts(path.read_text().rpartition("\n")[0], aggregate)
        account = {key: written.get(key, (0, 0))}
        time.sleep(0.05)
    return account


def may_capture():
    """Whether this process may open a packet socket."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
        return True
    except PermissionError:
        return False


class Sniffer:
    """Looks on the loopback interface for the HELLO of PLAIN, to prove that the daemon uses it."""

    def __init__(self):
        self.socket_ = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket_.bind(("lo", 0))
        self.socket_.setblocking(False)
        self.seen = False

    def read(self):
        try:
            while True:
                self.seen = b"\x05HELLO" in self.socket_.recv(65536) or self.seen
        except BlockingIOError:
            pass

    def close(self):
        self.socket_.close()


def run_live(side, directory):
    """Packets of the loopback interface, while the daemon runs."""
    aggregate = "src_host,dst_host,dst_port,proto"
    written = directory / "live.csv"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probed, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, \
            contextlib.closing(Sniffer()) as sniffer:
        receiver.bind(("127.0.0.1", 0))
        probed.bind(("127.0.0.1", 0))
        port, probed_port = receiver.getsockname()[1], probed.getsockname()[1]
        daemon = side.start(directory, [*zmq_settings("micro", ["print[live]"]), ("pcap_interface", "lo"),
                                        ("pcap_filter", f"udp and (dst port {port} or dst port {probed_port})"),
                                        *print_settings(directory, "live", aggregate, 1)])
        try:
            # Packets go out until one is counted: then the plugin has subscribed. All later ones must be.
            end = time.monotonic() + LIMIT_S
            while not written.exists() and time.monotonic() < end:
                sender.sendto(b"probe", probed.getsockname())
                sniffer.read()
                time.sleep(0.05)
            if not sniffer.seen:
                raise AssertionError("the plugin did not connect with PLAIN")
            size = 0
            for number in range(LIVE_PACKETS):
                sender.sendto(bytes(1 + number % 500), receiver.getsockname())
                size += 29 + number % 500
                if number % 50 == 0:
                    time.sleep(0.005)
            key = ("127.0.0.1", "127.0.0.1", str(port), "udp")
            accounts = wait_for_accounts(written, aggregate, key, LIVE_PACKETS)
            compare(accounts, {key: (LIVE_PACKETS, size)}, "plugin print")
            os.kill(daemon.pid, signal.SIGINT)
            side.finish(daemon)
            return LIVE_PACKETS, size
        finally:
            side.end(daemon)


def outcome(test, sides):
    """The result of a test on both libraries, which must be the same."""
    results = []
    for side in sides:
        with tempfile.TemporaryDirectory(prefix="pmacct-") as directory:
            try:
                results.append(test(side, Path(directory)))
            except (AssertionError, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as problem:
                return "failed", f"{side.name}: {problem}"
    if results[0] != results[1]:
        return "failed", "the accounts differ"
    return "passed", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="where the packages of the distribution are unpacked")
    parser.add_argument("--genuine", required=True, help="the genuine libzmq.so.5")
    parser.add_argument("--tested", required=True, help="the one under test")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    sides = [Side("genuine", arguments.root, arguments.genuine), Side("tested", arguments.root, arguments.tested)]
    tests = {f"print_{profile}": lambda side, directory, profile=profile: run_print(side, directory, profile)
             for profile in ("micro", "small", "large")}
    tests["loopback"] = run_live
    cases = []
    for name, test in tests.items():
        begin = time.monotonic()
        if name == "loopback" and not may_capture():
            result, message = "skipped", "this process may not capture packets"
        else:
            result, message = outcome(test, sides)
        print(f"{name}: {result} {message}", flush=True)
        cases.append(junit.Case(f"pmacct::{name}", result, message, time.monotonic() - begin))
    junit.write(arguments.output, "pmacct", cases)


if __name__ == "__main__":
    main()
