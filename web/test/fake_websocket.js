// SPDX-License-Identifier: Apache-2.0
//
// A WebSocket without a network: the test plays the server.

const encoder = new TextEncoder();

/** The bytes of parts: texts and numbers. */
export const bytes = (...parts) => Uint8Array.from(parts.flatMap((part) =>
    typeof part === "string" ? [...encoder.encode(part)] : [part]));

/** What the library sends as READY, written out by hand. */
export const ready = (type, id) => bytes(2, 5, "READY", 11, "Socket-Type", 0, 0, 0, type.length, type,
    ...(id === undefined ? [] : [8, "Identity", 0, 0, 0, id.length, id]));

/** Lets everything happen that waits for nothing but its turn. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Waits until a condition holds; the limit of the test runner is the deadline. */
export async function until(condition) {
    while (!condition()) {
        await new Promise((resolve) => setTimeout(resolve, 1));
    }
}

/** A class of WebSockets, with a list of those that were made. It accepts the given names of subprotocols only. */
export function fakeWebSocket({ accepts = () => true } = {}) {
    return class FakeWebSocket {
        static made = [];
        static get last() { return this.made.at(-1); }

        readyState = 0;
        bufferedAmount = 0;
        protocol = "";
        sent = [];
        stuck = false; // whether what is sent stays in the buffer

        constructor(url, protocols) {
            if (!protocols.every(accepts)) {
                throw new DOMException("no such subprotocol", "SyntaxError");
            }
            this.url = url;
            this.protocols = protocols;
            this.constructor.made.push(this);
        }

        // What the client does.
        send(data) {
            if (this.readyState === 0) {
                throw new DOMException("still connecting", "InvalidStateError");
            }
            this.sent.push(data);
            if (this.stuck) {
                this.bufferedAmount += data.byteLength;
            }
        }

        close(code) {
            if (this.readyState < 2) {
                this.readyState = 2;
                this.closedWith = code;
            }
        }

        // What the server does.
        open(protocol = "ZWS2.0") {
            this.readyState = 1;
            this.protocol = protocol;
            this.onopen?.({});
        }

        receive(...frames) {
            for (const each of frames) {
                const data = typeof each === "string" ? each : each.slice().buffer;
                this.onmessage?.({ data });
            }
        }

        /** Opens it, introduces a peer, and forgets how the client has introduced itself. */
        shake(type, id = "") {
            this.open(type ? "ZWS2.0/NULL" : "ZWS2.0");
            this.sent.length = 0;
            this.receive(type ? ready(type, id) : bytes(0, id));
        }

        lose(code = 1006, reason = "") {
            this.readyState = 3;
            this.onerror?.({});
            this.onclose?.({ code, reason, wasClean: code !== 1006 });
        }

        drain() {
            this.stuck = false;
            this.bufferedAmount = 0;
        }

        /** What was sent since, as arrays. */
        take() {
            return this.sent.splice(0).map((each) => [...each]);
        }
    };
}
