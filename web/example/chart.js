// SPDX-License-Identifier: Apache-2.0

const SLOTS_PER_SECOND = 60;

/** The values of the last seconds, a slot for each sixtieth of a second: lowest, highest and newest. */
export class Series {
    #slots;

    constructor(name, seconds) {
        this.name = name;
        this.shown = true;
        this.#slots = Array.from({ length: seconds * SLOTS_PER_SECOND }, () => ({ number: -1, age: 0, low: 0, high: 0, last: 0 }));
    }

    add(timeMs, value) {
        const number = Math.floor(timeMs * SLOTS_PER_SECOND / 1000);
        const slot = this.#slots[number % this.#slots.length];
        if (slot.number !== number) {
            slot.number = number;
            slot.low = slot.high = value;
        }
        slot.low = Math.min(slot.low, value);
        slot.high = Math.max(slot.high, value);
        slot.last = value;
    }

    /** The slots that have values, the oldest first, with their ages in seconds. */
    *recent(timeMs) {
        const now = timeMs * SLOTS_PER_SECOND / 1000;
        const newest = Math.floor(now);
        for (let number = Math.max(0, newest - this.#slots.length + 1); number <= newest; ++number) {
            const slot = this.#slots[number % this.#slots.length];
            if (slot.number === number) {
                slot.age = (now - number) / SLOTS_PER_SECOND;
                yield slot;
            }
        }
    }
}

/** Draws series over time: for each the range of its values, and a line. */
export class Chart {
    #canvas;
    #context;
    #series;
    #seconds;
    #colours = {};
    #range = null; // of the values that are shown; moves slowly

    constructor(canvas, series, seconds) {
        this.#canvas = canvas;
        this.#context = canvas.getContext("2d");
        this.#series = series;
        this.#seconds = seconds;
        new ResizeObserver(() => this.#fit()).observe(canvas);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#readColours());
        this.#readColours();
        this.#fit();
    }

    draw(timeMs) {
        const context = this.#context;
        const { clientWidth: width, clientHeight: height } = this.#canvas;
        const shown = this.#series.filter((each) => each.shown);
        const points = shown.map((each) => [...each.recent(timeMs)]);
        const box = { left: 40, right: width - 92, top: 10, bottom: height - 26 };
        const x = (age) => box.right - age / this.#seconds * (box.right - box.left);
        const { low, high } = this.#follow(points.flat());
        const y = (value) => box.bottom - (value - low) / (high - low) * (box.bottom - box.top);

        context.clearRect(0, 0, width, height);
        this.#drawGrid(box, x, y, low, high);
        context.save();
        context.beginPath();
        context.rect(box.left, 0, box.right - box.left + 2, height);
        context.clip();
        shown.forEach(({ name }, i) => this.#drawSeries(points[i], this.#colours[name], x, y));
        context.restore();
        this.#drawNames(shown, points, box, y);
    }

    /** The range to show, which follows that of the values without jumping. */
    #follow(points) {
        if (!points.length) {
            return this.#range ?? { low: 0, high: 100 };
        }
        const low = points.reduce((least, point) => Math.min(least, point.low), Infinity);
        const high = points.reduce((most, point) => Math.max(most, point.high), -Infinity);
        const margin = Math.max(1, (high - low) * 0.08);
        const wanted = { low: low - margin, high: high + margin };
        const old = this.#range ?? wanted;
        this.#range = {
            low: Math.min(low, old.low + (wanted.low - old.low) * 0.08),
            high: Math.max(high, old.high + (wanted.high - old.high) * 0.08),
        };
        return this.#range;
    }

    #drawGrid(box, x, y, low, high) {
        const context = this.#context;
        context.font = "12px system-ui, sans-serif";
        context.fillStyle = this.#colours.muted;
        context.strokeStyle = this.#colours.grid;
        context.lineWidth = 1;
        context.textAlign = "right";
        context.textBaseline = "middle";
        const step = niceStep((high - low) / 6);
        for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
            const at = Math.round(y(value)) + 0.5;
            context.beginPath();
            context.moveTo(box.left, at);
            context.lineTo(box.right, at);
            context.stroke();
            context.fillText(String(Number(value.toPrecision(6))), box.left - 8, at);
        }
        context.textBaseline = "top";
        const secondsPerLabel = this.#seconds / (box.right - box.left < 400 ? 2 : 5);
        for (let age = 0; age <= this.#seconds; age += secondsPerLabel) {
            context.textAlign = age === 0 ? "right" : age === this.#seconds ? "left" : "center";
            context.fillText(age === 0 ? "now" : `−${age} s`, x(age), box.bottom + 9);
        }
    }

    #drawSeries(points, colour, x, y) {
        const context = this.#context;
        if (!points.length) {
            return;
        }
        context.beginPath();
        for (const { age, high } of points) {
            context.lineTo(x(age), y(high));
        }
        for (const { age, low } of points.reverse()) {
            context.lineTo(x(age), y(low));
        }
        points.reverse();
        context.closePath();
        context.globalAlpha = 0.25;
        context.fillStyle = colour;
        context.fill();
        context.globalAlpha = 1;
        context.beginPath();
        for (const { age, last } of points) {
            context.lineTo(x(age), y(last));
        }
        context.strokeStyle = colour;
        context.lineWidth = 1.75;
        context.lineJoin = "round";
        context.stroke();
    }

    /** Name and newest value at the end of each line, pushed apart where they would lie on each other. */
    #drawNames(shown, points, box, y) {
        const context = this.#context;
        const names = shown.flatMap(({ name }, i) => {
            const newest = points[i].at(-1);
            return newest ? [{ name, value: newest.last, at: y(newest.last) }] : [];
        }).sort((a, b) => a.at - b.at);
        names.forEach((each, i) => {
            each.at = Math.max(each.at, box.top + 8, i ? names[i - 1].at + 18 : 0);
        });
        for (let i = names.length - 1; i >= 0; --i) {
            names[i].at = Math.min(names[i].at, i + 1 < names.length ? names[i + 1].at - 18 : box.bottom - 8);
        }
        context.textAlign = "left";
        context.textBaseline = "middle";
        for (const { name, value, at } of names) {
            context.fillStyle = this.#colours[name];
            context.beginPath();
            context.arc(box.right + 10, at, 3.5, 0, 2 * Math.PI);
            context.fill();
            context.fillStyle = this.#colours.text;
            context.font = "600 13px system-ui, sans-serif";
            context.fillText(name, box.right + 19, at);
            context.font = "13px system-ui, sans-serif";
            context.fillStyle = this.#colours.muted;
            context.fillText(value.toFixed(0), box.right + 66, at);
        }
    }

    #readColours() {
        const style = getComputedStyle(this.#canvas);
        for (const name of ["grid", "text", "muted", ...this.#series.map((each) => each.name)]) {
            this.#colours[name] = style.getPropertyValue(`--${name}`);
        }
    }

    #fit() {
        const scale = devicePixelRatio;
        this.#canvas.width = Math.round(this.#canvas.clientWidth * scale);
        this.#canvas.height = Math.round(this.#canvas.clientHeight * scale);
        this.#context.setTransform(scale, 0, 0, scale, 0, 0);
    }
}

/** The next larger of 1, 2, 5, 10, 20, ... */
function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= least);
}
