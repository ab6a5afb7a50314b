// njs's Buffer: bytes that know encodings. What belongs to neither njs nor this server is left out.
import { decode, encode } from "njs:bytes";

const ENCODINGS = { "utf8": "utf8", "utf-8": "utf8", "hex": "hex", "base64": "base64", "base64url": "base64url", "latin1": "latin1", "binary": "latin1" };

export function encodingOf(name = "utf8") {
    const text = String(name).toLowerCase();
    if (!Object.hasOwn(ENCODINGS, text)) throw new TypeError(`"${name}" encoding is not supported`);
    return ENCODINGS[text];
}

// The bytes of a string, or those behind a view of a buffer.
export function bytesOf(data, encoding) {
    if (typeof data === "string") return decode(data.toWellFormed(), encodingOf(encoding));
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    throw new TypeError("data is not a string or Buffer-like object");
}

// As the functions in Rust take them: a character for each byte.
export function binary(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode.apply(null, bytes.subarray(at, at + 8192));
    return text;
}

const over = (bytes) => new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export class Buffer extends Uint8Array {
    static alloc(size, fill, encoding) {
        const made = new Buffer(size);
        return fill === undefined ? made : made.fill(fill, 0, size, encoding);
    }

    static allocUnsafe(size) { return new Buffer(size); }

    static from(value, encodingOrOffset, length) {
        if (typeof value === "string") return over(bytesOf(value, encodingOrOffset));
        if (value instanceof ArrayBuffer) return new Buffer(value, encodingOrOffset, length);
        if (value !== null && typeof value === "object") return new Buffer(value.type === "Buffer" ? value.data : value);
        throw new TypeError("first argument is not a string or Buffer-like object");
    }

    static concat(list, total = list.reduce((sum, part) => sum + part.length, 0)) {
        const made = new Buffer(total);
        let at = 0;
        for (const part of list) {
            const rest = part.subarray(0, total - at);
            made.set(rest, at);
            at += rest.length;
        }
        return made;
    }

    static byteLength(value, encoding) { return bytesOf(value, encoding).length; }

    static compare(one, other) {
        const length = Math.min(one.length, other.length);
        for (let at = 0; at < length; at++) {
            if (one[at] !== other[at]) return one[at] < other[at] ? -1 : 1;
        }
        return Math.sign(one.length - other.length);
    }

    static isBuffer(value) { return value instanceof Buffer; }

    static isEncoding(name) { return Object.hasOwn(ENCODINGS, String(name).toLowerCase()); }

    toString(encoding, start, end) { return encode(binary(this.subarray(start, end)), encodingOf(encoding)); }

    toJSON() { return { type: "Buffer", data: Array.from(this) }; }

    equals(other) { return Buffer.compare(this, other) === 0; }

    compare(other) { return Buffer.compare(this, other); }

    // A view of the same bytes, as in Node.js.
    slice(start, end) { return this.subarray(start, end); }

    copy(target, targetStart = 0, start = 0, end = this.length) {
        const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
        target.set(part, targetStart);
        return part.length;
    }

    write(text, offset = 0, length = this.length - offset, encoding = undefined) {
        const bytes = bytesOf(text, encoding).subarray(0, Math.min(length, this.length - offset));
        this.set(bytes, offset);
        return bytes.length;
    }

    fill(value, start, end, encoding) {
        if (typeof value === "number") return super.fill(value, start, end);
        if (typeof start === "string") [encoding, start, end] = [start, 0, this.length];
        const bytes = bytesOf(value, encoding);
        const part = this.subarray(start, end);
        for (let at = 0; at < part.length; at++) part[at] = bytes.length === 0 ? 0 : bytes[at % bytes.length];
        return this;
    }

    indexOf(value, from = 0, encoding = undefined) {
        if (typeof value === "number") return super.indexOf(value & 255, from);
        const wanted = bytesOf(value, encoding);
        const begin = from < 0 ? Math.max(0, this.length + from) : from;
        for (let at = begin; at + wanted.length <= this.length; at++) {
            if (wanted.every((byte, idx) => this[at + idx] === byte)) return at;
        }
        return -1;
    }

    includes(value, from, encoding) { return this.indexOf(value, from, encoding) >= 0; }
}

// readUInt16BE, writeDoubleLE and their like.
const NUMBERS = [["UInt8", "Uint8"], ["Int8", "Int8"], ["UInt16", "Uint16"], ["Int16", "Int16"], ["UInt32", "Uint32"], ["Int32", "Int32"], ["Float", "Float32"], ["Double", "Float64"]];
for (const [name, kind] of NUMBERS) {
    for (const order of name.endsWith("8") ? [""] : ["LE", "BE"]) {
        const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
        const methods = {
            [`read${name}${order}`](offset = 0) { return view(this)[`get${kind}`](offset, order === "LE"); },
            [`write${name}${order}`](value, offset = 0) {
                view(this)[`set${kind}`](offset, value, order === "LE");
                return offset + DataView.prototype[`get${kind}`].name.replace(/\D/g, "") / 8;
            },
        };
        for (const method of Object.keys(methods)) {
            Object.defineProperty(Buffer.prototype, method, { value: methods[method], writable: true, configurable: true });
        }
    }
}

export default Object.freeze({ Buffer, constants: Object.freeze({ MAX_LENGTH: 2147483647, MAX_STRING_LENGTH: 1073741823 }) });
