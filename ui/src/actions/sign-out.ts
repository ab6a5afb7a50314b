// The end of the session by a person. The draft ends with it.

import type { Answer } from "../api.ts";
import { discardDraft, draftNow } from "../config/draft.ts";
import { end } from "../session.ts";
import type { Action } from "./action.ts";

/** Signs out. A draft that a person has agreed to lose is lost as well when the session was over before. */
export async function signOut(): Promise<Answer> {
  const answer = await end();
  if (answer.isDone || answer.status === 401) {
    discardDraft();
  }
  return answer;
}

/** Does it at once, or asks before a draft is lost. */
export function askToSignOut(ask: (action: Action) => void, instead: () => void): void {
  if (draftNow() === undefined) {
    instead();
    return;
  }
  ask({
    kind: "configuration",
    title: "Sign out and discard your text?",
    happens: ["The configuration that you have typed is not in force. It is thrown away."],
    verb: "Sign out",
    isGrave: true,
    calls: [],
    instead,
  });
}
