# SPDX-License-Identifier: Apache-2.0
"""The browser, the web server and the sockets of zlink that the tests use."""

import functools
import http.server
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
import zmq

import chromium

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_MS = 10_000


def pytest_addoption(parser):
    parser.addoption("--library", required=True, help="the libzmq.so.5 under test")
    parser.addoption("--work", required=True, type=Path, help="where npm has installed what tests need")
    parser.addoption("--screenshots", type=Path, help="where to keep pictures of the example page")


def pytest_configure(config):
    library = os.path.realpath(config.getoption("--library"))
    used = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libzmq" in line}
    if not any(os.path.samefile(path, library) for path in used) or len(used) != 1:
        raise pytest.UsageError(f"pyzmq uses {used}, not {library}: use tests/web/run.sh")


class Handler(http.server.SimpleHTTPRequestHandler):
    # The table of the system may lack it, and a browser runs no module of another type.
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/blank":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>blank</title><link rel=icon href=data:>")
        else:
            super().do_GET()


def serve(directory):
    """A web server for a directory, and its thread."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="session")
def work(pytestconfig):
    return pytestconfig.getoption("--work")


@pytest.fixture(scope="session")
def site():
    """The address of a web server for web/."""
    server = serve(ROOT / "web")
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Those of a development authority, which the browser trusts."""
    directory = tmp_path_factory.mktemp("tls") / "certificates"
    subprocess.run([ROOT / "scripts/make_certificates.sh", directory, "localhost", "127.0.0.1"],
                   check=True, capture_output=True)
    return directory


@pytest.fixture(scope="session")
def browser(tmp_path_factory, certificates):
    if not chromium.find():
        pytest.skip("Chromium is not installed")
    made = chromium.Browser(tmp_path_factory.mktemp("home"))
    made.trust(certificates / "ca.pem")
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def page(request, browser, site):
    """An empty page in which `zmq` is the module under test."""
    made = browser.new_page(f"{site}/blank")
    made.run("globalThis.zmq = await import('/index.js');")
    request.node.page = made
    yield made
    made.close()


class Sockets:
    """Makes sockets of zlink."""

    def __init__(self, certificates):
        self.context_ = zmq.Context()
        self.certificates_ = certificates

    def make(self, kind, **options):
        socket = self.context_.socket(getattr(zmq, kind))
        socket.linger = 0
        socket.rcvtimeo = socket.sndtimeo = DEADLINE_MS
        for name, value in options.items():
            setattr(socket, name, value)
        return socket

    def bind(self, kind, address="ws://127.0.0.1:*/", **options):
        """A bound socket and its address."""
        socket = self.make(kind, **options)
        if address.startswith("wss"):
            socket.setsockopt(zmq.WSS_CERT_PEM, bytes(self.certificates_ / "server.pem"))
            socket.setsockopt(zmq.WSS_KEY_PEM, bytes(self.certificates_ / "server.key"))
        socket.bind(address)
        return socket, socket.last_endpoint.rstrip(b"\0").decode()

    def close(self):
        self.context_.destroy(linger=0)


@pytest.fixture
def sockets(certificates):
    made = Sockets(certificates)
    yield made
    made.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.failed and getattr(item, "page", None) and item.page.log:
        report.sections.append(("console of the page", "\n".join(item.page.log)))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
