# SPDX-License-Identifier: Apache-2.0
"""ZWS 2.0 by hand: requests, frames and payloads, and peers on two libraries for WebSockets.

The libraries speak to a plain socket here (or one of TLS), so that a test can put bytes of its own between what they
send, and the library reads the answer.
"""

import base64
import select
import socket
import ssl
import subprocess
import time
from pathlib import Path

import h11
from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import CloseCode, Opcode
from websockets.server import ServerProtocol
from websockets.uri import parse_uri
from websockets.utils import apply_mask
from wsproto import ConnectionType, WSConnection, events
from wsproto.extensions import PerMessageDeflate
from wsproto.utilities import RemoteProtocolError

import zmtp
from harness import Endpoint, readable

DEADLINE_S = 10
OPEN_MS = DEADLINE_S * 1000

# ZWS 2.0: the byte before the body of a message.
LAST, MORE, COMMAND = 0, 1, 2

# RFC 6455: the first byte of a frame.
FIN, RSV1, RSV2, RSV3 = 0x80, 0x40, 0x20, 0x10
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

NO_CODE = 1005

MASK = b"\x37\xfa\x21\x3d"


def payloads(*parts):
    """The WebSocket messages that carry a message of these parts."""
    return [bytes([MORE]) + part for part in parts[:-1]] + [bytes([LAST]) + parts[-1]]


def ready(kind, identity=b""):
    """READY of a socket type, as the payload of a WebSocket message."""
    return (bytes([COMMAND]) + b"\x05READY" + zmtp.prop(b"Socket-Type", kind.encode()) +
            zmtp.prop(b"Identity", identity))


def frame(first, data=b"", masked=True, length_bytes=None):
    """A frame; `length_bytes` (0, 2 or 8) makes its length longer than it need be."""
    size = len(data)
    if length_bytes is None:
        length_bytes = 0 if size < 126 else 2 if size < 65536 else 8
    second = {0: size, 2: 126, 8: 127}[length_bytes] | (0x80 if masked else 0)
    head = bytes([first, second]) + (size.to_bytes(length_bytes, "big") if length_bytes else b"")
    if not masked:
        return head + data
    return head + MASK + apply_mask(data, MASK)


def close_data(code, reason=b""):
    return code.to_bytes(2, "big") + reason


KEY = base64.b64encode(bytes(range(16))).decode()

FIELDS = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": KEY,
          "Sec-WebSocket-Protocol": "ZWS2.0", "Sec-WebSocket-Version": "13"}


def request(line="GET / HTTP/1.1", end="\r\n", **changes):
    """A request to open a WebSocket. Changes name fields with `_` for `-`; None leaves one out, a list repeats it."""
    fields = dict(FIELDS)
    for name, value in changes.items():
        fields[name.replace("_", "-")] = value
    lines = [line]
    for name, value in fields.items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        lines += [f"{name}: {text}" for text in values]
    return (end.join(lines) + 2 * end).encode("latin-1")


class Answer:
    """An answer of HTTP, as the library h11 reads it, and what came behind it."""

    def __init__(self, data, method="GET"):
        parser = h11.Connection(h11.CLIENT)
        parser.send(h11.Request(method=method, target="/", headers=[
            ("Host", "localhost"), ("Connection", "Upgrade"), ("Upgrade", "websocket")]))
        parser.send(h11.EndOfMessage())
        parser.receive_data(data)
        head = parser.next_event()
        assert not isinstance(head, type), f"{head} of {data!r}"
        self.version, self.status = head.http_version.decode(), head.status_code
        self.fields = {}
        for name, value in head.headers:
            assert name.decode() not in self.fields, f"{name} is there twice"
            self.fields[name.decode()] = value.decode()
        self.body = b""
        if self.status == 101:
            self.rest = parser.trailing_data[0]
            return
        while isinstance(event := parser.next_event(), h11.Data):
            self.body += event.data
        assert isinstance(event, h11.EndOfMessage)
        self.rest = parser.trailing_data[0]


class Ended(Exception):
    """The connection has ended."""


class Connection:
    """The socket below a peer. All waiting has a deadline."""

    def __init__(self, plain):
        self.socket_ = plain
        self.socket_.settimeout(DEADLINE_S)
        self.is_reset = False

    def send(self, data):
        self.socket_.sendall(data)

    def send_refused(self, data):
        """What the other side may refuse before all of it has been sent."""
        try:
            self.send(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.is_reset = True

    def receive(self):
        """Some bytes; none at the end."""
        try:
            return self.socket_.recv(1 << 20)
        except TimeoutError:
            raise AssertionError(f"nothing came for {DEADLINE_S} s") from None
        except (ConnectionResetError, ssl.SSLEOFError):
            self.is_reset = True
            return b""

    def receive_to_end(self):
        data = b""
        while chunk := self.receive():
            data += chunk
        return data

    def stays_silent(self, duration_s):
        """Whether neither bytes nor the end arrive for that time."""
        poll = select.poll()
        poll.register(self.socket_, select.POLLIN)
        return not poll.poll(duration_s * 1000)

    def has_input(self):
        """Waits until there is something to receive."""
        return not self.stays_silent(DEADLINE_S)

    def shut_down_sending(self):
        self.socket_.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket_.close()


class Speaker:
    """One end of a WebSocket, by a library. `next` gives what comes, in tuples:

    ("message", payload), ("text", text), ("ping", data), ("pong", data), ("close", code, reason).
    """

    def __init__(self, connection, is_client):
        self.connection = connection
        self.is_client = is_client
        self.came_ = []
        self.protocol = None    # the subprotocol agreed on
        self.extensions = None  # those agreed on
        self.offers = None      # what a client has asked for
        self.path = None
        self.status = None      # of HTTP

    def next(self):
        while not self.came_:
            data = self.connection.receive()
            if not data:
                raise Ended()
            self.feed_(data)
        return self.came_.pop(0)

    def recv(self):
        """The payload of the next message; pings and pongs are left out."""
        while (what := self.next())[0] in ("ping", "pong"):
            pass
        assert what[0] == "message", what
        return what[1]

    def recv_parts(self):
        parts = [self.recv()]
        while parts[-1][0] & MORE:
            parts.append(self.recv())
        return [part[1:] for part in parts]

    def send_parts(self, *parts):
        for payload in payloads(*parts):
            self.send(payload)

    def introduce(self, kind=None, identity=b""):
        """The beginning of ZWS: READY with a mechanism, routing ids without. Returns what the other side has sent."""
        self.send(ready(kind, identity) if self.protocol == "ZWS2.0/NULL" else bytes([LAST]) + identity)
        return self.recv()

    def raw_frame(self, first, data=b"", length_bytes=None, masked=None):
        """A frame that the library need not like, masked as this side has to."""
        self.connection.send_refused(
            frame(first, data, self.is_client if masked is None else masked, length_bytes))

    def closed_with(self):
        """The code of the close frame, after which the connection ends; messages before it are left out."""
        while (what := self.next())[0] != "close":
            pass
        assert self.ends()
        return what[1]

    def ends(self):
        """Whether the connection ends without another word."""
        try:
            what = self.next()
        except Ended:
            return True
        raise AssertionError(f"{what} instead of the end")

    def round_trip(self, data=b"there?"):
        """Waits for the answer to a ping: what was sent before has been seen. Messages stay to be received."""
        self.ping(data)
        kept = []
        while (what := self.next()) != ("pong", data):
            kept.append(what)
        self.came_ = kept + self.came_


class Websockets(Speaker):
    """By the library websockets."""

    def __init__(self, connection, is_client):
        super().__init__(connection, is_client)
        self.library_ = None
        self.fragments_ = None

    def open(self, offers=("ZWS2.0",), path="/", deflate=False):
        """As a client: False if the other side refuses."""
        self.library_ = ClientProtocol(
            parse_uri(f"ws://localhost{path}"), subprotocols=list(offers) or None, max_size=None,
            extensions=[ClientPerMessageDeflateFactory()] if deflate else None)
        self.library_.send_request(self.library_.connect())
        self.flush_()
        while self.status is None:
            data = self.connection.receive()
            if data:
                self.feed_(data)
            else:
                self.library_.receive_eof()
                assert self.library_.handshake_exc is not None
                return False
        if self.library_.handshake_exc is not None:
            raise self.library_.handshake_exc
        self.protocol, self.extensions = self.library_.subprotocol, self.library_.extensions
        return True

    def accept(self, speaks=("ZWS2.0",)):
        """As a server."""
        self.library_ = ServerProtocol(subprotocols=list(speaks), max_size=None)
        while self.path is None:
            data = self.connection.receive()
            assert data, "no request"
            self.feed_(data)

    def on_request_(self, asked):
        self.path = asked.path
        self.offers = [name.strip() for name in ",".join(asked.headers.get_all("Sec-WebSocket-Protocol")).split(",")]
        # It refuses a list with a name that is no token of HTTP; those of RFC 45 with a slash are none.
        del asked.headers["Sec-WebSocket-Protocol"]
        asked.headers["Sec-WebSocket-Protocol"] = ",".join(name for name in self.offers if "/" not in name)
        answer = self.library_.accept(asked)
        self.library_.send_response(answer)
        self.flush_()
        self.status = answer.status_code
        self.protocol, self.extensions = self.library_.subprotocol, self.library_.extensions

    def feed_(self, data):
        self.library_.receive_data(data)
        for event in self.library_.events_received():
            if not hasattr(event, "opcode"):
                if self.is_client:
                    self.status = event.status_code
                else:
                    self.on_request_(event)
            elif event.opcode is Opcode.CLOSE:
                code = int.from_bytes(event.data[:2], "big") if event.data else NO_CODE
                self.came_.append(("close", code, bytes(event.data[2:])))
            elif event.opcode is Opcode.PING:
                self.came_.append(("ping", bytes(event.data)))
            elif event.opcode is Opcode.PONG:
                self.came_.append(("pong", bytes(event.data)))
            else:
                self.on_data_(event)
        if self.library_.parser_exc is not None:
            raise self.library_.parser_exc
        self.flush_()

    def on_data_(self, event):
        if event.opcode is not Opcode.CONT:
            self.fragments_ = ("text" if event.opcode is Opcode.TEXT else "message", [])
        self.fragments_[1].append(bytes(event.data))
        if event.fin:
            self.came_.append((self.fragments_[0], b"".join(self.fragments_[1])))

    def flush_(self):
        for data in self.library_.data_to_send():
            if data:
                self.connection.send_refused(data)

    def send(self, payload):
        self.library_.send_binary(payload)
        self.flush_()

    def send_fragments(self, *pieces, between=None):
        """One message in pieces; `between` is called between two of them."""
        self.library_.send_binary(pieces[0], fin=False)
        for number, piece in enumerate(pieces[1:], 2):
            self.flush_()
            if between:
                between()
            self.library_.send_continuation(piece, fin=number == len(pieces))
        self.flush_()

    def ping(self, data=b""):
        self.library_.send_ping(data)
        self.flush_()

    def pong(self, data=b""):
        self.library_.send_pong(data)
        self.flush_()

    def close_with(self, code=None, reason=""):
        self.library_.send_close(code if code is None else CloseCode(code) if code < 3000 else code, reason)
        self.flush_()


class Wsproto(Speaker):
    """By the library wsproto."""

    def __init__(self, connection, is_client):
        super().__init__(connection, is_client)
        self.library_ = WSConnection(ConnectionType.CLIENT if is_client else ConnectionType.SERVER)
        self.speaks_ = ()
        self.pieces_ = []

    def tell_(self, event):
        self.connection.send_refused(self.library_.send(event))

    def open(self, offers=("ZWS2.0",), path="/", deflate=False):
        self.tell_(events.Request(host="localhost", target=path, subprotocols=list(offers),
                                  extensions=[PerMessageDeflate()] if deflate else []))
        while self.status is None:
            data = self.connection.receive()
            assert data, "no answer"
            self.feed_(data)
        return self.status == 101

    def accept(self, speaks=("ZWS2.0",)):
        self.speaks_ = speaks
        while self.path is None:
            data = self.connection.receive()
            assert data, "no request"
            self.feed_(data)

    def feed_(self, data):
        self.library_.receive_data(data)
        for event in self.library_.events():
            self.on_event_(event)

    def on_event_(self, event):
        if isinstance(event, events.Request):
            self.path, self.offers = event.target, event.subprotocols
            self.protocol = next((name for name in event.subprotocols if name in self.speaks_), None)
            self.extensions = []
            self.status = 101
            self.tell_(events.AcceptConnection(subprotocol=self.protocol))
        elif isinstance(event, events.AcceptConnection):
            self.status, self.protocol, self.extensions = 101, event.subprotocol, event.extensions
        elif isinstance(event, events.RejectConnection):
            self.status = event.status_code
        elif isinstance(event, events.CloseConnection):
            self.came_.append(("close", event.code, (event.reason or "").encode()))
        elif isinstance(event, events.Ping):
            self.tell_(event.response())
            self.came_.append(("ping", bytes(event.payload)))
        elif isinstance(event, events.Pong):
            self.came_.append(("pong", bytes(event.payload)))
        elif isinstance(event, events.Message):
            self.pieces_.append(event.data)
            if event.message_finished:
                if isinstance(event, events.TextMessage):
                    self.came_.append(("text", "".join(self.pieces_)))
                else:
                    self.came_.append(("message", b"".join(self.pieces_)))
                self.pieces_ = []

    def send(self, payload):
        self.tell_(events.BytesMessage(payload))

    def send_fragments(self, *pieces, between=None):
        for number, piece in enumerate(pieces, 1):
            if between and number > 1:
                between()
            self.tell_(events.BytesMessage(piece, message_finished=number == len(pieces)))

    def ping(self, data=b""):
        self.tell_(events.Ping(data))

    def pong(self, data=b""):
        self.tell_(events.Pong(data))

    def close_with(self, code=None, reason=""):
        self.tell_(events.CloseConnection(NO_CODE if code is None else code, reason or None))


LIBRARIES = {"websockets": Websockets, "wsproto": Wsproto}


class Certificates:
    """An authority, and the certificate of a server for 127.0.0.1 and localhost."""

    def __init__(self, directory):
        script = Path(__file__).resolve().parents[2] / "scripts" / "make_certificates.sh"
        subprocess.run([str(script), str(directory)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.directory = Path(directory)

    def text(self, name):
        return (self.directory / name).read_bytes()

    def server_options(self):
        return {"WSS_CERT_PEM": self.text("server.pem"), "WSS_KEY_PEM": self.text("server.key")}

    def client_options(self):
        return {"WSS_TRUST_PEM": self.text("ca.pem"), "WSS_HOSTNAME": b"localhost"}

    def server_context(self):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.directory / "server.pem", self.directory / "server.key")
        return made

    def client_context(self):
        return ssl.create_default_context(cafile=str(self.directory / "ca.pem"))


class Bench:
    """A socket of the library under test among peers by other libraries."""

    def __init__(self, peers, side, certificates=None):
        self.peers_ = peers
        self.side_ = side
        self.certificates_ = certificates  # TLS if there are any
        self.scheme = "wss" if certificates else "ws"
        self.owned_ = []
        self.endpoint = self.address_ = None

    def made(self, kind, **options):
        return self.peers_.add(self.side_, kind, **options)

    def bound(self, kind, path="/", monitored=False, **options):
        """The socket under test, bound."""
        if self.certificates_:
            options.update(self.certificates_.server_options())
        peer = self.made(kind, **options)
        if monitored:
            peer.call("monitor")
        self.endpoint = peer.bind(f"{self.scheme}://127.0.0.1:*{path}")
        self.address_ = ("127.0.0.1", int(self.endpoint.split(":")[2].split("/")[0]))
        if monitored:
            peer.call("monitor_events", until="LISTENING")
        return peer

    def dial(self):
        """A connection to the bound socket, on which nothing has been said."""
        plain = socket.create_connection(self.address_, DEADLINE_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.certificates_:
            plain = self.certificates_.client_context().wrap_socket(plain, server_hostname="localhost")
        return self.own_(Connection(plain))

    def client(self, library, offers=("ZWS2.0",), kind=None, identity=b"", **settings):
        """A peer that has connected to the bound socket and introduced itself."""
        made = LIBRARIES[library](self.dial(), True)
        assert made.open(offers, **settings), made.status
        made.introduce(kind, identity)
        return made

    def connected(self, kind, path="/", monitored=False, **options):
        """The socket under test, connected to a listener that `accept` and `server` serve."""
        if self.certificates_:
            options.update(self.certificates_.client_options())
        reserved = Endpoint("tcp")
        self.owned_.append(reserved.release)
        listener = socket.create_server(reserved.address)
        listener.settimeout(DEADLINE_S)
        self.owned_.append(listener.close)
        self.listener_ = listener
        peer = self.made(kind, **options)
        if monitored:
            peer.call("monitor")
        self.endpoint = f"{self.scheme}://127.0.0.1:{reserved.address[1]}{path}"
        peer.connect(self.endpoint)
        return peer

    def accept(self):
        plain = self.listener_.accept()[0]
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.certificates_:
            plain.settimeout(DEADLINE_S)
            plain = self.certificates_.server_context().wrap_socket(plain, server_side=True)
        return self.own_(Connection(plain))

    def has_caller(self, within_s):
        return readable(self.listener_, within_s)

    def server(self, library, speaks=("ZWS2.0",), kind=None, identity=b""):
        """A peer to which the socket under test has connected, and which has introduced itself."""
        made = LIBRARIES[library](self.accept(), False)
        made.accept(speaks)
        made.introduce(kind, identity)
        return made

    def meet(self, kind, binds, library, protocol="ZWS2.0", their_kind=None, identity=b"", **options):
        """The socket under test and a peer, either of them calling."""
        if binds:
            return self.bound(kind, **options), self.client(library, (protocol,), their_kind, identity)
        peer = self.connected(kind, **options)
        return peer, self.server(library, (protocol,), their_kind, identity)

    def own_(self, thing):
        self.owned_.append(thing.close)
        return thing

    def release(self):
        for release in reversed(self.owned_):
            release()


def told(peer, until):
    """The names and values of the events up to one of a name."""
    return [(event["name"], event["value"]) for event in peer.call("monitor_events", until=until)]
