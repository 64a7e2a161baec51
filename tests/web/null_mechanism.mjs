// SPDX-License-Identifier: Apache-2.0
//
// A socket that connects with ZWS2.0/NULL: `node null_mechanism.mjs Kind url`. Prints how that ended, as JSON; a socket
// that is connected sends back what it receives.
import * as zmq from "../../web/index.js";
import { LenientWebSocket } from "./lenient_websocket.mjs";

const [, , kind, url] = process.argv;
const socket = new zmq[kind]({ WebSocket: LenientWebSocket });
const event = await new Promise((resolve) => {
    for (const type of ["connect", "disconnect", "error"]) {
        socket.addEventListener(type, resolve, { once: true });
    }
    socket.connect(url);
});
const { type, peerType, code, error } = event;
console.log(JSON.stringify({ type, peerType, code: error?.code ?? code, message: error?.message }));
if (type === "connect") {
    await socket.send(await socket.receive());
}
await socket.close();
