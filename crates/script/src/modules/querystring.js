// njs's module querystring.
import { Buffer } from "njs:buffer";

export const escape = (text) => encodeURIComponent(String(text).toWellFormed());

// An invalid escape stays as it is, and invalid UTF-8 becomes U+FFFD.
export function unescape(text) {
    const bytes = [];
    for (const [part] of String(text).matchAll(/%[0-9a-f]{2}|[^%]+|%/gi)) {
        if (/^%../.test(part)) bytes.push(Buffer.from([parseInt(part.slice(1), 16)]));
        else bytes.push(Buffer.from(part));
    }
    return Buffer.concat(bytes).toString();
}

export function parse(text, separator = "&", assignment = "=", options = {}) {
    const { decodeURIComponent: decode = unescape, maxKeys = 1000 } = options ?? {};
    const result = {};
    if (typeof text !== "string" || text === "") return result;
    const read = (part) => decode(part.replaceAll("+", " "));
    const pairs = text.split(separator || "&").filter((pair) => pair !== "");
    for (const pair of maxKeys > 0 ? pairs.slice(0, maxKeys) : pairs) {
        const at = pair.indexOf(assignment || "=");
        const name = read(at < 0 ? pair : pair.slice(0, at));
        const value = at < 0 ? "" : read(pair.slice(at + (assignment || "=").length));
        if (!Object.hasOwn(result, name)) {
            Object.defineProperty(result, name, { value, writable: true, enumerable: true, configurable: true });
        } else if (Array.isArray(result[name])) {
            result[name].push(value);
        } else {
            result[name] = [result[name], value];
        }
    }
    return result;
}

export function stringify(object, separator = "&", assignment = "=", options = {}) {
    const { encodeURIComponent: encode = escape } = options ?? {};
    if (object === null || typeof object !== "object") return "";
    const text = (value) => ["string", "number", "bigint", "boolean"].includes(typeof value) ? encode(String(value)) : "";
    const pair = (name, value) => `${encode(name)}${assignment || "="}${text(value)}`;
    const pairs = Object.entries(object).flatMap(([name, value]) => [].concat(value).map((one) => pair(name, one)));
    return pairs.join(separator || "&");
}

export const decode = parse;
export const encode = stringify;

for (const shared of [escape, unescape, parse, stringify]) Object.freeze(shared);

export default Object.freeze({ parse, stringify, escape, unescape, decode, encode });
