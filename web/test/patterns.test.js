// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import * as zmq from "../index.js";
import { bytes, fakeWebSocket, settled, until } from "./fake_websocket.js";

const made = [];
afterEach(() => Promise.all(made.splice(0).map((socket) => socket.close({ linger: 0 }))));

/** A socket with peers, which are WebSockets. */
function make(kind, { types, peers = 1, ids = [], ...options } = {}) {
    const WebSocket = fakeWebSocket();
    const socket = new zmq[kind]({ WebSocket, reconnectInterval: 1, ...options });
    made.push(socket);
    for (let i = 0; i < peers; ++i) {
        socket.connect(`ws://peer:${1 + i}/`);
        WebSocket.last.shake(types, ids[i]);
    }
    return { socket, WebSocket, peers: [...WebSocket.made] };
}

/** What a peer was sent, without the flags. */
const texts = (peer) => peer.sent.splice(0).map((each) => zmq.text(each.subarray(1)));

/** What a promise does without further news. */
async function outcome(promise) {
    let seen = "waits";
    promise.then(() => { seen = "done"; }, (error) => { seen = error.code; });
    await settled();
    return seen;
}

for (const kind of ["Push", "Dealer"]) {
    test(`${kind} sends to its peers in turn, past those without room`, async () => {
        const { socket, peers: [a, b, c] } = make(kind, { peers: 3, sendHighWaterMark: 1 });
        for (let i = 0; i < 6; ++i) {
            await socket.send(`${i}`);
        }
        assert.deepEqual([a, b, c].map(texts), [["0", "3"], ["1", "4"], ["2", "5"]]);
        b.stuck = true;
        b.bufferedAmount = 1 << 20;
        for (let i = 6; i < 11; ++i) {
            await socket.send(`${i}`);
        }
        assert.deepEqual([a, b, c].map(texts), [["6", "9"], [], ["8", "10"]]);
        b.drain(); // 7 has waited for it
        await until(() => b.sent.length);
        assert.deepEqual(texts(b), ["7"]);
    });

    test(`${kind} waits while there is no peer, and while none has room`, async () => {
        const { socket, WebSocket } = make(kind, { peers: 0, sendHighWaterMark: 2 });
        const first = [socket.send("1"), socket.send("2")];
        assert.equal(await outcome(first[0]), "waits");
        socket.connect("ws://peer:1/");
        assert.equal(await outcome(first[0]), "waits");
        WebSocket.last.shake();
        await Promise.all(first);
        assert.deepEqual(texts(WebSocket.last), ["1", "2"]);
        WebSocket.last.stuck = true;
        WebSocket.last.bufferedAmount = 1 << 20;
        await Promise.all([socket.send("3"), socket.send("4")]);
        const late = socket.send("5");
        assert.equal(await outcome(late), "waits");
        WebSocket.last.drain();
        await late;
        await until(() => WebSocket.last.sent.length === 3);
        assert.deepEqual(texts(WebSocket.last), ["3", "4", "5"]);
    });

    test(`${kind} keeps for a lost peer what its WebSocket has not been given`, async () => {
        const { socket, WebSocket, peers: [peer] } = make(kind);
        peer.bufferedAmount = 1 << 20;
        await socket.send("kept");
        peer.lose();
        await until(() => WebSocket.made.length === 2);
        WebSocket.last.shake();
        assert.deepEqual(peer.sent, []);
        assert.equal(zmq.text(WebSocket.last.sent[0].subarray(1)), "kept");
    });

    test(`${kind} gives nothing to a WebSocket that has begun to close`, async () => {
        const { socket, WebSocket, peers: [peer] } = make(kind);
        peer.readyState = 2;
        const sent = socket.send("later");
        assert.equal(await outcome(sent), "waits");
        peer.lose();
        await until(() => WebSocket.made.length === 2);
        WebSocket.last.shake();
        await sent;
        assert.deepEqual(peer.sent, []);
        assert.equal(WebSocket.last.sent.length, 1);
    });
}

test("what a type cannot do is rejected", async () => {
    for (const [kind, what] of [
        ["Push", "receive"], ["Pub", "receive"], ["Pull", "send"], ["Sub", "send"],
    ]) {
        await assert.rejects(make(kind).socket[what]("x"), { code: "ENOTSUP" }, kind);
    }
});

test("receivers are served in the order in which they came", async () => {
    const { socket, peers: [a, b] } = make("Pull", { peers: 2 });
    const received = [socket.receive(), socket.receive(), socket.receive()];
    a.receive(bytes(0, "1"));
    b.receive(bytes(1, "2"));
    a.receive(bytes(0, "3"));
    b.receive(bytes(0, "2"));
    const messages = await Promise.all(received);
    assert.deepEqual(messages.map((parts) => parts.map(zmq.text)), [["1"], ["3"], ["2", "2"]]);
});

test("a loop can be left and entered again", async () => {
    const { socket, peers: [peer] } = make("Pull");
    peer.receive(bytes(0, "1"), bytes(0, "2"));
    for (const expected of ["1", "2"]) {
        for await (const [part] of socket) {
            assert.equal(zmq.text(part), expected);
            break;
        }
    }
});

// ---- REQ, REP -----------------------------------------------------------------------------------

test("REQ sends and receives in turn", async () => {
    const { socket, peers: [peer] } = make("Req");
    await assert.rejects(socket.receive(), { code: "EFSM" });
    await socket.send(["a", "b"]);
    assert.deepEqual(peer.take(), [[1], [...bytes(1, "a")], [...bytes(0, "b")]]);
    await assert.rejects(socket.send("again"), { code: "EFSM" });
    const reply = socket.receive();
    peer.receive(bytes(1), bytes(0, "reply"));
    assert.deepEqual(await reply, [bytes("reply")]);
    await assert.rejects(socket.receive(), { code: "EFSM" });
    await socket.send("next");
});

test("REQ may be asked to receive while it still waits for a peer", async () => {
    const { socket, WebSocket } = make("Req", { peers: 0 });
    const sent = socket.send("early");
    const reply = socket.receive();
    await assert.rejects(socket.send("second"), { code: "EFSM" });
    socket.connect("ws://peer:1/");
    WebSocket.last.shake();
    await sent;
    WebSocket.last.receive(bytes(1), bytes(0, "reply"));
    assert.deepEqual(await reply, [bytes("reply")]);
});

test("REQ can send anew after a send that was aborted", async () => {
    const { socket, WebSocket } = make("Req", { peers: 0 });
    const controller = new AbortController();
    const aborted = assert.rejects(socket.send("x", { signal: controller.signal }), { name: "AbortError" });
    controller.abort();
    await aborted;
    const sent = socket.send("y");
    socket.connect("ws://peer:1/");
    WebSocket.last.shake();
    await sent;
    assert.deepEqual(texts(WebSocket.last), ["", "y"]);
});

test("REQ takes the reply of the peer that it has asked, and one only", async () => {
    const { socket, peers: [a, b] } = make("Req", { peers: 2 });
    a.receive(bytes(1), bytes(0, "unasked"));
    await socket.send("x");
    b.receive(bytes(1), bytes(0, "of another"));
    a.receive(bytes(1), bytes(0, "reply"), bytes(1), bytes(0, "one more"));
    assert.deepEqual(await socket.receive(), [bytes("reply")]);
    await socket.send("x");
    assert.deepEqual([a, b].map((peer) => peer.sent.length), [2, 2]);
});

test("REQ gives up a peer whose reply is none", async () => {
    for (const reply of [[bytes(0, "no delimiter")], [bytes(0)], [bytes(1, "a"), bytes(1), bytes(0, "b")]]) {
        const { socket, peers: [peer] } = make("Req");
        await socket.send("x");
        const received = assert.rejects(socket.receive(), { code: "EPROTO" });
        peer.receive(...reply);
        await received;
    }
});

test("relaxed REQ gives up a request, and drops the late reply to it", async () => {
    const { socket, peers: [peer] } = make("Req", { relaxed: true });
    const ids = [];
    for (const text of ["first", "second"]) {
        await socket.send(text);
        const [id, delimiter, body] = peer.take();
        assert.equal(id[0], 1);
        assert.equal(id.length, 5);
        assert.deepEqual([delimiter, body], [[1], [...bytes(0, text)]]);
        ids.push(Uint8Array.from(id));
    }
    assert.notDeepEqual(ids[0], ids[1]);
    peer.receive(bytes(1), bytes(0, "without an id"), ids[0], bytes(1), bytes(0, "to the first"));
    peer.receive(ids[1], bytes(1), bytes(0, "to the second"));
    assert.deepEqual(await socket.receive(), [bytes("to the second")]);
});

test("REP answers who has asked, with the envelope", async () => {
    const { socket, peers: [a, b] } = make("Rep", { peers: 2 });
    await assert.rejects(socket.send("x"), { code: "EFSM" });
    a.receive(bytes(0, "no delimiter"), bytes(0), bytes(1, "hop"), bytes(1), bytes(1, "ques"), bytes(0, "tion"));
    b.receive(bytes(1), bytes(0, "other question"));
    assert.deepEqual(await socket.receive(), [bytes("ques"), bytes("tion")]);
    await assert.rejects(socket.receive(), { code: "EFSM" });
    await socket.send("answer");
    assert.deepEqual(a.take(), [[...bytes(1, "hop")], [1], [...bytes(0, "answer")]]);
    assert.deepEqual(await socket.receive(), [bytes("other question")]);
    await socket.send("other answer");
    assert.deepEqual(b.take(), [[1], [...bytes(0, "other answer")]]);
});

test("REP drops the answer to somebody who has left", async () => {
    const { socket, peers: [peer] } = make("Rep");
    peer.receive(bytes(1), bytes(0, "question"));
    await socket.receive();
    peer.lose();
    await socket.send("answer");
    assert.equal(await outcome(socket.receive()), "waits");
});

test("the second receiver of a REP gets its request after the reply to the first", async () => {
    const { socket, peers: [peer] } = make("Rep");
    const [first, second] = [socket.receive(), socket.receive()];
    peer.receive(bytes(1), bytes(0, "1"), bytes(1), bytes(0, "2"));
    assert.deepEqual(await first, [bytes("1")]);
    assert.equal(await outcome(second), "waits");
    await socket.send("x");
    assert.deepEqual(await second, [bytes("2")]);
});

// ---- ROUTER -------------------------------------------------------------------------------------

test("ROUTER knows its peers by what they call themselves, or gives them names", async () => {
    const { socket, WebSocket, peers: [a, b] } = make("Router", { peers: 2, ids: ["alice"] });
    a.receive(bytes(1), bytes(0, "x"));
    assert.deepEqual(await socket.receive(), [bytes("alice"), bytes(), bytes("x")]);
    b.receive(bytes(0, "y"));
    const [name] = await socket.receive();
    assert.equal(name.length, 5);
    assert.equal(name[0], 0);
    await socket.send([name, "to b"]);
    await socket.send(["alice", "to", "a"]);
    assert.deepEqual(texts(b), ["to b"]);
    assert.deepEqual(a.take(), [[...bytes(1, "to")], [...bytes(0, "a")]]);
    b.lose();
    await until(() => WebSocket.made.length === 3);
    WebSocket.last.shake();
    WebSocket.last.receive(bytes(0, "again"));
    assert.deepEqual((await socket.receive())[0], name);
});

test("ROUTER drops what nobody can be sent", async () => {
    const { socket, peers: [peer] } = make("Router", { ids: ["a"], sendHighWaterMark: 1 });
    await socket.send(["nobody", "x"]);
    await assert.rejects(socket.send("a"), { code: "EINVAL" });
    peer.bufferedAmount = 1 << 20;
    await socket.send(["a", "queued"]);
    await socket.send(["a", "dropped"]);
    peer.drain();
    await until(() => peer.sent.length);
    assert.deepEqual(texts(peer), ["queued"]);
});

test("a mandatory ROUTER tells, or waits", async () => {
    const { socket, peers: [peer] } = make("Router", { ids: ["a"], sendHighWaterMark: 1, mandatory: true });
    await assert.rejects(socket.send(["nobody", "x"]), { code: "EHOSTUNREACH" });
    peer.bufferedAmount = 1 << 20;
    await socket.send(["a", "1"]);
    const second = socket.send(["a", "2"]);
    assert.equal(await outcome(second), "waits");
    peer.drain();
    await second;
    peer.bufferedAmount = 1 << 20;
    await socket.send(["a", "3"]);
    const third = assert.rejects(socket.send(["a", "4"]), { code: "EHOSTUNREACH" });
    peer.lose();
    await third;
});

test("ROUTER keeps out a second peer of the same name, until the first has left", async () => {
    const { socket, WebSocket, peers: [a, b] } = make("Router", { peers: 2, ids: ["same", "same"] });
    const reasons = [];
    socket.addEventListener("disconnect", ({ reason }) => reasons.push(reason));
    assert.equal(a.readyState, 1);
    assert.equal(b.readyState, 2);
    await until(() => WebSocket.made.length === 3);
    WebSocket.last.shake("", "same");
    assert.match(reasons[0], /in use/);
    a.lose();
    await until(() => WebSocket.made.filter(({ url }) => url === b.url).length === 3);
    const again = WebSocket.made.filter(({ url }) => url === b.url).at(-1);
    again.shake("", "same");
    assert.equal(again.readyState, 1);
    await socket.send(["same", "x"]);
    assert.deepEqual(texts(again), ["x"]);
});

// ---- PUB, SUB, XPUB, XSUB -----------------------------------------------------------------------

test("SUB tells its subscriptions to each publisher, now and after a loss", async () => {
    const { socket, WebSocket } = make("Sub", { peers: 0 });
    socket.subscribe("a", bytes(255));
    socket.connect("ws://peer:1/");
    WebSocket.last.open();
    WebSocket.last.take();
    WebSocket.last.receive(bytes(0));
    assert.deepEqual(WebSocket.last.take(), [[...bytes(0, 1, "a")], [0, 1, 255]]);
    socket.subscribe("b", "b");
    socket.unsubscribe("b", "a", "never");
    assert.deepEqual(WebSocket.last.take(), [[...bytes(0, 1, "b")], [...bytes(0, 1, "b")], [...bytes(0, 0, "a")]]);
    WebSocket.last.lose();
    await until(() => WebSocket.made.length === 2);
    WebSocket.last.open();
    WebSocket.last.take();
    WebSocket.last.receive(bytes(0));
    assert.deepEqual(WebSocket.last.take(), [[0, 1, 255], [...bytes(0, 1, "b")]]);
});

test("SUB filters once more", async () => {
    const { socket, peers: [peer] } = make("Sub");
    socket.subscribe("ab");
    peer.receive(bytes(1, "a"), bytes(0, "no"), bytes(1, "abc"), bytes(0, "yes"));
    assert.deepEqual(await socket.receive(), [bytes("abc"), bytes("yes")]);
});

test("SUB and XSUB drop what comes above the high-water mark, others do not", async () => {
    for (const [kind, kept] of [["Sub", 3], ["XSub", 3], ["Pull", 10], ["Dealer", 10]]) {
        const { socket, peers: [peer] } = make(kind, { receiveHighWaterMark: 3 });
        socket.subscribe?.("");
        for (let i = 0; i < 10; ++i) {
            peer.receive(bytes(0, `${i}`));
        }
        let count = 0;
        for (; await outcome(socket.receive()) === "done"; ++count);
        assert.equal(count, kept, kind);
    }
});

test("a high-water mark of 0 is none", async () => {
    const { socket, peers: [peer] } = make("Sub", { receiveHighWaterMark: 0 });
    socket.subscribe("");
    for (let i = 0; i < 5000; ++i) {
        peer.receive(bytes(0, `${i}`));
    }
    for (let i = 0; i < 5000; ++i) {
        assert.equal(zmq.text((await socket.receive())[0]), `${i}`);
    }
});

test("PUB sends to those who have subscribed, and drops for those without room", async () => {
    const { socket, peers: [a, b] } = make("Pub", { peers: 2, sendHighWaterMark: 1 });
    await socket.send("nobody");
    a.receive(bytes(0, 1, "x"), bytes(0, 1, "x"));
    b.receive(bytes(2, 9, "SUBSCRIBE", "xy"), bytes(0, "no subscription"), bytes(0));
    await socket.send(["xyz", "1"]);
    await socket.send("x");
    assert.deepEqual([a, b].map(texts), [["xyz", "1", "x"], ["xyz", "1"]]);
    a.receive(bytes(0, 0, "x")); // a peer holds a topic once
    b.receive(bytes(2, 6, "CANCEL", "xy"));
    await socket.send("xyz");
    assert.deepEqual([a, b].map(texts), [[], []]);
    a.receive(bytes(0, 1));
    a.bufferedAmount = 1 << 20;
    await socket.send("queued");
    await socket.send("dropped");
    a.drain();
    await until(() => a.sent.length);
    assert.deepEqual(texts(a), ["queued"]);
});

test("PUB forgets the subscriptions and the queue of a lost peer", async () => {
    const { socket, WebSocket, peers: [peer] } = make("Pub");
    peer.receive(bytes(0, 1));
    peer.bufferedAmount = 1 << 20;
    await socket.send("queued");
    peer.lose();
    await socket.send("missed");
    await until(() => WebSocket.made.length === 2);
    WebSocket.last.shake();
    await socket.send("missed");
    assert.deepEqual(texts(WebSocket.last), []);
    WebSocket.last.receive(bytes(0, 1));
    await socket.send("seen");
    assert.deepEqual(texts(WebSocket.last), ["seen"]);
});

test("XPUB receives the first subscription and the last cancellation of a topic", async () => {
    const { socket, peers: [a, b] } = make("XPub", { peers: 2 });
    a.receive(bytes(0, 1, "x"));
    b.receive(bytes(0, 1, "x"), bytes(1, 1, "y"), bytes(1, "to the"), bytes(0, "publisher"));
    a.receive(bytes(0, 0, "x"), bytes(0, 0, "never"));
    b.lose();
    const received = [];
    while (received.length < 5) {
        received.push((await socket.receive()).map((part) => zmq.text(part)));
    }
    assert.deepEqual(received, [["\x01x"], ["\x01y"], ["to the", "publisher"], ["\0x"], ["\0y"]]);
    assert.equal(await outcome(socket.receive()), "waits");
});

test("XSUB subscribes by messages, and sends others to all", async () => {
    const { socket, WebSocket, peers: [a] } = make("XSub");
    await socket.send(bytes(1, "x"));
    await socket.send(["to", "all"]);
    await socket.send(bytes(0, "never"));
    assert.deepEqual(a.take(), [[...bytes(0, 1, "x")], [...bytes(1, "to")], [...bytes(0, "all")]]);
    a.receive(bytes(0, "unfiltered"));
    assert.deepEqual(await socket.receive(), [bytes("unfiltered")]);
    socket.connect("ws://later:1/");
    WebSocket.last.open();
    WebSocket.last.take();
    WebSocket.last.receive(bytes(0));
    assert.deepEqual(WebSocket.last.take(), [[...bytes(0, 1, "x")]]);
    await socket.send(bytes(0, "x"));
    assert.deepEqual(a.take(), [[...bytes(0, 0, "x")]]);
});
