// SPDX-License-Identifier: Apache-2.0
// One socket of an npm package that does what standard input says; ../README.md has the commands.
//
//   node role.js zeromq|jszmq TYPE bind|connect ENDPOINT [NAME=VALUE]...
"use strict";
const fs = require("fs");
const readline = require("readline");

const MARK = "mark";

// ---- the package zeromq: libzmq in an addon ---------------------------------------------------

const EVENTS = {
  "handshake": "HANDSHAKE_SUCCEEDED",
  "handshake:error:auth": "HANDSHAKE_FAILED_AUTH",
  "handshake:error:protocol": "HANDSHAKE_FAILED_PROTOCOL",
  "handshake:error:other": "HANDSHAKE_FAILED_NO_DETAIL",
  "disconnect": "DISCONNECTED",
};

const OPTIONS = {
  "plain-username": "plainUsername",
  "plain-password": "plainPassword",
  "curve-public": "curvePublicKey",
  "curve-secret": "curveSecretKey",
  "curve-serverkey": "curveServerKey",
  "zap-domain": "zapDomain",
  "heartbeat-ivl": "heartbeatInterval",
  "heartbeat-timeout": "heartbeatTimeout",
};

// A handler of ZAP that admits one client, or nobody. It has to be there before the socket connects or is bound.
async function startZap(zmq, options) {
  const handler = new zmq.Reply({ linger: 0 });
  await handler.bind("inproc://zeromq.zap.01");
  answerZap(handler, options).catch((problem) => console.error(problem));
}

async function answerZap(handler, options) {
  for await (const [version, id, , , , mechanism, ...credentials] of handler) {
    const told = mechanism.toString() === "CURVE"
      ? credentials[0].equals(z85Decoded(options["admit-key"] || ""))
      : mechanism.toString() === "NULL" || credentials.join(":") === options.admit;
    const admitted = told && !options.deny;
    await handler.send([version, id, admitted ? "200" : "400", "", admitted ? "alice" : "", ""]);
  }
}

function z85Decoded(text) {
  const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
  const bytes = Buffer.alloc(text.length / 5 * 4);
  for (let i = 0; i < text.length; i += 5)
    bytes.writeUInt32BE([...text.slice(i, i + 5)].reduce((sum, digit) => sum * 85 + digits.indexOf(digit), 0), i / 5 * 4);
  return bytes;
}

class AddonSocket {
  constructor(kind, options) {
    this.zmq = require("zeromq");
    const types = {
      pair: "Pair", pub: "Publisher", sub: "Subscriber", req: "Request", rep: "Reply", dealer: "Dealer", router: "Router",
      pull: "Pull", push: "Push", xpub: "XPublisher", xsub: "XSubscriber",
    };
    this.kind = kind;
    this.options = options;
    this.socket = new this.zmq[types[kind]]({ linger: 0 });
    for (const [name, value] of Object.entries(options)) {
      if (OPTIONS[name]) this.socket[OPTIONS[name]] = /-(ivl|timeout)$/.test(name) ? Number(value) : value;
      else if (name.endsWith("-server")) this.socket[name === "plain-server" ? "plainServer" : "curveServer"] = true;
    }
    this.events = [];
    this.waiting = null;
    for (const [name, wanted] of Object.entries(EVENTS)) {
      this.socket.events.on(name, () => {
        this.events.push(wanted);
        if (this.waiting) this.waiting();
      });
    }
  }

  async open(how, endpoint) {
    if (this.options.handler) await startZap(this.zmq, this.options);
    if (this.kind === "sub")
      this.socket.subscribe(...(this.options.subscribe === undefined ? [""] : this.options.subscribe.split(",")));
    if (how === "bind") await this.socket.bind(endpoint);
    else this.socket.connect(endpoint);
    if (this.kind === "xsub") await this.socket.send("\u0001");
  }

  send(frames) { return this.socket.send(frames); }

  receive() { return this.socket.receive(); }

  async event(name) {
    for (;;) {
      const at = this.events.indexOf(name);
      if (at >= 0) {
        this.events.splice(0, at + 1);
        return 0;
      }
      await new Promise((resolve) => { this.waiting = resolve; });
    }
  }
}

// ---- the package jszmq: ZeroMQ in JavaScript ---------------------------------------------------

class ScriptSocket {
  constructor(kind) {
    this.kind = kind;
    this.socket = require("jszmq").socket(kind);
    this.came = [];
    this.waiting = null;
    this.socket.on("message", (...frames) => {
      this.came.push(frames);
      if (this.waiting) this.waiting();
    });
  }

  async open(how, endpoint) {
    if (how === "bind") this.socket.bind(endpoint);
    else this.socket.connect(endpoint);
    if (this.kind === "sub") this.socket.subscribe("");
    if (this.kind === "xsub") this.socket.send(Buffer.from([1]));
  }

  // It has no high-water mark that could be waited for: the event loop gets its turn now and then.
  async send(frames) {
    this.socket.send(frames);
    this.sent = (this.sent || 0) + 1;
    if (this.sent % 100 === 0) await new Promise(setImmediate);
  }

  async receive() {
    while (!this.came.length) await new Promise((resolve) => { this.waiting = resolve; });
    return this.came.shift();
  }
}

// ---- commands ----------------------------------------------------------------------------------

function part(message, index, size) {
  const head = size ? `${message}.${index}|` : "";
  return Buffer.from(head + String.fromCharCode(97 + message % 26).repeat(size - head.length));
}

function message(number, size, parts) {
  return Array.from({ length: parts }, (_, index) => part(number, index, size));
}

function isMark(frames) {
  return frames.length === 1 && frames[0].toString() === MARK;
}

async function expect(socket, number, size, parts) {
  let frames = await socket.receive();
  while (isMark(frames)) frames = await socket.receive();
  const wanted = message(number, size, parts);
  if (frames.length !== parts || !frames.every((frame, index) => frame.equals(wanted[index])))
    throw new Error(`message ${number} is not the one received: ${frames.length} ${frames[0].toString().slice(0, 40)}`);
}

const commands = {
  async send(socket, first, count, size, parts) {
    for (let i = first; i < first + count; i++) await socket.send(message(i, size, parts));
    return count;
  },
  async recv(socket, first, count, size, parts) {
    for (let i = first; i < first + count; i++) await expect(socket, i, size, parts);
    return count;
  },
  async request(socket, first, count, size, parts) {
    for (let i = first; i < first + count; i++) {
      await socket.send(message(i, size, parts));
      await expect(socket, i, size, parts);
    }
    return count;
  },
  async echo(socket, count) {
    for (let i = 0; i < count; i++) await socket.send(await socket.receive());
    return count;
  },
  async mark(socket) {
    await socket.send([Buffer.from(MARK)]);
    return 1;
  },
  async await(socket) {
    while (!isMark(await socket.receive()));
    return 1;
  },
};

async function main([library, kind, how, endpoint, ...settings]) {
  const options = Object.fromEntries(settings.map((text) => [text.split("=")[0], text.slice(text.indexOf("=") + 1)]));
  const socket = library === "jszmq" ? new ScriptSocket(kind) : new AddonSocket(kind, options);
  await socket.open(how, endpoint);
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [name, ...words] = line.split(" ");
    if (name === "quit") break;
    try {
      const done = name === "event" ? await socket.event(words[0]) : await commands[name](socket, ...words.map(Number));
      console.log(`done ${done}`);
    } catch (problem) {
      console.log(`error ${problem.message}`);
    }
  }
  process.exit(0);
}

main(process.argv.slice(2)).catch((problem) => {
  fs.writeSync(1, `error ${problem.message}\n`);
  process.exit(1);
});
