// The session of this page: what it may do, how it begins and ends.

import { type Answer, ask } from "./api.ts";
import type { Json } from "./live/patch.ts";

/** A session. */
export interface Session {
  access: "full" | "read";
  version: string;
  /** The files that the configuration comes from, which the API does not change. */
  files: string | undefined;
}

/** A try to get one: without a session, the reason in words, if there is any. */
export type Attempt = { session: Session } | { session: undefined; reason: string | undefined };

let pageVersion: string | undefined;

/** The version that this page belongs to: that of the daemon at the page's first session. */
export const versionOfPage = (): string => pageVersion ?? "";

const PATH = "/dashboard/session";

const text = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);

function sessionOf(body: Json): Session | undefined {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return undefined;
  }
  const access = body.access === "full" ? "full" : "read";
  return { access, version: text(body.version) ?? "", files: text(body.files) };
}

/** The session that the browser's cookie stands for. */
export async function current(): Promise<Attempt> {
  const answer = await ask({ method: "GET", path: PATH });
  const session = answer.isDone ? sessionOf(answer.body) : undefined;
  if (session !== undefined) {
    pageVersion ??= session.version;
    return { session };
  }
  const reason = answer.status === 401 ? undefined : answer.words;
  return { session: undefined, reason };
}

/** Begins a session with a token. */
export async function begin(token: string): Promise<Attempt> {
  const answer = await ask({ method: "POST", path: PATH, body: JSON.stringify({ token }), isSignIn: true });
  if (answer.isDone) {
    return current();
  }
  return { session: undefined, reason: answer.words };
}

/** Ends it. */
export const end = (): Promise<Answer> => ask({ method: "DELETE", path: PATH });

/** The one-time token of the page's address, which is removed from there and from the browser's history. */
export function takeToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
  if (token !== undefined) {
    history.replaceState(null, "", location.pathname + location.search);
  }
  return token;
}
