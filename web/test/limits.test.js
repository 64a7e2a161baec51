// SPDX-License-Identifier: Apache-2.0
//
// What a server that means harm may send.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import * as zmq from "../index.js";
import { keyOf } from "../src/topics.js";
import { bytes, fakeWebSocket } from "./fake_websocket.js";

const URL_A = "ws://a.example:1/";
const URL_B = "ws://b.example:2/";

const made = [];
afterEach(() => Promise.all(made.splice(0).map((socket) => socket.close({ linger: 0 }))));

/** A socket with two peers of a type, and the errors of its connections. */
function connected(kind, peer, options = {}) {
    const WebSocket = fakeWebSocket();
    const socket = new zmq[kind]({ WebSocket, ...options });
    made.push(socket);
    const errors = [];
    socket.addEventListener("error", ({ url, error }) => errors.push([url, error.code]));
    socket.connect(URL_A);
    socket.connect(URL_B);
    const [bad, good] = WebSocket.made;
    good.shake(peer);
    return { socket, bad, good, errors };
}

const many = (size) => new Uint8Array(size).fill(65);

const concat = (...pieces) => Uint8Array.from(pieces.flatMap((piece) => [...piece]));

const property = (name, value) => concat(bytes(name.length, name),
    [value.length >>> 24, (value.length >>> 16) & 255, (value.length >>> 8) & 255, value.length & 255], value);

const introduction = (...properties) => concat(bytes(2, 5, "READY"), ...properties);

for (const [name, property_, code] of [
    ["a routing id of 256 bytes", property("Identity", many(256)), "EPROTO"],
    ["a command of more than 64 KiB", property("X-Much", many(65_536)), "EPROTO"],
    ["a long socket type", property("Socket-Type", many(60_000)), "EPROTOTYPE"],
]) {
    test(`${name} ends its connection only`, async () => {
        const { socket, bad, good, errors } = connected("Router", "DEALER");
        bad.open("ZWS2.0/NULL");
        bad.receive(introduction(property_, property("Socket-Type", bytes("DEALER"))));
        assert.deepEqual(errors, [[URL_A, code]]);
        good.receive(bytes(0, "x"));
        assert.deepEqual((await socket.receive())[1], bytes("x"));
    });
}

test("without READY a routing id has at most 255 bytes as well", () => {
    const { bad, errors } = connected("Router", "DEALER");
    bad.open("ZWS2.0");
    bad.receive(concat([0], many(256)));
    assert.deepEqual(errors, [[URL_A, "EPROTO"]]);
});

for (const [name, frame] of [
    ["command", (topic) => concat(bytes(2, 9, "SUBSCRIBE"), topic)],
    ["message", (topic) => concat([0, 1], topic)],
]) {
    test(`a topic in a ${name} has at most 255 bytes, or what the option says`, () => {
        const { socket, bad, good, errors } = connected("XPub", "SUB");
        bad.shake("SUB");
        bad.receive(frame(many(255)));
        assert.deepEqual(errors, []);
        bad.receive(frame(many(256)));
        assert.deepEqual(errors, [[URL_A, "EPROTO"]]);
        good.receive(frame(bytes("A")));
        socket.send("A1");
        assert.deepEqual(good.take(), [[...bytes(0, "A1")]]);

        const wide = connected("XPub", "SUB", { maxTopicBytes: 1000 });
        wide.bad.shake("SUB");
        wide.bad.receive(frame(many(1000)));
        assert.deepEqual(wide.errors, []);
        wide.bad.receive(frame(many(1001)));
        assert.deepEqual(wide.errors, [[URL_A, "EPROTO"]]);
    });
}

test("a huge subscription takes no time and no memory", () => {
    const { bad, errors } = connected("XPub", "SUB");
    bad.shake("SUB");
    const frame = new Uint8Array(32 << 20).fill(65);
    frame.set(bytes(2, 9, "SUBSCRIBE"));
    const before = process.resourceUsage().maxRSS;
    bad.onmessage({ data: frame.buffer });
    assert.deepEqual(errors, [[URL_A, "EPROTO"]]);
    assert.ok(process.resourceUsage().maxRSS - before < 200_000); // KiB
});

test("a peer subscribes to so many topics only", () => {
    const { bad, good, errors } = connected("Pub", "SUB", { maxSubscriptions: 2 });
    bad.shake("SUB");
    bad.receive(bytes(0, 1, "a"), bytes(0, 1, "b"), bytes(0, 1, "a"), bytes(0, 0, "b"), bytes(0, 1, "c"));
    good.receive(bytes(0, 1, "d"));
    assert.deepEqual(errors, []);
    bad.receive(bytes(0, 1, "e"));
    assert.deepEqual(errors, [[URL_A, "ENOBUFS"]]);
});

test("a message has so many parts only", async () => {
    const { socket, bad, good, errors } = connected("Pull", "PUSH", { maxMessageParts: 3 });
    bad.shake("PUSH");
    bad.receive(bytes(1, "a"), bytes(1, "b"), bytes(0, "c"));
    assert.equal((await socket.receive()).length, 3);
    bad.receive(bytes(1), bytes(1), bytes(1), bytes(1));
    assert.deepEqual(errors, [[URL_A, "ENOBUFS"]]);
    good.receive(bytes(0, "x"));
    assert.deepEqual(await socket.receive(), [bytes("x")]);
});

test("an unfinished message has so many bytes only", () => {
    const { bad, errors } = connected("Sub", "PUB", { maxWaitingBytes: 10_000 });
    bad.shake("PUB");
    for (let i = 0; i < 10 && !errors.length; ++i) {
        bad.receive(concat([1], many(1000)));
    }
    assert.deepEqual(errors, [[URL_A, "ENOBUFS"]]);
});

for (const [kind, peer, frames] of [
    ["Pull", "PUSH", [concat([0], many(1000))]],
    ["Dealer", "ROUTER", [bytes(0)]],
    ["Router", "DEALER", [bytes(0, "x")]],
    ["Rep", "REQ", [bytes(1), bytes(0, "x")]],
    ["XPub", "SUB", [bytes(0, 1, "x"), bytes(0, 0, "x")]],
]) {
    test(`${kind} gives up a peer that sends more than is received, and keeps what it has`, async () => {
        const { socket, bad, good, errors } = connected(kind, peer, { maxWaitingBytes: 20_000 });
        bad.shake(peer);
        let sent = 0;
        for (; sent < 100 && !errors.length; ++sent) {
            bad.receive(...frames);
        }
        assert.deepEqual(errors, [[URL_A, "ENOBUFS"]]);
        assert.ok(sent > 10);
        good.receive(...frames); // has its own limit
        assert.equal(errors.length, 1);
        assert.ok(await socket.receive());
    });
}

test("what is received makes room", async () => {
    const { socket, bad, errors } = connected("Pull", "PUSH", { maxWaitingBytes: 5000 });
    bad.shake("PUSH");
    for (let i = 0; i < 100; ++i) {
        bad.receive(concat([0], many(1000)), concat([0], many(1000)));
        await socket.receive();
        await socket.receive();
    }
    assert.deepEqual(errors, []);
});

test("what REQ forgets makes room", async () => {
    const { socket, bad, good, errors } = connected("Req", "REP", { maxWaitingBytes: 5000, relaxed: true });
    good.lose();
    bad.shake("REP");
    for (let i = 0; i < 20; ++i) {
        await socket.send("question");
        const id = bad.take()[0];
        bad.receive(Uint8Array.from(id), bytes(1), concat([0], many(2000)));
    }
    assert.deepEqual(errors, []);
    assert.equal((await socket.receive())[0].length, 2000);
});

test("SUB drops what is more than may wait, and stays connected", async () => {
    const { socket, bad, errors } = connected("Sub", "PUB", { maxWaitingBytes: 5000, receiveHighWaterMark: 0 });
    socket.subscribe("");
    bad.shake("PUB");
    for (let i = 0; i < 100; ++i) {
        bad.receive(concat([0], many(1000)));
    }
    assert.deepEqual(errors, []);
    for (let i = 0; i < 3; ++i) {
        await socket.receive();
    }
    const late = socket.receive();
    bad.receive(bytes(0, "late"));
    assert.deepEqual(await late, [bytes("late")]);
});

test("whatever goes wrong with a message, nothing is thrown out of the WebSocket's event", () => {
    const { bad, errors } = connected("Pull", "PUSH");
    bad.open("ZWS2.0/NULL");
    bad.send = () => { throw new DOMException("no longer", "InvalidStateError"); };
    bad.onopen({});
    assert.deepEqual(errors, [[URL_A, "EPROTO"]]);
});

test("bytes of any number become a key", () => {
    const long = many(100_000);
    long[99_999] = 255;
    const key = keyOf(long);
    assert.equal(key.length, 100_000);
    assert.equal(key.charCodeAt(99_999), 255);
});
