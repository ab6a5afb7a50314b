// The stage of the page: whether there is a session, and what one session leaves to the next.

import { keepDraftFor } from "./config/draft.ts";
import { forgetInForce } from "./config/in-force.ts";
import { store } from "./live/store.ts";
import { begin, current, type Session } from "./session.ts";

/** A stage; `reason` says why there is no session, if that is more than a first visit. */
export type Stage =
  | { step: "starting" }
  | { step: "signed-in"; session: Session }
  | { step: "signed-out"; reason: string | undefined };

const OVER =
  "The session is over: twelve hours have passed, its token was changed, or the daemon was started anew. " +
  "The command corral dashboard prints a new address.";

/** The session that a token begins, or the one that there is. */
export async function start(token: string | undefined): Promise<Stage> {
  const attempt = token === undefined ? await current() : await begin(token);
  if (attempt.session !== undefined) {
    return { step: "signed-in", session: attempt.session };
  }
  // A token that was used before may have left a session behind.
  const other = token === undefined ? attempt : await current();
  return other.session === undefined
    ? { step: "signed-out", reason: attempt.reason }
    : { step: "signed-in", session: other.session };
}

/** The stage after an answer has said that the session is over. */
export const over = (last: Stage): Stage =>
  last.step === "signed-in" ? { step: "signed-out", reason: OVER } : last;

const rights = (stage: Stage): Session["access"] | undefined =>
  stage.step === "signed-in" ? stage.session.access : undefined;

/**
 * Forgets everything that one session was shown and another may not be. The draft outlives a session that ends by
 * itself, for the next one with the same rights.
 */
export function leave(last: Stage, next: Stage): void {
  const access = rights(next);
  if (access !== rights(last)) {
    store.forget();
    forgetInForce();
  }
  if (access !== undefined) {
    keepDraftFor(access);
  }
}
