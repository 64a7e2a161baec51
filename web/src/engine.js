// SPDX-License-Identifier: Apache-2.0
import { Connection } from "./connection.js";
import { ZmqError } from "./errors.js";
import { Queue } from "./queue.js";
import { encodeMessage, toBytes } from "./wire.js";

const closedError = () => new ZmqError("ENOTSOCK", "the socket is closed");

/** Resolves after the time, unless `stop` is called. */
function timeLimit(ms) {
    let timer;
    const over = new Promise((resolve) => {
        timer = ms < 2 ** 31 ? setTimeout(resolve, ms) : undefined;
    });
    return { over, stop: () => clearTimeout(timer) };
}

/** What all socket types share: the connections, and who waits to send or to receive. */
export class Engine {
    peers = [];

    #pattern;
    #settings;
    #notify;
    #connections = new Map(); // by url
    #senders = new Set(); // in the order in which they came, as the receivers
    #receivers = new Set();
    #messages = new Queue();
    #failure = null; // of the last endpoint, while there is none
    #closing = null;
    #onSent = null; // while closing: called when no sender waits any more
    #stopListening = () => {}; // to the signal

    /**
     * @param pattern what the socket type does with messages
     * @param options see `SocketOptions`
     * @param {(type: string, details: object) => void} notify is told the events of connections
     */
    constructor(pattern, options, notify) {
        this.#pattern = pattern;
        this.#settings = checked(options, pattern);
        this.#notify = notify;
        pattern.host = this;
        const { signal } = options;
        if (signal?.aborted) {
            this.#closing = Promise.resolve(true);
        } else {
            const onAbort = () => this.close({ linger: 0 });
            signal?.addEventListener("abort", onAbort);
            this.#stopListening = () => signal?.removeEventListener("abort", onAbort);
        }
    }

    get closed() {
        return this.#closing !== null;
    }

    connect(url) {
        this.#checkOpen();
        const { href } = checkedUrl(url);
        if (!this.#connections.has(href)) {
            this.#connections.set(href, new Connection(href, this.#settings, this));
            this.#failure = null;
        }
    }

    async disconnect(url) {
        const { href } = checkedUrl(url);
        const connection = this.#connections.get(href);
        if (!connection) {
            throw new ZmqError("ENOENT", `the socket is not connected to ${href}`);
        }
        this.#connections.delete(href);
        return this.#end(connection, this.#settings.linger);
    }

    async send(message, { signal } = {}) {
        this.#checkOpen();
        signal?.throwIfAborted();
        const frames = encodeMessage(message);
        this.#pattern.beforeSend(frames);
        if (this.#failure) {
            this.#pattern.sendAborted();
            throw this.#failure;
        }
        if (this.#senders.size || !this.#pattern.trySend(frames)) {
            await this.#wait(this.#senders, { frames }, signal, () => {
                this.#pattern.sendAborted();
                this.#flushSenders(); // the one behind may not have to wait
            });
        }
    }

    async receive({ signal } = {}) {
        this.#checkOpen();
        signal?.throwIfAborted();
        this.#pattern.beforeReceive();
        if (this.#messages.size && !this.#receivers.size && this.#pattern.mayTake()) {
            return this.#take();
        }
        if (this.#failure) {
            throw this.#failure;
        }
        return this.#wait(this.#receivers, {}, signal, () => {});
    }

    close({ linger = this.#settings.linger } = {}) {
        this.#closing ??= this.#close(linger);
        return this.#closing;
    }

    // ---- for the pattern ------------------------------------------------------------------------

    get waiting() {
        return this.#messages.size;
    }

    get settings() {
        return this.#settings;
    }

    deliver(connection, parts, context) {
        if (this.#pattern.dropsWhenFull && (!connection.mayWait(parts) ||
            this.#messages.size >= this.#settings.receiveHighWaterMark)) {
            return;
        }
        // What the library itself tells of a peer that has left is never too much: the peer is gone.
        if (connection.ready && !connection.mayWait(parts)) {
            throw new ZmqError("ENOBUFS", `${connection.url} sends more than is received`);
        }
        connection.waits(parts);
        this.#messages.push({ connection, parts, context });
        this.dispatch();
    }

    forget() {
        while (this.#messages.size) {
            this.#shift();
        }
    }

    dispatch() {
        while (this.#receivers.size && this.#messages.size && this.#pattern.mayTake()) {
            const [receiver] = this.#receivers;
            receiver.resolve(this.#take());
        }
    }

    fail(connection, error) {
        connection.fail(error);
    }

    // ---- for the connections --------------------------------------------------------------------

    admit(connection) {
        return this.#pattern.admit(connection);
    }

    attached(connection) {
        this.peers.push(connection);
        this.#pattern.attached(connection);
        const { url, peerType, routingId } = connection;
        this.#notify("connect", { url, peerType, routingId: connection.name ?? routingId });
        this.#flushSenders();
    }

    detached(connection, { code, reason, retryDelay, wasReady }) {
        this.#forgetPeer(connection, wasReady);
        this.#notify("disconnect", { url: connection.url, code, reason, retryDelay });
    }

    received(connection, parts) {
        this.#pattern.received(connection, parts);
    }

    subscription(connection, subscribes, topic) {
        this.#pattern.subscription(connection, subscribes, topic);
    }

    writable() {
        this.#flushSenders();
    }

    failed(connection, error, wasReady) {
        this.#forgetPeer(connection, wasReady);
        if (this.#connections.get(connection.url) === connection) {
            this.#connections.delete(connection.url);
            if (!this.#connections.size) {
                this.#failure = error;
                this.#reject(this.#senders, error);
                this.#reject(this.#receivers, error);
            }
        }
        this.#notify("error", { url: connection.url, error });
    }

    // ---- inside ---------------------------------------------------------------------------------

    #checkOpen() {
        if (this.#closing) {
            throw closedError();
        }
    }

    #take() {
        const { parts, context } = this.#shift();
        this.#pattern.taken(context);
        return parts;
    }

    #shift() {
        const message = this.#messages.shift();
        message.connection.waitsNoMore(message.parts);
        return message;
    }

    /** Waits in a line until somebody calls `resolve` or `reject`, which leave the line. */
    #wait(line, entry, signal, aborted) {
        return new Promise((resolve, reject) => {
            const leave = (settle) => (value) => {
                line.delete(entry);
                signal?.removeEventListener("abort", onAbort);
                settle(value);
            };
            const onAbort = () => {
                entry.reject(signal.reason);
                aborted();
            };
            entry.resolve = leave(resolve);
            entry.reject = leave(reject);
            signal?.addEventListener("abort", onAbort);
            line.add(entry);
        });
    }

    #reject(line, error) {
        for (const entry of line) {
            entry.reject(error);
            if (line === this.#senders) {
                this.#pattern.sendAborted();
            }
        }
    }

    #flushSenders() {
        for (const sender of this.#senders) {
            try {
                if (!this.#pattern.trySend(sender.frames)) {
                    return;
                }
                sender.resolve();
            } catch (error) {
                sender.reject(error);
            }
        }
        this.#onSent?.();
    }

    #forgetPeer(connection, wasReady) {
        if (wasReady) {
            this.peers = this.peers.filter((each) => each !== connection);
            this.#pattern.detached(connection);
            this.#flushSenders(); // one that waits for this peer need not wait any more
        }
    }

    async #end(connection, linger) {
        const all = await connection.close(linger);
        this.#forgetPeer(connection, this.peers.includes(connection));
        return all;
    }

    async #close(linger) {
        const begin = performance.now();
        this.#stopListening();
        this.#reject(this.#receivers, closedError());
        if (this.#senders.size && linger > 0) {
            const limit = timeLimit(linger);
            await Promise.race([limit.over, new Promise((resolve) => { this.#onSent = resolve; })]);
            limit.stop();
        }
        const all = this.#senders.size === 0;
        this.#reject(this.#senders, closedError());
        const left = Math.max(0, linger - (performance.now() - begin));
        const connections = [...this.#connections.values()];
        this.#connections.clear();
        const ended = await Promise.all(connections.map((each) => this.#end(each, left)));
        this.#messages.clear();
        return all && ended.every(Boolean);
    }
}

function checkedUrl(url) {
    const made = new URL(url);
    if (made.protocol !== "ws:" && made.protocol !== "wss:") {
        throw new ZmqError("EPROTONOSUPPORT", `${url} does not begin with ws:// or wss://`);
    }
    if (made.hash) {
        throw new ZmqError("EINVAL", `${url} has a fragment`);
    }
    return made;
}

function checked(options, { type, peerTypes, hasRoutingId }) {
    const {
        WebSocket = globalThis.WebSocket, routingId, sendHighWaterMark = 1000, receiveHighWaterMark = 1000,
        reconnectInterval = 100, reconnectIntervalMax = 10_000, handshakeTimeout = 30_000, linger = 10_000,
        maxWaitingBytes = 64 * 1024 * 1024, maxMessageParts = 10_000, maxSubscriptions = 65_536, maxTopicBytes = 255,
    } = options;
    if (typeof WebSocket !== "function") {
        throw new ZmqError("ENOTSUP", "there is no WebSocket here: give a constructor as the option WebSocket");
    }
    const numbers = {
        sendHighWaterMark, receiveHighWaterMark, reconnectInterval, reconnectIntervalMax, handshakeTimeout, linger,
        maxWaitingBytes, maxMessageParts, maxSubscriptions, maxTopicBytes,
    };
    for (const [name, value] of Object.entries(numbers)) {
        if (!(typeof value === "number" && value >= 0)) {
            throw new ZmqError("EINVAL", `${name} is a number that is not negative`);
        }
    }
    const announced = hasRoutingId ? toBytes(routingId ?? "").slice() : undefined;
    if (routingId !== undefined && !(hasRoutingId && isRoutingId(announced))) {
        throw new ZmqError("EINVAL", hasRoutingId
            ? "a routing id has 1 to 255 bytes and does not begin with a zero"
            : `a ${type} socket has no routing id`);
    }
    return {
        ...numbers, WebSocket, type, peerTypes, routingId: announced,
        // As in ZeroMQ, 0 is no limit.
        sendHighWaterMark: sendHighWaterMark || Infinity, receiveHighWaterMark: receiveHighWaterMark || Infinity,
        maxWaitingBytes: maxWaitingBytes || Infinity, maxMessageParts: maxMessageParts || Infinity,
        maxSubscriptions: maxSubscriptions || Infinity, maxTopicBytes: maxTopicBytes || Infinity,
        reconnectInterval: Math.max(1, reconnectInterval),
    };
}

function isRoutingId(bytes) {
    return bytes.length >= 1 && bytes.length <= 255 && bytes[0] !== 0;
}
