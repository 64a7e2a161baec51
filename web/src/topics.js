// SPDX-License-Identifier: Apache-2.0

/** Bytes as a key of a map. */
export function keyOf(bytes) {
    // In pieces: so many arguments are allowed, and no string is made for each byte.
    const pieces = [];
    for (let at = 0; at < bytes.length; at += 4096) {
        pieces.push(String.fromCharCode(...bytes.subarray(at, at + 4096)));
    }
    return pieces.join("");
}

/** Subscriptions, each with how often it was made. A topic is subscribed to by its prefixes. */
export class Topics {
    #counts = new Map(); // key: how often, and the bytes
    #perLength = new Map(); // length: how many topics have it
    #lengths = []; // ascending

    /** How many topics there are, each counted once. */
    get size() {
        return this.#counts.size;
    }

    /** How often the topic is subscribed to now. */
    add(topic) {
        const key = keyOf(topic);
        const entry = this.#counts.get(key);
        if (entry) {
            return ++entry.count;
        }
        this.#counts.set(key, { count: 1, topic: topic.slice() });
        this.#countLength(key.length, 1);
        return 1;
    }

    /** How often the topic is still subscribed to; -1 when it was not. */
    remove(topic) {
        const key = keyOf(topic);
        const entry = this.#counts.get(key);
        if (!entry) {
            return -1;
        }
        if (--entry.count === 0) {
            this.#counts.delete(key);
            this.#countLength(key.length, -1);
        }
        return entry.count;
    }

    has(topic) {
        return this.#counts.has(keyOf(topic));
    }

    /** Whether something is subscribed to that these bytes begin with. */
    matches(bytes) {
        let key = "";
        for (const length of this.#lengths) {
            if (length > bytes.length) {
                return false;
            }
            key += keyOf(bytes.subarray(key.length, length));
            if (this.#counts.has(key)) {
                return true;
            }
        }
        return false;
    }

    /** The topics, each once. */
    *[Symbol.iterator]() {
        for (const { topic } of this.#counts.values()) {
            yield topic;
        }
    }

    #countLength(length, change) {
        const before = this.#perLength.get(length) ?? 0;
        this.#perLength.set(length, before + change);
        if (before === 0) {
            this.#lengths.push(length);
            this.#lengths.sort((a, b) => a - b);
        } else if (before + change === 0) {
            this.#perLength.delete(length);
            this.#lengths.splice(this.#lengths.indexOf(length), 1);
        }
    }
}
