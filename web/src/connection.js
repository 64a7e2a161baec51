// SPDX-License-Identifier: Apache-2.0
import { ZmqError } from "./errors.js";
import { Queue } from "./queue.js";
import {
    COMMAND, MORE, NO_MECHANISM, NULL_MECHANISM, SUBPROTOCOLS, body, encodeFrame, encodeReady, parseCommand,
    parseProperties, parseReason, text, toBytes,
} from "./wire.js";

// A WebSocket that has this much to send is given no more: what waits beyond it counts as messages, and is
// not lost with the WebSocket.
const MOST_BUFFERED_BYTES = 1 << 20;

// There is no event for "has sent something", so this is how often to look.
const LOOK_INTERVAL_MS = 5;

// Close codes: protocol error, unacceptable data, inconsistent data, policy violation.
const PROTOCOL_ERRORS = [1002, 1003, 1007, 1008];

const LONGEST_TIMER_MS = 2 ** 31;

const OPEN = 1; // states of a WebSocket
const CLOSED = 3;

const NO_BYTES = new Uint8Array(0);

// As in the library: what a peer introduces itself with, and any other command.
const MOST_COMMAND_BYTES = 64 * 1024;
const MOST_ROUTING_ID_BYTES = 255;

// What a part takes beside its bytes; so many parts without bytes are not free.
const PART_BYTES = 256;

/** How much memory is reckoned for parts. */
function costOf(parts) {
    return parts.reduce((sum, part) => sum + PART_BYTES + part.length, 0);
}

/** What `begin` gives to its argument within the time, or false. */
function within(ms, begin) {
    return new Promise((resolve) => {
        const timer = ms < LONGEST_TIMER_MS ? setTimeout(resolve, ms, false) : undefined;
        begin((result) => {
            clearTimeout(timer);
            resolve(result);
        });
    });
}

function openWebSocket(WebSocket, url) {
    try {
        return new WebSocket(url, SUBPROTOCOLS);
    } catch (error) {
        if (error.name !== "SyntaxError") {
            throw error;
        }
        return new WebSocket(url, [NO_MECHANISM]);
    }
}

/**
 * One endpoint that a socket is connected to: it connects, shakes hands, and connects again after a loss. What it
 * learns it tells its owner, which has these functions:
 *
 * - `admit(connection)`: the peer has introduced itself; returns whether it is wanted. May set `name`.
 * - `attached(connection)`, `detached(connection, event)`: the peer can be talked to, or no longer.
 * - `received(connection, parts)`, `subscription(connection, subscribes, topic)`: a message, a subscription command.
 * - `writable(connection)`: there is room for a message again.
 * - `failed(connection, error)`: it was given up; trying again would not help.
 */
export class Connection {
    /** Of the peer, while it is attached: empty where the subprotocol does not tell. */
    peerType = "";
    /** What the peer calls itself, while it is attached: may be empty. */
    routingId = NO_BYTES;
    /** What a ROUTER calls the peer. */
    name = undefined;
    /** Whether the handshake is done and the connection lives. */
    ready = false;

    #owner;
    #settings;
    #socket = null;
    #queue = new Queue(); // messages that the WebSocket has not been given
    #parts = []; // of a message of which more is to come
    #partsCost = 0;
    #waitingCost = 0; // of messages that the application has not received
    #received = () => {}; // what to do with a frame
    #delay = 0;
    #timer; // of the next attempt, or of the handshake
    #lookTimer;
    #wasFull = false;
    #hasSent = false; // a message, through this WebSocket
    #closing = false;
    #ended = false;
    #onSent = null; // while closing: told once whether everything has been sent

    /** Throws what the constructor of WebSocket throws. */
    constructor(url, settings, owner) {
        this.url = url;
        this.#settings = settings;
        this.#owner = owner;
        this.#open();
    }

    /** Whether the peer can be sent another message. */
    get hasRoom() {
        return this.ready && !this.#closing && this.#socket.readyState === OPEN &&
            this.#queue.size < this.#settings.sendHighWaterMark;
    }

    /** Sends the frames of a message, or queues them. */
    send(frames) {
        this.#queue.push(frames);
        this.#pump();
        this.#wasFull ||= !this.hasRoom;
    }

    /** Sends frames at once, past the queue. */
    sendNow(frames) {
        for (const each of frames) {
            this.#socket?.send(each);
        }
    }

    /** Forgets what waits to be sent. */
    clearQueue() {
        this.#queue.clear();
    }

    /** Whether the peer may have a message more wait to be received. */
    mayWait(parts) {
        return this.#waitingCost + costOf(parts) <= this.#settings.maxWaitingBytes;
    }

    /** A message of the peer begins to wait to be received. */
    waits(parts) {
        this.#waitingCost += costOf(parts);
    }

    /** It does so no more. */
    waitsNoMore(parts) {
        this.#waitingCost -= costOf(parts);
    }

    /** Disconnects, and connects again after a while. */
    drop(reason) {
        this.#lost(1000, reason);
    }

    /**
     * Ends the connection once everything has been sent; it tells its owner no more.
     * @returns {Promise<boolean>} whether it has
     */
    async close(lingerMs) {
        this.#closing = true;
        const begin = performance.now();
        const left = () => Math.max(0, lingerMs - (performance.now() - begin));
        let all = this.#isEmpty() || await within(left(), (done) => {
            this.#onSent = done;
            this.#look();
        });
        this.#onSent = null;
        const socket = this.#socket;
        const hasSent = this.#hasSent;
        if (this.#end() && hasSent && socket.readyState < CLOSED) {
            // The peer answers the close frame once it has read what was sent before it.
            all &&= await within(left(), (done) => {
                socket.onclose = ({ wasClean }) => done(wasClean);
            });
            socket.onclose = null;
        }
        return all;
    }

    #isEmpty() {
        return this.#queue.size === 0 && !(this.ready && this.#socket.bufferedAmount > 0);
    }

    #open() {
        const { WebSocket, handshakeTimeout } = this.#settings;
        const socket = openWebSocket(WebSocket, this.url);
        this.#socket = socket;
        this.#received = this.#handshake;
        socket.binaryType = "arraybuffer";
        socket.onopen = () => this.#guard(() => this.#greet(socket.protocol));
        socket.onmessage = ({ data }) => this.#guard(() => this.#take(data));
        socket.onclose = ({ code, reason }) => this.#closed(code, reason);
        socket.onerror = () => {}; // "close" follows; without a listener some implementations throw
        if (handshakeTimeout > 0 && handshakeTimeout < LONGEST_TIMER_MS) {
            this.#timer = setTimeout(() => this.#lost(1006, "the handshake took too long"), handshakeTimeout);
        }
    }

    #guard(handle) {
        try {
            handle();
        } catch (error) {
            this.fail(error instanceof ZmqError ? error
                : new ZmqError("EPROTO", `${this.url} has sent what cannot be handled: ${error.message}`));
        }
    }

    #greet(protocol) {
        const { type, routingId } = this.#settings;
        if (protocol === NULL_MECHANISM) {
            const properties = { "Socket-Type": toBytes(type) };
            if (routingId) {
                properties.Identity = routingId;
            }
            this.#socket.send(encodeReady(properties));
        } else if (protocol === NO_MECHANISM) {
            this.#socket.send(encodeFrame(0, routingId ?? NO_BYTES));
        } else {
            throw new ZmqError("EPROTONOSUPPORT", `${this.url} does not speak ${SUBPROTOCOLS.join(" or ")}`);
        }
    }

    #take(data) {
        if (!(data instanceof ArrayBuffer) || data.byteLength === 0) {
            throw new ZmqError("EPROTO", `${this.url} has sent something that is no frame`);
        }
        const frame = new Uint8Array(data);
        if (frame[0] & COMMAND && frame.length > MOST_COMMAND_BYTES) {
            throw new ZmqError("EPROTO", `${this.url} has sent a command of ${frame.length} bytes`);
        }
        this.#received(frame);
    }

    #handshake(frame) {
        let routingId = body(frame);
        let type = "";
        if (this.#socket.protocol === NULL_MECHANISM) {
            const { name, data } = frame[0] & COMMAND ? parseCommand(body(frame)) : {};
            if (name === "ERROR") {
                throw new ZmqError("EACCES", `${this.url} refuses this socket: ${parseReason(data)}`);
            }
            if (name !== "READY") {
                throw new ZmqError("EPROTO", `${this.url} has not begun with READY`);
            }
            const properties = parseProperties(data);
            routingId = properties.get("identity") ?? NO_BYTES;
            type = text(properties.get("socket-type") ?? NO_BYTES);
            const { type: ownType, peerTypes } = this.#settings;
            if (!peerTypes.includes(type)) {
                throw new ZmqError("EPROTOTYPE",
                    `${this.url} is a socket of type ${type.slice(0, 255) || "unknown"}; ${ownType} talks to ${peerTypes.join(", ")}`);
            }
        }
        if (routingId.length > MOST_ROUTING_ID_BYTES) {
            throw new ZmqError("EPROTO", `${this.url} has a routing id of ${routingId.length} bytes`);
        }
        this.peerType = type;
        this.routingId = routingId;
        clearTimeout(this.#timer);
        if (!this.#owner.admit(this)) {
            this.drop("the peer's routing id is in use");
            return;
        }
        this.#received = this.#traffic;
        this.#delay = 0;
        this.ready = true;
        this.#owner.attached(this);
        this.#pump();
        this.#tellIfWritable();
    }

    #traffic(frame) {
        if (frame[0] & COMMAND) {
            this.#obey(parseCommand(body(frame)));
            return;
        }
        const { maxMessageParts, maxWaitingBytes } = this.#settings;
        const part = body(frame);
        this.#partsCost += PART_BYTES + part.length;
        if (this.#parts.length >= maxMessageParts || this.#partsCost > maxWaitingBytes) {
            throw new ZmqError("ENOBUFS", `${this.url} has sent a message of too many parts or bytes`);
        }
        this.#parts.push(part);
        if (!(frame[0] & MORE)) {
            const parts = this.#parts;
            this.#forgetParts();
            this.#owner.received(this, parts);
        }
    }

    #forgetParts() {
        this.#parts = [];
        this.#partsCost = 0;
    }

    /** Others than these need no answer. */
    #obey({ name, data }) {
        if (name === "SUBSCRIBE" || name === "CANCEL") {
            this.#owner.subscription(this, name === "SUBSCRIBE", data);
        }
    }

    /** Gives the WebSocket what it may be given. */
    #pump() {
        while (this.#queue.size && this.ready) {
            if (this.#socket.readyState !== OPEN) {
                return; // it has begun to close, and would swallow them
            }
            if (this.#socket.bufferedAmount >= MOST_BUFFERED_BYTES) {
                this.#look();
                return;
            }
            this.sendNow(this.#queue.shift());
            this.#hasSent = true;
        }
        if (!this.#onSent) {
            return;
        }
        if (this.#isEmpty()) {
            this.#onSent(true);
        } else {
            this.#look();
        }
    }

    #look() {
        this.#lookTimer ??= setTimeout(() => {
            this.#lookTimer = undefined;
            this.#pump();
            this.#tellIfWritable();
        }, LOOK_INTERVAL_MS);
    }

    #tellIfWritable() {
        if (this.#wasFull && this.hasRoom) {
            this.#wasFull = false;
            this.#owner.writable(this);
        }
    }

    /** Lets go of the WebSocket. */
    #detach() {
        const socket = this.#socket;
        clearTimeout(this.#timer);
        clearTimeout(this.#lookTimer);
        this.#lookTimer = undefined;
        this.#forgetParts();
        this.#socket = null;
        this.#hasSent = false;
        if (socket) {
            socket.onopen = socket.onmessage = socket.onclose = null;
            socket.close(1000); // has no effect on one that is closed already
        }
        const wasReady = this.ready;
        this.ready = false;
        return wasReady;
    }

    #closed(code, reason) {
        if (PROTOCOL_ERRORS.includes(code)) {
            this.fail(new ZmqError("EPROTO", `${this.url} cannot take what a ${this.#settings.type} socket sends` +
                ` (close code ${code}${reason && ": "}${reason})`));
        } else {
            this.#lost(code, reason);
        }
    }

    #lost(code, reason) {
        if (this.#ended) {
            return;
        }
        const wasReady = this.#detach();
        const { reconnectInterval, reconnectIntervalMax } = this.#settings;
        this.#delay = Math.min(this.#delay ? 2 * this.#delay : reconnectInterval,
            Math.max(reconnectInterval, reconnectIntervalMax));
        // At random, so that clients that were lost together do not come back together.
        const retryDelay = this.#delay * (0.5 + Math.random() / 2);
        this.#timer = setTimeout(() => this.#retry(), retryDelay);
        this.#owner.detached(this, { code, reason, retryDelay, wasReady });
        if (this.#queue.size === 0) {
            this.#onSent?.(false); // what the WebSocket had been given may be lost
        }
    }

    #retry() {
        try {
            this.#open();
        } catch (error) {
            this.fail(new ZmqError("EINVAL", `${this.url}: ${error.message}`));
        }
    }

    /** Gives the endpoint up. */
    fail(error) {
        if (!this.#ended) {
            const wasReady = this.#end();
            this.#onSent?.(false);
            this.#owner.failed(this, error, wasReady);
        }
    }

    #end() {
        this.#ended = true;
        const wasReady = this.#detach();
        this.#queue.clear();
        return wasReady;
    }
}
