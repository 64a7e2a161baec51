# SPDX-License-Identifier: Apache-2.0
"""Each socket type in the browser exchanges messages with its counterparts in the library, over ws and wss."""

import hashlib

import pytest

LARGE = 1 << 20

# Messages as both sides make them: lists of parts, each a length and a byte to begin with.
SHAPES = [
    [[5, 1]],
    [[0, 0]],
    [[3, 7], [0, 0], [4, 9]],
    [[0, 0], [0, 0], [1, 255]],
    [[125, 3], [126, 4], [65535, 5], [65536, 6]],
    [[LARGE, 8]],
    [[1, 2], [LARGE, 11], [0, 0]],
]

MAKE = """
const make = (shape) => shape.map(([length, first]) => Uint8Array.from({length}, (_, i) => (first + i) & 255));
const digest = async (parts) => Promise.all(parts.map(async (part) =>
    [...new Uint8Array(await crypto.subtle.digest('SHA-256', part))].map(b => b.toString(16).padStart(2, '0')).join('')));
"""


def make(shape):
    return [bytes((first + i) & 255 for i in range(length)) for length, first in shape]


def digest(parts):
    return [hashlib.sha256(part).hexdigest() for part in parts]


@pytest.fixture(params=["ws", "wss"])
def address(request):
    return f"{request.param}://127.0.0.1:*/"


def receives(page, kind, url, count):
    """Starts a socket in the page that receives messages, and returns the digests of their parts."""
    return page.start(MAKE + """
        const socket = new zmq[kind]();
        socket.connect(url);
        const received = [];
        for await (const message of socket) {
            received.push(await digest(message));
            if (received.length === count) break;
        }
        await socket.close();
        return received;""", kind=kind, url=url, count=count)


def sends(page, kind, url):
    """Starts a socket in the page that sends each shape; it returns whether all was sent when it closed."""
    return page.start(MAKE + """
        const socket = new zmq[kind]();
        socket.connect(url);
        for (const shape of shapes) await socket.send(make(shape));
        return socket.close();""", kind=kind, url=url, shapes=SHAPES)


def test_pull_receives_from_push(page, sockets, address):
    push, url = sockets.bind("PUSH", address)
    program = receives(page, "Pull", url, len(SHAPES))
    for shape in SHAPES:
        push.send_multipart(make(shape))
    assert program.result() == [digest(make(shape)) for shape in SHAPES]


def test_push_sends_to_pull(page, sockets, address):
    pull, url = sockets.bind("PULL", address)
    program = sends(page, "Push", url)
    for shape in SHAPES:
        assert pull.recv_multipart() == make(shape)
    assert program.result() is True


@pytest.mark.parametrize("publisher", ["PUB", "XPUB"])
def test_sub_receives_from_publisher(page, sockets, address, publisher):
    socket, url = sockets.bind(publisher, address)
    shapes = [[[3, 65], *shape] for shape in SHAPES]  # a topic in front
    program = page.start(MAKE + """
        const socket = new zmq.Sub();
        socket.subscribe('ABC');
        socket.connect(url);
        const received = [];
        for await (const message of socket) {
            if (zmq.text(message[0]) === 'ABCD') {
                globalThis.subscribed = true;
                continue;
            }
            received.push(await digest(message));
            if (received.length === count) break;
        }
        await socket.close();
        return received;""", url=url, count=len(shapes))
    if publisher == "XPUB":
        assert socket.recv() == b"\1ABC"
    while not page.run("return globalThis.subscribed ?? false;"):
        socket.send(b"ABCD")  # a PUB cannot tell when somebody has subscribed
    for shape in shapes:
        socket.send_multipart([b"other"])
        socket.send_multipart(make(shape))
    assert program.result() == [digest(make(shape)) for shape in shapes]


@pytest.mark.parametrize("subscriber", ["SUB", "XSUB"])
@pytest.mark.parametrize("kind", ["Pub", "XPub"])
def test_publisher_sends_to_subscriber(page, sockets, address, kind, subscriber):
    socket, url = sockets.bind(subscriber, address)
    if subscriber == "SUB":
        socket.subscribe = b"ABC"
    else:
        socket.send(b"\1ABC")
    shapes = [[[3, 65], *shape] for shape in SHAPES]
    program = page.start(MAKE + """
        const socket = new zmq[kind]();
        socket.connect(url);
        let subscription;
        if (kind === 'XPub') {
            [subscription] = await socket.receive();
        } else {
            // Until the subscription is here, messages are dropped.
            await new Promise(resolve => socket.addEventListener('connect', resolve));
            for (; !subscription; await new Promise(resolve => setTimeout(resolve, 1))) {
                await socket.send('ABCD');
                subscription = globalThis.arrived;
            }
        }
        for (const shape of shapes) {
            await socket.send('other');
            await socket.send(make(shape));
        }
        await socket.close();
        return kind === 'XPub' ? zmq.text(subscription) : '';""", kind=kind, url=url, shapes=shapes)
    if kind == "Pub":
        assert socket.recv() == b"ABCD"
        page.run("globalThis.arrived = true;")
    expected = [make(shape) for shape in shapes]
    received = []
    while len(received) < len(expected):
        message = socket.recv_multipart()
        if message != [b"ABCD"]:
            received.append(message)
    assert received == expected
    assert program.result() == ("\1ABC" if kind == "XPub" else "")


def test_xsub_receives_and_talks_back(page, sockets, address):
    xpub, url = sockets.bind("XPUB", address)
    program = page.start(MAKE + """
        const socket = new zmq.XSub();
        socket.connect(url);
        await socket.send(new Uint8Array([1, 65, 66, 67]));
        const first = await digest(await socket.receive());
        await socket.send(['to the', 'publisher']);
        await socket.send(new Uint8Array([0, 65, 66, 67]));
        await socket.close();
        return first;""", url=url)
    assert xpub.recv() == b"\1ABC"
    message = [b"ABC", b"", b"x" * LARGE]
    xpub.send_multipart(message)
    assert xpub.recv_multipart() == [b"to the", b"publisher"]
    assert xpub.recv() == b"\0ABC"
    assert program.result() == digest(message)


def echoes(page, kind, url, options={}):
    """Starts a socket in the page that sends each shape and receives its answer."""
    return page.start(MAKE + """
        const socket = new zmq[kind](options);
        socket.connect(url);
        const received = [];
        for (const shape of shapes) {
            await socket.send(make(shape));
            received.push(await digest(await socket.receive()));
        }
        await socket.close();
        return received;""", kind=kind, url=url, shapes=SHAPES, options=options)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("server", ["REP", "ROUTER"])
def test_req_asks(page, sockets, address, server, relaxed):
    socket, url = sockets.bind(server, address)
    program = echoes(page, "Req", url, {"relaxed": relaxed})
    for shape in SHAPES:
        message = socket.recv_multipart()
        if server == "ROUTER":
            envelope = 3 if relaxed else 2
            assert message[envelope - 1] == b""
            assert message[envelope:] == make(shape)
        else:
            assert message == make(shape)
        socket.send_multipart(message)
    assert program.result() == [digest(make(shape)) for shape in SHAPES]


@pytest.mark.parametrize("client", ["REQ", "DEALER"])
def test_rep_answers(page, sockets, address, client):
    socket, url = sockets.bind(client, address)
    program = page.start("""
        const socket = new zmq.Rep();
        socket.connect(url);
        let left = count;
        for await (const request of socket) {
            await socket.send(request);
            if (!--left) break;
        }
        return socket.close();""", url=url, count=len(SHAPES))
    envelope = [b"one", b"two", b""] if client == "DEALER" else []
    for shape in SHAPES:
        socket.send_multipart(envelope + make(shape))
        assert socket.recv_multipart() == envelope + make(shape)
    assert program.result() is True


@pytest.mark.parametrize("server", ["ROUTER", "DEALER", "REP"])
def test_dealer_talks(page, sockets, address, server):
    socket, url = sockets.bind(server, address)
    shapes = [[[0, 0], *shape] for shape in SHAPES]  # the envelope that REP needs
    program = page.start(MAKE + """
        const socket = new zmq.Dealer({routingId: 'browser'});
        socket.connect(url);
        await Promise.all(shapes.map(shape => socket.send(make(shape))));
        const received = [];
        for await (const message of socket) {
            received.push(await digest(message));
            if (received.length === shapes.length) break;
        }
        await socket.close();
        return received;""", url=url, shapes=shapes)
    for shape in shapes:
        message = socket.recv_multipart()
        prefix = {"ROUTER": [b"browser"], "DEALER": [], "REP": None}[server]
        assert message == (make(shape)[1:] if prefix is None else prefix + make(shape))
        socket.send_multipart(message)
    assert program.result() == [digest(make(shape)) for shape in shapes]


@pytest.mark.parametrize("peer", ["REQ", "DEALER", "ROUTER"])
def test_router_answers(page, sockets, address, peer):
    socket, url = sockets.bind(peer, address, routing_id=b"native")
    program = page.start("""
        const socket = new zmq.Router({routingId: 'browser', mandatory: true});
        socket.connect(url);
        let left = count;
        if (greet) {
            // A ROUTER that has bound learns that way when it can be talked to.
            await new Promise(resolve => socket.addEventListener('connect', resolve, {once: true}));
            await socket.send(['native', 'ready']);
        }
        for await (const [id, ...message] of socket) {
            if (zmq.text(id) !== 'native') throw new Error(zmq.text(id));
            await socket.send([id, ...message]);
            if (!--left) break;
        }
        return socket.close();""", url=url, count=len(SHAPES), greet=peer == "ROUTER")
    to_page = [b"browser"] if peer == "ROUTER" else []
    if peer == "ROUTER":
        assert socket.recv_multipart() == [b"browser", b"ready"]
    for shape in SHAPES:
        socket.send_multipart(to_page + make(shape))
        assert socket.recv_multipart() == to_page + make(shape)
    assert program.result() is True


def test_message_rate(page, sockets):
    """Many small messages arrive in order, none is lost."""
    push, url = sockets.bind("PUSH", sndhwm=0)
    count = 50_000
    program = page.start("""
        const socket = new zmq.Pull();
        socket.connect(url);
        let next = 0, begin;
        for await (const [part] of socket) {
            begin ??= performance.now();
            if (Number(zmq.text(part)) !== next) throw new Error(`${zmq.text(part)} instead of ${next}`);
            if (++next === count) break;
        }
        await socket.close();
        return next / (performance.now() - begin) * 1000;""", url=url, count=count)
    for i in range(count):
        push.send(b"%d" % i)
    rate = program.result()
    print(f"{rate:.0f} messages/s")
