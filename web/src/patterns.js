// SPDX-License-Identifier: Apache-2.0
//
// What the socket types do with messages. A pattern has a host, which is the engine of its socket:
//
// - `peers`: the connections that are ready, in the order in which they became so;
// - `deliver(connection, parts, context)`: a message of a peer for the application, with what `taken` is to know of it;
// - `settings`: the options, with their defaults;
// - `waiting`: how many messages wait to be received; `forget()`: throws them away;
// - `dispatch()`: hands them to receivers that wait, if the state allows that now;
// - `fail(connection, error)`: gives a connection up.
import { ZmqError } from "./errors.js";
import { Topics, keyOf } from "./topics.js";
import { MORE, body, encodeFrame, uint32 } from "./wire.js";

const DELIMITER = encodeFrame(MORE, new Uint8Array(0));

const notSupported = (what) => new ZmqError("ENOTSUP", what);
const wrongState = (what) => new ZmqError("EFSM", what);

class Pattern {
    host = null; // set by the engine
    hasRoutingId = false; // to tell its peers
    dropsWhenFull = false; // whether a message for an application that is too slow is dropped

    /** Whether the peer may stay; gives it a name if the type has names. */
    admit() { return true; }
    attached() {}
    detached(connection) { connection.clearQueue(); }
    received(connection, parts) { this.host.deliver(connection, parts); }
    subscription() {}

    /** Throws if the state does not allow to send, or the message is none for this type. */
    beforeSend() {}
    /** Sends the frames, or drops them; false if they have to wait. */
    trySend() { throw notSupported(`a ${this.type} socket cannot send`); }
    /** A message that waited will not be sent. */
    sendAborted() {}

    beforeReceive() {}
    /** Whether the next message may be received now. */
    mayTake() { return true; }
    /** A message goes to the application. */
    taken() {}
}

/** Sends each message to one peer, the peers taking turns, and waits while no peer has room. */
class Turns {
    #last = null;

    /** The peer whose turn it is, or undefined. */
    next(peers) {
        const begin = peers.indexOf(this.#last) + 1;
        for (let i = 0; i < peers.length; ++i) {
            const peer = peers[(begin + i) % peers.length];
            if (peer.hasRoom) {
                this.#last = peer;
                return peer;
            }
        }
        return undefined;
    }
}

// ---- PUSH, PULL, DEALER -------------------------------------------------------------------------

export class PushPattern extends Pattern {
    type = "PUSH";
    peerTypes = ["PULL"];
    #turns = new Turns();

    detached() {} // the queue waits for the peer to come back
    received() {} // a PULL has nothing to say

    trySend(frames) {
        const peer = this.#turns.next(this.host.peers);
        peer?.send(frames);
        return peer !== undefined;
    }

    beforeReceive() { throw notSupported("a PUSH socket cannot receive"); }
}

export class PullPattern extends Pattern {
    type = "PULL";
    peerTypes = ["PUSH"];

    beforeSend() { throw notSupported("a PULL socket cannot send"); }
}

export class DealerPattern extends Pattern {
    type = "DEALER";
    peerTypes = ["REP", "DEALER", "ROUTER"];
    hasRoutingId = true;
    #turns = new Turns();

    detached() {}

    trySend(frames) {
        const peer = this.#turns.next(this.host.peers);
        peer?.send(frames);
        return peer !== undefined;
    }
}

// ---- REQ, REP -----------------------------------------------------------------------------------

export class ReqPattern extends Pattern {
    type = "REQ";
    peerTypes = ["REP", "ROUTER"];
    hasRoutingId = true;
    #turns = new Turns();
    #relaxed;
    #state = "ready"; // then "sending", "sent"
    #asked = null; // the peer that owes the reply
    #id; // of the request, if relaxed
    #number = Math.floor(Math.random() * 2 ** 32);

    constructor({ relaxed = false }) {
        super();
        this.#relaxed = relaxed;
    }

    detached() {}

    beforeSend() {
        if (this.#state === "sending" || (this.#state === "sent" && !this.#relaxed)) {
            throw wrongState("a REQ socket has to receive the reply before it can send again");
        }
        this.host.forget();
        this.#asked = null;
        this.#state = "sending";
    }

    trySend(frames) {
        const peer = this.#turns.next(this.host.peers);
        if (!peer) {
            return false;
        }
        this.#state = "sent";
        this.#asked = peer;
        if (this.#relaxed) {
            this.#number = (this.#number + 1) >>> 0;
            this.#id = Uint8Array.from(uint32(this.#number));
            peer.send([encodeFrame(MORE, this.#id), DELIMITER, ...frames]);
        } else {
            peer.send([DELIMITER, ...frames]);
        }
        return true;
    }

    sendAborted() { this.#state = "ready"; }

    received(connection, parts) {
        const hasId = parts.length > 2 && parts[0].length === 4;
        if (parts[hasId ? 1 : 0].length !== 0 || parts.length < 2) {
            this.host.fail(connection, new ZmqError("EPROTO", `${connection.url} has sent what is no reply`));
            return;
        }
        const isReply = connection === this.#asked && this.host.waiting === 0 &&
            hasId === this.#relaxed && (!hasId || keyOf(parts[0]) === keyOf(this.#id));
        if (isReply) {
            this.host.deliver(connection, parts.slice(hasId ? 2 : 1));
        }
    }

    beforeReceive() {
        if (this.#state === "ready") {
            throw wrongState("a REQ socket has to send a request before it can receive");
        }
    }

    taken() {
        this.#state = "ready";
        this.#asked = null;
    }
}

export class RepPattern extends Pattern {
    type = "REP";
    peerTypes = ["REQ", "DEALER"];
    #requester = null; // the connection and the envelope of the request that has been received

    received(connection, parts) {
        const delimiter = parts.findIndex((part) => part.length === 0);
        if (delimiter >= 0 && delimiter + 1 < parts.length) {
            const envelope = parts.slice(0, delimiter + 1).map((part) => encodeFrame(MORE, part));
            this.host.deliver(connection, parts.slice(delimiter + 1), { connection, envelope });
        }
    }

    beforeSend() {
        if (!this.#requester) {
            throw wrongState("a REP socket has to receive a request before it can send");
        }
    }

    trySend(frames) {
        const { connection, envelope } = this.#requester;
        this.#requester = null;
        if (connection.hasRoom) {
            connection.send([...envelope, ...frames]);
        }
        this.host.dispatch();
        return true;
    }

    beforeReceive() {
        if (this.#requester) {
            throw wrongState("a REP socket has to send the reply before it can receive again");
        }
    }

    mayTake() { return !this.#requester; }
    taken(requester) { this.#requester = requester; }
}

// ---- ROUTER -------------------------------------------------------------------------------------

export class RouterPattern extends Pattern {
    type = "ROUTER";
    peerTypes = ["REQ", "DEALER", "ROUTER"];
    hasRoutingId = true;
    #mandatory;
    #byName = new Map(); // key of a name: connection
    #own = new WeakMap(); // names of those that have none of their own
    #number = Math.floor(Math.random() * 2 ** 32);

    constructor({ mandatory = false }) {
        super();
        this.#mandatory = mandatory;
    }

    admit(connection) {
        const name = connection.routingId.length ? connection.routingId : this.#nameFor(connection);
        if (this.#byName.has(keyOf(name))) {
            return false;
        }
        connection.name = name;
        this.#byName.set(keyOf(name), connection);
        return true;
    }

    detached(connection) {
        super.detached(connection);
        this.#byName.delete(keyOf(connection.name));
    }

    received(connection, parts) {
        this.host.deliver(connection, [connection.name, ...parts]);
    }

    beforeSend(frames) {
        if (frames.length < 2) {
            throw new ZmqError("EINVAL", "a ROUTER socket needs the routing id of a peer and at least one more part");
        }
        if (this.#mandatory && !this.#find(frames)) {
            throw new ZmqError("EHOSTUNREACH", "no peer has this routing id");
        }
    }

    trySend(frames) {
        const peer = this.#find(frames);
        if (peer?.hasRoom) {
            peer.send(frames.slice(1));
            return true;
        }
        if (this.#mandatory && !peer) {
            throw new ZmqError("EHOSTUNREACH", "the peer with this routing id has left");
        }
        return !this.#mandatory;
    }

    #find(frames) { return this.#byName.get(keyOf(body(frames[0]))); }

    #nameFor(connection) {
        let name = this.#own.get(connection);
        if (!name) {
            this.#number = (this.#number + 1) >>> 0;
            name = Uint8Array.from([0, ...uint32(this.#number)]);
            this.#own.set(connection, name);
        }
        return name;
    }
}

// ---- PUB, SUB, XPUB, XSUB -----------------------------------------------------------------------

/** A message that subscribes (1) or cancels (0). */
function subscriptionFrame(first, topic) {
    const made = new Uint8Array(2 + topic.length); // the flags of the last part are 0
    made[1] = first;
    made.set(topic, 2);
    return made;
}

const isSubscription = (part) => part.length > 0 && part[0] <= 1;

export class XPubPattern extends Pattern {
    type = "XPUB";
    peerTypes = ["SUB", "XSUB"];
    #topics = new WeakMap(); // what each peer has subscribed to
    #all = new Topics(); // once for each peer that has

    attached(connection) { this.#topics.set(connection, new Topics()); }

    detached(connection) {
        super.detached(connection);
        for (const topic of this.#topics.get(connection)) {
            this.#removed(connection, topic);
        }
        this.#topics.delete(connection);
    }

    subscription(connection, subscribes, topic) {
        const topics = this.#topics.get(connection);
        const { maxTopicBytes, maxSubscriptions } = this.host.settings;
        if (topic.length > maxTopicBytes) {
            throw new ZmqError("EPROTO", `${connection.url} names a topic of ${topic.length} bytes`);
        }
        if (subscribes && !topics.has(topic)) {
            if (topics.size >= maxSubscriptions) {
                throw new ZmqError("ENOBUFS", `${connection.url} subscribes to too many topics`);
            }
            topics.add(topic);
            if (this.#all.add(topic) === 1) {
                this.changed(connection, 1, topic);
            }
        } else if (!subscribes && topics.remove(topic) === 0) {
            this.#removed(connection, topic);
        }
    }

    received(connection, parts) {
        let data = 0;
        for (; data < parts.length && isSubscription(parts[data]); ++data) {
            this.subscription(connection, parts[data][0] === 1, parts[data].subarray(1));
        }
        if (data < parts.length) {
            this.fromSubscriber(connection, parts.slice(data));
        }
    }

    /** Each peer without room misses the message. */
    trySend(frames) {
        const topic = body(frames[0]);
        for (const peer of this.host.peers) {
            if (peer.hasRoom && this.#topics.get(peer).matches(topic)) {
                peer.send(frames);
            }
        }
        return true;
    }

    /** The first peer has subscribed to a topic, or the last one has cancelled. */
    changed(connection, first, topic) { this.host.deliver(connection, [body(subscriptionFrame(first, topic))]); }
    fromSubscriber(connection, parts) { this.host.deliver(connection, parts); }

    #removed(connection, topic) {
        if (this.#all.remove(topic) === 0) {
            this.changed(connection, 0, topic);
        }
    }
}

export class PubPattern extends XPubPattern {
    type = "PUB";

    beforeReceive() { throw notSupported("a PUB socket cannot receive"); }
    changed() {}
    fromSubscriber() {}
}

class Subscriber extends Pattern {
    peerTypes = ["PUB", "XPUB"];
    dropsWhenFull = true;
    topics = new Topics();

    attached(connection) {
        connection.sendNow([...this.topics].map((topic) => subscriptionFrame(1, topic)));
    }

    /** Every subscription is told, but only the last cancellation. */
    subscribe(topic) {
        this.topics.add(topic);
        this.#tell(1, topic);
    }

    unsubscribe(topic) {
        if (this.topics.remove(topic) === 0) {
            this.#tell(0, topic);
        }
    }

    #tell(first, topic) {
        const frame = subscriptionFrame(first, topic);
        for (const peer of this.host.peers) {
            peer.sendNow([frame]);
        }
    }
}

export class SubPattern extends Subscriber {
    type = "SUB";

    beforeSend() { throw notSupported("a SUB socket cannot send"); }

    /** A publisher may not know yet what has been cancelled. */
    received(connection, parts) {
        if (this.topics.matches(parts[0])) {
            super.received(connection, parts);
        }
    }
}

export class XSubPattern extends Subscriber {
    type = "XSUB";

    trySend(frames) {
        const first = body(frames[0]);
        if (frames.length === 1 && isSubscription(first)) {
            const topic = first.subarray(1);
            if (first[0] === 1) {
                this.subscribe(topic);
            } else {
                this.unsubscribe(topic);
            }
            return true;
        }
        for (const peer of this.host.peers) {
            if (peer.hasRoom) {
                peer.send(frames);
            }
        }
        return true;
    }
}
