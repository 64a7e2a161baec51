// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { Queue } from "../src/queue.js";
import { Topics } from "../src/topics.js";
import { encodeMessage, encodeReady, parseCommand, parseProperties, text, toBytes } from "../src/wire.js";
import { bytes } from "./fake_websocket.js";

test("a message is a frame for each part, the flag 1 says that more follow", () => {
    assert.deepEqual(encodeMessage("hello"), [bytes(0, "hello")]);
    assert.deepEqual(encodeMessage(["a", "", "bc"]), [bytes(1, "a"), bytes(1), bytes(0, "bc")]);
});

test("a message without parts is refused", () => {
    assert.throws(() => encodeMessage([]), { name: "ZmqError", code: "EINVAL" });
});

test("parts are texts, buffers and views", () => {
    const buffer = bytes("abcdef").buffer;
    assert.deepEqual(toBytes("é"), bytes(0xc3, 0xa9));
    assert.deepEqual(toBytes(buffer), bytes("abcdef"));
    assert.deepEqual(toBytes(new DataView(buffer, 2, 3)), bytes("cde"));
    assert.deepEqual(toBytes(new Uint16Array(buffer, 2, 1)), bytes("cd"));
    for (const wrong of [1, null, undefined, {}, [1]]) {
        assert.throws(() => toBytes(wrong), TypeError);
    }
});

test("texts stay what they are", () => {
    for (const each of ["", "plain", "é€😀", "\uFEFFmark", "\0"]) {
        assert.equal(text(toBytes(each)), each);
    }
});

test("a frame is a copy, so that the application may change what it has sent", () => {
    const part = bytes("abc");
    const [frame] = encodeMessage(part);
    part[0] = 0;
    assert.deepEqual(frame, bytes(0, "abc"));
});

test("READY is what the specification says", () => {
    const frame = encodeReady({ "Socket-Type": bytes("DEALER"), Identity: bytes() });
    assert.equal(Buffer.from(frame).toString("hex"), "02" +
        "055245414459" + "0b536f636b65742d54797065" + "000000064445414c4552" + "084964656e74697479" + "00000000");
    const { name, data } = parseCommand(frame.subarray(1));
    assert.equal(name, "READY");
    assert.deepEqual([...parseProperties(data)], [["socket-type", bytes("DEALER")], ["identity", bytes()]]);
});

test("the names of properties may be written in any case, and the first one counts", () => {
    const data = bytes(3, "X-A", 0, 0, 0, 1, "1", 3, "x-a", 0, 0, 0, 1, "2");
    assert.deepEqual([...parseProperties(data)], [["x-a", bytes("1")]]);
});

test("broken commands are refused", () => {
    for (const body of [bytes(), bytes(0), bytes(5, "READ")]) {
        assert.throws(() => parseCommand(body), { code: "EPROTO" });
    }
    const good = bytes(1, "a", 0, 0, 0, 2, "bc");
    for (let length = 1; length < good.length; ++length) {
        assert.throws(() => parseProperties(good.subarray(0, length)), { code: "EPROTO" }, `${length} bytes`);
    }
    assert.throws(() => parseProperties(bytes(...good, 0)), { code: "EPROTO" });
    assert.throws(() => parseProperties(bytes(1, "a", 255, 255, 255, 255, "b")), { code: "EPROTO" });
});

test("topics match by their beginning and are counted", () => {
    const topics = new Topics();
    assert.equal(topics.matches(bytes("abc")), false);
    assert.equal(topics.add(bytes("ab")), 1);
    assert.equal(topics.add(bytes("ab")), 2);
    assert.equal(topics.add(bytes("abcd")), 1);
    assert.equal(topics.add(bytes(0, 255)), 1);
    assert.equal(topics.matches(bytes("a")), false);
    assert.equal(topics.matches(bytes("ab")), true);
    assert.equal(topics.matches(bytes("abx")), true);
    assert.equal(topics.matches(bytes(0, 255, 1)), true);
    assert.equal(topics.remove(bytes("ab")), 1);
    assert.equal(topics.remove(bytes("ab")), 0);
    assert.equal(topics.remove(bytes("ab")), -1);
    assert.equal(topics.matches(bytes("abx")), false);
    assert.equal(topics.matches(bytes("abcde")), true);
    assert.deepEqual([...topics], [bytes("abcd"), bytes(0, 255)]);
    topics.add(bytes());
    assert.equal(topics.matches(bytes()), true);
    assert.equal(topics.matches(bytes("anything")), true);
});

test("a queue keeps the order, whatever is pushed and taken between", () => {
    const queue = new Queue();
    let pushed = 0;
    let taken = 0;
    for (let round = 0; round < 200; ++round) {
        for (let i = 0; i < 37 + (round % 50); ++i) {
            queue.push(pushed++);
        }
        for (let i = 0; i < 40 && queue.size; ++i) {
            assert.equal(queue.shift(), taken++);
        }
        assert.equal(queue.size, pushed - taken);
    }
    while (queue.size) {
        assert.equal(queue.shift(), taken++);
    }
    assert.equal(taken, pushed);
});
