// SPDX-License-Identifier: Apache-2.0
//
// ZWS 2.0: each part of a message, and each command, is a binary WebSocket message of a byte of flags
// and a body. A `frame` here is such a message.
import { ZmqError } from "./errors.js";

export const MORE = 1; // further parts of the same message follow
export const COMMAND = 2;

/**
 * The subprotocols spoken here, the preferred one first. The constructors of browsers and of Node accept no name with
 * a slash, so that there only the second one is left: it tells nothing of the peer but its routing id.
 */
export const NULL_MECHANISM = "ZWS2.0/NULL";
export const NO_MECHANISM = "ZWS2.0";
export const SUBPROTOCOLS = [NULL_MECHANISM, NO_MECHANISM];

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true }); // true: a mark at the beginning is kept

/** The text of a part, which is UTF-8. */
export function text(part) {
    return decoder.decode(part);
}

/**
 * The bytes of a part that an application gives; not a copy, unless it is a string.
 * @param {string | ArrayBuffer | ArrayBufferView} part
 */
export function toBytes(part) {
    if (typeof part === "string") {
        return encoder.encode(part);
    }
    if (part instanceof Uint8Array) {
        return part;
    }
    if (ArrayBuffer.isView(part)) {
        return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    }
    if (part instanceof ArrayBuffer) {
        return new Uint8Array(part);
    }
    throw new TypeError("a part of a message is a string, an ArrayBuffer, or a view of one");
}

/** A frame with a copy of the given body. */
export function encodeFrame(flags, body) {
    const made = new Uint8Array(1 + body.length);
    made[0] = flags;
    made.set(body, 1);
    return made;
}

/** The frames of a message that an application gives. */
export function encodeMessage(message) {
    const parts = Array.isArray(message) ? message : [message];
    if (!parts.length) {
        throw new ZmqError("EINVAL", "a message has at least one part");
    }
    return parts.map((part, i) => encodeFrame(i + 1 < parts.length ? MORE : 0, toBytes(part)));
}

/** The body of a frame, in the frame's own memory. */
export function body(frame) {
    return frame.subarray(1);
}

/** The frame of a command READY. */
export function encodeReady(properties) {
    const name = encoder.encode("READY");
    const bytes = [COMMAND, name.length, ...name];
    for (const [key, value] of Object.entries(properties)) {
        const keyBytes = encoder.encode(key);
        bytes.push(keyBytes.length, ...keyBytes, ...uint32(value.length), ...value);
    }
    return Uint8Array.from(bytes);
}

export function uint32(value) {
    return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}

/** Name and data of a command. */
export function parseCommand(body) {
    const nameEnd = 1 + body[0];
    if (!(body[0] > 0 && nameEnd <= body.length)) {
        throw new ZmqError("EPROTO", "the peer has sent a command without a name");
    }
    return { name: text(body.subarray(1, nameEnd)), data: body.subarray(nameEnd) };
}

/**
 * The properties in the data of a READY, by their names in lower case.
 * @returns {Map<string, Uint8Array>}
 */
export function parseProperties(data) {
    const properties = new Map();
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    let at = 0;
    while (at < data.length) {
        const nameEnd = at + 1 + data[at];
        const valueBegin = nameEnd + 4;
        if (data[at] === 0 || valueBegin > data.length) {
            throw new ZmqError("EPROTO", "the peer has sent broken properties");
        }
        const valueEnd = valueBegin + view.getUint32(nameEnd);
        if (valueEnd > data.length) {
            throw new ZmqError("EPROTO", "the peer has sent broken properties");
        }
        const name = text(data.subarray(at + 1, nameEnd)).toLowerCase();
        if (!properties.has(name)) {
            properties.set(name, data.slice(valueBegin, valueEnd));
        }
        at = valueEnd;
    }
    return properties;
}

/** The reason in the data of a command ERROR. */
export function parseReason(data) {
    return text(data.subarray(1, 1 + (data[0] ?? 0)));
}
