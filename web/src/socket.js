// SPDX-License-Identifier: Apache-2.0
import { Engine } from "./engine.js";
import { toBytes } from "./wire.js";
import {
    DealerPattern, PubPattern, PullPattern, PushPattern, RepPattern, ReqPattern, RouterPattern, SubPattern,
    XPubPattern, XSubPattern,
} from "./patterns.js";

/** An event of a connection: `connect`, `disconnect` or `error`. */
export class ConnectionEvent extends Event {
    constructor(type, details) {
        super(type);
        Object.assign(this, details);
    }
}

/** What all socket types have. `index.d.ts` says what each function does. */
export class Socket extends EventTarget {
    #engine;
    #type;

    constructor(pattern, options) {
        super();
        this.#type = pattern.type;
        this.#engine = new Engine(pattern, options, (type, details) => {
            this.dispatchEvent(new ConnectionEvent(type, details));
        });
    }

    get type() { return this.#type; }
    get closed() { return this.#engine.closed; }

    connect(url) { this.#engine.connect(url); }
    disconnect(url) { return this.#engine.disconnect(url); }
    send(message, options) { return this.#engine.send(message, options); }
    receive(options) { return this.#engine.receive(options); }
    close(options) { return this.#engine.close(options); }

    async *[Symbol.asyncIterator]() {
        while (!this.closed) {
            let message;
            try {
                message = await this.receive();
            } catch (error) {
                if (this.closed) {
                    return;
                }
                throw error;
            }
            yield message;
        }
    }
}

// `await using socket = new Sub()`, where the platform has it.
if (Symbol.asyncDispose) {
    Object.defineProperty(Socket.prototype, Symbol.asyncDispose, {
        async value() { await this.close(); }, configurable: true, writable: true,
    });
}

/** Publishes to the SUB and XSUB sockets it is connected to. */
export class Pub extends Socket {
    constructor(options = {}) { super(new PubPattern(), options); }
}

/** Receives from the PUB and XPUB sockets it is connected to what it has subscribed to. */
export class Sub extends Socket {
    #pattern;

    constructor(options = {}) {
        const pattern = new SubPattern();
        super(pattern, options);
        this.#pattern = pattern;
    }

    subscribe(...topics) {
        for (const topic of topics.map(toBytes)) {
            this.#pattern.subscribe(topic);
        }
    }

    unsubscribe(...topics) {
        for (const topic of topics.map(toBytes)) {
            this.#pattern.unsubscribe(topic);
        }
    }
}

/** Like PUB, and receives the subscriptions. */
export class XPub extends Socket {
    constructor(options = {}) { super(new XPubPattern(), options); }
}

/** Like SUB, and sends its subscriptions as messages. */
export class XSub extends Socket {
    constructor(options = {}) { super(new XSubPattern(), options); }
}

/** Sends a request, then receives the reply to it. */
export class Req extends Socket {
    constructor(options = {}) { super(new ReqPattern(options), options); }
}

/** Receives a request, then sends the reply to it. */
export class Rep extends Socket {
    constructor(options = {}) { super(new RepPattern(), options); }
}

/** Sends to its peers in turn, and receives from all of them. */
export class Dealer extends Socket {
    constructor(options = {}) { super(new DealerPattern(), options); }
}

/** Sends to the peer that the first part of a message names, and receives with the peer's name as first part. */
export class Router extends Socket {
    constructor(options = {}) { super(new RouterPattern(options), options); }
}

/** Sends to its peers in turn. */
export class Push extends Socket {
    constructor(options = {}) { super(new PushPattern(), options); }
}

/** Receives from all its peers. */
export class Pull extends Socket {
    constructor(options = {}) { super(new PullPattern(), options); }
}
