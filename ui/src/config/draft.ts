// The configuration that is being edited; kept while other views are open.

import { useEffect, useReducer } from "preact/hooks";
import type { Answer } from "../api.ts";
import type { Session } from "../session.ts";
import type { InForce } from "./in-force.ts";

/** A text, and what it was made from. */
export interface Draft {
  text: string;
  /** The tag of the configuration. */
  tag: string | undefined;
  /** The rights of the session: others may not be shown as much of it. */
  access: Session["access"];
  /** The number of the draft; a draft that is begun after another one was dropped has a new number. */
  lineage: number;
}

let draft: Draft | undefined;
let lineages = 0;
/** The number of texts that are on their way to the daemon. */
let sending = 0;
/** The tag of a configuration that a draft has replaced, until the one that is in force since then was read. */
let replaced: string | undefined;
const listeners = new Set<() => void>();

/** The draft, outside of components. */
export const draftNow = (): Draft | undefined => draft;

const tell = (): void => listeners.forEach((listener) => listener());

function setDraft(next: Draft | undefined): void {
  draft = next;
  tell();
}

/** Gives the draft another text, or begins one. */
export function editDraft(text: string, basis: Pick<Draft, "tag" | "access">): void {
  setDraft(draft === undefined ? { text, ...basis, lineage: (lineages += 1) } : { ...draft, text });
}

/** Has the draft go on from the configuration with another tag. */
export function rebaseDraft(tag: string | undefined): void {
  if (draft !== undefined) {
    setDraft({ ...draft, tag });
  }
}

/** Throws the draft away. */
export const discardDraft = (): void => setDraft(undefined);

/** Throws the draft away unless it was made under the rights of the session that begins. */
export function keepDraftFor(access: Session["access"]): void {
  if (draft !== undefined && draft.access !== access) {
    discardDraft();
  }
}

/**
 * Drops a draft that is equal to the text in force. It is kept while a text is on its way, or what took the place of
 * the old one was not read yet: a draft that is equal to the old text is meant to bring it back.
 */
export function dropDraft(inForce: Pick<InForce, "text" | "tag">): void {
  const isStale = replaced !== undefined && inForce.tag === replaced;
  if (sending > 0 || isStale) {
    return;
  }
  replaced = undefined;
  if (draft?.text === inForce.text) {
    discardDraft();
  }
}

/** Notes that a draft is on its way to the daemon; `settleDraft` takes the answer. */
export function sendDraft(): void {
  sending += 1;
}

/**
 * Takes the answer to a draft that was to be put in force. A draft that was edited meanwhile goes on from there, one
 * that was begun anew does not. The one that was sent is kept until `read` has got what took its place.
 */
export async function settleDraft(
  sent: Draft,
  answer: Answer,
  read: () => Promise<InForce | undefined>,
): Promise<void> {
  if (answer.isDone) {
    replaced = answer.tag === sent.tag ? undefined : sent.tag;
    if (draft?.lineage === sent.lineage) {
      rebaseDraft(answer.tag);
    }
  }
  const found = answer.isDone ? await read() : undefined;
  sending -= 1;
  if (found !== undefined) {
    // The text that was sent: the daemon may write it in another way.
    dropDraft({ text: sent.text, tag: found.tag });
  }
  tell();
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
