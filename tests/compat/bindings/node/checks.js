// SPDX-License-Identifier: Apache-2.0
// zeromq.js with its prebuilt addon on the library: each named check is one run of this program.
"use strict";
const assert = require("assert");
const fs = require("fs");
const zmq = require("zeromq");

function linked(Server, Client, serverOptions = {}, clientOptions = {}) {
  const server = new Server({ linger: 0, ...serverOptions });
  const client = new Client({ linger: 0, ...clientOptions });
  return (async () => {
    await server.bind("tcp://127.0.0.1:*");
    client.connect(server.lastEndpoint);
    return [server, client];
  })();
}

const checks = {
  async library() {
    const maps = fs.readFileSync("/proc/self/maps", "utf8");
    assert(maps.includes(fs.realpathSync(process.env.EXPECT_LIBRARY)));
    // Nothing tells the two apart by version, so ask for what only the addon's own library has.
    assert.strictEqual(zmq.version, "4.3.5");
  },
  async request_reply() {
    const [server, client] = await linked(zmq.Reply, zmq.Request);
    for (let i = 0; i < 500; i++) {
      await client.send(String(i));
      assert.strictEqual((await server.receive())[0].toString(), String(i));
      await server.send("reply");
      assert.strictEqual((await client.receive())[0].toString(), "reply");
    }
    server.close();
    client.close();
  },
  async stream() {
    const count = 100000;
    const [server, client] = await linked(zmq.Pull, zmq.Push);
    const sending = (async () => {
      for (let i = 0; i < count; i++) await client.send([String(i), "tail"]);
    })();
    let next = 0;
    for await (const [number, tail] of server) {
      assert.strictEqual(number.toString(), String(next));
      assert.strictEqual(tail.toString(), "tail");
      if (++next === count) break;
    }
    await sending;
    server.close();
    client.close();
  },
  async large() {
    const [server, client] = await linked(zmq.Pair, zmq.Pair);
    const body = Buffer.alloc(5000000, "x");
    for (let i = 0; i < 10; i++) {
      await client.send(body);
      assert(body.equals((await server.receive())[0]));
    }
    server.close();
    client.close();
  },
  async publish() {
    const [server, client] = await linked(zmq.XPublisher, zmq.Subscriber);
    client.subscribe("a");
    assert.strictEqual((await server.receive())[0].toString(), "\u0001a");
    await server.send(["b", "no"]);
    await server.send(["a", "yes"]);
    assert.strictEqual((await client.receive())[1].toString(), "yes");
    server.close();
    client.close();
  },
  async router_dealer() {
    const [server, client] = await linked(zmq.Router, zmq.Dealer, {}, { routingId: "me" });
    await client.send(["", "ask"]);
    const [id, empty, body] = await server.receive();
    assert.strictEqual(id.toString(), "me");
    await server.send([id, empty, body]);
    assert.strictEqual((await client.receive())[1].toString(), "ask");
    server.close();
    client.close();
  },
  async monitor() {
    const server = new zmq.Reply();
    const accepted = new Promise((resolve) => server.events.on("accept", resolve));
    await server.bind("tcp://127.0.0.1:*");
    const client = new zmq.Request({ linger: 0 });
    client.connect(server.lastEndpoint);
    await accepted;
    server.close();
    client.close();
  },
  async proxy() {
    const front = new zmq.Router();
    const back = new zmq.Dealer();
    const proxy = new zmq.Proxy(front, back);
    await front.bind("inproc://front");
    await back.bind("inproc://back");
    const running = proxy.run();
    const worker = new zmq.Reply();
    const client = new zmq.Request();
    worker.connect("inproc://back");
    client.connect("inproc://front");
    await client.send("through");
    assert.strictEqual((await worker.receive())[0].toString(), "through");
    await worker.send("back");
    assert.strictEqual((await client.receive())[0].toString(), "back");
    proxy.terminate();
    await running;
    worker.close();
    client.close();
  },
  async curve() {
    const keys = zmq.curveKeyPair();
    const [server, client] = await linked(zmq.Reply, zmq.Request,
      { curveServer: true, curveSecretKey: keys.secretKey },
      { curveServerKey: keys.publicKey, curvePublicKey: keys.publicKey, curveSecretKey: keys.secretKey });
    await client.send("secret");
    assert.strictEqual((await server.receive())[0].toString(), "secret");
    server.close();
    client.close();
  },
};

const name = process.argv[2];
if (!name) {
  console.log(Object.keys(checks).join("\n"));
} else {
  checks[name]().then(() => process.exit(0), (problem) => {
    console.error(problem);
    process.exit(1);
  });
}
