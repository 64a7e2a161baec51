// SPDX-License-Identifier: Apache-2.0
//
// A REP socket over the WebSocket of node, which sends back what it receives: `node echo.mjs url count`.
import { Rep } from "../../web/index.js";

const [, , url, count] = process.argv;
const socket = new Rep();
socket.connect(url);
let left = Number(count);
for await (const request of socket) {
    await socket.send(request);
    if (--left === 0) {
        break;
    }
}
process.exitCode = await socket.close() ? 0 : 1;
