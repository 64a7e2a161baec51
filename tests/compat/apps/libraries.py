# SPDX-License-Identifier: Apache-2.0
"""Which libzmq a process has mapped, to prove that an application runs on the one under test."""

import os
from pathlib import Path


def mapped(pid="self"):
    """The real paths of the libzmq files in a process."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    paths = {line.split()[-1] for line in lines if ".so" in line}
    return {os.path.realpath(path) for path in paths if "libzmq" in os.path.basename(path)}


def expected():
    return {os.path.realpath(os.environ["EXPECT_LIBRARY"])}
