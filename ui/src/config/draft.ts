// The configuration that is being edited; kept while other views are open.

import { useEffect, useReducer } from "preact/hooks";

/** A text, and the tag of the configuration that it was made from. */
export interface Draft {
  text: string;
  tag: string | undefined;
}

let draft: Draft | undefined;
const listeners = new Set<() => void>();

/** Keeps a draft, or throws it away. */
export function setDraft(next: Draft | undefined): void {
  draft = next;
  listeners.forEach((listener) => listener());
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
