// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" />

/** What a part of a message is made of; a string is sent as UTF-8. The bytes are copied. */
export type Part = string | ArrayBuffer | ArrayBufferView;

/** A message to be sent: its parts, or its only part. */
export type Sendable = Part | readonly Part[];

/**
 * A message that was received: its parts. They are the application's to keep and to change.
 *
 * Their offset in their `ArrayBuffer` is 1, so that a `Float64Array` cannot be laid over one: read numbers with a
 * `DataView`, or copy the part with `slice()`.
 */
export type Message = Uint8Array[];

/** The text of a part, which is UTF-8; what is no UTF-8 becomes `U+FFFD`. */
export function text(part: Uint8Array): string;

/**
 * - `EACCES`: the peer has refused this socket.
 * - `EFSM`: the state does not allow it: REQ and REP send and receive in turn.
 * - `EHOSTUNREACH`: a mandatory ROUTER has no peer of that routing id.
 * - `EINVAL`: an option, an address or a message has a wrong value.
 * - `ENOBUFS`: a peer sends more than `maxWaitingBytes`, `maxMessageParts` or `maxSubscriptions` allow.
 * - `ENOENT`: the socket is not connected to that address.
 * - `ENOTSOCK`: the socket is closed.
 * - `ENOTSUP`: this socket type cannot do that; or there is no WebSocket here.
 * - `EPROTO`: the peer breaks the rules of the protocol, or says that this socket does.
 * - `EPROTONOSUPPORT`: the address is none of a WebSocket, or what answers there does not speak ZWS 2.0.
 * - `EPROTOTYPE`: the peer's socket type does not go with this one.
 */
export type ErrorCode =
    | "EACCES" | "EFSM" | "EHOSTUNREACH" | "EINVAL" | "ENOBUFS" | "ENOENT" | "ENOTSOCK" | "ENOTSUP" | "EPROTO"
    | "EPROTONOSUPPORT" | "EPROTOTYPE";

/**
 * What sockets throw and reject with. Beside it there are only what the constructor of WebSocket and `URL` throw, a
 * `TypeError` for a part that is none, and the reason of an `AbortSignal`.
 */
export class ZmqError extends Error {
    readonly name: "ZmqError";
    readonly code: ErrorCode;
    constructor(code: ErrorCode, message: string);
}

/**
 * - `connect`: a peer has introduced itself; messages can go to and fro.
 * - `disconnect`: a connection was lost, or an attempt to connect has failed; there will be another one.
 * - `error`: an address was given up, because another attempt would not help.
 */
export interface SocketEventMap {
    connect: ConnectEvent;
    disconnect: DisconnectEvent;
    error: ConnectionErrorEvent;
}

/** An event of a connection; what it has beside `url` depends on its type. */
export class ConnectionEvent extends Event {
    private constructor();
    /** The address, as the platform's `URL` writes it. */
    readonly url: string;
}

export interface ConnectEvent extends ConnectionEvent {
    readonly type: "connect";
    /** The peer's socket type; empty with the subprotocol `ZWS2.0`, which does not tell. */
    readonly peerType: string;
    /** What a ROUTER calls the peer, or what the peer calls itself, which may be empty. */
    readonly routingId: Uint8Array;
}

export interface DisconnectEvent extends ConnectionEvent {
    readonly type: "disconnect";
    /** The close code of the WebSocket: 1006 also for a server that cannot be reached. */
    readonly code: number;
    readonly reason: string;
    /** Milliseconds until the next attempt. */
    readonly retryDelay: number;
}

export interface ConnectionErrorEvent extends ConnectionEvent {
    readonly type: "error";
    readonly error: ZmqError;
}

/** A constructor of WebSockets like the platform's. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => {
    binaryType: any;
    readonly readyState: number;
    readonly bufferedAmount: number;
    readonly protocol: string;
    onopen: ((event: any) => any) | null;
    onmessage: ((event: any) => any) | null;
    onerror: ((event: any) => any) | null;
    onclose: ((event: any) => any) | null;
    send(data: Uint8Array): void;
    close(code?: number): void;
};

/** All times are in milliseconds and may be `Infinity`. */
export interface SocketOptions {
    /** Closes the socket when it is aborted, without sending what waits. */
    signal?: AbortSignal;
    /** Most messages that wait for one peer, beside the first MiB, which its WebSocket has; 0 is no limit. Default: 1000. */
    sendHighWaterMark?: number;
    /** Longest time before the first new attempt to connect; each attempt that fails doubles it. Default: 100. */
    reconnectInterval?: number;
    /** What it is doubled up to. Default: 10 000. */
    reconnectIntervalMax?: number;
    /** Longest time from an attempt to connect until the peer has introduced itself; 0 is no limit. Default: 30 000. */
    handshakeTimeout?: number;
    /** Longest time that `close` and `disconnect` wait for what has not been sent. Default: 10 000. */
    linger?: number;
    /**
     * Most bytes that one peer may have wait to be received, what has come of an unfinished message included; each part
     * counts 256 more. A peer that sends more is given up (`ENOBUFS`); SUB and XSUB drop the message instead, unless
     * it is longer than that itself. 0 is no limit. Default: 64 MiB.
     */
    maxWaitingBytes?: number;
    /** Most parts of a message that a peer may send; 0 is no limit. Default: 10 000. */
    maxMessageParts?: number;
    /** What to make WebSockets with. Default: the platform's. */
    WebSocket?: WebSocketConstructor;
}

export interface RoutingIdOptions {
    /** What ROUTER peers know this socket by: 1 to 255 bytes, the first one not 0. They choose a name if there is none. */
    routingId?: Part;
}

export interface PublisherOptions extends SocketOptions {
    /** Most topics that one peer may subscribe to; 0 is no limit. Default: 65 536. */
    maxSubscriptions?: number;
    /** Most bytes of a topic that a peer may subscribe to; 0 is no limit. Default: 255. */
    maxTopicBytes?: number;
}

export interface SubscriberOptions extends SocketOptions {
    /** Most messages that wait to be received: what comes above that is dropped; 0 is no limit. Default: 1000. */
    receiveHighWaterMark?: number;
}

export interface ReqOptions extends SocketOptions, RoutingIdOptions {
    /**
     * Allows to send another request before there was a reply; the former request is given up, and a late reply to it
     * is dropped. (`ZMQ_REQ_RELAXED` and `ZMQ_REQ_CORRELATE` of ZeroMQ.) Default: false.
     */
    relaxed?: boolean;
}

export interface RouterOptions extends SocketOptions, RoutingIdOptions {
    /** Whether sending to a routing id that no peer has fails, and to one without room waits. Default: false. */
    mandatory?: boolean;
}

export interface WaitOptions {
    /** Ends the waiting: the promise is rejected with its reason. */
    signal?: AbortSignal;
}

export interface CloseOptions {
    /** Instead of the option `linger` of the socket. */
    linger?: number;
}

/**
 * What all sockets have. A socket connects to any number of addresses, and to each again after a loss.
 *
 * When an address is given up (see `ConnectionErrorEvent`) and it was the last one, what waits to send or to receive
 * is rejected with the error, and so is what is tried later, until the next `connect`.
 */
export abstract class Socket extends EventTarget {
    protected constructor();

    /** `PUB`, `SUB`, ... */
    readonly type: string;
    readonly closed: boolean;

    /**
     * Connects to `ws://host:port/path` or `wss://host:port/path`. Returns at once, and tries until it succeeds; see
     * the events. Nothing happens if the socket is connected to this address already.
     */
    connect(url: string | URL): void;

    /** Ends a connection, after what waits for the peer was sent; resolves to whether everything was. */
    disconnect(url: string | URL): Promise<boolean>;

    /**
     * Sends what waits, for at most `linger`, and closes the socket. What waits to receive is rejected at once, and
     * loops over the messages end. Resolves to whether everything was sent, which as far as the platform tells means
     * that the peer has got it.
     */
    close(options?: CloseOptions): Promise<boolean>;

    /** Closes the socket: `await using socket = new Sub();`. */
    [Symbol.asyncDispose](): Promise<void>;

    addEventListener<Type extends keyof SocketEventMap>(
        type: Type, listener: (event: SocketEventMap[Type]) => void, options?: boolean | AddEventListenerOptions): void;
    addEventListener(type: string, listener: EventListenerOrEventListenerObject | null,
        options?: boolean | AddEventListenerOptions): void;
    removeEventListener<Type extends keyof SocketEventMap>(
        type: Type, listener: (event: SocketEventMap[Type]) => void, options?: boolean | EventListenerOptions): void;
    removeEventListener(type: string, listener: EventListenerOrEventListenerObject | null,
        options?: boolean | EventListenerOptions): void;
}

interface Sending {
    /**
     * Sends a message. Resolves when the message has gone to the queue of a peer, and rejects if it never will.
     * Messages go in the order of the calls, whether they are awaited or not; who awaits them does not fill memory.
     */
    send(message: Sendable, options?: WaitOptions): Promise<void>;
}

interface Receiving extends AsyncIterable<Message> {
    /** Receives the next message. */
    receive(options?: WaitOptions): Promise<Message>;

    /** The messages, until the socket is closed; the loop may be left and another one begun. */
    [Symbol.asyncIterator](): AsyncGenerator<Message, void, undefined>;
}

/**
 * Publishes: each message goes to those peers (SUB, XSUB) that have subscribed to the beginning of its first part.
 * Sending never waits: a peer that has no room misses the message.
 */
export class Pub extends Socket {
    constructor(options?: PublisherOptions);
}
export interface Pub extends Sending {}

/** Receives from all peers (PUB, XPUB) the messages whose first part begins with what it has subscribed to. */
export class Sub extends Socket {
    constructor(options?: SubscriberOptions);

    /** Subscribes to messages whose first part begins with a topic; the empty topic means all. May be done more than once. */
    subscribe(...topics: Part[]): void;
    /** Takes back one subscription to each topic. */
    unsubscribe(...topics: Part[]): void;
}
export interface Sub extends Receiving {}

/**
 * Like PUB; it receives what the peers subscribe to, as a message that is the byte 1 and the topic, when the first of
 * them does, and the byte 0 and the topic when none does any more; and other messages of XSUB peers.
 */
export class XPub extends Socket {
    constructor(options?: PublisherOptions);
}
export interface XPub extends Sending, Receiving {}

/**
 * Like SUB; it subscribes by sending the byte 1 and the topic, and takes that back by the byte 0 and the topic. Other
 * messages go to all peers that have room.
 */
export class XSub extends Socket {
    constructor(options?: SubscriberOptions);
}
export interface XSub extends Sending, Receiving {}

/**
 * Sends a request to a peer (REP, ROUTER) and receives its reply, in turn; the peers take turns. Sending waits while no
 * peer has room. When the connection is lost after a request, there may never be a reply: see `ReqOptions.relaxed`.
 */
export class Req extends Socket {
    constructor(options?: ReqOptions);
}
export interface Req extends Sending, Receiving {}

/** Receives a request from a peer (REQ, DEALER) and sends the reply to it, in turn. The reply to a peer that has left is dropped. */
export class Rep extends Socket {
    constructor(options?: SocketOptions);
}
export interface Rep extends Sending, Receiving {}

/** Sends to its peers (REP, DEALER, ROUTER) in turn, and receives from all of them. Sending waits while no peer has room. */
export class Dealer extends Socket {
    constructor(options?: SocketOptions & RoutingIdOptions);
}
export interface Dealer extends Sending, Receiving {}

/**
 * Receives from its peers (REQ, DEALER, ROUTER) with the peer's routing id as an additional first part, and sends to
 * the peer whose routing id the first part is. A message for a peer that is unknown or has no room is dropped, unless
 * `mandatory` is set.
 */
export class Router extends Socket {
    constructor(options?: RouterOptions);
}
export interface Router extends Sending, Receiving {}

/** Sends to its peers (PULL) in turn. Sending waits while no peer has room. */
export class Push extends Socket {
    constructor(options?: SocketOptions);
}
export interface Push extends Sending {}

/** Receives from all its peers (PUSH). */
export class Pull extends Socket {
    constructor(options?: SocketOptions);
}
export interface Pull extends Receiving {}
