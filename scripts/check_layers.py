#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks how the parts of src/ depend on each other. Tests may include anything.

- Each layer includes only itself and the layers below it.
- No modules include each other in a circle. A module is a header together with its source file of
  the same name, so a circle that only a source file closes is found as well.
- No sub-folders of a layer do either.
- core names no socket type: what it has to know of one is data, see
  core/options/socket_type_traits.hpp.
"""

import re
import sys
from pathlib import Path

# From top to bottom. builtins.* are files directly in src/.
LAYERS = ["api", "builtins", "sockets", "core", "engine", "transport", "runtime", "base"]

SOCKET_TYPE = re.compile(
    r"socket_types::|\bZMQ_(PAIR|PUB|SUB|REQ|REP|DEALER|ROUTER|PULL|PUSH|XPUB|XSUB|STREAM|SERVER"
    r"|CLIENT|RADIO|DISH|GATHER|SCATTER|DGRAM|PEER|CHANNEL)\b")
# The options of each type, and the sockets of monitors and proxies.
MAY_NAME_SOCKET_TYPES = {"core/options/option_table.cpp", "core/socket/monitor.cpp",
                         "core/socket/monitor.hpp"}


def is_test(file):
    return bool(re.search(r"_test\.[ch]pp$|_for_tests\.hpp$", file.name))


def room_of(module):
    """The sub-folder of a layer, or the layer itself."""
    return "/".join(Path(module).parent.parts[:2]) or module


def layer_of(module):
    return module.split("/")[0]


def included_module(source, file, line):
    """The module that a line includes, named from src/ or from the file's own folder, or None."""
    match = re.match(r'\s*#\s*include\s*"([^"]+)\.hpp"', line)
    if not match:
        return None
    for folder in (file.parent, source):
        header = (folder / f"{match[1]}.hpp").resolve()
        if header.is_file() and header.is_relative_to(source):
            return str(header.relative_to(source).with_suffix(""))
    return None


def circles(includes):
    """The strongly connected components of more than one module (Tarjan)."""
    found, stack, on_stack, index, low = [], [], set(), {}, {}

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        on_stack.add(module)
        for other in sorted(includes[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in on_stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            component = []
            while True:
                other = stack.pop()
                on_stack.discard(other)
                component.append(other)
                if other == module:
                    break
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(includes):
        if module not in index:
            visit(module)
    return found


def main():
    source = Path(sys.argv[1] if len(sys.argv) > 1 else "src").resolve()
    errors = []
    includes = {}
    for file in sorted(source.glob("**/*.[ch]pp")):
        if is_test(file):
            continue
        path = file.relative_to(source)
        module = str(path.with_suffix(""))
        layer = layer_of(module)
        if layer not in LAYERS:
            errors.append(f"{file}: no layer of that name")
            continue
        seen = includes.setdefault(module, set())
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if layer == "core" and str(path) not in MAY_NAME_SOCKET_TYPES:
                if SOCKET_TYPE.search(line.split("//")[0]):
                    errors.append(f"{file}:{number}: core must not ask for a socket type")
            other = included_module(source, file, line)
            if other is None or layer_of(other) not in LAYERS:
                continue
            if other != module:
                seen.add(other)
            if LAYERS.index(layer_of(other)) < LAYERS.index(layer):
                errors.append(f"{file}:{number}: {layer} must not include {layer_of(other)}")
    for module in includes:
        includes[module] = {other for other in includes[module] if other in includes}
    for circle in circles(includes):
        errors.append("modules that include each other: " + ", ".join(circle))
    rooms = {}
    for module, others in includes.items():
        room = room_of(module)
        seen = rooms.setdefault(room, set())
        seen.update(room_of(other) for other in others)
        seen.discard(room)
    for circle in circles(rooms):
        errors.append("folders that include each other: " + ", ".join(circle))
    for error in errors:
        print(error)
    print(f"{len(includes)} modules, {len(errors)} violations")
    return 1 if errors or not includes else 0


if __name__ == "__main__":
    sys.exit(main())
