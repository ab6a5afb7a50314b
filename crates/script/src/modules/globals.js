// Globals that njs has everywhere.
import { Buffer } from "njs:buffer";
import { TextDecoder, TextEncoder } from "njs:text";

// The version whose features these are.
const njs = { version: "0.8.9", version_number: 0x000809, engine: "QuickJS" };

for (const [name, value] of Object.entries({ Buffer, TextDecoder, TextEncoder, njs })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
