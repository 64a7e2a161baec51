# SPDX-License-Identifier: Apache-2.0
"""tls:// against other implementations: Python's ssl with ZMTP by hand, and the programs of OpenSSL."""

import os
import shutil
import subprocess

import pytest

import zmtp
from harness import Endpoint, readable
from tls_support import CLIENT_USE, HOST, SERVER_USE, VERSIONS, speak
from zmtp import MORE, frame, message, ready

pytestmark = pytest.mark.zlink_only  # libzmq has no tls

MESSAGES = [[b"one"], [b""], [b"", b"", b""], [b"a", b"", b"bc"], [b"x" * 255], [b"x" * 256],
            [b"y" * 16_383, b"z" * 16_384, b"w" * 16_385], [os.urandom(1_000_000), b"end"]]


@pytest.fixture(params=VERSIONS.values(), ids=list(VERSIONS))
def version(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["server-only", "mutual"])
def mutual(request):
    """Whether the client has to show a certificate as well."""
    return request.param


def meet(tls_bench, binds, version, mutual, kind):
    """The socket under test and the hand-driven peer, with certificates that are good for nothing else."""
    authority = tls_bench.authority
    server, client = authority.sign(uses=SERVER_USE), authority.sign(uses=CLIENT_USE, hosts=())
    if binds:
        wanted = {"TLS_REQUIRE_CLIENT_CERT": 2, "TLS_CA": authority.pem} if mutual else {}
        peer = tls_bench.bound(kind, server, **wanted)
        secured = tls_bench.client(peer.port, version, client if mutual else None)
        return peer, secured, speak(secured)
    peer = tls_bench.trusting(kind, **(client.shown() if mutual else {}))
    listening, port = tls_bench.listen()
    peer.connect(f"tls://{HOST}:{port}")
    secured = tls_bench.server(listening, server, version, authority if mutual else None)
    raw = speak(secured)
    if mutual:
        assert secured.getpeercert(binary_form=True) == bytes(client)
    return peer, secured, raw


def test_messages_both_ways(tls_bench, binds, version, mutual):
    peer, secured, raw = meet(tls_bench, binds, version, mutual, "DEALER")
    assert secured.version() == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
    raw.handshake("DEALER", identity=b"")
    for parts in MESSAGES:
        raw.send(message(*parts))
        assert peer.recv() == parts
        peer.send(*parts)
        for number, part in enumerate(parts):
            assert raw.recv_frame() == frame(part, MORE if number < len(parts) - 1 else 0)


def test_records_of_any_size(tls_bench, binds, version):
    """The bounds of records and of frames have nothing to do with each other."""
    peer, _, raw = meet(tls_bench, binds, version, False, "PULL")
    raw.send_bytewise(zmtp.greeting())
    raw.recv(64)
    raw.send_bytewise(ready("PUSH"))
    raw.recv_frame()
    raw.send_bytewise(message(b"each byte", b"in its own record"))
    assert peer.recv() == [b"each byte", b"in its own record"]
    raw.send(b"".join(message(b"%d" % number) for number in range(2_000)))
    for number in range(2_000):
        assert peer.recv() == [b"%d" % number]


def test_an_end_is_announced(tls_bench, binds, version):
    """Who closes says so (close_notify), so that the other side can tell it from an attacker's cut."""
    peer, secured, raw = meet(tls_bench, binds, version, False, "DEALER")
    raw.handshake("DEALER", identity=b"")
    secured.suppress_ragged_eofs = False
    peer.send(b"last words")
    peer.finish(linger_ms=10_000)
    assert raw.recv_frame() == message(b"last words")
    assert raw.expect_closed() == b""


# -- the programs of OpenSSL --------------------------------------------------------------------


class Program:
    """`openssl s_client` or `s_server` at work: bytes through its pipes, what it tells on the other one."""

    def __init__(self, tls_bench, *arguments):
        tls_bench.own(self)
        self.told_path_ = tls_bench.directory / f"told-{len(tls_bench.owned_)}"
        with open(self.told_path_, "wb") as told:
            self.process_ = subprocess.Popen([shutil.which("openssl"), *map(str, arguments)], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=told)
        self.pending_ = b""

    def send(self, data):
        self.process_.stdin.write(data)
        self.process_.stdin.flush()

    def recv(self, size):
        """Exactly so many bytes; fewer at the end."""
        while len(self.pending_) < size:
            assert readable(self.process_.stdout, zmtp.DEADLINE_S), f"{self.pending_} came; {self.told()}"
            chunk = os.read(self.process_.stdout.fileno(), 65536)
            if not chunk:
                break
            self.pending_ += chunk
        data, self.pending_ = self.pending_[:size], self.pending_[size:]
        return data

    def recv_to(self, mark):
        """What comes up to this and with it."""
        data = b""
        while not data.endswith(mark):
            byte = self.recv(1)
            assert byte, f"ended after {data}; {self.told()}"
            data += byte
        return data

    def told(self):
        return self.told_path_.read_text()

    def wait(self):
        return self.process_.wait(zmtp.DEADLINE_S)

    def close(self):
        self.process_.kill()
        self.process_.wait()
        self.process_.stdin.close()
        self.process_.stdout.close()


def s_client(tls_bench, port, *arguments):
    trusted = tls_bench.authority.file(tls_bench.directory)
    return Program(tls_bench, "s_client", "-connect", f"{HOST}:{port}", "-CAfile", trusted, "-verify_return_error",
                   "-verify_ip", HOST, *arguments)


@pytest.mark.parametrize("arguments, protocol, cipher", [
    ([], "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    (["-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"], "TLSv1.3",
     "TLS_CHACHA20_POLY1305_SHA256"),
    (["-ciphersuites", "TLS_AES_128_GCM_SHA256"], "TLSv1.3", "TLS_AES_128_GCM_SHA256"),
    (["-tls1_2"], "TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"], "TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"),
], ids=["default", "chacha", "aes128", "default-1.2", "chacha-1.2"])
def test_s_client(tls_bench, arguments, protocol, cipher):
    peer = tls_bench.bound("PULL")
    client = s_client(tls_bench, peer.port, "-brief", *arguments)
    assert client.recv(10) == zmtp.SIGNATURE  # sent unprompted
    client.send(zmtp.greeting())
    assert client.recv(54) == zmtp.greeting()[10:]
    client.send(ready("PUSH") + message(b"typed", b"by a program"))
    assert peer.recv() == [b"typed", b"by a program"]
    told = client.told().splitlines()
    assert f"Protocol version: {protocol}" in told
    assert f"Ciphersuite: {cipher}" in told
    assert "Verification: OK" in told


def s_server(tls_bench, *arguments):
    """An s_server, which will listen soon, and its port."""
    shown = tls_bench.authority.sign().file(tls_bench.directory)
    endpoint = tls_bench.own(Endpoint("tcp"), "release")
    port = endpoint.address[1]
    return Program(tls_bench, "s_server", "-accept", f"{HOST}:{port}", "-cert", shown, "-key", shown, *arguments), port


@pytest.mark.parametrize("arguments, protocol, cipher", [
    ([], "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    (["-tls1_2"], "TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"),
], ids=["1.3", "1.2"])
def test_s_server(tls_bench, arguments, protocol, cipher):
    server, port = s_server(tls_bench, "-brief", *arguments)
    peer = tls_bench.trusting("PUSH", RECONNECT_IVL=20)
    peer.connect(f"tls://{HOST}:{port}")
    server.recv_to(zmtp.SIGNATURE)
    server.send(zmtp.greeting())
    assert server.recv(54) == zmtp.greeting()[10:]
    server.send(ready("PULL"))
    peer.send(b"to", b"a program")
    assert server.recv(len(ready("PUSH"))) == ready("PUSH")
    assert server.recv(len(message(b"to", b"a program"))) == message(b"to", b"a program")
    told = server.told()
    assert f"Protocol version: {protocol}" in told
    assert f"Ciphersuite: {cipher}" in told
