// The configuration in force, read again whenever its tag changes, or when this page has changed it.

import { useEffect, useReducer } from "preact/hooks";
import { ask } from "../api.ts";
import type { Json } from "../live/patch.ts";

/** The document, as text and as a value. */
export interface InForce {
  text: string;
  value: Json;
  tag: string | undefined;
}

let found: InForce | undefined;
const listeners = new Set<() => void>();

/** Reads it; nothing if it cannot be read. */
export async function readInForce(): Promise<InForce | undefined> {
  const answer = await ask({ method: "GET", path: "/config" });
  if (!answer.isDone) {
    return undefined;
  }
  // The daemon ends lines as HTTP does, a text area does not.
  found = { text: answer.text.replaceAll("\r\n", "\n").trimEnd(), value: answer.body, tag: answer.tag };
  listeners.forEach((listener) => listener());
  return found;
}

/** The configuration in force; `seen` is the tag that the daemon has named last. */
export function useInForce(seen: string | undefined): InForce | undefined {
  const [, draw] = useReducer<number, undefined>((count) => count + 1, 0);
  useEffect(() => {
    const listener = () => draw(undefined);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  useEffect(() => {
    if (found?.tag === undefined || found.tag !== seen) {
      void readInForce();
    }
  }, [seen]);
  return found;
}
