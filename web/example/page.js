// SPDX-License-Identifier: Apache-2.0
//
// The page of examples/live_feed.c. Messages are only put on a list when they come, and everything else is done once
// for each frame, so that the page stays fluid whatever their rate is.
import { Sub, text } from "../index.js";
import { Chart, Series } from "./chart.js";

const SECONDS = 10;
const SENSORS = ["north", "east", "south", "west"];
const MOST_IN_A_BATCH = 20_000; // while the tab is hidden there are no frames

const element = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");

const url = new URLSearchParams(location.search).get("feed") ?? `ws://${location.hostname || "localhost"}:5555/`;
const series = new Map(SENSORS.map((name) => [name, new Series(name, SECONDS)]));
const chart = new Chart(element("chart"), [...series.values()], SECONDS);

// ---- messages -----------------------------------------------------------------------------------

let batch = []; // what has come since the last frame
let total = 0;
let missed = 0;
const lastSequence = new Map(); // of each sensor that is subscribed to

/** What a batch of messages adds to the counters and the chart. */
function absorb() {
    for (const { time, message: [topic, body] } of batch) {
        const name = text(topic);
        const [sequence, value] = text(body).split(" ").map(Number);
        const last = lastSequence.get(name);
        if (last !== undefined && sequence > last + 1) {
            missed += sequence - last - 1;
        }
        lastSequence.set(name, sequence);
        series.get(name)?.add(time, value);
    }
    total += batch.length;
    batch = [];
}

function show(state, words) {
    element("status").dataset.state = state;
    element("status").textContent = words;
}

async function receive() {
    const socket = new Sub();
    socket.addEventListener("connect", () => show("connected", "connected"));
    socket.addEventListener("disconnect", ({ retryDelay }) => {
        lastSequence.clear(); // what was published meanwhile was not meant for us
        show("connecting", `not connected, next attempt in ${(retryDelay / 1000).toFixed(1)} s`);
    });
    for (const each of series.values()) {
        addToLegend(each, socket);
        socket.subscribe(each.name);
    }
    socket.connect(url);
    for await (const message of socket) {
        batch.push({ time: performance.now(), message });
        if (batch.length === MOST_IN_A_BATCH) {
            absorb();
        }
    }
}

/** A box to subscribe with. */
function addToLegend(each, socket) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.name = each.name;
    box.style.setProperty("--colour", `var(--${each.name})`);
    box.addEventListener("change", () => {
        each.shown = box.checked;
        if (box.checked) {
            socket.subscribe(each.name);
        } else {
            socket.unsubscribe(each.name);
        }
        absorb();
        lastSequence.delete(each.name);
    });
    label.append(box, each.name);
    element("legend").append(label);
}

// ---- frames -------------------------------------------------------------------------------------

const moments = []; // of the last second: time, messages in total
let frames = [];

function showCount(id, value) {
    const shown = element(id);
    if (shown.value !== String(value)) {
        shown.value = value;
        shown.textContent = number.format(value);
    }
}

function frame() {
    const now = performance.now();
    absorb();
    chart.draw(now);
    showCount("total", total);
    showCount("missed", missed);
    element("missed-box").classList.toggle("has-missed", missed > 0);

    frames.push(now);
    moments.push({ now, total });
    while (moments[0].now < now - 1000) {
        moments.shift();
    }
    if (now - frames[0] >= 500) { // less often: nobody can read them at each frame
        const [{ now: begin, total: before }] = moments;
        showCount("rate", Math.round((total - before) / Math.max(now - begin, 1) * 1000));
        showCount("frames", Math.round((frames.length - 1) / (now - frames[0]) * 1000));
        frames = [now];
    }
    requestAnimationFrame(frame);
}

element("url").value = url;
requestAnimationFrame(frame);
receive().catch((error) => show("failed", error.message));
