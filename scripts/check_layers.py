#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each layer of src/ includes only itself and the layers below it."""

import re
import sys
from pathlib import Path

# From top to bottom. builtins.* (directly in src/) may see everything; api may see builtins.
LAYERS = ["api", "sockets", "core", "engine", "transport", "runtime", "base"]


def main():
    source = Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    checked = 0
    errors = []
    for file in sorted(source.glob("*/**/*.[ch]pp")):
        layer = file.relative_to(source).parts[0]
        if layer not in LAYERS:
            errors.append(f"{file}: no layer of that name")
            continue
        checked += 1
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = re.match(r'\s*#include "([^"/]+)/', line)
            if not match or match[1] not in LAYERS:
                continue
            if LAYERS.index(match[1]) < LAYERS.index(layer):
                errors.append(f"{file}:{number}: {layer} must not include {match[1]}")
    for error in errors:
        print(error)
    print(f"{checked} files, {len(errors)} violations")
    return 1 if errors or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
