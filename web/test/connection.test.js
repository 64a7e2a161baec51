// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import * as zmq from "../index.js";
import { bytes, fakeWebSocket, ready, settled, until } from "./fake_websocket.js";

const URL_A = "ws://a.example:1/";
const URL_B = "ws://b.example:2/";

const made = [];
afterEach(() => Promise.all(made.splice(0).map((socket) => socket.close({ linger: 0 }))));

function make(kind, options = {}, fake = {}) {
    const WebSocket = fakeWebSocket(fake);
    const socket = new zmq[kind]({ WebSocket, reconnectInterval: 1, ...options });
    made.push(socket);
    const events = [];
    for (const type of ["connect", "disconnect", "error"]) {
        socket.addEventListener(type, (event) => events.push(event));
    }
    return { socket, WebSocket, events };
}

test("both subprotocols are offered, or the one that the constructor accepts", () => {
    const all = make("Pull");
    all.socket.connect(URL_A);
    assert.deepEqual(all.WebSocket.last.protocols, ["ZWS2.0/NULL", "ZWS2.0"]);
    const tokens = make("Pull", {}, { accepts: (name) => !name.includes("/") });
    tokens.socket.connect(URL_A);
    assert.deepEqual(tokens.WebSocket.last.protocols, ["ZWS2.0"]);
});

test("what the constructor of WebSocket throws, connect throws", () => {
    class Refusing {
        constructor() { throw new DOMException("mixed content", "SecurityError"); }
    }
    const socket = new zmq.Pull({ WebSocket: Refusing });
    assert.throws(() => socket.connect(URL_A), { name: "SecurityError" });
});

test("addresses are checked", () => {
    const { socket } = make("Pull");
    assert.throws(() => socket.connect("nonsense"), TypeError);
    assert.throws(() => socket.connect("tcp://a.example:1"), { code: "EPROTONOSUPPORT" });
    assert.throws(() => socket.connect("ws://a.example:1/#x"), { code: "EINVAL" });
});

test("options are checked", () => {
    const WebSocket = fakeWebSocket();
    for (const options of [
        { linger: -1 }, { sendHighWaterMark: "10" }, { maxWaitingBytes: -1 }, { maxMessageParts: "1" }, { reconnectInterval: NaN }, { routingId: "" },
        { routingId: "\0a" }, { routingId: "a".repeat(256) },
    ]) {
        assert.throws(() => new zmq.Dealer({ WebSocket, ...options }), { code: "EINVAL" }, JSON.stringify(options));
    }
    assert.throws(() => new zmq.Pull({ WebSocket, routingId: "a" }), { code: "EINVAL" });
    assert.throws(() => new zmq.Pull({ WebSocket: 1 }), { code: "ENOTSUP" });
    made.push(new zmq.Dealer({ WebSocket, routingId: "a".repeat(255), linger: undefined }));
});

test("with ZWS2.0 each side begins with its routing id", async () => {
    const { socket, WebSocket, events } = make("Dealer", { routingId: "me" });
    socket.connect(URL_A);
    WebSocket.last.open("ZWS2.0");
    assert.deepEqual(WebSocket.last.take(), [[...bytes(0, "me")]]);
    WebSocket.last.receive(bytes(0, "you"), bytes(0, "hello"));
    assert.deepEqual(await socket.receive(), [bytes("hello")]);
    assert.equal(events[0].type, "connect");
    assert.equal(events[0].url, URL_A);
    assert.equal(events[0].peerType, "");
    assert.deepEqual(events[0].routingId, bytes("you"));
});

test("with ZWS2.0/NULL each side begins with READY", async () => {
    const { socket, WebSocket, events } = make("Dealer", { routingId: "me" });
    socket.connect(URL_A);
    WebSocket.last.open("ZWS2.0/NULL");
    assert.deepEqual(WebSocket.last.take(), [[...ready("DEALER", "me")]]);
    WebSocket.last.receive(ready("ROUTER", "you"), bytes(0, "hello"));
    assert.deepEqual(await socket.receive(), [bytes("hello")]);
    assert.equal(events[0].peerType, "ROUTER");
    assert.deepEqual(events[0].routingId, bytes("you"));
});

test("types without a routing id announce none", () => {
    const { socket, WebSocket } = make("Push");
    socket.connect(URL_A);
    WebSocket.last.open("ZWS2.0/NULL");
    assert.deepEqual(WebSocket.last.take(), [[...ready("PUSH")]]);
});

const accepted = {
    Pub: ["SUB", "XSUB"], Sub: ["PUB", "XPUB"], XPub: ["SUB", "XSUB"], XSub: ["PUB", "XPUB"], Req: ["REP", "ROUTER"],
    Rep: ["REQ", "DEALER"], Dealer: ["REP", "DEALER", "ROUTER"], Router: ["REQ", "DEALER", "ROUTER"],
    Push: ["PULL"], Pull: ["PUSH"],
};
const allTypes = [...Object.keys(accepted).map((kind) => kind.toUpperCase()), "PAIR", "STREAM", ""];

for (const [kind, peers] of Object.entries(accepted)) {
    test(`${kind} accepts ${peers.join(" and ")} and nobody else`, () => {
        for (const type of allTypes) {
            const { socket, WebSocket, events } = make(kind);
            assert.equal(socket.type, kind.toUpperCase());
            socket.connect(URL_A);
            WebSocket.last.open("ZWS2.0/NULL");
            WebSocket.last.receive(ready(type, "x"));
            if (peers.includes(type)) {
                assert.equal(events[0].type, "connect");
            } else {
                assert.equal(events[0].type, "error", type);
                assert.equal(events[0].error.code, "EPROTOTYPE");
                assert.match(events[0].error.message, new RegExp(`type ${type || "unknown"};.*${peers[0]}`));
                assert.equal(WebSocket.last.readyState, 2);
            }
        }
    });
}

for (const [name, code, play] of [
    ["a server that agrees on no subprotocol", "EPROTONOSUPPORT", (peer) => peer.open("")],
    ["a peer that refuses", "EACCES", (peer) => (peer.open("ZWS2.0/NULL"), peer.receive(bytes(2, 5, "ERROR", 3, "400")))],
    ["a message before READY", "EPROTO", (peer) => (peer.open("ZWS2.0/NULL"), peer.receive(bytes(0, "x")))],
    ["another command than READY", "EPROTO", (peer) => (peer.open("ZWS2.0/NULL"), peer.receive(bytes(2, 4, "PING")))],
    ["a text", "EPROTO", (peer) => (peer.shake(), peer.receive("text"))],
    ["no byte of flags", "EPROTO", (peer) => (peer.shake(), peer.receive(bytes()))],
    ["the close code 1008", "EPROTO", (peer) => (peer.shake(), peer.lose(1008, "no"))],
]) {
    test(`${name} ends the attempts, and what waits is told ${code}`, async () => {
        const { socket, WebSocket, events } = make("Pull");
        socket.connect(URL_A);
        const waiting = socket.receive();
        play(WebSocket.last);
        await assert.rejects(waiting, { name: "ZmqError", code });
        await assert.rejects(socket.receive(), { code });
        await assert.rejects((async () => { for await (const message of socket) assert.fail(message); })(), { code });
        assert.equal(events.at(-1).type, "error");
        assert.equal(events.at(-1).error.code, code);
        assert.equal(WebSocket.made.length, 1);
        socket.connect(URL_A); // begins anew
        WebSocket.last.shake();
        WebSocket.last.receive(bytes(0, "hello"));
        assert.deepEqual(await socket.receive(), [bytes("hello")]);
    });
}

test("while another endpoint is left, an error is an event only", async () => {
    const { socket, WebSocket, events } = make("Pull");
    socket.connect(URL_A);
    socket.connect(URL_B);
    const [a, b] = WebSocket.made;
    const waiting = socket.receive();
    a.open("");
    b.shake("PUSH");
    b.receive(bytes(0, "hello"));
    assert.deepEqual(await waiting, [bytes("hello")]);
    assert.deepEqual(events.map(({ type, url }) => [type, url]), [["error", URL_A], ["connect", URL_B]]);
});

test("what was received before an error can still be received", async () => {
    const { socket, WebSocket } = make("Pull");
    socket.connect(URL_A);
    WebSocket.last.shake();
    WebSocket.last.receive(bytes(0, "last"));
    WebSocket.last.lose(1002);
    assert.deepEqual(await socket.receive(), [bytes("last")]);
    await assert.rejects(socket.receive(), { code: "EPROTO" });
});

test("connecting twice to an address is connecting once", () => {
    const { socket, WebSocket } = make("Pull");
    socket.connect("ws://a.example:1");
    socket.connect(URL_A);
    assert.equal(WebSocket.made.length, 1);
});

test("the times between attempts grow up to the limit, and begin anew after a handshake", async () => {
    const { socket, WebSocket, events } = make("Pull", { reconnectInterval: 2, reconnectIntervalMax: 16 });
    socket.connect(URL_A);
    const delay = () => events.at(-1).retryDelay;
    for (const longest of [2, 4, 8, 16, 16, 16]) {
        const made = WebSocket.made.length;
        WebSocket.last.lose();
        assert.equal(events.at(-1).type, "disconnect");
        assert.ok(delay() >= longest / 2 && delay() <= longest, `${delay()} of ${longest} ms`);
        await until(() => WebSocket.made.length > made);
    }
    WebSocket.last.shake();
    WebSocket.last.lose(1001, "going away");
    assert.ok(delay() <= 2);
    assert.equal(events.at(-1).code, 1001);
    assert.equal(events.at(-1).reason, "going away");
});

test("a handshake that takes too long is an attempt that failed", async () => {
    const { socket, WebSocket, events } = make("Pull", { handshakeTimeout: 5 });
    socket.connect(URL_A);
    WebSocket.last.open("ZWS2.0/NULL");
    await until(() => WebSocket.made.length === 2);
    assert.equal(WebSocket.made[0].readyState, 2);
    assert.match(events[0].reason, /too long/);
    WebSocket.last.shake();
    await new Promise((resolve) => setTimeout(resolve, 20)); // longer than the limit, which counts no more
    assert.equal(WebSocket.made.length, 2);
});

test("a message of which a part is missing is dropped with its connection", async () => {
    const { socket, WebSocket } = make("Pull");
    socket.connect(URL_A);
    WebSocket.last.shake();
    WebSocket.last.receive(bytes(1, "half"));
    WebSocket.last.lose();
    await until(() => WebSocket.made.length === 2);
    WebSocket.last.shake();
    WebSocket.last.receive(bytes(1, "a"), bytes(0, "b"));
    assert.deepEqual(await socket.receive(), [bytes("a"), bytes("b")]);
});

test("commands after the handshake are no messages", async () => {
    const { socket, WebSocket } = make("Pull");
    socket.connect(URL_A);
    WebSocket.last.shake();
    WebSocket.last.receive(bytes(2, 4, "PING", 0, 0), bytes(0, "hello"));
    assert.deepEqual(await socket.receive(), [bytes("hello")]);
});

test("a message is a WebSocket's memory, not a copy, and no part shares bytes with another", async () => {
    const { socket, WebSocket } = make("Pull");
    socket.connect(URL_A);
    WebSocket.last.shake();
    WebSocket.last.receive(bytes(1, "ab"), bytes(0, "cd"));
    const [first, second] = await socket.receive();
    first.fill(0);
    assert.equal(zmq.text(second), "cd");
});

test("disconnect ends one connection and keeps the others", async () => {
    const { socket, WebSocket } = make("Push");
    socket.connect(URL_A);
    socket.connect(URL_B);
    const [a, b] = WebSocket.made;
    a.shake();
    b.shake();
    assert.equal(await socket.disconnect(URL_A), true);
    assert.equal(a.readyState, 2);
    await socket.send("1");
    await socket.send("2");
    assert.equal(a.sent.length, 0);
    assert.equal(b.sent.length, 2);
    await assert.rejects(socket.disconnect(URL_A), { code: "ENOENT" });
});

test("disconnect sends what waits first, and nothing new", async () => {
    const { socket, WebSocket } = make("Push", { linger: 5000 });
    socket.connect(URL_A);
    const [a] = WebSocket.made;
    a.shake();
    a.stuck = true;
    await socket.send("x".repeat(1 << 20));
    await socket.send("queued");
    const ended = socket.disconnect(URL_A);
    const late = socket.send("late");
    await settled();
    assert.equal(a.sent.length, 1);
    a.drain();
    await until(() => a.readyState === 2);
    assert.equal(zmq.text(a.sent[1].subarray(1)), "queued");
    assert.equal(a.sent.length, 2);
    a.lose(1000);
    assert.equal(await ended, true);
    socket.connect(URL_B);
    WebSocket.last.shake();
    await late;
    assert.equal(zmq.text(WebSocket.last.sent[0].subarray(1)), "late");
});

test("a message that waits for its first peer is sent before close is done", async () => {
    const { socket, WebSocket } = make("Push");
    socket.connect(URL_A);
    const sent = socket.send("early");
    const closed = socket.close();
    await settled();
    WebSocket.last.shake();
    await sent;
    await until(() => WebSocket.last.readyState === 2);
    assert.deepEqual(WebSocket.last.take(), [[...bytes(0, "early")]]);
    WebSocket.last.lose(1000);
    assert.equal(await closed, true);
});

test("close waits until the WebSocket has sent everything", async () => {
    const { socket, WebSocket } = make("Push");
    socket.connect(URL_A);
    WebSocket.last.shake();
    WebSocket.last.stuck = true;
    await socket.send("slow");
    let done = false;
    const closed = socket.close().then((all) => { done = true; return all; });
    await new Promise((resolve) => setTimeout(resolve, 20)); // several looks
    assert.equal(WebSocket.last.readyState, 1);
    assert.equal(done, false);
    WebSocket.last.drain();
    await until(() => WebSocket.last.readyState === 2);
    assert.equal(WebSocket.last.closedWith, 1000);
    WebSocket.last.lose(1000);
    assert.equal(await closed, true);
});

test("close tells when not everything was sent within the time", async () => {
    for (const linger of [0, 10]) {
        const { socket, WebSocket } = make("Push", { linger: 60_000 });
        socket.connect(URL_A);
        WebSocket.last.shake();
        WebSocket.last.stuck = true;
        await socket.send("slow");
        assert.equal(await socket.close({ linger }), false);
        assert.equal(WebSocket.last.readyState, 2);
    }
});

test("close tells when the connection was lost before everything was sent", async () => {
    const { socket, WebSocket } = make("Push");
    socket.connect(URL_A);
    WebSocket.last.shake();
    WebSocket.last.stuck = true;
    await socket.send("slow");
    const closed = socket.close();
    WebSocket.last.lose();
    assert.equal(await closed, false);
});

test("what waits when the socket is closed is rejected, and loops end", async () => {
    const { socket } = make("Dealer");
    socket.connect(URL_A);
    const received = assert.rejects(socket.receive(), { code: "ENOTSOCK" });
    const sent = assert.rejects(socket.send("x"), { code: "ENOTSOCK" });
    const loop = (async () => { for await (const message of socket) assert.fail(message); })();
    assert.equal(socket.closed, false);
    assert.equal(await socket.close({ linger: 0 }), false);
    assert.equal(socket.closed, true);
    await Promise.all([received, sent, loop]);
    await assert.rejects(socket.send("x"), { code: "ENOTSOCK" });
    await assert.rejects(socket.receive(), { code: "ENOTSOCK" });
    assert.throws(() => socket.connect(URL_A), { code: "ENOTSOCK" });
    assert.equal(await socket.close(), false); // the same answer as before
});

test("an AbortSignal closes the socket", async () => {
    const controller = new AbortController();
    const { socket, WebSocket } = make("Pull", { signal: controller.signal });
    socket.connect(URL_A);
    WebSocket.last.shake();
    const loop = (async () => { for await (const message of socket) assert.fail(message); })();
    controller.abort();
    await loop;
    assert.equal(socket.closed, true);
    assert.equal(WebSocket.last.readyState, 2);
    assert.equal(make("Pull", { signal: controller.signal }).socket.closed, true);
});

test("an AbortSignal ends one receive or one send", async () => {
    const { socket, WebSocket } = make("Dealer");
    socket.connect(URL_A);
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("enough");
    const aborted = [socket.receive({ signal }), socket.send("aborted", { signal })].map((each) =>
        assert.rejects(each, reason));
    const [received, sent] = [socket.receive(), socket.send("kept")];
    controller.abort(reason);
    await Promise.all(aborted);
    await assert.rejects(socket.send("x", { signal }), reason);
    WebSocket.last.shake();
    WebSocket.last.receive(bytes(0, "hello"));
    assert.deepEqual(await received, [bytes("hello")]);
    await sent;
    assert.deepEqual(WebSocket.last.take(), [[...bytes(0, "kept")]]);
});

test("a socket is disposed of by closing it", { skip: !Symbol.asyncDispose && "not in this version" }, async () => {
    const { socket } = make("Pull");
    await socket[Symbol.asyncDispose]();
    assert.equal(socket.closed, true);
});
