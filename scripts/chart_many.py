#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what `zlink_bench --json` wrote about cells with many connections: rate and CPU time
against the number of peers, one row of charts for each pattern and its other extents. Where sockets
alone were measured as well (`--floor`) they are in it, on a logarithmic scale. Needs matplotlib.
"""
import argparse
import json
import sys

# The dimension that is drawn from left to right; each value of the others is a row of its own.
ACROSS = {
    "to_many_router": "peers",
    "to_many_push": "peers",
    "to_many_pub": "peers",
    "from_many_push": "sockets",
    "from_many_dealer": "sockets",
    "broker": "clients",
    "forwarder": "subscribers",
    "connections": "peers",
}
DIMENSIONS = ["peers", "threads", "sockets", "clients", "workers", "window", "publishers",
              "subscribers"]
# What is counted, many and one of them.
UNITS = {"to_many_pub": ("deliveries", "delivery"), "forwarder": ("deliveries", "delivery"),
         "broker": ("requests", "request"), "connections": ("connections", "connection")}


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", help="file that zlink_bench --json wrote")
    parser.add_argument("png", help="file to write")
    parser.add_argument("--mode", default="throughput", choices=["throughput", "latency", "loaded"],
                        help="which cells; not throughput: 99th percentile instead of the rate")
    parser.add_argument("--pattern", help="only these patterns, separated by commas")
    return parser.parse_args()


def rows_of(cells):
    """Cells that differ in nothing but what is drawn from left to right, under a title for them."""
    rows = {}
    for cell in cells:
        across = ACROSS[cell["pattern"]]
        title = f"{cell['pattern']}, {cell['transport']}, {cell['size_bytes']} bytes"
        for name in DIMENSIONS:
            if name in cell and name != across:
                title += f", {name} {cell[name]}"
        if cell["io_threads"] != 1:
            title += f", {cell['io_threads']} I/O threads"
        if cell["api"] != "buffer":
            title += f", {cell['api']}"
        rows.setdefault(title, []).append(cell)
    for row in rows.values():
        row.sort(key=lambda cell: cell[ACROSS[cell["pattern"]]])
    return rows


def draw(axes, row, field, factor, libraries):
    across = ACROSS[row[0]["pattern"]]
    top = 0
    for index, (library, is_floor) in enumerate(libraries):
        points = [(cell[across], cell["libraries"][library].get(field)) for cell in row]
        points = [(x, value) for x, value in points if value]
        if not points:
            continue
        top = max([top] + [value["max"] * factor for _, value in points])
        middle = [value["median"] * factor for _, value in points]
        below = [(value["median"] - value["min"]) * factor for _, value in points]
        above = [(value["max"] - value["median"]) * factor for _, value in points]
        axes.errorbar([x for x, _ in points], middle, yerr=[below, above],
                      label="sockets alone" if is_floor else library,
                      color="0.4" if is_floor else f"C{index}",
                      linestyle="--" if is_floor else "-",
                      marker="osD^v"[index % 5], capsize=3)
    values = sorted({cell[across] for cell in row})
    if values[-1] >= 10 * values[0]:
        axes.set_xscale("log")
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()
    axes.set_xlabel(across)
    if any(is_floor for _, is_floor in libraries):
        axes.set_yscale("log")  # the floor may be far away
    else:
        axes.set_ylim(0, 1.08 * top or 1)
    axes.grid(alpha=0.3)


def main():
    options = parse()
    try:
        import matplotlib
    except ImportError:
        sys.exit("chart_many.py: matplotlib is missing; install it with: pip install matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with open(options.json, encoding="utf-8") as file:
        results = json.load(file)
    wanted = options.pattern.split(",") if options.pattern else list(ACROSS)
    cells = [cell for cell in results["summary"]
             if cell["pattern"] in ACROSS and cell["pattern"] in wanted
             and cell["mode"] == options.mode]
    if not cells:
        sys.exit(f"chart_many.py: there are no cells with many connections in mode {options.mode}")
    libraries = [(library["name"], library.get("is_floor", False))
                 for library in results["libraries"]]
    rows = rows_of(cells)
    figure, grid = pyplot.subplots(len(rows), 2, figsize=(11, 3.3 * len(rows)), squeeze=False,
                                   layout="constrained")
    for (title, row), (left, right) in zip(rows.items(), grid):
        units, unit = UNITS.get(row[0]["pattern"], ("messages", "message"))
        if options.mode == "throughput":
            draw(left, row, "messages_per_s", 1e-3, libraries)
            left.set_ylabel(f"thousand {units} per second")
        else:
            draw(left, row, "latency_p99_us", 1, libraries)
            left.set_ylabel("99th percentile of latency (us)")
            left.set_ylim(bottom=None, auto=True)
            left.set_yscale("log")
        draw(right, row, "cpu_us_per_message", 1, libraries)
        right.set_ylabel(f"CPU time per {unit} (us)")
        left.set_title(title, loc="left", fontsize=10)
        left.legend()
    machine = results["machine"]
    figure.suptitle(f"{machine['cpu_model']}, {machine['cpus']} CPUs; median and range of "
                    f"{results['runs_per_cell']} runs", fontsize=10)
    figure.savefig(options.png, dpi=110)


if __name__ == "__main__":
    main()
