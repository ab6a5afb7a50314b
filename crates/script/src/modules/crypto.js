// njs's module crypto: hashes and codes of messages, computed when they are asked for.
import { authenticate, digest } from "njs:bytes";
import { Buffer, binary, bytesOf } from "njs:buffer";

const ALGORITHMS = ["md5", "sha1", "sha256"];

function check(algorithm) {
    if (typeof algorithm !== "string") throw new TypeError("algorithm must be a string");
    if (!ALGORITHMS.includes(algorithm)) throw new TypeError(`not supported algorithm: "${algorithm}"`);
    return algorithm;
}

class Hash {
    #finish;
    #pieces;

    constructor(finish, pieces = []) {
        this.#finish = finish;
        this.#pieces = pieces;
    }

    update(data, encoding) {
        this.#expectOpen();
        this.#pieces.push(binary(bytesOf(data, encoding)));
        return this;
    }

    digest(encoding) {
        this.#expectOpen();
        const hash = Buffer.from(this.#finish(this.#pieces.join("")).buffer);
        this.#pieces = undefined;
        return encoding === undefined ? hash : hash.toString(encoding);
    }

    copy() {
        this.#expectOpen();
        return new Hash(this.#finish, [...this.#pieces]);
    }

    #expectOpen() {
        if (this.#pieces === undefined) throw new Error("Digest already called");
    }
}

export function createHash(algorithm) {
    const name = check(algorithm);
    return new Hash((bytes) => digest(name, bytes));
}

export function createHmac(algorithm, key) {
    const [name, secret] = [check(algorithm), binary(bytesOf(key))];
    return new Hash((bytes) => authenticate(name, secret, bytes));
}

// Objects that requests share are not changed.
for (const shared of [Hash, Hash.prototype, createHash, createHmac]) Object.freeze(shared);

export default Object.freeze({ createHash, createHmac });
