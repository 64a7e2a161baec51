# SPDX-License-Identifier: Apache-2.0
"""An ipyparallel cluster with four engines: hub, schedulers and engines are processes of their own."""

import operator

import ipyparallel
import libraries
import pytest
import zmq

ENGINES = 4


@pytest.fixture(scope="module", params=["null", "curve"])
def client(request, tmp_path_factory):
    """The client of a cluster whose processes speak NULL or CURVE with each other."""
    arguments = ["--IPController.enable_curve=True"] if request.param == "curve" else []
    cluster = ipyparallel.Cluster(n=ENGINES, ipython_dir=str(tmp_path_factory.mktemp("ipython")),
                                  log_level=30, controller_args=arguments)
    with cluster as made:
        made.wait_for_engines(ENGINES, timeout=90)
        yield made


def test_every_connection_has_the_mechanism(client, request):
    """The client's own, and those of the engines, which are asked for the sockets that they hold."""
    expected = {"null": zmq.NULL, "curve": zmq.CURVE}[request.node.callspec.params["client"]]
    assert client[:].apply_sync(used_mechanisms) == [[expected]] * ENGINES
    assert used_mechanisms() == [expected]


def used_mechanisms():
    """The mechanisms of all tcp sockets that this process has connected."""
    import gc

    import zmq
    found = set()
    for thing in gc.get_objects():
        if isinstance(thing, zmq.Socket) and not thing.closed and thing.last_endpoint.startswith(b"tcp:"):
            found.add(thing.mechanism)
    return sorted(found)


def mapped_library():
    import os
    return sorted({os.path.realpath(line.split()[-1]) for line in open("/proc/self/maps")
                   if "libzmq" in line.rsplit("/", 1)[-1]})


def test_every_engine_uses_the_library(client):
    assert client[:].apply_sync(mapped_library) == [sorted(libraries.expected())] * ENGINES


def test_direct_view(client):
    view = client[:]
    view.push({"a": 7}, block=True)
    assert view.pull("a", block=True) == [7] * ENGINES
    assert view.map_sync(operator.neg, range(1000)) == [-i for i in range(1000)]


def test_load_balanced_tasks(client):
    view = client.load_balanced_view()
    assert view.map_sync(operator.add, range(400), range(400)) == [2 * i for i in range(400)]


def test_large_arrays(client):
    payload = bytes(10_000_000)
    assert client[:].apply_sync(len, payload) == [len(payload)] * ENGINES


def test_an_error_comes_back(client):
    with pytest.raises(ipyparallel.RemoteError):
        client[0].apply_sync(operator.truediv, 1, 0)
