# SPDX-License-Identifier: Apache-2.0
"""Sessions of tls:// that are resumed, when they must not be, and certificates that are replaced.

Whether a connection resumes is told by Python's end of it.
"""

import os
import time

import pytest

from harness import attempts
from tls_support import CLIENT_USE, HOST, VERSIONS, Authority, client_context, refusal, server_context, speak
from zmtp import message

pytestmark = pytest.mark.zlink_only  # libzmq has no tls


@pytest.fixture(params=VERSIONS.values(), ids=list(VERSIONS))
def version(request):
    return request.param


def replace(path, data):
    """Writes a file anew, as a whole."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(data)
    os.replace(fresh, path)


# -- a socket that is bound ---------------------------------------------------------------------


class Client:
    """A client of Python that connects to a port again and again."""

    def __init__(self, tls_bench, port, version, identity=None):
        self.bench_ = tls_bench
        self.port_ = port
        self.context = client_context(tls_bench.directory, version, tls_bench.authority, identity)
        self.session = None

    def meet(self, peer, body):
        """Connects, sends a message to a DEALER, and says whether the session was resumed."""
        secured = self.bench_.client(self.port_, context=self.context, session=self.session)
        raw = speak(secured)
        raw.handshake("DEALER", identity=b"")
        raw.send(message(body))
        assert peer.recv() == [body]
        peer.send(body)
        assert raw.recv_frame() == message(body)  # behind the ticket of TLS 1.3
        self.session = secured.session
        resumed = secured.session_reused
        secured.close()
        return resumed

    def refusal(self):
        return refusal(self.bench_.client(self.port_, context=self.context, session=self.session))


@pytest.mark.parametrize("mutual", [False, True], ids=["server-only", "mutual"])
def test_a_client_resumes(tls_bench, version, mutual):
    authority = tls_bench.authority
    wanted = {"TLS_CA": authority.pem, "TLS_REQUIRE_CLIENT_CERT": 2} if mutual else {}
    peer = tls_bench.bound("DEALER", **wanted)
    client = Client(tls_bench, peer.port, version, authority.sign(uses=CLIENT_USE) if mutual else None)
    assert [client.meet(peer, b"%d" % number) for number in range(3)] == [False, True, True]


def test_who_resumes_is_known(tls_bench, version):
    """By the certificate that the client showed when the session began."""
    authority = tls_bench.authority
    peer = tls_bench.bound("DEALER", TLS_CA=authority.pem, TLS_REQUIRE_CLIENT_CERT=2)
    context = client_context(tls_bench.directory, version, authority, authority.sign(name="somebody", uses=CLIENT_USE))
    session = None
    for resumes in False, True, True:
        secured = tls_bench.client(peer.port, context=context, session=session)
        raw = speak(secured)
        raw.handshake("DEALER", identity=b"")
        raw.send(message(b"who am I?"))
        assert peer.recv_properties("Peer-CN") == {"Peer-CN": "somebody"}
        peer.send(b"answer")
        raw.recv_frame()
        assert secured.session_reused == resumes
        session = secured.session
        secured.close()


def test_a_session_is_of_one_endpoint(tls_bench, version):
    """Who was admitted here was not examined there, though the certificate is the same."""
    identity = tls_bench.authority.sign()
    strangers = Authority("authority of strangers")
    here = tls_bench.bound("DEALER", identity, TLS_CA=strangers.pem, TLS_REQUIRE_CLIENT_CERT=2)
    there = tls_bench.bound("DEALER", identity, TLS_CA=tls_bench.authority.pem, TLS_REQUIRE_CLIENT_CERT=2)
    client = Client(tls_bench, here.port, version, strangers.sign(uses=CLIENT_USE))
    client.meet(here, b"admitted")
    client.port_ = there.port
    assert client.refusal() == "TLSV1_ALERT_UNKNOWN_CA"


def test_a_client_whose_authority_is_not_trusted_any_more(tls_bench, version):
    """The list of those who are trusted was replaced: a session does not help."""
    authority, other = tls_bench.authority, Authority("another authority")
    trusted = tls_bench.directory / "trusted.pem"
    trusted.write_bytes(authority.pem)
    peer = tls_bench.bound("DEALER", TLS_CA=str(trusted).encode(), TLS_REQUIRE_CLIENT_CERT=2)
    client = Client(tls_bench, peer.port, version, authority.sign(uses=CLIENT_USE))
    client.meet(peer, b"once")
    assert client.meet(peer, b"again")
    replace(trusted, other.pem)
    assert client.refusal() == "TLSV1_ALERT_UNKNOWN_CA"
    replace(trusted, authority.pem + other.pem)
    assert not client.meet(peer, b"trusted again")


def test_a_client_whose_certificate_has_expired_meanwhile(tls_bench, version):
    peer = tls_bench.bound("DEALER", TLS_CA=tls_bench.authority.pem, TLS_REQUIRE_CLIENT_CERT=2)
    identity = tls_bench.authority.sign(uses=CLIENT_USE, ends_s=3)
    client = Client(tls_bench, peer.port, version, identity)
    client.meet(peer, b"once")
    assert client.meet(peer, b"again")
    wait_until_expired(identity)
    assert client.refusal() == "SSLV3_ALERT_CERTIFICATE_EXPIRED"


def wait_until_expired(identity):
    for _ in attempts():
        if time.time() > identity.certificate.not_valid_after_utc.timestamp() + 1:
            return
        time.sleep(0.02)


def test_the_certificate_of_a_server_is_replaced(tls_bench, version):
    """By files, and by options that are set again: who connects anew sees the new one, and does not resume."""
    identities = [tls_bench.authority.sign(name=f"server {number}") for number in range(4)]
    shown = tls_bench.directory / "shown.pem"
    shown.write_bytes(identities[0].pem + identities[0].key_pem)
    peer = tls_bench.made("DEALER", TLS_CERT=str(shown).encode(), TLS_KEY=str(shown).encode())
    peer.port = int(peer.bind(f"tls://{HOST}:*").split(":")[2])

    def expect(identity):
        secured = tls_bench.client(peer.port, version)
        secured.do_handshake()
        assert secured.getpeercert(binary_form=True) == bytes(identity)
        secured.close()

    def set_again(identity):
        for name, value in identity.shown().items():
            peer.set_option(name, value)

    first = speak(tls_bench.client(peer.port, version))
    first.handshake("DEALER", identity=b"")
    expect(identities[0])
    replacements = [lambda: replace(shown, identities[1].pem + identities[1].key_pem),
                    lambda: set_again(identities[2]),
                    lambda: set_again(identities[3])]
    for identity, deed in zip(identities[1:], replacements):
        deed()
        expect(identity)
    first.send(message(b"still there"))
    assert peer.recv() == [b"still there"]
    peer.send(b"and well")
    assert first.recv_frame() == message(b"and well")


def test_a_session_does_not_outlive_the_certificate_of_the_server(tls_bench, version):
    peer = tls_bench.bound("DEALER")
    client = Client(tls_bench, peer.port, version)
    client.meet(peer, b"once")
    assert client.meet(peer, b"again")
    for name, value in tls_bench.authority.sign().shown().items():
        peer.set_option(name, value)
    assert not client.meet(peer, b"with the new certificate")
    assert client.meet(peer, b"and again")


# -- a socket that is connected -----------------------------------------------------------------


class Server:
    """A server of Python that a socket connects to again and again."""

    def __init__(self, tls_bench, version, identity=None):
        self.bench_ = tls_bench
        self.version_ = version
        self.listening_, self.port = tls_bench.listen()
        self.context = server_context(tls_bench.directory, identity or tls_bench.authority.sign(), version)

    def meet(self, peer, body):
        """Accepts a connection of a DEALER, exchanges messages, ends it; whether the session was resumed."""
        secured = self.bench_.server(self.listening_, context=self.context)
        raw = speak(secured)
        raw.handshake("DEALER", identity=b"")
        raw.send(message(body))
        assert peer.recv() == [body]
        resumed = secured.session_reused
        secured.close()
        return resumed

    def refusal(self):
        return refusal(self.bench_.server(self.listening_, context=self.context))


def test_a_server_sees_sessions_resumed(tls_bench, version):
    server = Server(tls_bench, version)
    peer = tls_bench.trusting("DEALER", RECONNECT_IVL=10)
    peer.connect(f"tls://{HOST}:{server.port}")
    assert [server.meet(peer, b"%d" % number) for number in range(3)] == [False, True, True]


def test_a_session_is_of_one_server(tls_bench, version):
    """Another endpoint with the same host is none that was examined, though it could continue the session."""
    server = Server(tls_bench, version)
    peer = tls_bench.trusting("DEALER", RECONNECT_IVL=60_000)
    peer.connect(f"tls://{HOST}:{server.port}")
    server.meet(peer, b"once")
    peer.connect(f"tls://localhost:{server.port}")
    assert not server.meet(peer, b"by another name")


def test_a_server_that_cannot_resume(tls_bench, version):
    """It has been restarted, with a certificate of another authority: that is examined."""
    server = Server(tls_bench, version)
    peer = tls_bench.trusting("DEALER", RECONNECT_IVL=10)
    peer.connect(f"tls://{HOST}:{server.port}")
    server.meet(peer, b"once")
    good = server.context
    server.context = server_context(tls_bench.directory, Authority("another authority").sign(), version)
    assert server.refusal() == "TLSV1_ALERT_UNKNOWN_CA"
    server.context = good
    server.meet(peer, b"again")


def test_a_server_whose_authority_is_not_trusted_any_more(tls_bench, version):
    """The list of those who are trusted was replaced: the server is examined, though it would resume."""
    trusted = tls_bench.directory / "trusted.pem"
    trusted.write_bytes(tls_bench.authority.pem)
    server = Server(tls_bench, version)
    peer = tls_bench.made("DEALER", TLS_CA=str(trusted).encode(), RECONNECT_IVL=10)
    peer.connect(f"tls://{HOST}:{server.port}")
    server.meet(peer, b"once")
    assert server.meet(peer, b"again")
    replace(trusted, Authority("another authority").pem)
    for _ in attempts():  # the connection may have been prepared before
        if server.refusal() == "TLSV1_ALERT_UNKNOWN_CA":
            break


def test_a_server_whose_certificate_has_expired_meanwhile(tls_bench, version):
    identity = tls_bench.authority.sign(ends_s=3)
    server = Server(tls_bench, version, identity)
    peer = tls_bench.trusting("DEALER", RECONNECT_IVL=10)
    peer.connect(f"tls://{HOST}:{server.port}")
    server.meet(peer, b"once")
    secured = tls_bench.server(server.listening_, context=server.context)
    raw = speak(secured)
    raw.handshake("DEALER", identity=b"")
    assert secured.session_reused
    wait_until_expired(identity)
    secured.close()
    assert server.refusal() == "SSLV3_ALERT_CERTIFICATE_EXPIRED"
