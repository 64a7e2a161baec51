# SPDX-License-Identifier: Apache-2.0
"""The tests that come with the package, which need node only, and what node can do with the library."""

import subprocess

import pytest

from conftest import ROOT

HERE = ROOT / "tests/web"


@pytest.mark.parametrize("file", sorted(path.name for path in (ROOT / "web/test").glob("*.test.js")))
def test_without_a_network(file):
    done = subprocess.run(["node", "--test", ROOT / "web/test" / file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
