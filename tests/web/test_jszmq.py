# SPDX-License-Identifier: Apache-2.0
"""jszmq, another client for browsers, in Chromium against the library: does the library serve it, too?"""

import subprocess

import pytest


@pytest.fixture(scope="module")
def bundle(tmp_path_factory, work):
    """jszmq for a page, where it is `jszmq`."""
    directory = tmp_path_factory.mktemp("jszmq")
    entry, made = directory / "entry.js", directory / "bundle.js"
    entry.write_text("""
        import { Buffer } from "buffer";
        globalThis.Buffer = Buffer;
        globalThis.jszmq = require("jszmq");""")
    subprocess.run(
        [work / "npm/node_modules/.bin/esbuild", "--bundle", "--platform=browser", "--define:global=globalThis",
         "--define:process.env={}", "--log-level=error", f"--outfile={made}", entry],
        check=True, env={"NODE_PATH": str(work / "npm/node_modules"), "PATH": "/usr/local/bin:/usr/bin:/bin"})
    return made.read_text()


@pytest.fixture
def other_page(page, bundle):
    page.run("eval?.(bundle); if (!globalThis.jszmq.Req) throw new Error(Object.keys(jszmq));", bundle=bundle)
    return page


@pytest.fixture(params=["ws", "wss"])
def address(request):
    return f"{request.param}://127.0.0.1:*/"


MESSAGES = 100
PARTS = ["text", "", "x" * 100_000]
RECEIVE = """
const received = [];
const all = new Promise((resolve) => socket.on('message', (...parts) => {
    received.push(parts.map(part => part.toString()));
    if (received.length === count) resolve();
}));
"""


def test_pull(other_page, sockets, address):
    push, url = sockets.bind("PUSH", address)
    program = other_page.start(f"""
        const socket = new jszmq.Pull();
        {RECEIVE}
        socket.connect(url);
        await all;
        socket.close();
        return received;""", url=url, count=MESSAGES)
    sent = [[str(i), *PARTS] for i in range(MESSAGES)]
    for message in sent:
        push.send_multipart([part.encode() for part in message])
    assert program.result() == sent


def test_push(other_page, sockets, address):
    pull, url = sockets.bind("PULL", address)
    other_page.run("""
        const socket = new jszmq.Push();
        socket.connect(url);
        for (let i = 0; i < count; ++i) socket.send([`${i}`, ...parts]);""", url=url, count=MESSAGES, parts=PARTS)
    for i in range(MESSAGES):
        assert pull.recv_multipart() == [part.encode() for part in [str(i), *PARTS]]


def test_sub(other_page, sockets, address):
    xpub, url = sockets.bind("XPUB", address)
    program = other_page.start(f"""
        const socket = new jszmq.Sub();
        {RECEIVE}
        socket.subscribe('a');
        socket.connect(url);
        await all;
        socket.unsubscribe('a');
        return received;""", url=url, count=MESSAGES)
    assert xpub.recv() == b"\1a"
    for i in range(MESSAGES):
        xpub.send_multipart([b"b", b"%d" % i])
        xpub.send_multipart([b"a", b"%d" % i])
    assert program.result() == [["a", str(i)] for i in range(MESSAGES)]
    assert xpub.recv() == b"\0a"


@pytest.mark.parametrize("server", ["REP", "ROUTER"])
def test_req(other_page, sockets, address, server):
    socket, url = sockets.bind(server, address)
    program = other_page.start(f"""
        const socket = new jszmq.Req();
        {RECEIVE}
        socket.connect(url);
        socket.on('message', () => received.length < count && socket.send([`${{received.length}}`, ...parts]));
        socket.send(['0', ...parts]);
        await all;
        return received;""", url=url, count=MESSAGES, parts=PARTS)
    for _ in range(MESSAGES):
        socket.send_multipart(socket.recv_multipart())
    assert program.result() == [[str(i), *PARTS] for i in range(MESSAGES)]


def test_dealer(other_page, sockets, address):
    router, url = sockets.bind("ROUTER", address)
    program = other_page.start(f"""
        const socket = new jszmq.Dealer();
        {RECEIVE}
        socket.connect(url);
        for (let i = 0; i < count; ++i) socket.send([`${{i}}`, ...parts]);
        await all;
        return received;""", url=url, count=MESSAGES, parts=PARTS)
    for _ in range(MESSAGES):
        router.send_multipart(router.recv_multipart())
    assert program.result() == [[str(i), *PARTS] for i in range(MESSAGES)]
