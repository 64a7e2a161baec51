# SPDX-License-Identifier: Apache-2.0
"""Makes a second copy of the installed pyzmq whose bundled libzmq is another library.

pyzmq's extension module names its library by the file name inside `pyzmq.libs`, so a symbolic
link of that name is all it takes.
"""

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path

BUNDLED_PATTERN = "libzmq-*.so.5*"


def installed_site():
    """Directory that holds the `zmq` package, found without loading its library."""
    spec = importlib.util.find_spec("zmq")
    if spec is None or spec.origin is None:
        sys.exit("interop: pyzmq is not installed in this environment")
    return Path(spec.origin).parent.parent


def bundled_library(site):
    """The libzmq file inside the copy of pyzmq below `site`."""
    found = sorted((site / "pyzmq.libs").glob(BUNDLED_PATTERN))
    if len(found) != 1:
        sys.exit(
            f"interop: {site}/pyzmq.libs holds {len(found)} files {BUNDLED_PATTERN}, expected one: "
            "this pyzmq is no wheel with a bundled libzmq"
        )
    return found[0]


def make_swapped_copy(site, library, target):
    """Copies `zmq` and `pyzmq.libs` to `target` and puts `library` in place of the bundled one."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    ignore = shutil.ignore_patterns("tests")
    for name in ("zmq", "pyzmq.libs"):
        shutil.copytree(site / name, target / name, ignore=ignore, symlinks=True)
    replaced = bundled_library(target)
    replaced.unlink()
    replaced.symlink_to(library)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--print-bundled", action="store_true")
    arguments = parser.parse_args()
    site = installed_site()
    if arguments.print_bundled:
        print(bundled_library(site))
        return
    if not arguments.library or not arguments.target:
        parser.error("--library and --target belong together")
    make_swapped_copy(site, arguments.library.resolve(strict=True), arguments.target)


if __name__ == "__main__":
    main()
