#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares libraries with one publisher and many subscribers, taking turns.

The first library is compared with each of the others; each is a directory with a libzmq.so.5.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", action="append", required=True, metavar="NAME=DIRECTORY")
    parser.add_argument("--program", default="build/bench/zlink_bench_fan_out")
    parser.add_argument("--subscribers", type=numbers, default=[1, 10, 100, 400, 1000, 2000])
    parser.add_argument("--transport", type=lambda text: text.split(","),
                        default=["tcp", "ipc", "inproc"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--timeout-s", type=int, default=120)
    parser.add_argument("--json", help="where to keep every single run")
    parser.add_argument("worker", nargs="*", help="options for the program, after --")
    return parser.parse_args()


def run(options, directory, *arguments):
    """The result of the program with the library of a directory: None if it has failed, an empty
    one if the library does not have what is measured."""
    command = [options.program, *arguments, *options.worker]
    environment = dict(os.environ, LD_LIBRARY_PATH=str(pathlib.Path(directory).resolve()))
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"failed ({done.returncode}): {' '.join(command)} {done.stderr.strip()}",
              file=sys.stderr)
        return None
    result = json.loads(done.stdout)
    return {} if result["status"] == "skipped" else result


def short(value):
    for limit, factor, unit in ((1e6, 1e-6, " M"), (1e3, 1e-3, " k")):
        if value >= limit:
            return f"{value * factor:.2f}{unit}"
    return f"{value:.1f}"


def spread(values, write=short):
    if not values:
        return "-"
    return f"{write(statistics.median(values))} [{write(min(values))} .. {write(max(values))}]"


def main():
    options = parse()
    libraries = [text.split("=", 1) for text in options.library]
    paced = "--paced" in options.worker
    figure = "us_per_message" if paced else "deliveries_per_s"
    title = "us until all have it" if paced else "deliveries/s"
    names = [name for name, _ in libraries]
    print("| transport | subscribers | " +
          " | ".join(f"{name}: {title} | CPU ns/delivery (publishing thread)" for name in names) +
          " | " + " | ".join(f"{title} ratio | CPU ratio" for _ in names[1:]) + " |")
    print("|---|---:|" + "---:|---:|" * (2 * len(names) - 1))
    kept, failed = [], False
    for transport in options.transport:
        for subscribers in options.subscribers:
            runs = {name: [] for name in names}
            for _ in range(options.runs):
                for name, directory in libraries:
                    result = run(options, directory, "--transport", transport,
                                 "--subscribers", str(subscribers),
                                 "--timeout-s", str(options.timeout_s))
                    runs[name].append(result)
                    failed |= result is None
                    if result:
                        kept.append(dict(result, library=name))
            line = f"| {transport} | {subscribers} |"
            for name in names:
                good = [each for each in runs[name] if each]
                cpu = [each["cpu_ns_per_delivery"] for each in good]
                own = [each["publisher_cpu_ns_per_delivery"] for each in good]
                absent = "failed" if None in runs[name] else "n/a"
                line += f" {spread([each[figure] for each in good]) if good else absent} |"
                line += f" {statistics.median(cpu):.0f} ({statistics.median(own):.0f}) |" \
                    if good else " |"
            for name in names[1:]:
                pairs = [(a, b) for a, b in zip(runs[names[0]], runs[name]) if a and b]
                for key in (figure, "cpu_ns_per_delivery"):
                    ratios = [a[key] / b[key] for a, b in pairs]
                    line += f" {spread(ratios, lambda value: f'{value:.2f}')} |"
            print(line, flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(
            "[\n" + ",\n".join(json.dumps(each) for each in kept) + "\n]\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
