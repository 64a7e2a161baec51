// SPDX-License-Identifier: Apache-2.0
//
// Compiled, not run: what the types of the package allow, and what they refuse.
import {
    ConnectionEvent, Dealer, Message, Pub, Pull, Push, Rep, Req, Router, Socket, Sub, XPub, XSub, ZmqError, text,
} from "zlink-web";

export async function allowed(signal: AbortSignal) {
    const subscriber = new Sub({ signal, receiveHighWaterMark: 0, WebSocket });
    subscriber.subscribe("topic", new Uint8Array(2), new ArrayBuffer(2), new DataView(new ArrayBuffer(1)));
    subscriber.connect(new URL("wss://host:1/path"));
    subscriber.addEventListener("connect", ({ url, peerType, routingId }) => `${url}${peerType}${routingId.length}`);
    subscriber.addEventListener("disconnect", ({ code, reason, retryDelay }) => code + retryDelay + reason.length);
    subscriber.addEventListener("error", ({ error }) => error.code === "EPROTOTYPE");
    for await (const [topic, ...rest] of subscriber) {
        const parts: Message = rest;
        if (topic) text(topic).at(parts.length);
    }
    await using dealer = new Dealer({ routingId: "me" });
    await dealer.send(["a", new Float64Array(1)] as const, { signal });
    const reply: Uint8Array[] = await dealer.receive({ signal });
    const sockets: Socket[] = [new Pub({ maxTopicBytes: 0 }), new XPub({ maxSubscriptions: 1 }), new XSub(), new Rep(), 
        new Pull({ maxWaitingBytes: 1, maxMessageParts: 1 }), new Push({ linger: Infinity }),
        new Req({ relaxed: true }), new Router({ mandatory: true })];
    const sent: boolean[] = await Promise.all(sockets.map((socket) => socket.close({ linger: 0 })));
    return { reply, sent, event: ConnectionEvent, error: new ZmqError("EFSM", "state") };
}

export function refused() {
    // @ts-expect-error
    new Sub().send("x");
    // @ts-expect-error
    new Push().receive();
    // @ts-expect-error
    new Pub().subscribe("x");
    // @ts-expect-error
    new Push().send(1);
    // @ts-expect-error
    new Pull({ routingId: "x" });
    // @ts-expect-error
    new Pull({ receiveHighWaterMark: 1 });
    // @ts-expect-error
    new Sub({ maxTopicBytes: 1 });
    // @ts-expect-error
    new Socket();
    // @ts-expect-error
    new Pull().type = "PUSH";
    // @ts-expect-error
    new ZmqError("EWHAT", "unknown");
}
