// The configuration in force, read again whenever its tag changes, or when this page has changed it.

import { useEffect, useReducer } from "preact/hooks";
import { ask } from "../api.ts";
import type { Json } from "../live/patch.ts";

/** A read that failed is tried again after so long. */
const PAUSE = 5_000;

/** The document, as text and as a value. */
export interface InForce {
  text: string;
  value: Json;
  tag: string | undefined;
}

let found: InForce | undefined;
/** Counts the sessions that are over: answers that were asked for in one of them are not for the next one. */
let sessions = 0;
const listeners = new Set<() => void>();

/** Forgets it, as the session is over: the next one may not be shown as much of it. */
export function forgetInForce(): void {
  found = undefined;
  sessions += 1;
}

/** Reads it; nothing if it cannot be read. */
export async function readInForce(): Promise<InForce | undefined> {
  const session = sessions;
  const answer = await ask({ method: "GET", path: "/config" });
  if (!answer.isDone || session !== sessions) {
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
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const read = async () => {
      if ((await readInForce()) === undefined && !isOver) {
        timer = setTimeout(() => void read(), PAUSE);
      }
    };
    if (found?.tag === undefined || found.tag !== seen) {
      void read();
    }
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [seen]);
  return found;
}
