# SPDX-License-Identifier: Apache-2.0
"""Which versions, ciphers, groups and signatures tls:// offers and accepts: a change of these lists is to be seen.

The lists hold for the library as it is without ZMQ_TLS_CIPHERS and ZMQ_TLS_MIN_VERSION.
"""

import pytest

import client_hello
import zmtp
from client_hello import ClientHello
from tls_support import HOST

pytestmark = pytest.mark.zlink_only  # libzmq has no tls

TLS_1_0, TLS_1_1, TLS_1_2, TLS_1_3 = 0x0301, 0x0302, 0x0303, 0x0304
CIPHERS = {
    0x1301: "TLS_AES_128_GCM_SHA256",
    0x1302: "TLS_AES_256_GCM_SHA384",
    0x1303: "TLS_CHACHA20_POLY1305_SHA256",
    0xc02b: "ECDHE-ECDSA-AES128-GCM-SHA256",
    0xc02c: "ECDHE-ECDSA-AES256-GCM-SHA384",
    0xc02f: "ECDHE-RSA-AES128-GCM-SHA256",
    0xc030: "ECDHE-RSA-AES256-GCM-SHA384",
    0xcca8: "ECDHE-RSA-CHACHA20-POLY1305",
    0xcca9: "ECDHE-ECDSA-CHACHA20-POLY1305",
}
NUMBERS = {name: number for number, name in CIPHERS.items()}
MODERN = [0x1302, 0x1303, 0x1301]
OLDER = {"ec": [0xc02c, 0xc02b, 0xcca9], "rsa": [0xc030, 0xc02f, 0xcca8]}
OFFERED = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256",
           "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
           "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
           "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"]
X25519, P_256, P_384, P_521, X25519_MLKEM768 = 29, 23, 24, 25, 0x11ec
GROUPS = [X25519, P_256, P_384, P_521]
SIGNATURES = [0x0403, 0x0503, 0x0603,  # ECDSA with SHA-2
              0x0807, 0x0808,  # Ed25519, Ed448
              0x0809, 0x080a, 0x080b,  # RSA-PSS with keys that are for nothing else
              0x0804, 0x0805, 0x0806,  # RSA-PSS with any
              0x0401, 0x0501, 0x0601]  # RSA with PKCS #1 and SHA-2: certificates, and TLS 1.2
EMPTY_RENEGOTIATION_INFO = 0x00ff

ALL_CIPHERS = [*range(0x0001, 0x00ff), *range(0x1301, 0x1308), *range(0xc001, 0xc0ff), *range(0xcca8, 0xccaf),
               *range(0xd001, 0xd006)]
ALL_GROUPS = [*range(1, 42), *range(256, 261), 0x11eb, 0x11ec, 0x11ed, 0x0200, 0x0201, 0x0202]
ALL_SIGNATURES = [hashed << 8 | key for hashed in range(1, 7) for key in (1, 2, 3)] + list(range(0x0804, 0x081d))

HANDSHAKE_FAILURE, PROTOCOL_VERSION = 40, 70


def without_quantum_safe(groups):
    """OpenSSL knows that group from version 3.5 on; then it comes first."""
    return groups[1:] if groups[0] == X25519_MLKEM768 else groups


# -- what a client offers -----------------------------------------------------------------------


def offer(tls_bench, host=HOST, **options):
    """The ClientHello of a socket that connects."""
    peer = tls_bench.trusting("PUSH", **options)
    listening, port = tls_bench.listen()
    peer.connect(f"tls://{host}:{port}")
    return ClientHello.read(zmtp.RawPeer(tls_bench.accept(listening)))


def test_offers(tls_bench):
    hello = offer(tls_bench)
    extensions = hello.extensions
    assert client_hello.numbers(extensions[client_hello.VERSIONS][1:]) == [TLS_1_3, TLS_1_2]
    assert hello.version == TLS_1_2  # as TLS 1.3 wants it
    assert [cipher for cipher in hello.ciphers if cipher != EMPTY_RENEGOTIATION_INFO] == \
        [NUMBERS[name] for name in OFFERED]
    assert without_quantum_safe(client_hello.numbers(extensions[client_hello.GROUPS][2:])) == GROUPS
    assert client_hello.numbers(extensions[client_hello.SIGNATURES][2:]) == SIGNATURES
    assert hello.compressions == b"\0"
    assert extensions[client_hello.PSK_MODES] == b"\1\1"  # only with a fresh key


def test_extensions(tls_bench):
    """Neither early data, which can be repeated, nor what has no use."""
    assert set(offer(tls_bench).extensions) <= {
        client_hello.GROUPS, client_hello.POINT_FORMATS, client_hello.SIGNATURES, client_hello.SESSION_TICKET,
        client_hello.EXTENDED_MASTER_SECRET, client_hello.VERSIONS, client_hello.PSK_MODES, client_hello.KEY_SHARE,
        client_hello.ENCRYPT_THEN_MAC, client_hello.RENEGOTIATION_INFO, client_hello.PADDING}


def test_the_name_of_the_host(tls_bench):
    """Is told if it is one (RFC 6066: no address), or the one that is expected."""
    def told(**options):
        return offer(tls_bench, **options).extensions.get(client_hello.SERVER_NAME)

    def entry(name):
        return client_hello.vector(b"\0" + client_hello.vector(name, 2), 2)

    assert told() is None
    assert told(host="localhost") == entry(b"localhost")
    assert told(TLS_HOSTNAME=b"broker.example.org") == entry(b"broker.example.org")
    assert told(host="localhost", TLS_HOSTNAME=HOST.encode()) is None


def test_offers_what_is_set(tls_bench):
    def ciphers_and_versions(**options):
        hello = offer(tls_bench, **options)
        versions = hello.extensions.get(client_hello.VERSIONS)
        return ([CIPHERS[cipher] for cipher in hello.ciphers if cipher != EMPTY_RENEGOTIATION_INFO],
                client_hello.numbers(versions[1:]) if versions else [hello.version])

    assert ciphers_and_versions(TLS_MIN_VERSION=TLS_1_3) == (OFFERED[:3], [TLS_1_3])
    some = ["TLS_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"]
    assert ciphers_and_versions(TLS_CIPHERS=":".join(some).encode()) == (some, [TLS_1_3, TLS_1_2])
    assert ciphers_and_versions(TLS_CIPHERS=some[0].encode()) == (some[:1], [TLS_1_3])
    assert ciphers_and_versions(TLS_CIPHERS=some[1].encode()) == (some[1:], [TLS_1_2])


# -- what a server accepts ----------------------------------------------------------------------


def hello_of(version, ciphers=None, groups=None, signatures=None):
    """A ClientHello of one version; of 1.3 without a key, so that the server asks for one of a group."""
    extensions = {
        client_hello.GROUPS: client_hello.vector(client_hello.packed(groups or ALL_GROUPS), 2),
        client_hello.SIGNATURES: client_hello.vector(client_hello.packed(signatures or ALL_SIGNATURES), 2),
        client_hello.POINT_FORMATS: b"\1\0",
        client_hello.RENEGOTIATION_INFO: b"\0",
    }
    if version == TLS_1_3:
        extensions[client_hello.VERSIONS] = client_hello.vector(client_hello.packed([version]), 1)
        extensions[client_hello.KEY_SHARE] = b"\0\0"
    return ClientHello(ciphers or ALL_CIPHERS, extensions, min(version, TLS_1_2))


@pytest.fixture(params=["ec", "rsa"])
def server(request, tls_bench):
    """A bound socket with a certificate of each kind, which is to be dialled."""
    kind = request.param
    peer = tls_bench.bound("PULL", tls_bench.authority.sign(kind=2048 if kind == "rsa" else kind))
    peer.kind = kind
    peer.dial = lambda: zmtp.RawPeer(tls_bench.dial(peer.port))
    return peer


@pytest.mark.parametrize("version", [TLS_1_3, TLS_1_2], ids=["1.3", "1.2"])
def test_ciphers_that_are_accepted(server, version):
    """All of them, the one first that the server likes best."""
    chosen, alert = client_hello.all_chosen(server.dial, lambda left: hello_of(version, ciphers=left), ALL_CIPHERS,
                                            lambda choice: choice.cipher)
    assert chosen == (MODERN if version == TLS_1_3 else OLDER[server.kind])
    assert alert == HANDSHAKE_FAILURE


def test_a_client_without_aes_is_given_its_choice(server):
    """One that would rather have ChaCha20 has no AES in hardware."""
    for version, preferred in (TLS_1_3, 0x1303), (TLS_1_2, 0xcca9 if server.kind == "ec" else 0xcca8):
        assert client_hello.ask(server.dial(), hello_of(version, [preferred, *ALL_CIPHERS])).cipher == preferred


@pytest.mark.parametrize("version", [TLS_1_3, TLS_1_2], ids=["1.3", "1.2"])
def test_groups_that_are_accepted(server, version):
    chosen, alert = client_hello.all_chosen(server.dial, lambda left: hello_of(version, groups=left), ALL_GROUPS,
                                            lambda choice: choice.group)
    # In TLS 1.2 the client has to know the group of the certificate as well, which is P-256.
    without_certificate = version == TLS_1_2 and server.kind == "ec"
    assert set(without_quantum_safe(chosen)) == ({X25519, P_256} if without_certificate else set(GROUPS))
    assert alert == HANDSHAKE_FAILURE


def test_signatures_that_are_made(server):
    """With which the server may prove that it has the key, in TLS 1.2."""
    chosen, alert = client_hello.all_chosen(server.dial, lambda left: hello_of(TLS_1_2, signatures=left),
                                            ALL_SIGNATURES, lambda choice: choice.signature)
    assert set(chosen) == ({0x0403, 0x0503, 0x0603} if server.kind == "ec" else
                           {0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601})
    assert alert == HANDSHAKE_FAILURE


def test_versions_that_are_accepted(server):
    for version in TLS_1_0, TLS_1_1:
        assert client_hello.ask(server.dial(), hello_of(version)).alert == PROTOCOL_VERSION
    for version in TLS_1_2, TLS_1_3:
        assert client_hello.ask(server.dial(), hello_of(version)).version == version
