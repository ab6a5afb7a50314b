// TextEncoder and TextDecoder, of UTF-8 alone.
import { decode, encode } from "njs:bytes";
import { binary, bytesOf } from "njs:buffer";

export class TextEncoder {
    get encoding() { return "utf-8"; }

    encode(text = "") { return decode(String(text).toWellFormed(), "utf8"); }

    encodeInto(text, target) {
        let [read, written] = [0, 0];
        for (const character of String(text).toWellFormed()) {
            const bytes = this.encode(character);
            if (written + bytes.length > target.length) break;
            target.set(bytes, written);
            read += character.length;
            written += bytes.length;
        }
        return { read, written };
    }
}

export class TextDecoder {
    #options;

    constructor(label = "utf-8", options = {}) {
        if (!["utf-8", "utf8"].includes(String(label).toLowerCase())) throw new RangeError(`The "${label}" encoding is not supported`);
        this.#options = { fatal: Boolean(options.fatal), ignoreBOM: Boolean(options.ignoreBOM) };
    }

    get encoding() { return "utf-8"; }

    get fatal() { return this.#options.fatal; }

    get ignoreBOM() { return this.#options.ignoreBOM; }

    decode(data, options = {}) {
        if (options.stream) throw new TypeError("pieces of a text are not supported");
        if (data === undefined) return "";
        const bytes = bytesOf(data);
        const text = encode(binary(bytes), "utf8");
        if (this.fatal && text.includes("\ufffd") && !same(decode(text, "utf8"), bytes)) throw new TypeError("The encoded data was not valid");
        return !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
    }
}

const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);
