# SPDX-License-Identifier: Apache-2.0
"""tls:// and wss:// through a SOCKS5 proxy."""

import pytest

import client_hello
import zmtp
from client_hello import ClientHello
from tls_proxy import SocksProxy
from tls_support import HOST, Company, refusal

pytestmark = pytest.mark.zlink_only  # libzmq has no tls

NAME = "broker.example.test"  # which nobody can resolve


@pytest.fixture(params=["tls", "wss"])
def scheme(request):
    return request.param


@pytest.fixture
def proxy(tls_bench):
    return tls_bench.own(SocksProxy())


def through(proxy):
    return {"SOCKS_PROXY": f"{HOST}:{proxy.port}".encode()}


def test_messages(tls_bench, proxy, scheme):
    """The name goes to the proxy as it is, and the certificate has to be for that name."""
    bound = tls_bench.bound("REP", tls_bench.authority.sign(hosts=[NAME]), scheme=scheme)
    req = tls_bench.trusting("REQ", **through(proxy))
    req.connect(f"{scheme}://{NAME}:{bound.port}")
    for parts in [b"small"], [b"large" * 100_000, b"", b"end"]:
        req.send(*parts)
        assert bound.recv() == parts
        bound.send(*parts)
        assert req.recv() == parts
    assert proxy.asked == [(NAME, bound.port)]


@pytest.mark.parametrize("hosts", [[HOST, "localhost"], ["example.test"], [f"proxy.{NAME}"]],
                         ids=["of-the-proxy", "of-the-domain", "below"])
def test_the_certificate_of_another(tls_bench, proxy, scheme, hosts):
    company = Company(tls_bench, False)
    company.peer.set_option("SOCKS_PROXY", through(proxy)["SOCKS_PROXY"])
    listening, port = tls_bench.listen()
    company.peer.connect(f"{scheme}://{NAME}:{port}")
    assert refusal(tls_bench.server(listening, tls_bench.authority.sign(hosts=hosts))) == "SSLV3_ALERT_BAD_CERTIFICATE"
    company.expect_failure("EADDRNOTAVAIL")


def test_the_name_inside(tls_bench, proxy, scheme):
    """What the server behind the proxy is asked for."""
    peer = tls_bench.trusting("PUSH", RECONNECT_IVL=10, **through(proxy))
    listening, port = tls_bench.listen()
    peer.connect(f"{scheme}://{NAME}:{port}")
    raw = zmtp.RawPeer(tls_bench.accept(listening))
    name = NAME.encode()
    assert ClientHello.read(raw).extensions[client_hello.SERVER_NAME] == \
        client_hello.vector(b"\0" + client_hello.vector(name, 2), 2)
    raw.close()
    secured = tls_bench.server(listening, tls_bench.authority.sign(hosts=[NAME]))
    secured.do_handshake()
    raw = zmtp.RawPeer(secured)
    if scheme == "tls":
        assert raw.recv(10) == zmtp.SIGNATURE
    else:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            request += raw.recv(1)
        assert f"Host: {NAME}:{port}".encode() in request.split(b"\r\n")
    assert set(proxy.asked) == {(NAME, port)}
