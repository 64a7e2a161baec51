// SPDX-License-Identifier: Apache-2.0
export { ZmqError } from "./src/errors.js";
export { ConnectionEvent, Dealer, Pub, Pull, Push, Rep, Req, Router, Socket, Sub, XPub, XSub } from "./src/socket.js";
export { text } from "./src/wire.js";
