// The configuration that is being edited; kept while other views are open.

import { useEffect, useReducer } from "preact/hooks";
import type { Answer } from "../api.ts";

/** A text, and the tag of the configuration that it was made from. */
export interface Draft {
  text: string;
  tag: string | undefined;
}

let draft: Draft | undefined;
const listeners = new Set<() => void>();

/** The draft, outside of components. */
export const draftNow = (): Draft | undefined => draft;

/** Keeps a draft, or throws it away. */
export function setDraft(next: Draft | undefined): void {
  draft = next;
  listeners.forEach((listener) => listener());
}

/** Drops a draft that is equal to the text in force. */
export function dropDraft(inForce: string): void {
  if (draft?.text === inForce) {
    setDraft(undefined);
  }
}

/**
 * Takes the answer to a text that was to be put in force. A draft that was edited meanwhile goes on from there; the one
 * that was sent is kept until `read` has got what took its place.
 */
export async function settleDraft(sent: string, answer: Answer, read: () => Promise<unknown>): Promise<void> {
  if (!answer.isDone) {
    return;
  }
  if (draft !== undefined) {
    setDraft({ ...draft, tag: answer.tag });
  }
  if ((await read()) !== undefined) {
    dropDraft(sent);
  }
}

/** The draft, in a component. */
export function useDraft(): Draft | undefined {
  const [, draw] = useReducer<number, undefined>((count) => count + 1, 0);
  useEffect(() => {
    const listener = () => draw(undefined);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return draft;
}

// The browser asks before a page with a draft is left.
window.addEventListener("beforeunload", (event) => draft !== undefined && event.preventDefault());
