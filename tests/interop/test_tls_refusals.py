# SPDX-License-Identifier: Apache-2.0
"""What tls:// refuses: with which reason, and without harm to others."""

import contextlib
import os
import random
import socket
import ssl
import time

import pytest

import client_hello
import tls_proxy
import zmtp
from client_hello import ClientHello
from harness import attempts
from test_tls import s_client, s_server
from tls_proxy import CLIENT, SERVER, RecordProxy
from tls_support import (CLIENT_USE, HOST, SERVER_USE, SHORT_LIMIT_MS, VERSIONS, Authority, Company,
                         client_context, make_identity, refusal, server_context, speak)
from zmtp import command, greeting, message, ready

pytestmark = pytest.mark.zlink_only  # libzmq has no tls

DAY_S = 86_400


@pytest.fixture(params=VERSIONS.values(), ids=list(VERSIONS))
def version(request):
    return request.param


# -- certificates -------------------------------------------------------------------------------


def not_an_authority(authority):
    """Signed by a certificate that may not sign."""
    signer = authority.sign(name="signer")
    return make_identity(issuer=signer, chain=signer.pem)


def behind_expired(authority):
    signer = make_identity("authority that has expired", authority, starts_s=-2 * DAY_S, ends_s=-DAY_S, authority=True)
    return make_identity(issuer=signer, chain=signer.pem)


def behind_unshown(authority):
    return Authority("authority between", authority).sign()


BAD_OF_BOTH = {
    "expired": (lambda own: own.sign(starts_s=-2 * DAY_S, ends_s=-DAY_S), "EKEYEXPIRED"),
    "not-yet-valid": (lambda own: own.sign(starts_s=DAY_S, ends_s=2 * DAY_S), "EKEYEXPIRED"),
    "signed-by-itself": (lambda _: make_identity(), "EKEYREJECTED"),
    "unknown-authority": (lambda _: Authority("unknown").sign(), "EKEYREJECTED"),
    "authority-of-the-same-name": (lambda _: Authority().sign(), "EKEYREJECTED"),
    "signed-by-no-authority": (not_an_authority, "EKEYREJECTED"),
    "behind-an-expired-authority": (behind_expired, "EKEYEXPIRED"),
    "behind-an-authority-not-shown": (behind_unshown, "EKEYREJECTED"),
    "short-key": (lambda own: own.sign(kind=1024), "EKEYREJECTED"),
}
BAD_SERVERS = {
    **BAD_OF_BOTH,
    "other-use": (lambda own: own.sign(uses=CLIENT_USE), "EKEYREJECTED"),
    "other-address": (lambda own: own.sign(hosts=["192.0.2.1", "localhost"]), "EADDRNOTAVAIL"),
    "address-as-a-name": (lambda own: own.sign(name=HOST, hosts=["localhost"]), "EADDRNOTAVAIL"),
    "no-names": (lambda own: own.sign(name=HOST, hosts=()), "EADDRNOTAVAIL"),
}
BAD_CLIENTS = {
    **BAD_OF_BOTH,
    "other-use": (lambda own: own.sign(uses=SERVER_USE), "EKEYREJECTED"),
    "none": (lambda own: None, "ENOKEY"),
}
# What the other side is told.
ALERTS = {
    "EKEYEXPIRED": {"SSLV3_ALERT_CERTIFICATE_EXPIRED", "SSLV3_ALERT_BAD_CERTIFICATE"},
    "EKEYREJECTED": {"TLSV1_ALERT_UNKNOWN_CA", "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "SSLV3_ALERT_BAD_CERTIFICATE",
                     "TLSV1_ALERT_DECRYPT_ERROR"},
    "EADDRNOTAVAIL": {"SSLV3_ALERT_BAD_CERTIFICATE"},
    "ENOKEY": {"TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_HANDSHAKE_FAILURE"},
}


def without_own_limits(context):
    """May show a short key."""
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    return context


@pytest.mark.parametrize("shown, reason", list(BAD_SERVERS.values()), ids=list(BAD_SERVERS))
def test_a_server_with_a_wrong_certificate(tls_bench, version, shown, reason):
    company = Company(tls_bench, False, version)
    listening, port = tls_bench.listen()
    company.peer.connect(f"tls://{HOST}:{port}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    without_own_limits(context).load_cert_chain(shown(tls_bench.authority).file(tls_bench.directory))
    told = refusal(tls_bench.server(listening, context=context))
    company.expect_failure(reason)
    assert told in ALERTS[reason]
    company.check()


@pytest.mark.parametrize("required", [1, 2], ids=["may-be-missing", "required"])
@pytest.mark.parametrize("shown, reason", list(BAD_CLIENTS.values()), ids=list(BAD_CLIENTS))
def test_a_client_with_a_wrong_certificate(tls_bench, version, shown, reason, required):
    company = Company(tls_bench, True, version, TLS_CA=tls_bench.authority.pem, TLS_REQUIRE_CLIENT_CERT=required)
    context = without_own_limits(client_context(tls_bench.directory, version, tls_bench.authority))
    if identity := shown(tls_bench.authority):
        context.load_cert_chain(identity.file(tls_bench.directory))
    elif required == 1:
        speak(tls_bench.client(company.port, context=context)).handshake("DEALER", identity=b"")  # is admitted
        company.check()
        return
    told = refusal(tls_bench.client(company.port, context=context))
    company.expect_failure(reason)
    assert told in ALERTS[reason]


def test_a_name_that_is_another(tls_bench, version):
    """By its name; a wildcard stands for one part of a name as a whole."""
    listening, port = tls_bench.listen()
    for name, wanted, fits in (("localhost", b"localhost", True), ("localhost", b"localhost.example", False),
                               ("*.example.org", b"a.example.org", True), ("a*.example.org", b"ab.example.org", False),
                               ("*.example.org", b"a.b.example.org", False), ("*.example.org", b"example.org", False),
                               ("*", b"localhost", False)):
        peer = tls_bench.trusting("PUSH", TLS_HOSTNAME=wanted, RECONNECT_IVL=60_000)
        peer.call("monitor")
        peer.connect(f"tls://{HOST}:{port}")
        secured = tls_bench.server(listening, tls_bench.authority.sign(hosts=[name]), version)
        if fits:
            speak(secured).handshake("PULL")
        else:
            assert refusal(secured) == "SSLV3_ALERT_BAD_CERTIFICATE", wanted
        peer.finish()


# -- versions and ciphers -----------------------------------------------------------------------


OLD_VERSIONS = {"1.0": ssl.TLSVersion.TLSv1, "1.1": ssl.TLSVersion.TLSv1_1}


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@pytest.mark.parametrize("old", list(OLD_VERSIONS.values()), ids=list(OLD_VERSIONS))
def test_a_version_that_is_too_old(tls_bench, binds, old):
    company = Company(tls_bench, binds)
    if binds:
        told = refusal(tls_bench.client(company.port, old))
    else:
        listening, port = tls_bench.listen()
        company.peer.connect(f"tls://{HOST}:{port}")
        told = refusal(tls_bench.server(listening, version=old))
    # Python's server has seen already that there is no common version.
    assert told == ("TLSV1_ALERT_PROTOCOL_VERSION" if binds else "UNSUPPORTED_PROTOCOL")
    company.expect_failure("EPROTONOSUPPORT")


@pytest.mark.parametrize("version, ciphers", [
    ("1.2", "AES128-GCM-SHA256"), ("1.2", "ECDHE-ECDSA-AES128-SHA256"), ("1.2", "DHE-RSA-AES128-GCM-SHA256"),
    ("1.2", "ECDHE-RSA-AES128-GCM-SHA256"), ("1.2", "aNULL@SECLEVEL=0"),
], ids=["rsa-exchange", "cbc", "dhe", "other-certificate", "anonymous"])
def test_no_common_cipher(tls_bench, binds, version, ciphers):
    """With certificates of elliptic curves."""
    company = Company(tls_bench, binds, VERSIONS[version])
    if binds:
        context = client_context(tls_bench.directory, VERSIONS[version], tls_bench.authority)
        context.set_ciphers(ciphers)
        assert refusal(tls_bench.client(company.port, context=context)) == "SSLV3_ALERT_HANDSHAKE_FAILURE"
    else:
        context = server_context(tls_bench.directory, tls_bench.authority.sign(), VERSIONS[version])
        context.set_ciphers(ciphers)
        listening, port = tls_bench.listen()
        company.peer.connect(f"tls://{HOST}:{port}")
        assert refusal(tls_bench.server(listening, context=context)) == "NO_SHARED_CIPHER"
    company.expect_failure("EPROTONOSUPPORT")


# -- who speaks something else ------------------------------------------------------------------


SOMETHING_ELSE = {
    "zmtp": greeting() + ready("DEALER", b""),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros": bytes(100),
    "alert-first": b"\x15\x03\x03\x00\x02\x02\x28",
    "data-first": b"\x17\x03\x03\x00\x10" + bytes(16),
    "unknown-record": b"\x63\x03\x03\x00\x10" + bytes(16),
    "empty-record": b"\x16\x03\x03\x00\x00" * 50,
    "too-long-record": b"\x16\x03\x03\xff\xff" + bytes(65_535),
    "too-long-hello": b"\x16\x03\x03\x40\x00\x01\xff\xff\xff" + bytes(16_380),
    "server-hello-first": b"\x16\x03\x03\x00\x04\x02\x00\x00\x00",
    "finished-first": b"\x16\x03\x03\x00\x10\x14\x00\x00\x0c" + bytes(12),
    "ssl-2": bytes.fromhex("802e0100020015000000100100800200800300800400800500800600400700c0") + bytes(16),
}


@pytest.mark.parametrize("what", list(SOMETHING_ELSE.values()), ids=list(SOMETHING_ELSE))
def test_who_speaks_something_else(tls_bench, binds, what):
    company = Company(tls_bench, binds)
    if binds:
        raw = zmtp.RawPeer(tls_bench.dial(company.port))
    else:
        listening, port = tls_bench.listen()
        company.peer.connect(f"tls://{HOST}:{port}")
        raw = zmtp.RawPeer(tls_bench.accept(listening))
        # A server may send what it likes only after the client has begun.
        raw.recv(5)
    raw.send_refused(what)
    company.expect_failure("EPROTO", "EPROTONOSUPPORT")
    raw.expect_closed()
    company.check()


def test_tls_where_none_is_spoken(tls_bench):
    """A tls:// socket that connects to a tcp:// socket learns that soon. For the other one, as for libzmq, the bytes
    are those of a peer of ZMTP 1.0, which has no handshake."""
    bound = tls_bench.made("ROUTER")
    endpoint = bound.bind(f"tcp://{HOST}:*")
    company = Company(tls_bench, False)
    company.peer.connect("tls" + endpoint[3:])
    company.expect_failure("EPROTO")
    good = tls_bench.made("DEALER")
    good.connect(endpoint)
    good.send(b"good")
    for _ in attempts():
        if bound.recv()[1:] == [b"good"]:
            break


def test_damaged_hellos(tls_bench):
    """A bad byte, a wrong length or an end anywhere in the ClientHello."""
    company = Company(tls_bench, True, HANDSHAKE_IVL=SHORT_LIMIT_MS)
    hello = client_hello.record(ClientHello.of(client_context(tls_bench.directory)).body())
    chosen = random.Random(25)
    raws = []
    for _ in range(150):
        damaged = bytearray(hello)
        for _ in range(chosen.randint(1, 3)):
            damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
        if chosen.random() < 0.3:
            del damaged[chosen.randrange(len(damaged)):]
        raw = zmtp.RawPeer(tls_bench.dial(company.port))
        raws.append(raw)
        raw.send_refused(bytes(damaged))
    company.check()
    for raw in raws:
        raw.expect_closed()
    company.check()


def test_a_hello_in_small_pieces(tls_bench):
    """It may come in many records, and byte by byte."""
    company = Company(tls_bench, True)
    body = ClientHello.of(client_context(tls_bench.directory)).body()
    in_parts = b"".join(client_hello.record(body[i:i + 40]) for i in range(0, len(body), 40))
    for pieces in in_parts, client_hello.record(body):
        raw = zmtp.RawPeer(tls_bench.dial(company.port))
        raw.send_bytewise(pieces)
        head = raw.recv(5)
        assert head[:3] == b"\x16\x03\x03"
        assert raw.recv(1) == b"\x02"  # ServerHello
        raw.close()
    company.check()


def test_a_giant_hello(tls_bench):
    """One that is as long as its length can say is good; nobody may send more than that."""
    company = Company(tls_bench, True)
    hello = ClientHello.of(client_context(tls_bench.directory))
    hello.extensions[client_hello.PADDING] = bytes(64_000)
    body = hello.body()
    records = [client_hello.record(body[i:i + 16_000]) for i in range(0, len(body), 16_000)]
    raw = zmtp.RawPeer(tls_bench.dial(company.port))
    for record in records:
        company.check()
        raw.send(record)
    assert raw.recv(3) == b"\x16\x03\x03"
    # The handshake is not over, and what comes next is not what has to.
    raw.send_refused(b"".join(records) * 10)
    company.expect_failure("EPROTO")
    raw.expect_closed()


# -- who stops, cuts or alters ------------------------------------------------------------------


# How many records there are in a handshake. The first ones of TLS 1.3: ClientHello, ChangeCipherSpec, Finished;
# ServerHello, ChangeCipherSpec, EncryptedExtensions, Certificate, CertificateVerify, Finished. Of TLS 1.2: ClientHello,
# ClientKeyExchange, ChangeCipherSpec, Finished; ServerHello, Certificate, ServerKeyExchange, ServerHelloDone,
# NewSessionTicket, ChangeCipherSpec, Finished.
HANDSHAKES = {
    "1.3": {CLIENT: 3, SERVER: 6},
    "1.2": {CLIENT: 4, SERVER: 7},
}
PLACES = [(version, sender, number) for version, counts in HANDSHAKES.items()
          for sender, count in counts.items() for number in range(count)]
ONLY = {"1.3": {"TLS_MIN_VERSION": 0x0304}, "1.2": {"TLS_CIPHERS": b"ECDHE-ECDSA-AES128-GCM-SHA256"}}


def at(sender, number, deed):
    """The rule of a proxy."""
    return lambda who, which, record: deed(record) if (who, which) == (sender, number) else [record]


@pytest.fixture
def between(tls_bench):
    """Two sockets under test with a proxy between them; each has a good peer as well."""
    def made(version, sender, number, deed, **options):
        server = Company(tls_bench, True, **options)
        client = Company(tls_bench, False, VERSIONS[version], **options, **ONLY[version])
        proxy = tls_bench.own(RecordProxy(server.port, at(sender, number, deed)))
        client.peer.connect(f"tls://{HOST}:{proxy.port}")
        assert proxy.applied.wait(zmtp.DEADLINE_S)
        return server, client, proxy
    return made


@pytest.mark.parametrize("version, sender, number", PLACES)
def test_who_stops_in_a_handshake(between, version, sender, number):
    begin = time.monotonic()
    server, client, _ = between(version, sender, number, tls_proxy.stall, HANDSHAKE_IVL=SHORT_LIMIT_MS)
    client.expect_failure("EAGAIN")
    server.expect_failure("EAGAIN")
    assert time.monotonic() - begin >= 0.9 * SHORT_LIMIT_MS / 1000


@pytest.mark.parametrize("version, sender, number", PLACES)
def test_an_altered_record_of_a_handshake(between, version, sender, number):
    server, client, _ = between(version, sender, number, tls_proxy.alter)
    finder, told = (server, client) if sender == CLIENT else (client, server)
    # The last byte of a certificate is one of its signature.
    finder.expect_failure("EKEYREJECTED" if (version, sender, number) == ("1.2", SERVER, 1) else "EPROTO")
    # By an alert, which TCP may lose: who closes has not read what had been sent meanwhile.
    told.expect_failure("EPROTO", "EPIPE", "ECONNRESET")


@pytest.mark.parametrize("version, sender, number", PLACES)
def test_a_cut_record_of_a_handshake(between, version, sender, number):
    server, client, _ = between(version, sender, number, tls_proxy.cut)
    server.expect_failure("ECONNRESET", "EPIPE")
    client.expect_failure("ECONNRESET", "EPIPE")


@pytest.mark.parametrize("version, sender, number", PLACES)
def test_a_handshake_that_ends_between_records(between, version, sender, number):
    server, client, _ = between(version, sender, number, tls_proxy.cut_before)
    server.expect_failure("ECONNRESET", "EPIPE")
    client.expect_failure("ECONNRESET", "EPIPE")


@pytest.mark.parametrize("begun", [b"", b"\x16", b"\x16\x03\x01\x02\x00",
                                   b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
                         ids=["nothing", "a-byte", "a-head", "a-part"])
def test_who_never_comes_to_the_first_record(tls_bench, binds, begun):
    company = Company(tls_bench, binds, HANDSHAKE_IVL=SHORT_LIMIT_MS)
    if binds:
        raw = zmtp.RawPeer(tls_bench.dial(company.port))
    else:
        listening, port = tls_bench.listen()
        company.peer.connect(f"tls://{HOST}:{port}")
        raw = zmtp.RawPeer(tls_bench.accept(listening))
    raw.send(begun)
    company.check()
    company.expect_failure("EAGAIN")
    raw.expect_closed()


def test_who_says_nothing_inside_tls(tls_bench, binds, version):
    """The limit is that of both handshakes together."""
    company = Company(tls_bench, binds, version, HANDSHAKE_IVL=SHORT_LIMIT_MS)
    with another_peer(tls_bench, company, version) as raw:
        company.check()
        company.expect_failure("EAGAIN")
        raw.expect_closed()


@contextlib.contextmanager
def another_peer(tls_bench, company, version):
    """A second peer of the company's socket, behind its TLS handshake."""
    if company.binds:
        yield speak(tls_bench.client(company.port, version))
        return
    listening, port = tls_bench.listen()
    company.peer.connect(f"tls://{HOST}:{port}")
    yield speak(tls_bench.server(listening, version=version))


def below(raw):
    """The connection below the TLS of a peer."""
    return socket.socket(fileno=os.dup(raw.socket_.fileno()))


GARBAGE = {
    "plain-text": b"GET / HTTP/1.1\r\n\r\n",
    "plain-zmtp": greeting(),
    "not-encrypted": b"\x17\x03\x03\x00\x20" + bytes(32),
    "too-long": b"\x17\x03\x03\xff\xff" + bytes(65_535),
    "forged-alert": b"\x15\x03\x03\x00\x02\x01\x00",
    "forged-hello-request": b"\x16\x03\x03\x00\x04" + bytes(4),
}


@pytest.mark.parametrize("garbage", list(GARBAGE.values()), ids=list(GARBAGE))
def test_garbage_after_the_handshake(tls_bench, binds, version, garbage):
    """Also where it comes together with a message, which is delivered."""
    company = Company(tls_bench, binds, version)
    with another_peer(tls_bench, company, version) as raw:
        raw.handshake("DEALER" if binds else "ROUTER", identity=b"other")
        with below(raw) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            raw.send(message(b"before"))
            plain.sendall(garbage)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            assert company.peer.recv()[-1] == b"before"
            company.next_event("DISCONNECTED")
            assert zmtp.RawPeer(plain).expect_closed()[:1] in (b"\x15", b"\x17")  # an alert, perhaps encrypted
    company.check()


def test_garbage_instead_of_zmtp(tls_bench, binds, version):
    """What is wrong inside TLS is reported as over tcp."""
    company = Company(tls_bench, binds, version)
    with another_peer(tls_bench, company, version) as raw:
        raw.greet()
        raw.send(command(b"BREAK", b"the rules"))
        told = company.next_event("HANDSHAKE_FAILED_PROTOCOL", "HANDSHAKE_SUCCEEDED", "HANDSHAKE_FAILED_NO_DETAIL")
        assert told["name"] == "HANDSHAKE_FAILED_PROTOCOL"
    company.check()


@pytest.mark.parametrize("announced", [True, False], ids=["close_notify", "cut"])
@pytest.mark.parametrize("torn", [b"", message(b"torn")[:-1]], ids=["whole", "torn"])
def test_an_end_with_and_without_announcement(tls_bench, version, announced, torn):
    """What came before it is delivered, except for a message that is not whole."""
    company = Company(tls_bench, True, version)
    with another_peer(tls_bench, company, version) as raw:
        raw.handshake("DEALER", identity=b"other")
        with below(raw) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            raw.send(message(b"whole") + torn)
            if announced:
                raw.socket_.unwrap()  # with an answer
            else:
                plain.shutdown(socket.SHUT_WR)
        company.next_event("DISCONNECTED")
    assert company.peer.recv() == [b"other", b"whole"]
    company.check()


class Armed:
    """The rule of a proxy that does its deed to the next record of a sender once it is told to."""

    def __init__(self, sender, deed):
        self.sender_ = sender
        self.deed_ = deed
        self.armed = False

    def __call__(self, sender, _, record):
        if not self.armed or sender != self.sender_:
            return [record]
        self.armed = False
        return self.deed_(record)


@pytest.mark.parametrize("deed", [tls_proxy.alter, tls_proxy.cut, lambda record: [record, record]],
                         ids=["altered", "cut", "repeated"])
@pytest.mark.parametrize("sender", [CLIENT, SERVER])
def test_a_spoilt_record_of_the_traffic(tls_bench, version, sender, deed):
    """Nothing of it is delivered, the connection ends, and the next one goes on."""
    rule = Armed(sender, deed)
    company = Company(tls_bench, True)
    proxy = tls_bench.own(RecordProxy(company.port, rule))
    client = tls_bench.trusting("DEALER", ROUTING_ID=b"other", RECONNECT_IVL=20,
                                **ONLY["1.2" if version == ssl.TLSVersion.TLSv1_2 else "1.3"])
    client.call("monitor")
    client.connect(f"tls://{HOST}:{proxy.port}")

    def ping_pong(body):
        client.send(body)
        assert company.peer.recv() == [b"other", body]
        company.peer.send(b"other", body)
        assert client.recv() == [body]

    ping_pong(b"before")
    rule.armed = True
    spoilt = b"spoilt" * 1000
    if sender == CLIENT:
        client.send(spoilt)
    else:
        company.peer.send(b"other", spoilt)
    assert proxy.applied.wait(zmtp.DEADLINE_S)
    company.next_event("DISCONNECTED")
    client.call("monitor_events", until="DISCONNECTED")
    if deed in (tls_proxy.alter, tls_proxy.cut):
        client.call("monitor_events", until="HANDSHAKE_SUCCEEDED")
    elif sender == CLIENT:
        assert company.peer.recv() == [b"other", spoilt]
    else:
        assert client.recv() == [spoilt]
    ping_pong(b"after")
    company.check()


# -- changes of a connection --------------------------------------------------------------------


def meet_s_client(tls_bench, company, *arguments):
    client = s_client(tls_bench, company.port, "-brief", *arguments)
    client.send(zmtp.greeting())
    client.recv(64)
    client.send(ready("DEALER", b"program") + message(b"hello"))
    assert company.peer.recv() == [b"program", b"hello"]
    client.recv(len(ready("ROUTER", b"")))
    return client


def test_a_client_that_renegotiates(tls_bench):
    company = Company(tls_bench, True)
    client = meet_s_client(tls_bench, company, "-tls1_2")
    client.send(b"R\n")
    assert client.recv(1) == b""
    assert "no renegotiation" in client.told()
    company.next_event("DISCONNECTED")
    company.check()


def test_a_server_that_renegotiates(tls_bench):
    company = Company(tls_bench, False)
    server, port = s_server(tls_bench, "-tls1_2")
    company.peer.set_option("RECONNECT_IVL", 20)
    company.peer.connect(f"tls://{HOST}:{port}")
    server.recv_to(zmtp.SIGNATURE)
    server.send(b"r\n")
    server.recv_to(b"ERROR")
    wait_until_told(server, "no renegotiation", 1)
    company.next_event("HANDSHAKE_FAILED_NO_DETAIL")
    company.check()


@pytest.mark.parametrize("update", [b"k\n", b"K\n"], ids=["own-key", "both-keys"])
def test_keys_that_are_updated(tls_bench, update):
    """By a client of TLS 1.3, in the midst of the traffic, also without any."""
    company = Company(tls_bench, True)
    client = meet_s_client(tls_bench, company)
    for number in range(5):
        client.send(update)
        wait_until_told(client, "KEYUPDATE", number + 1)
        body = b"%d" % number
        client.send(message(body))
        assert company.peer.recv() == [b"program", body]
        company.peer.send(b"program", body)
        assert client.recv(len(message(body))) == message(body)
    company.check()


def wait_until_told(program, what, times):
    for _ in attempts():
        if program.told().count(what) >= times:
            return
