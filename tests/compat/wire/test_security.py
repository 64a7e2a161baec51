# SPDX-License-Identifier: Apache-2.0
"""The library under test and another implementation with PLAIN, CURVE, and NULL behind a handler of ZAP.

Either side is the server of the mechanism, and either side binds. The handler on our side is a REP of this file;
JeroMQ's is its own ZAuth, or a REP in the peer program.
"""

import errno
import threading
from contextlib import contextmanager

import pytest
import zmq
from conftest import TRANSPORTS
from role import DEADLINE_S, MARK, Role, message
from test_wire import HOWS, free_port
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

# Peers whose programs know the options of security.
SECURE = {"jeromq", "zeromq.js"}
# JeroMQ's REQ does not get through the handshake as the server of PLAIN or CURVE, with the genuine library neither; that of
# the genuine library never where a handler of ZAP is asked, over tcp neither.
CANNOT_SERVE = {("jeromq", "req", "plain"), ("jeromq", "req", "curve"),
                *(("zeromq.js", "req", mechanism) for mechanism in ("null", "plain", "curve"))}
# The genuine library as the server of PLAIN misspells the command ERROR, and knows it only so as the client.
MISREADS_ERROR = {("zeromq.js", "plain")}
# Over WebSockets the request says which mechanism it is for.
WS_UNSPECIFIED = 0x30000000

SERVER_PUBLIC, SERVER_SECRET = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"
CLIENT_PUBLIC, CLIENT_SECRET = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"
DOMAIN = "global"
EVENT_MS = 15_000

# Options of the peer program, and with `-` for `_` those of pyzmq.
SERVERS = {
    "null": {},
    "plain": {"plain-server": "1"},
    "curve": {"curve-server": "1", "curve-public": SERVER_PUBLIC, "curve-secret": SERVER_SECRET},
}
CLIENTS = {
    "null": {},
    "plain": {"plain-username": "admin", "plain-password": "secret"},
    "curve": {"curve-public": CLIENT_PUBLIC, "curve-secret": CLIENT_SECRET, "curve-serverkey": SERVER_PUBLIC},
}
ADMITS = {"admit": "admin:secret", "admit-key": CLIENT_PUBLIC}
CREDENTIALS = {"null": [], "plain": [b"admin", b"secret"], "curve": [z85.decode(CLIENT_PUBLIC)]}
NUMBERS = {"null": zmq.NULL, "plain": zmq.PLAIN, "curve": zmq.CURVE}

# (number of messages, bytes of a part, parts), as in test_wire.py.
SHAPES = [(2_000, 16, 1), (50, 0, 1), (50, 0, 3), (50, 222, 1), (50, 223, 1), (50, 255, 1), (50, 256, 1),
          (300, 100, 3), (2, 3_000_000, 2)]
LOCKSTEP_SHAPES = [(200, 16, 1), (50, 0, 1), (50, 256, 1), (50, 100, 3), (1, 3_000_000, 1)]


def apply(socket, options):
    for name, value in options.items():
        name = {"curve-public": "curve_publickey", "curve-secret": "curve_secretkey"}.get(name, name.replace("-", "_"))
        socket.setsockopt(getattr(zmq, name.upper()),
                          int(value) if name.endswith("_server") else value.encode())


class Handler:
    """A handler of ZAP: a REP that admits the one client. Keeps what it was asked."""

    def __init__(self, context, deny=False):
        self.requests = []
        self.deny_ = deny
        self.socket_ = context.socket(zmq.REP)
        self.socket_.linger = 0
        self.socket_.bind("inproc://zeromq.zap.01")
        self.stop_ = threading.Event()
        self.thread_ = threading.Thread(target=self._serve)
        self.thread_.start()

    def _serve(self):
        while not self.stop_.is_set():
            if self.socket_.poll(20):
                request = self.socket_.recv_multipart()
                self.requests.append(request)
                mechanism = request[5].decode().lower()
                admitted = not self.deny_ and request[6:] == CREDENTIALS.get(mechanism)
                self.socket_.send_multipart([request[0], request[1], b"200" if admitted else b"400",
                                             b"", b"alice" if admitted else b"", b""])

    def close(self):
        self.stop_.set()
        self.thread_.join()
        self.socket_.close()


class Ends:
    """Our socket and the peer's, one the server of a mechanism."""

    def __init__(self, peer, context, mechanism, we_serve, binds, handler="zauth"):
        self.name_, self.command_ = peer
        self.context_ = context
        self.mechanism = mechanism
        self.we_serve = we_serve
        self.binds = binds
        self.handler_name_ = handler
        self.endpoint = f"{TRANSPORTS.get(self.name_, ['tcp'])[0]}://127.0.0.1:{free_port()}"
        self.ours, self.theirs = dict(CLIENTS[mechanism]), dict(SERVERS[mechanism])
        if we_serve:
            self.ours, self.theirs = self.theirs, self.ours
        self.server_["zap-domain"] = DOMAIN
        self.deny = self.admit_key = None
        self.handler = self.socket = self.role = self.monitor = None

    @property
    def server_(self):
        return self.ours if self.we_serve else self.theirs

    @property
    def client(self):
        """The options of the client of the mechanism."""
        return self.theirs if self.we_serve else self.ours

    @contextmanager
    def attached(self, kind, their_kind, subscribe=()):
        """Both sockets, with `subscribe` the topics of whichever subscribes."""
        if not self.we_serve and (self.name_, their_kind, self.mechanism) in CANNOT_SERVE:
            pytest.skip(f"{their_kind} of {self.name_} cannot be the server of {self.mechanism}")
        if self.we_serve:
            self.handler = Handler(self.context_, deny=self.deny)
        else:
            self.theirs.update(ADMITS, handler=self.handler_name_)
            if self.admit_key:
                self.theirs["admit-key"] = self.admit_key
            if self.deny:
                self.theirs["deny"] = "1"
        if subscribe and their_kind in ("sub", "xsub"):
            self.theirs["subscribe"] = ",".join(subscribe)
        try:
            self.open(kind)
            if kind == zmq.SUB:
                for topic in subscribe or [""]:
                    self.socket.subscribe(topic)
            if self.binds:
                self.socket.bind(self.endpoint)
            self.role = Role(self.command_, their_kind, "connect" if self.binds else "bind", self.endpoint,
                             [f"{name}={value}" for name, value in self.theirs.items()])
            if not self.binds:
                self.socket.connect(self.endpoint)
            yield self
            self.role.quit()
        finally:
            for thing in (self.monitor, self.socket, self.handler):
                if thing:
                    thing.close()
            if self.role:
                self.role.stop()

    def open(self, kind):
        self.socket = self.context_.socket(kind)
        self.socket.linger = 0
        self.socket.rcvtimeo = self.socket.sndtimeo = DEADLINE_S * 1000
        apply(self.socket, self.ours)
        assert self.socket.mechanism == NUMBERS[self.mechanism]
        self.monitor = self.socket.get_monitor_socket()

    def bind_anew(self):
        """Closes our socket and binds another one in its place."""
        kind = self.socket.type
        self.socket.disable_monitor()
        self.monitor.close()
        self.socket.close()
        self.role.call("event", "DISCONNECTED")
        self.open(kind)
        self.socket.bind(self.endpoint)

    def event(self, *wanted):
        """Waits for one of these events of our socket; returns its value. No handshake may succeed unless wanted."""
        seen = []
        while not seen or seen[-1]["event"] not in wanted:
            assert self.monitor.poll(EVENT_MS), f"no {wanted!r} after {seen}"
            seen.append(recv_monitor_message(self.monitor))
            assert seen[-1]["event"] in wanted or seen[-1]["event"] != zmq.Event.HANDSHAKE_SUCCEEDED
        return seen[-1]["value"]

    def check_admission(self):
        """The handler on our side has been asked as ZAP wants it, and its answer is on the messages."""
        if self.we_serve:
            assert self.handler.requests
            for request in self.handler.requests:
                assert request == [b"1.0", b"1", DOMAIN.encode(), b"127.0.0.1", b"", self.mechanism.upper().encode(),
                                   *CREDENTIALS[self.mechanism]]


@pytest.fixture
def context():
    made = zmq.Context()
    yield made
    made.destroy(linger=0)


@pytest.fixture(params=HOWS)
def binds(request):
    return request.param


@pytest.fixture(params=list(SERVERS))
def mechanism(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["zlink-serves", "peer-serves"])
def we_serve(request):
    return request.param


@pytest.fixture
def secure_peer(peer):
    if peer[0] not in SECURE:
        pytest.skip(f"the program of {peer[0]} has no options of security")
    return peer


@pytest.fixture
def ends(secure_peer, context, mechanism, we_serve, binds):
    return Ends(secure_peer, context, mechanism, we_serve, binds)


def send_all(socket, first, count, size, parts):
    for number in range(first, first + count):
        socket.send_multipart(message(number, size, parts))


def expect_all(ends, first, count, size, parts, strip_marks=False):
    for number in range(first, first + count):
        received = ends.socket.recv_multipart(copy=False)
        while strip_marks and [frame.bytes for frame in received] == [MARK]:
            received = ends.socket.recv_multipart(copy=False)
        assert [frame.bytes for frame in received] == message(number, size, parts), f"message {number}"
        if ends.we_serve:
            assert received[0].get("User-Id") == "alice"


def to_peer(ends, shapes=tuple(SHAPES), piece=10_000):
    first = 0
    for count, size, parts in shapes:
        for begin in range(first, first + count, piece):
            part = min(piece, first + count - begin)
            ends.role.start("recv", begin, part, size, parts)
            send_all(ends.socket, begin, part, size, parts)
            assert ends.role.result() == part
        first += count


def from_peer(ends, shapes=tuple(SHAPES), piece=10_000, strip_marks=False):
    first = 0
    for count, size, parts in shapes:
        for begin in range(first, first + count, piece):
            part = min(piece, first + count - begin)
            ends.role.start("send", begin, part, size, parts)
            expect_all(ends, begin, part, size, parts, strip_marks)
            assert ends.role.result() == part
        first += count


# -- patterns ---------------------------------------------------------------------------------


def test_push_to_pull(ends):
    with ends.attached(zmq.PUSH, "pull"):
        to_peer(ends)
        ends.check_admission()


def test_pull_from_push(ends):
    with ends.attached(zmq.PULL, "push"):
        from_peer(ends)
        ends.check_admission()


def test_pairs_stream_both_ways(ends):
    with ends.attached(zmq.PAIR, "pair"):
        to_peer(ends)
        from_peer(ends)
        ends.check_admission()


@pytest.mark.parametrize("kind, theirs", [(zmq.REQ, "rep"), (zmq.DEALER, "router")], ids=["req-rep", "dealer-router"])
def test_asks(ends, kind, theirs):
    with ends.attached(kind, theirs):
        first = 0
        for count, size, parts in LOCKSTEP_SHAPES:
            ends.role.start("echo", count)
            for number in range(first, first + count):
                send_all(ends.socket, number, 1, size, parts)
                expect_all(ends, number, 1, size, parts)
            assert ends.role.result() == count
            first += count
        ends.check_admission()


@pytest.mark.parametrize("kind, theirs", [(zmq.REP, "req"), (zmq.ROUTER, "dealer")], ids=["rep-req", "router-dealer"])
def test_is_asked(ends, kind, theirs):
    with ends.attached(kind, theirs):
        first = 0
        for count, size, parts in LOCKSTEP_SHAPES:
            ends.role.start("request", first, count, size, parts)
            for _ in range(count):
                ends.socket.send_multipart(ends.socket.recv_multipart())
            assert ends.role.result() == count
            first += count
        ends.check_admission()


# The messages 10, 100 to 109 and 1000 to 1099 begin with "10".
TOPICS = ["mark", "10"]
UNWANTED = (200, 100, 16, 1)
WANTED = [(10, 1, 16, 1), (100, 10, 254, 2), (1000, 100, 16, 3), (1000, 1, 3_000_000, 1)]


def test_publishes(ends):
    with ends.attached(zmq.PUB, "sub", subscribe=TOPICS):
        ends.role.start("await")
        for _ in range(DEADLINE_S * 50):
            ends.socket.send(MARK)
            if ends.role.answered(within_s=0.02):
                break
        assert ends.role.result() == 1
        for first, count, size, parts in WANTED:
            ends.role.start("recv", first, count, size, parts)
            send_all(ends.socket, *UNWANTED)
            send_all(ends.socket, first, count, size, parts)
            assert ends.role.result() == count
        ends.check_admission()


def test_subscribes(ends):
    with ends.attached(zmq.SUB, "pub", subscribe=TOPICS):
        for _ in range(DEADLINE_S * 50):
            ends.role.call("mark")
            if ends.socket.poll(20):
                break
        for first, count, size, parts in WANTED:
            ends.role.call("send", *UNWANTED)
            ends.role.start("send", first, count, size, parts)
            expect_all(ends, first, count, size, parts, strip_marks=True)
            assert ends.role.result() == count
        ends.check_admission()


# -- the peer's other handler, and connections that come again ----------------------------------


def test_the_peer_asks_a_handler_of_its_application(secure_peer, context, mechanism, binds):
    ends = Ends(secure_peer, context, mechanism, we_serve=False, binds=binds, handler="rep")
    with ends.attached(zmq.DEALER, "dealer"):
        to_peer(ends, [(100, 16, 1)])
        from_peer(ends, [(100, 16, 1)])


@pytest.mark.parametrize("kind, theirs", [(zmq.PUSH, "pull"), (zmq.PULL, "push")], ids=["push", "pull"])
def test_our_socket_is_closed_and_bound_anew(secure_peer, context, mechanism, we_serve, kind, theirs):
    ends = Ends(secure_peer, context, mechanism, we_serve, binds=True)
    exchange = to_peer if kind == zmq.PUSH else from_peer
    with ends.attached(kind, theirs):
        for round_ in range(3):
            if round_:
                ends.bind_anew()
            assert ends.event(zmq.Event.HANDSHAKE_SUCCEEDED) == 0
            exchange(ends, [(100, 100, 2)])
        ends.check_admission()


# -- refusals -----------------------------------------------------------------------------------


def wrong_password(ends):
    ends.client["plain-password"] = "wrong"


def wrong_name(ends):
    ends.client["plain-username"] = "other"


def unknown_key(ends):
    public, secret = zmq.curve_keypair()
    ends.client.update({"curve-public": public.decode(), "curve-secret": secret.decode()})


def denied(ends):
    ends.deny = True


@pytest.mark.parametrize("handler", ["zauth", "rep"])
@pytest.mark.parametrize("mechanism, spoil", [("plain", wrong_password), ("plain", wrong_name), ("curve", unknown_key),
                                              ("null", denied), ("plain", denied), ("curve", denied)])
def test_the_handler_refuses(secure_peer, context, mechanism, spoil, we_serve, binds, handler):
    if we_serve and handler == "rep":
        pytest.skip("the handler is ours")
    ends = Ends(secure_peer, context, mechanism, we_serve, binds, handler)
    spoil(ends)
    with ends.attached(zmq.DEALER, "dealer"):
        assert ends.event(zmq.Event.HANDSHAKE_FAILED_AUTH) == 400
        # JeroMQ has this event as the client only.
        if we_serve and (secure_peer[0], mechanism) in MISREADS_ERROR:
            ends.role.call("event", "HANDSHAKE_FAILED_PROTOCOL")
        else:
            ends.role.call("event", "HANDSHAKE_FAILED_AUTH" if we_serve else "DISCONNECTED")
        ends.event(zmq.Event.DISCONNECTED)


def check_keys_refused(ends):
    """The server sees that it cannot decrypt. JeroMQ says so in an ERROR command, which libzmq has no event for."""
    with ends.attached(zmq.DEALER, "dealer"):
        if ends.we_serve:
            assert ends.event(zmq.Event.HANDSHAKE_FAILED_PROTOCOL) == zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC
        else:
            ends.role.call("event", "HANDSHAKE_FAILED_PROTOCOL")
        ends.event(zmq.Event.DISCONNECTED)


def test_wrong_server_key(secure_peer, context, we_serve, binds):
    ends = Ends(secure_peer, context, "curve", we_serve, binds)
    ends.client["curve-serverkey"] = CLIENT_PUBLIC
    check_keys_refused(ends)


def test_public_key_that_does_not_belong_to_the_secret_one(secure_peer, context, we_serve, binds):
    ends = Ends(secure_peer, context, "curve", we_serve, binds)
    ends.client["curve-public"] = zmq.curve_keypair()[0].decode()
    check_keys_refused(ends)


@pytest.mark.parametrize("servers, clients", [(a, b) for a in SERVERS for b in SERVERS if a != b])
def test_other_mechanism(secure_peer, context, servers, clients, we_serve, binds):
    """The client has another mechanism than the server. Whoever sees it first closes, and the other sees only that."""
    ends = Ends(secure_peer, context, servers, we_serve, binds)
    ends.client.clear()
    ends.client.update(CLIENTS[clients])
    ends.mechanism = servers if we_serve else clients
    with ends.attached(zmq.DEALER, "dealer"):
        value = ends.event(zmq.Event.HANDSHAKE_FAILED_PROTOCOL, zmq.Event.HANDSHAKE_FAILED_NO_DETAIL)
        assert value in (zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, WS_UNSPECIFIED, errno.EPIPE, errno.ECONNRESET)
        ends.event(zmq.Event.DISCONNECTED)
