# SPDX-License-Identifier: Apache-2.0
"""TLS around the hand-driven peers: certificates, contexts of Python's ssl, and a socket of the library under test
that serves a good peer while others misbehave."""

import datetime
import errno
import ipaddress
import socket
import ssl
import warnings

import zmtp
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from zmtp import message

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
HOST = "127.0.0.1"
SERVER_USE = (ExtendedKeyUsageOID.SERVER_AUTH,)
CLIENT_USE = (ExtendedKeyUsageOID.CLIENT_AUTH,)
# How long a peer has in tests of who is too slow, and in those that are to fail for another reason.
SHORT_LIMIT_MS = 400
LONG_LIMIT_MS = 8_000


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _other_name(text):
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


class Identity:
    """A certificate with its key, as PEM."""

    def __init__(self, certificate, key, chain=b""):
        self.certificate = certificate
        self.key = key
        self.pem = certificate.public_bytes(serialization.Encoding.PEM) + chain
        self.key_pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                         serialization.NoEncryption())

    def file(self, directory):
        """A file that has both."""
        path = directory / f"{self.certificate.serial_number:x}.pem"
        path.write_bytes(self.pem + self.key_pem)
        return path

    def shown(self):
        """The options of a socket that shows it."""
        return {"TLS_CERT": self.pem, "TLS_KEY": self.key_pem}

    def __bytes__(self):
        return self.certificate.public_bytes(serialization.Encoding.DER)


def make_identity(name="peer", issuer=None, hosts=("localhost", HOST), uses=SERVER_USE + CLIENT_USE, starts_s=-3600,
                  ends_s=3600, authority=False, kind="ec", hash_algorithm=None, chain=b""):
    """A certificate that `issuer` has signed, or it itself; the times are relative to now."""
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else rsa.generate_private_key(65537, kind)
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (x509.CertificateBuilder()
               .subject_name(_name(name))
               .issuer_name(issuer.certificate.subject if issuer else _name(name))
               .public_key(key.public_key())
               .serial_number(x509.random_serial_number())
               .not_valid_before(now + datetime.timedelta(seconds=starts_s))
               .not_valid_after(now + datetime.timedelta(seconds=ends_s))
               .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True))
    if hosts and not authority:
        builder = builder.add_extension(x509.SubjectAlternativeName(map(_other_name, hosts)), critical=False)
    if uses and not authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    signed = builder.sign(issuer.key if issuer else key, hash_algorithm or hashes.SHA256())
    return Identity(signed, key, chain)


class Authority(Identity):
    """Signs others."""

    def __init__(self, name="test authority", issuer=None):
        made = make_identity(name, issuer, authority=True)
        super().__init__(made.certificate, made.key)

    def sign(self, **wishes):
        return make_identity(issuer=self, **wishes)


def _context(purpose, version, authority, identity, directory):
    context = ssl.SSLContext(purpose)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of old versions, which are meant here
        context.minimum_version = context.maximum_version = version
    if version < ssl.TLSVersion.TLSv1_2:
        context.set_ciphers("ALL:@SECLEVEL=0")
    if authority:
        context.load_verify_locations(cadata=authority.pem.decode())
    if identity:
        context.load_cert_chain(identity.file(directory))
    return context


def client_context(directory, version=ssl.TLSVersion.TLSv1_3, authority=None, identity=None):
    """That of a client, which checks the server if it has an authority to do so."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, version, authority, identity, directory)
    if not authority:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def server_context(directory, identity, version=ssl.TLSVersion.TLSv1_3, authority=None):
    """That of a server, which wants the certificate of a client if it has an authority to check it."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, version, authority, identity, directory)
    if authority:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def refusal(secured):
    """Why the other side refuses a connection of Python's: the alert it sends, or None if it merely closes."""
    secured.settimeout(zmtp.DEADLINE_S)
    try:
        secured.do_handshake()
        while secured.recv(4096):  # a client of TLS 1.3 is told only now
            pass
    except ssl.SSLError as error:
        return error.reason
    except ConnectionResetError:
        pass
    return None


class TlsBench:
    """Sockets of the library under test, and peers over TLS."""

    def __init__(self, peers, side, directory):
        self.peers_ = peers
        self.side_ = side
        self.directory = directory
        self.authority = Authority()
        self.owned_ = []

    def own(self, thing, method="close"):
        """Ends it with this method in the end."""
        self.owned_.append(getattr(thing, method))
        return thing

    def release(self):
        for release in reversed(self.owned_):
            release()

    # -- the library under test -----------------------------------------------------------------

    def made(self, kind, **options):
        return self.peers_.add(self.side_, kind, **{"HANDSHAKE_IVL": LONG_LIMIT_MS, **options})

    def bound(self, kind, identity=None, scheme="tls", **options):
        """A bound socket that shows this certificate, or a good one."""
        peer = self.made(kind, **(identity or self.authority.sign()).shown(), **options)
        peer.port = int(peer.bind(f"{scheme}://{HOST}:*").split(":")[2].split("/")[0])
        return peer

    def trusting(self, kind, **options):
        """A socket that trusts the authority."""
        return self.made(kind, **{"TLS_CA": self.authority.pem, **options})

    # -- peers ----------------------------------------------------------------------------------

    def listen(self):
        """A TCP socket that listens, and its port."""
        listening = self.own(socket.create_server((HOST, 0)))
        listening.settimeout(zmtp.DEADLINE_S)
        return listening, listening.getsockname()[1]

    def dial(self, port):
        """A TCP connection."""
        made = self.own(socket.create_connection((HOST, port), zmtp.DEADLINE_S))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def accept(self, listening):
        made = self.own(listening.accept()[0])
        made.settimeout(zmtp.DEADLINE_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def client(self, port, version=ssl.TLSVersion.TLSv1_3, identity=None, authority=None, session=None, context=None):
        """A TLS connection to a port, without its handshake."""
        context = context or client_context(self.directory, version, authority or self.authority, identity)
        made = context.wrap_socket(self.dial(port), server_hostname=HOST, do_handshake_on_connect=False,
                                   session=session)
        return self.own(made)

    def server(self, listening, identity=None, version=ssl.TLSVersion.TLSv1_3, authority=None, context=None):
        """The TLS connection that somebody makes, without its handshake."""
        context = context or server_context(self.directory, identity or self.authority.sign(), version, authority)
        return self.own(context.wrap_socket(self.accept(listening), server_side=True, do_handshake_on_connect=False))


def speak(secured):
    """The hand-driven peer inside TLS."""
    secured.do_handshake()
    return zmtp.RawPeer(secured)


class Company:
    """A socket of the library under test that has a good peer, which has to be served whatever else happens.

    The socket is a ROUTER that is bound, or a DEALER that is connected and may be connected to more.
    """

    def __init__(self, bench, binds, version=ssl.TLSVersion.TLSv1_3, identity=None, **options):
        self.binds = binds
        self.sent_ = 0
        if binds:
            self.peer = bench.bound("ROUTER", identity, **options)
            self.port = self.peer.port
            good = bench.authority.sign() if "TLS_REQUIRE_CLIENT_CERT" in options else None
            self.good_ = speak(bench.client(self.port, version, good))
            self.good_.handshake("DEALER", identity=b"good")
        else:
            self.peer = bench.trusting("DEALER", IMMEDIATE=1, RECONNECT_IVL=60_000, **options)
            listening, port = bench.listen()
            self.peer.connect(f"tls://{HOST}:{port}")
            self.good_ = speak(bench.server(listening, version=version))
            self.good_.handshake("ROUTER", identity=b"")
        self.check()
        self.peer.call("monitor")

    def check(self):
        """A message in each direction between the socket and its good peer."""
        self.sent_ += 1
        body = b"message %d" % self.sent_
        envelope = [b"good"] if self.binds else []
        self.good_.send(message(body))
        assert self.peer.recv() == envelope + [body]
        self.peer.send(*envelope, body)
        assert self.good_.recv_frame() == message(body)

    def next_event(self, *names):
        """The next event of one of these names."""
        while True:
            told, = self.peer.call("monitor_events", count=1)
            if told["name"] in names:
                return told

    def expect_failure(self, *reasons):
        """A handshake has failed for one of these reasons; the good peer is served."""
        told = self.next_event("HANDSHAKE_FAILED_NO_DETAIL", "HANDSHAKE_FAILED_PROTOCOL", "HANDSHAKE_FAILED_AUTH",
                               "HANDSHAKE_SUCCEEDED")
        told = told["name"], errno.errorcode.get(told["value"], told["value"])
        assert told in [("HANDSHAKE_FAILED_NO_DETAIL", reason) for reason in reasons], told
        self.check()
        return told[1]
