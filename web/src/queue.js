// SPDX-License-Identifier: Apache-2.0

/** First in, first out; `shift` takes constant time, which an array's does not. */
export class Queue {
    #items = [];
    #head = 0;

    get size() {
        return this.#items.length - this.#head;
    }

    push(item) {
        this.#items.push(item);
    }

    shift() {
        const item = this.#items[this.#head];
        this.#items[this.#head++] = undefined;
        if (this.#head === this.#items.length) {
            this.clear();
        } else if (this.#head >= 1024 && 2 * this.#head >= this.#items.length) {
            this.#items.splice(0, this.#head);
            this.#head = 0;
        }
        return item;
    }

    clear() {
        this.#items.length = 0;
        this.#head = 0;
    }
}
