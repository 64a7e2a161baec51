// SPDX-License-Identifier: Apache-2.0

/**
 * What sockets throw and reject with, but for what the platform throws itself and the reason of an
 * `AbortSignal`. The codes are errno names, as in ZeroMQ; `index.d.ts` lists them.
 */
export class ZmqError extends Error {
    /**
     * @param {string} code
     * @param {string} message
     */
    constructor(code, message) {
        super(message);
        this.name = "ZmqError";
        this.code = code;
    }
}
