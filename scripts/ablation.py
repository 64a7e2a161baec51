#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what each rule of src/base/rules.hpp earns, and prints tables in Markdown.

Usage: scripts/ablation.py BUILD RESULTS.json [--rules A,B...] [OPTIONS OF zlink_bench]
       scripts/ablation.py --read RESULTS.json...

BUILD is configured with -DZLINK_ABLATION=ON. Each cell is measured with all rules and without each
of them, in turn. A machine is never quiet for long, so a run is compared with the median of all
runs of its round: most rules do not matter to a cell, and those runs are as good a reference as the
one with all rules. The tables have what a rule earns, in percent of the rate (or, of a dialogue, of
the median time) without it, and of the processor time for each message. What is not bold may be
chance: the quartiles of the runs lie on both sides of 3 %.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent


def rules():
    text = (ROOT / "src/base/rules.hpp").read_text()
    return re.findall(r'"(\w+)"', text[text.index("rule_names"):].split("}", 1)[0])


def measure(build, results, options):
    if "ZLINK_ABLATION:BOOL=ON" not in (build / "CMakeCache.txt").read_text():
        sys.exit(f"{build} is not configured with -DZLINK_ABLATION=ON")
    names = rules()
    if options[:1] == ["--rules"]:
        chosen, options = options[1].split(","), options[2:]
        if unknown := set(chosen) - set(names):
            sys.exit(f"no such rule: {', '.join(unknown)}")
        names = chosen
    command = [f"{build}/bench/zlink_bench", "--library", f"all={build}"]
    for name in names:
        command += ["--library", f"{name}={build}", "--env", f"{name}:ZLINK_ABLATE={name}"]
    subprocess.run(command + options + ["--json", results], check=True, stdout=sys.stderr)


def title(run):
    extents = [str(run[name]) for name in ("peers", "threads", "sockets", "clients", "workers",
                                           "window", "publishers", "subscribers") if name in run]
    return (f"{run['pattern']}{' ' if extents else ''}{'x'.join(extents)} {run['transport']} "
            f"{run['size_bytes']} B{'' if run['api'] == 'buffer' else ' ' + run['api']}"
            f"{'' if run['mode'] == 'throughput' else ' ' + run['mode']}")


def better(run):
    """What is the better the larger it is."""
    fields = run["result"]
    is_rate = run["mode"] == "throughput"
    return (fields["messages_per_s"] if is_rate else 1 / fields["latency_p50_us"],
            1 / fields["cpu_us_per_message"])


def gains(runs, rule, which):
    """By which factor each round is better than the run in it without the rule."""
    found = []
    for number in {run["run"] for run in runs}:
        around = [run for run in runs if run["run"] == number]
        reference = median(better(run)[which] for run in around)
        found += [reference / better(run)[which] for run in around if run["library"] == rule]
    return found


def shown(factors):
    if len(factors) < 2:
        return ""
    low, middle, high = quantiles(factors, n=4, method="inclusive")
    text = f"{middle:.0f}x" if middle >= 10 else f"{100 * (middle - 1):+.0f}"
    return f"**{text}**" if low > 1.03 or high < 1 / 1.03 else text


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--read":
        files = sys.argv[2:]
    else:
        measure(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:])
        files = sys.argv[2:3]
    cells = {}
    for file in files:
        for run in json.loads(Path(file).read_text())["runs"]:
            if run["status"] == "ok":
                run["run"] = file, run["run"]
                cells.setdefault(title(run), []).append(run)
    for which, what in enumerate(("rate or time", "processor time")):
        print(f"| {what}, % | " + " | ".join(cells) + " |")
        print("|---|" + "---:|" * len(cells))
        measured = {run["library"] for runs in cells.values() for run in runs}
        for rule in (each for each in rules() if each in measured):
            print(f"| `{rule}` | " + " | ".join(shown(gains(runs, rule, which))
                                              for runs in cells.values()) + " |")
        print()


if __name__ == "__main__":
    main()
