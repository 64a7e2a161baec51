# SPDX-License-Identifier: Apache-2.0
"""tls:// against stunnel, which puts the genuine library's tcp:// into TLS."""

import shutil
import subprocess

import pytest

import content
from harness import Endpoint, establish_flow
from tls_support import CLIENT_USE, HOST, SERVER_USE

pytestmark = pytest.mark.zlink_only  # libzmq has no tls

FAST = {"RECONNECT_IVL": 20}
TIMEOUT_MS = 30_000
MEGABYTE = 1_000_000


class Stunnel:
    """A running stunnel that listens on a port of its own and connects to another one."""

    def __init__(self, tls_bench, to_port, **settings):
        program = shutil.which("stunnel4") or shutil.which("stunnel")
        assert program, "stunnel is not installed (Debian: apt-get install stunnel4)"
        endpoint = tls_bench.own(Endpoint("tcp"), "release")
        self.port = endpoint.address[1]
        lines = ["foreground = quiet", "pid =", "syslog = no", f"output = {tls_bench.directory / 'stunnel.log'}",
                 "[one]", f"accept = {HOST}:{self.port}", f"connect = {HOST}:{to_port}",
                 *(f"{name} = {value}" for name, value in settings.items())]
        configuration = tls_bench.directory / "stunnel.conf"
        configuration.write_text("\n".join(lines) + "\n")
        self.process_ = subprocess.Popen([program, configuration], stdin=subprocess.DEVNULL)
        tls_bench.own(self)

    def close(self):
        self.process_.terminate()
        self.process_.wait(10)


class Ends:
    """Which library binds, and what the other one connects to."""

    def __init__(self, tls_bench, genuine, stunnel_serves, mutual):
        self.bench_ = tls_bench
        self.genuine_ = genuine
        self.stunnel_serves_ = stunnel_serves
        authority = tls_bench.authority
        trusted = tls_bench.directory / "trusted.pem"
        trusted.write_bytes(authority.pem)
        self.server_ = authority.sign(uses=SERVER_USE)
        self.client_ = authority.sign(uses=CLIENT_USE) if mutual else None
        self.settings_ = {"CAfile": trusted, "verifyChain": "yes"} if mutual or not stunnel_serves else {}
        if not stunnel_serves:
            self.settings_ |= {"client": "yes", "checkIP": HOST}
        if shown := self.server_ if stunnel_serves else self.client_:
            self.settings_ |= {"cert": shown.file(tls_bench.directory)}

    def meet(self, bound_kind, connected_kind, bound_options=None, connected_options=None):
        """The socket that is bound and the one that is connected, by way of stunnel."""
        bound_options, connected_options = bound_options or {}, connected_options or {}
        bench = self.bench_
        if self.stunnel_serves_:
            bound = bench.peers_.add(self.genuine_, bound_kind, **bound_options)
            port = bound.bind(f"tcp://{HOST}:*").split(":")[2]
            shown = self.client_.shown() if self.client_ else {}
            connected = bench.trusting(connected_kind, **shown, **FAST, **connected_options)
            connected.connect(f"tls://{HOST}:{Stunnel(bench, port, **self.settings_).port}")
        else:
            wanted = {"TLS_CA": bench.authority.pem, "TLS_REQUIRE_CLIENT_CERT": 2} if self.client_ else {}
            bound = bench.bound(bound_kind, self.server_, **wanted, **bound_options)
            connected = bench.peers_.add(self.genuine_, connected_kind, **FAST, **connected_options)
            connected.connect(f"tcp://{HOST}:{Stunnel(bench, bound.port, **self.settings_).port}")
        return bound, connected


@pytest.fixture(params=[True, False], ids=["stunnel-serves", "stunnel-connects"])
def stunnel_serves(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["server-only", "mutual"])
def ends(request, tls_bench, sides, stunnel_serves):
    return Ends(tls_bench, sides["genuine"], stunnel_serves, mutual=request.param)


@pytest.fixture(params=[True, False], ids=["first-binds", "second-binds"])
def first_binds(request):
    return request.param


def in_order(ends, first_binds, first, second, first_options=None, second_options=None):
    """The two sockets in the order of their kinds, whichever of them binds."""
    if first_binds:
        return ends.meet(first, second, first_options, second_options)
    return ends.meet(second, first, second_options, first_options)[::-1]


def test_requests(ends, first_binds):
    rep, req = in_order(ends, first_binds, "REP", "REQ")
    for spec in content.series("small", 200), content.sizes("all", [0, 1, 255, 256, 16_384, 65_536, MEGABYTE]):
        rep.start_echo(spec, timeout_ms=TIMEOUT_MS)
        assert req.request(spec, window=1, timeout_ms=TIMEOUT_MS) == content.length(spec)
        rep.result()


def test_subscriptions(ends, first_binds):
    pub, sub = in_order(ends, first_binds, "PUB", "SUB", second_options={"SUBSCRIBE": b"topic"})
    establish_flow(pub, sub, prefix=b"topic")
    spec = content.series("published", 20, size=MEGABYTE, prefix="topic")
    sub.start_expect(spec, timeout_ms=TIMEOUT_MS)
    pub.send(b"other")
    pub.send_all(spec, timeout_ms=TIMEOUT_MS)
    sub.result()


def test_large_bodies_both_ways_at_once(ends):
    bound, connected = ends.meet("DEALER", "DEALER")
    to_bound, to_connected = content.series("in", 20, size=MEGABYTE), content.series("out", 20, size=MEGABYTE)
    bound.send_all(to_connected, timeout_ms=TIMEOUT_MS)
    connected.send_all(to_bound, timeout_ms=TIMEOUT_MS)
    bound.start_expect(to_bound, timeout_ms=TIMEOUT_MS)
    connected.start_expect(to_connected, timeout_ms=TIMEOUT_MS)
    bound.result()
    connected.result()
