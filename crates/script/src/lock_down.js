// Run once in each context, after the modules and before the first template.
// One request must find nothing that another one left behind: everything shared is frozen.
(function (lookup) {
    "use strict";
    // Bytes that are not UTF-8 are lone surrogates from U+DC80 to U+DCFF. For Rust they are a NUL with a character behind it.
    const replace = Function.prototype.call.bind(String.prototype.replace);
    const split = Function.prototype.call.bind(String.prototype.split);
    const fold = (text) => replace(text, /\0|[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (found) => {
        const code = found.charCodeAt(0);
        if (code === 0) return "\0\0";
        if (found.length === 2) return found;
        return code >= 0xdc80 && code <= 0xdcff ? "\0" + String.fromCharCode(code - 0xdc00) : "\ufffd";
    });
    for (const name of ["encodeURI", "encodeURIComponent"]) {
        const encode = globalThis[name];
        const escape = (byte) => "%" + (byte.charCodeAt(0) - 0xdc00).toString(16).toUpperCase();
        const pieces = (text) => split(`${text}`, /(?<![\ud800-\udbff])([\udc80-\udcff])/);
        globalThis[name] = (text) => pieces(text).map((piece, at) => at % 2 ? escape(piece) : encode(piece)).join("");
    }
    const vars = new Proxy(Object.freeze(Object.create(null)), {
        get: (_, name) => typeof name === "string" ? lookup(name) : undefined,
        has: (_, name) => typeof name === "string" && lookup(name) !== undefined,
    });

    // Templates see their parameters, and no text may become code that does.
    delete globalThis.eval;

    // A property of a frozen prototype could not be set on its heirs either; a setter gives them their own.
    const letHeirsOverride = (prototype) => {
        for (const key of Reflect.ownKeys(prototype)) {
            const { value, writable, configurable, enumerable } = Object.getOwnPropertyDescriptor(prototype, key);
            if (!writable || !configurable) continue;
            Object.defineProperty(prototype, key, {
                get: () => value,
                set(own) {
                    if (this === prototype) throw new TypeError("shared objects cannot be changed");
                    Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
                },
                configurable: true,
                enumerable,
            });
        }
    };
    letHeirsOverride(Object.prototype);
    letHeirsOverride(Error.prototype);
    letHeirsOverride(TypeError.prototype);

    const seen = new Set();
    const freeze = (value) => {
        const pending = [value];
        while (pending.length > 0) {
            const next = pending.pop();
            if (next === null || (typeof next !== "object" && typeof next !== "function") || seen.has(next)) continue;
            seen.add(next);
            if (!ArrayBuffer.isView(next)) {
                try { Object.freeze(next); } catch { /* Not ours, as a module's namespace. */ }
            }
            pending.push(Object.getPrototypeOf(next));
            for (const key of Reflect.ownKeys(next)) {
                const property = Object.getOwnPropertyDescriptor(next, key);
                if (property !== undefined) pending.push(property.value, property.get, property.set);
            }
        }
    };
    // Prototypes that no global leads to.
    freeze([
        (function* () {})(), (async function* () {})(), (async () => {}),
        [][Symbol.iterator](), new Map()[Symbol.iterator](), new Set()[Symbol.iterator](),
        ""[Symbol.iterator](), "".matchAll(/x/g),
    ]);
    freeze(globalThis);
    return { vars, fold };
});
