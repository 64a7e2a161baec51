# SPDX-License-Identifier: Apache-2.0
"""How sockets in the browser come and go: losses, several peers, subscriptions that change, wrong peers, closing."""

import pytest
import zmq

import chromium

EVENTS = """
const events = globalThis.events = [];
for (const type of ['connect', 'disconnect', 'error']) {
    socket.addEventListener(type, (event) => events.push([type, event.url, event.error?.code ?? event.code]));
}
"""


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_reconnects_after_the_server_restarts(page, sockets, scheme):
    first, url = sockets.bind("XPUB", f"{scheme}://127.0.0.1:*/")
    page.run(f"""
        const socket = globalThis.socket = new zmq.Sub({{reconnectInterval: 20, reconnectIntervalMax: 200}});
        {EVENTS}
        socket.subscribe('a');
        socket.connect(url);""", url=url)
    assert first.recv() == b"\1a"
    first.send(b"a1")
    assert page.run("return zmq.text((await socket.receive())[0]);") == "a1"
    page.run("socket.subscribe('b');")
    assert first.recv() == b"\1b"
    first.close()
    page.run("while (events.at(-1)[0] !== 'disconnect') await new Promise(resolve => setTimeout(resolve, 5));")
    second, _ = sockets.bind("XPUB", url)
    assert {second.recv(), second.recv()} == {b"\1a", b"\1b"}
    second.send(b"b2")
    assert page.run("return zmq.text((await socket.receive())[0]);") == "b2"
    types = [event[0] for event in page.run("await socket.close(); return events;")]
    assert types[0] == types[-1] == "connect"
    assert set(types[1:-1]) == {"disconnect"}


def test_connects_before_there_is_a_server(page, sockets):
    probe, url = sockets.bind("PULL")
    probe.close()
    program = page.start("""
        const socket = new zmq.Push({reconnectInterval: 20, reconnectIntervalMax: 100});
        let failed = 0;
        socket.addEventListener('disconnect', () => ++failed === 2 && (globalThis.failed = true));
        socket.connect(url);
        for (let i = 0; i < 100; ++i) await socket.send(`${i}`);
        return socket.close();""", url=url)
    page.run("while (!globalThis.failed) await new Promise(resolve => setTimeout(resolve, 5));")
    pull, _ = sockets.bind("PULL", url)
    assert [pull.recv() for _ in range(100)] == [b"%d" % i for i in range(100)]
    assert program.result() is True


def test_subscriptions_change(page, sockets):
    xpub, url = sockets.bind("XPUB")
    page.run("globalThis.socket = new zmq.Sub(); socket.connect(url);", url=url)

    def change(program, *expected):
        page.run(program)
        for each in expected:
            assert xpub.recv() == each

    def passes(*topics):
        for topic in topics:
            xpub.send(topic)
        received = page.run("""
            const received = [];
            do received.push(zmq.text((await socket.receive())[0])); while (received.at(-1) !== 'end');
            return received;""")
        return received[:-1]

    change("socket.subscribe('end', 'a');", b"\1end", b"\1a")
    assert passes(b"a1", b"b1", b"end") == ["a1"]
    change("socket.subscribe('b'); socket.unsubscribe('a');", b"\1b", b"\0a")
    assert passes(b"a2", b"b2", b"end") == ["b2"]
    change("socket.subscribe('b', 'mark');", b"\1mark")  # b is known here already
    change("socket.unsubscribe('b', 'mark');", b"\0mark")
    assert passes(b"b3", b"end") == ["b3"]
    change("socket.unsubscribe('b');", b"\0b")
    assert passes(b"b4", b"end") == []
    change("socket.subscribe(new Uint8Array([0, 255]), '');", b"\1\0\xff", b"\1")
    assert passes(b"anything", b"", b"end") == ["anything", ""]
    change("await socket.close();", b"\0", b"\0\0\xff", b"\0end")


@pytest.mark.parametrize("kind, server", [("Dealer", "REQ"), ("Push", "REQ"), ("Sub", "REQ")])
def test_peer_that_refuses_messages_is_an_error(page, sockets, kind, server):
    """ZWS2.0 does not tell the type of the peer; the close code tells that it cannot take a message."""
    _, url = sockets.bind(server)
    told = page.run("""
        const socket = new zmq[kind]();
        const event = new Promise(resolve => socket.addEventListener('error', resolve));
        // The close frame can be lost with the connection, if the peer resets it: then there is another attempt.
        socket.addEventListener('connect', () => socket.subscribe || socket.send('no reply'));
        socket.subscribe?.('topic');
        socket.connect(url);
        const {error, url: which} = await event;
        const after = await (socket.subscribe ? socket.receive() : socket.send('x')).catch(error => error.code);
        return [error.code, which, error.message, after];""", kind=kind, url=url)
    assert told[0] == told[3] == "EPROTO"
    assert told[1] == url
    assert kind.upper() in told[2]


def test_reply_that_is_none_is_an_error(page, sockets):
    dealer, url = sockets.bind("DEALER")
    program = page.start("""
        const socket = new zmq.Req();
        socket.connect(url);
        await socket.send('request');
        return socket.receive().catch(error => [error.code, error.message]);""", url=url)
    assert dealer.recv_multipart() == [b"", b"request"]
    dealer.send(b"no reply")
    code, message = program.result()
    assert code == "EPROTO"
    assert url in message


def test_server_that_speaks_something_else(page, site):
    """An HTTP server refuses the upgrade: the browser tells no more than that, so it is tried again."""
    events = page.run(f"""
        const socket = new zmq.Pull({{reconnectInterval: 10}});
        {EVENTS}
        socket.connect(url);
        while (events.length < 3) await new Promise(resolve => setTimeout(resolve, 5));
        await socket.close();
        return events;""", url=site.replace("http", "ws") + "/blank")
    assert {(kind, code) for kind, _, code in events} == {("disconnect", 1006)}


def test_several_servers(page, sockets):
    servers = [sockets.bind("REP") for _ in range(3)]
    program = page.start("""
        const socket = new zmq.Req();
        let connected = 0;
        const all = new Promise(resolve => socket.addEventListener('connect', () => ++connected === urls.length && resolve()));
        for (const url of urls) socket.connect(url);
        await all;
        const replies = [];
        for (let i = 0; i < 2 * urls.length; ++i) {
            await socket.send(`${i}`);
            replies.push(zmq.text((await socket.receive())[0]));
        }
        await socket.close();
        return replies;""", urls=[url for _, url in servers])
    poller = zmq.Poller()
    for server, _ in servers:
        poller.register(server, zmq.POLLIN)
    answered = {server: [] for server, _ in servers}
    for _ in range(6):
        [(server, _)] = poller.poll(10_000)
        request = server.recv()
        answered[server].append(int(request))
        server.send(request)
    assert program.result() == ["0", "1", "2", "3", "4", "5"]
    assert sorted(answered.values()) == [[0, 3], [1, 4], [2, 5]]


def test_slow_peer_makes_push_wait(page, sockets):
    """Above the high-water mark sending waits, and nothing is lost once the peer reads again."""
    pull, url = sockets.bind("PULL", rcvhwm=1)
    page.run("""
        globalThis.socket = new zmq.Push({sendHighWaterMark: 10});
        globalThis.done = 0;
        socket.connect(url);
        globalThis.program = (async () => {
            for (let i = 0; i < 400; ++i) {
                await socket.send([`${i}`, new Uint8Array(100000)]);
                ++done;
            }
            return socket.close();
        })();
        // It stands still once nothing more fits anywhere.
        for (let before = -1; before !== done || !done;) {
            before = done;
            await new Promise(resolve => setTimeout(resolve, 300));
        }""", url=url)
    assert 0 < page.run("return done;") < 400
    for i in range(400):
        number, body = pull.recv_multipart()
        assert (int(number), len(body)) == (i, 100000)
    assert page.run("return program;") is True


def test_close_delivers_everything(page, sockets):
    pull, url = sockets.bind("PULL")
    program = page.start("""
        const socket = new zmq.Push();
        socket.connect(url);
        for (let i = 0; i < 200; ++i) socket.send([`${i}`, new Uint8Array(50000)]);
        return socket.close();""", url=url)
    for i in range(200):
        assert int(pull.recv_multipart()[0]) == i
    assert program.result() is True


def test_relaxed_request_survives_a_server_that_dies(page, sockets):
    first, url = sockets.bind("REP")
    program = page.start("""
        const socket = new zmq.Req({relaxed: true, reconnectInterval: 10, reconnectIntervalMax: 50});
        socket.connect(url);
        for (let attempt = 1;; ++attempt) {
            try {
                await socket.send('question', {signal: AbortSignal.timeout(500)});
                const [reply] = await socket.receive({signal: AbortSignal.timeout(500)});
                return [attempt, zmq.text(reply)];
            } catch (error) {
                if (error.name !== 'TimeoutError') throw error;
            }
        }""", url=url)
    assert first.recv() == b"question"
    first.close()
    second, _ = sockets.bind("REP", url)
    assert second.recv() == b"question"
    second.send(b"answer")
    attempts, reply = program.result()
    assert attempts > 1
    assert reply == "answer"


def send_when_known(router, message, page):
    while True:
        try:
            return router.send_multipart(message)
        except zmq.ZMQError as error:
            assert error.errno == zmq.EHOSTUNREACH
            page.run("await new Promise(resolve => setTimeout(resolve, 10));")


def test_ids_in_use_are_refused_until_they_are_free(page, sockets):
    """The library's ROUTER keeps out a second peer of the same routing id, which tries again."""
    router, url = sockets.bind("ROUTER")
    make = """
        const socket = new zmq.Dealer({routingId: 'same', reconnectInterval: 10, reconnectIntervalMax: 50});
        socket.connect(url);"""
    page.run(make + "globalThis.first = socket; await socket.send('first');", url=url)
    assert router.recv_multipart() == [b"same", b"first"]
    program = page.start(make + """
        await new Promise(resolve => socket.addEventListener('disconnect', resolve, {once: true}));
        globalThis.refused = true;
        for await (const [part] of socket) return zmq.text(part);""", url=url)
    while not page.run("return globalThis.refused ?? false;"):
        assert not router.poll(10)  # a socket sees who comes when it is used
    page.run("await first.close();")
    router.router_mandatory = 1
    send_when_known(router, [b"same", b"hello"], page)
    assert program.result() == "hello"


def test_worker_can_have_sockets(page, sockets):
    rep, url = sockets.bind("REP")
    program = page.start("""
        const code = `
            import { Req, text } from '${location.origin}/index.js';
            const socket = new Req();
            socket.connect('${url}');
            await socket.send('from a worker');
            postMessage(text((await socket.receive())[0]));`;
        const worker = new Worker(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})), {type: 'module'});
        return new Promise((resolve, reject) => {
            worker.onmessage = ({data}) => resolve(data);
            worker.onerror = ({message}) => reject(new Error(message));
        });""", url=url)
    assert rep.recv() == b"from a worker"
    rep.send(b"to a worker")
    assert program.result() == "to a worker"


def test_certificate_has_to_be_trusted(tmp_path, site, sockets):
    """A browser that has not been told of the authority does not connect over wss."""
    if not chromium.find():
        pytest.skip("Chromium is not installed")
    pull, url = sockets.bind("PULL", "wss://127.0.0.1:*/")
    stranger = chromium.Browser(tmp_path)
    try:
        stranger.start()
        page = stranger.new_page(f"{site}/blank")
        codes = page.run(f"""
            const zmq = await import('/index.js');
            const socket = new zmq.Push({{reconnectInterval: 10}});
            {EVENTS}
            socket.connect(url);
            while (events.length < 2) await new Promise(resolve => setTimeout(resolve, 5));
            socket.close({{linger: 0}});
            return events.map(([type, url, code]) => [type, code]);""", url=url)
        assert codes == [["disconnect", 1006]] * 2
    finally:
        stranger.stop()
