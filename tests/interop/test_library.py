# SPDX-License-Identifier: Apache-2.0
"""Which library the processes of each side have loaded."""

import os

import pytest


@pytest.mark.parametrize("side_name", ["zlink", "genuine"])
def test_side_loads_its_own_library(peers, sides, side_name):
    side = sides[side_name]
    peer = peers.add(side, "PAIR")
    mapped = [path for path in peer.hello["libraries"] if "zmq" in os.path.basename(path)]
    print(f"{side_name}: {mapped}")
    assert side.library in mapped
    assert peer.hello["version"] == "4.3.5"


def test_extension_module_comes_from_the_copy(peers, sides, pytestconfig):
    peer = peers.add(sides["zlink"], "PAIR")
    modules = [path for path in peer.hello["libraries"]
               if os.path.basename(path).startswith("_zmq.")]
    assert len(modules) == 1
    assert modules[0].startswith(os.path.realpath(pytestconfig.getoption("--swapped")) + os.sep)
