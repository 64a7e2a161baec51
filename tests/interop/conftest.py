# SPDX-License-Identifier: Apache-2.0
"""Command line, sides, links and failure reports of the interop suite."""

import filecmp
import os
from pathlib import Path

import pytest

import swap
import zws
from bench import Bench
from harness import Link, Peers, Side
from tls_support import TlsBench

PAIRS = {
    "zlink-genuine": ("zlink", "genuine"),
    "genuine-zlink": ("genuine", "zlink"),
    "zlink-zlink": ("zlink", "zlink"),
}
TRANSPORTS = ("tcp", "ipc")


def pytest_addoption(parser):
    group = parser.getgroup("interop")
    group.addoption("--library", help="the libzmq.so.5 under test")
    group.addoption("--swapped", help="copy of pyzmq made by swap.py")
    group.addoption("--run-later", action="store_true",
                    help="run tests of features that are not built yet")
    group.addoption("--run-zlink-only", action="store_true",
                    help="run tests marked zlink_only against the genuine library too")


def pytest_configure(config):
    if not config.getoption("--library") or not config.getoption("--swapped"):
        raise pytest.UsageError("use tests/interop/run.sh")
    config.library = os.path.realpath(config.getoption("--library"))
    config.bundled = os.path.realpath(swap.bundled_library(swap.installed_site()))
    config.is_genuine = filecmp.cmp(config.library, config.bundled, shallow=False)


def pytest_report_header(config):
    kind = " (the genuine library itself)" if config.is_genuine else ""
    return [f"library under test: {config.library}{kind}", f"genuine library: {config.bundled}"]


def pytest_collection_modifyitems(config, items):
    if not config.is_genuine and not config.getoption("--run-later"):
        later = [item for item in items if item.get_closest_marker("later")]
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]
    if not config.is_genuine or config.getoption("--run-zlink-only"):
        return
    skip = pytest.mark.skip(reason="known defect of the genuine library")
    for item in items:
        if item.get_closest_marker("zlink_only"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def sides(pytestconfig):
    """Both installations by name."""
    swapped = Path(pytestconfig.getoption("--swapped"))
    made = {
        "zlink": Side("zlink", pytestconfig.library, swapped),
        "genuine": Side("genuine", pytestconfig.bundled),
    }
    yield made
    for side in made.values():
        side.close()


@pytest.fixture
def peers(request):
    """Factory of peers; they must all end in an orderly way if the test passes."""
    made = Peers()
    request.node.peers = made
    yield made
    try:
        if getattr(request.node, "passed", False):
            made.finish()
    finally:
        made.release()


@pytest.fixture(params=[(pair, transport) for transport in TRANSPORTS for pair in PAIRS],
                ids=lambda param: f"{param[1]}-{param[0]}")
def link(request, peers, sides):
    """Binding and connecting side in every combination, on tcp and ipc."""
    pair, transport = request.param
    binder, connector = PAIRS[pair]
    made = Link(peers, sides[binder], sides[connector], transport)
    yield made
    made.release()


@pytest.fixture(params=["tcp", "ipc"])
def bench(request, peers, sides):
    made = Bench(peers, sides["zlink"], request.param)
    yield made
    made.release()


@pytest.fixture
def tls_bench(peers, sides, tmp_path):
    made = TlsBench(peers, sides["zlink"], tmp_path)
    yield made
    made.release()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return zws.Certificates(tmp_path_factory.mktemp("tls") / "made")


@pytest.fixture
def ws_bench(request, peers, sides, pytestconfig):
    """A socket under test among WebSockets; with the parameter `wss` in TLS."""
    if pytestconfig.is_genuine:
        pytest.skip("the library in the wheel has no WebSockets")
    in_tls = getattr(request, "param", "ws") == "wss"
    made = zws.Bench(peers, sides["zlink"], request.getfixturevalue("certificates") if in_tls else None)
    yield made
    made.release()


@pytest.fixture(params=list(zws.LIBRARIES))
def library(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["binds", "connects"])
def binds(request):
    return request.param


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call":
        item.passed = report.passed
    if report.failed and hasattr(item, "peers"):
        report.sections += [(title, text) for title, text in item.peers.report() if text]
