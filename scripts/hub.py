#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares libraries with one socket that has thousands of connections, taking turns.

The first library is compared with each of the others; each is a directory with a libzmq.so.5.
"""
import argparse
import json
import pathlib
import sys

from fan_out import numbers, run, spread

# Fields of a result, and what they are called.
FIGURES = [("connects_per_s", "connects/s"),
           ("hub_memory_per_connection_kib", "KiB of the hub per connection"),
           ("deliveries_per_s", "deliveries/s"),
           ("cpu_us_per_delivery", "CPU us per delivery"),
           ("longest_pause_ms", "longest pause (ms)")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", action="append", required=True, metavar="NAME=DIRECTORY")
    parser.add_argument("--program", default="build/bench/zlink_bench_hub")
    parser.add_argument("--pattern", type=lambda text: text.split(","), default=["router", "pub"])
    parser.add_argument("--connections", type=numbers, default=[10000])
    parser.add_argument("--io-threads", type=numbers, default=[1, 2, 4])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", help="where to keep every single run")
    parser.add_argument("worker", nargs="*", help="options for the program, after --")
    return parser.parse_args()


def ratios(ones, others, field):
    return [one[field] / other[field] for one, other in zip(ones, others)
            if one and other and other[field] > 0]


def rows(names, runs, start):
    """A line for each figure: every library's, and the ratio of the first to each other one."""
    for field, heading in FIGURES:
        line = f"{start} {heading} |"
        for name in names:
            line += f" {spread([each[field] for each in runs[name] if each])} |"
        for name in names[1:]:
            pairs = ratios(runs[names[0]], runs[name], field)
            line += f" {spread(pairs, lambda value: f'{value:.2f}')} |"
        yield line


def main():
    options = parse()
    libraries = [text.split("=", 1) for text in options.library]
    names = [name for name, _ in libraries]
    print("| pattern | connections | I/O threads | figure | " + " | ".join(names) + " | " +
          " | ".join(f"{names[0]} / {name}" for name in names[1:]) + " |")
    print("|---|---:|---:|---|" + "---:|" * (2 * len(names) - 1))
    kept, failed = [], False
    for pattern in options.pattern:
        for connections in options.connections:
            for io_threads in options.io_threads:
                runs = {name: [] for name in names}
                for _ in range(options.runs):
                    for name, directory in libraries:
                        result = run(options, directory, "--pattern", pattern,
                                     "--connections", str(connections),
                                     "--io-threads", str(io_threads))
                        runs[name].append(result)
                        failed |= result is None
                        if result:
                            kept.append(dict(result, library=name))
                start = f"| {pattern} | {connections} | {io_threads} |"
                print("\n".join(rows(names, runs, start)), flush=True)
                if options.json:
                    pathlib.Path(options.json).write_text(json.dumps(kept, indent=1))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
