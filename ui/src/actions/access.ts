// The rights of this session, and why it has no more.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "../session.ts";

/** The session of the page. */
export const SessionContext = createContext<Session>({ access: "read", version: "", files: undefined });

/** The session, in a component. */
export const useSession = (): Session => useContext(SessionContext);

/** An action on processes, or a change of the configuration. */
export type Kind = "process" | "configuration";

/** Why something cannot be done in this session, if it cannot. */
export function refusal(session: Session, kind: Kind): string | undefined {
  if (session.access === "read") {
    return "This session may only read. Sign in with the control token to change something.";
  }
  if (kind === "configuration" && session.files !== undefined) {
    return `The configuration comes from ${session.files}. Change it there, then have the daemon read it again.`;
  }
  return undefined;
}
