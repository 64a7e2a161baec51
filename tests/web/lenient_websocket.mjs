// SPDX-License-Identifier: Apache-2.0
//
// A WebSocket that accepts names of subprotocols with a slash, which those of browsers and Node refuse. It does no more
// than the client needs, and trusts its server to keep to the rules.
import { randomBytes } from "node:crypto";
import { connect } from "node:net";

export class LenientWebSocket {
    readyState = 0;
    protocol = "";
    #socket;
    #data = Buffer.alloc(0);
    #fragments = [];
    #closed = { code: 1006, reason: "", wasClean: false };

    constructor(url, protocols) {
        const { hostname, port, pathname, host } = new URL(url);
        this.#socket = connect(Number(port), hostname, () => this.#socket.write([
            `GET ${pathname} HTTP/1.1`, `Host: ${host}`, "Upgrade: websocket", "Connection: Upgrade",
            `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`, "Sec-WebSocket-Version: 13",
            `Sec-WebSocket-Protocol: ${protocols.join(", ")}`, "", ""].join("\r\n")));
        this.#socket.on("data", (data) => {
            this.#data = Buffer.concat([this.#data, data]);
            while (this.readyState < 3 && (this.readyState === 0 ? this.#opening() : this.#frame()));
        });
        this.#socket.on("error", () => {});
        this.#socket.on("close", () => {
            this.readyState = 3;
            this.onclose?.(this.#closed);
        });
    }

    get bufferedAmount() { return this.#socket.writableLength; }

    send(bytes) { this.#write(2, Buffer.from(bytes)); }

    close(code = 1000) {
        if (this.readyState < 2) {
            this.readyState = 2;
            this.#write(8, Buffer.from([code >> 8, code & 255]));
        }
    }

    #write(opcode, body) {
        const length = body.length < 126 ? Buffer.from([128 | body.length])
            : body.length < 65536 ? Buffer.from([254, body.length >> 8, body.length & 255])
                : Buffer.concat([Buffer.from([255]), Buffer.from(BigInt(body.length).toString(16).padStart(16, "0"), "hex")]);
        // A mask of zeros: the body stays as it is.
        this.#socket.write(Buffer.concat([Buffer.from([128 | opcode]), length, Buffer.alloc(4), body]));
    }

    #opening() {
        const end = this.#data.indexOf("\r\n\r\n");
        if (end < 0) {
            return false;
        }
        const head = this.#data.subarray(0, end).toString();
        this.#data = this.#data.subarray(end + 4);
        this.protocol = /^Sec-WebSocket-Protocol: *(.*)$/im.exec(head)?.[1] ?? "";
        this.readyState = 1;
        this.onopen?.({});
        return true;
    }

    #frame() {
        const data = this.#data;
        if (data.length < 2) {
            return false;
        }
        const short = data[1] & 127;
        const begin = short === 127 ? 10 : short === 126 ? 4 : 2;
        if (data.length < begin) {
            return false;
        }
        const length = short === 127 ? Number(data.readBigUInt64BE(2)) : short === 126 ? data.readUInt16BE(2) : short;
        if (data.length < begin + length) {
            return false;
        }
        const body = data.subarray(begin, begin + length);
        this.#data = data.subarray(begin + length);
        const opcode = data[0] & 15;
        if (opcode === 8) {
            this.#closed = { code: length >= 2 ? body.readUInt16BE(0) : 1005, reason: body.subarray(2).toString(), wasClean: true };
            this.close();
            this.#socket.end();
        } else if (opcode === 9) {
            this.#write(10, body);
        } else if (opcode <= 2) {
            this.#fragments.push(body);
            if (data[0] & 128) {
                const whole = Uint8Array.from(Buffer.concat(this.#fragments.splice(0)));
                this.onmessage?.({ data: whole.buffer });
            }
        }
        return true;
    }
}
