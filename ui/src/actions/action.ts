// An action: a question, what happens after a yes, and the calls that make it happen.

import { createContext, type ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { type Answer, ask, type Call } from "../api.ts";
import type { Kind } from "./access.ts";

/** An action that waits for a yes. */
export interface Action {
  kind: Kind;
  /** The question. */
  title: string;
  /** Sentences that say what happens. */
  happens: string[];
  /** The word on the button. */
  verb: string;
  /** Whether something is lost that cannot be had back. */
  isGrave?: boolean;
  /** Whether the dialog needs room. */
  isWide?: boolean;
  /** Made one after the other, until one fails. */
  calls: Call[];
  /** Fields to fill in, which say what the calls are; none while something is missing. */
  form?: (set: (calls: Call[]) => void) => ComponentChildren;
  /** Done by the page itself, in place of calls. */
  instead?: () => void;
  /** Called before its calls are made. */
  onStart?: () => void;
  /** Called with the answer, which is told when this is over. */
  onDone?: (answer: Answer) => unknown;
}

/** Asks a person whether an action is to be done. */
export const ActionContext = createContext<(action: Action) => void>(() => undefined);

/** The function that asks, in a component. */
export const useAsk = (): ((action: Action) => void) => useContext(ActionContext);

/**
 * Makes the calls of an action; the answer of the last one that was made, with the words of all. Calls with a tag are
 * about one configuration: each of them goes on from the one that the call before it has left.
 */
export async function perform(calls: readonly Call[]): Promise<Answer> {
  const answers: Answer[] = [];
  for (const call of calls) {
    const tag = call.tag === undefined ? undefined : (answers.at(-1)?.tag ?? call.tag);
    const answer = await ask({ ...call, tag });
    answers.push(answer);
    if (!answer.isDone) {
      break;
    }
  }
  const last = answers.at(-1) ?? {
    isDone: true,
    status: 200,
    body: null,
    text: "",
    tag: undefined,
    words: "",
  };
  const done = answers.filter((answer) => answer.isDone).length;
  const prefix = calls.length > 1 && done < calls.length ? `${done} of ${calls.length} are done. ` : "";
  return { ...last, words: prefix + last.words };
}
