// Run once in each context, after the modules and before the first template.
// One request must find nothing that another one left behind: everything shared is frozen.
(function (lookup) {
    "use strict";
    const wellFormed = Function.prototype.call.bind(String.prototype.toWellFormed);
    const vars = new Proxy(Object.freeze(Object.create(null)), {
        get: (_, name) => typeof name === "string" ? lookup(name) : undefined,
        has: (_, name) => typeof name === "string" && lookup(name) !== undefined,
    });

    // Templates see their parameters, and no text may become code that does.
    delete globalThis.eval;

    // What hangs on a frozen prototype could not be set on its heirs either; a setter gives them their own.
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
                try { Object.freeze(next); } catch { /* What cannot be frozen, as a module's namespace, is not ours. */ }
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
    return { vars, wellFormed };
});
