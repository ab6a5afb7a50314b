// Calls of the control API, and their answers in words. The page makes no other requests.

import type { Json } from "./live/patch.ts";

/** A call that changes something, or asks. */
export interface Call {
  method: "GET" | "PUT" | "POST" | "DELETE";
  /** From the root of the API on. */
  path: string;
  /** JSON. */
  body?: string;
  /** The entity tag that the configuration has to have. */
  tag?: string | undefined;
  signal?: AbortSignal;
  /** Whether it is about a token of its own: that a token is wrong does not end the session that there is. */
  isSignIn?: boolean;
}

/** Where something is wrong in a configuration. */
export interface Problem {
  detail: string;
  /** A JSON pointer. */
  path?: string;
  /** In bytes, from 0. */
  offset?: number;
  /** From 1. */
  line?: number;
  suggestion?: string;
}

/** An answer; status 0 means that there was none. */
export interface Answer {
  isDone: boolean;
  status: number;
  body: Json;
  /** The body as it came. */
  text: string;
  tag: string | undefined;
  /** The answer for people. */
  words: string;
}

type Members = { [name: string]: Json };

// The page lies at /dashboard/; all paths of the API begin one level higher, also behind a proxy with a prefix.
const ROOT = new URL("..", document.baseURI);

/** The address of a path of the API. */
export const address = (path: string): string => ROOT.href.replace(/\/$/, "") + path;

const listeners = new Set<() => void>();

/** Calls a function whenever an answer says that the session is over. */
export function onSessionEnd(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** How long a call may take that changes nothing. */
const LONGEST_READ = 30_000;

const isRead = ({ method, path }: Call): boolean => method === "GET" || path.endsWith("?dry_run=true");

/** Gives a call up when its caller does, and a read when it takes too long. */
function patience(call: Call): { gone: AbortController; end: () => void } {
  const gone = new AbortController();
  const stop = () => gone.abort(call.signal?.reason);
  const giveUp = () => gone.abort(new Error(`it took longer than ${LONGEST_READ / 1000} seconds`));
  call.signal?.addEventListener("abort", stop);
  const timer = isRead(call) ? setTimeout(giveUp, LONGEST_READ) : undefined;
  const end = () => {
    clearTimeout(timer);
    call.signal?.removeEventListener("abort", stop);
  };
  return { gone, end };
}

/** Makes a call. Never throws. */
export async function ask(call: Call): Promise<Answer> {
  const { gone, end } = patience(call);
  const headers: Record<string, string> = {
    Accept: "application/json",
    "X-Requested-With": "corral-dashboard",
  };
  if (call.body !== undefined) {
    headers["Content-Type"] = "application/json";
  }
  if (call.tag !== undefined) {
    headers["If-Match"] = call.tag;
  }
  try {
    const response = await fetch(address(call.path), {
      method: call.method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      signal: gone.signal,
      ...(call.body === undefined ? {} : { body: call.body }),
    });
    const answer = read(response, await response.text());
    if (answer.status === 401 && call.isSignIn !== true) {
      listeners.forEach((listener) => listener());
    }
    return answer;
  } catch (error) {
    const words = `The daemon did not answer: ${error instanceof Error ? error.message : String(error)}`;
    return { isDone: false, status: 0, body: null, text: "", tag: undefined, words };
  } finally {
    end();
  }
}

/** Why a stream was refused, if that is known. HEAD takes no viewer's place, as GET would. */
export async function refusal(path: string): Promise<string | undefined> {
  const { gone, end } = patience({ method: "GET", path });
  try {
    return reasonOf(await fetch(address(path), { method: "HEAD", cache: "no-store", signal: gone.signal }));
  } catch {
    // A daemon that does not answer does not refuse.
    return undefined;
  } finally {
    end();
  }
}

/** The words that an answer without a body stands for. */
function reasonOf({ ok, status, headers }: Response): string | undefined {
  const isStream = ok && headers.get("Content-Type")?.startsWith("text/event-stream") === true;
  // The answer to HEAD may be that of a stream although there is no place for one.
  if (status === 503 || isStream) {
    return "Too many viewers look already; this page tries again.";
  }
  // A session that is over is looked at before the stream is opened again.
  return ok || status === 401 ? undefined : `The daemon answered with status ${status}; this page tries again.`;
}

function read(response: Response, text: string): Answer {
  let body: Json = null;
  try {
    body = JSON.parse(text) as Json;
  } catch {
    // A proxy in between may answer with a page.
  }
  const tag = response.headers.get("ETag") ?? undefined;
  const answer = { isDone: response.ok, status: response.status, body, text, tag };
  return { ...answer, words: words(response.ok, response.status, membersOf(body)) };
}

const membersOf = (value: Json | undefined): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

const numberOf = (value: Json | undefined): number | undefined =>
  typeof value === "number" ? value : undefined;

function words(isDone: boolean, status: number, body: Members): string {
  const title = textOf(body[isDone ? "success" : "error"]);
  const parts = [
    title === "Ok" ? "Done." : (title ?? (isDone ? "Done." : `The daemon answered with status ${status}.`)),
    textOf(body.detail),
    textOf(body.warning) && `Warning: ${textOf(body.warning)}`,
    textOf(body.suggestion) && `Did you mean "${textOf(body.suggestion)}"?`,
  ];
  return parts.filter((part) => part !== undefined && part !== "").join(" ");
}

/** All problems of a configuration that was refused. */
export function problems(answer: Answer): Problem[] {
  const body = membersOf(answer.body);
  const all = Array.isArray(body.errors) ? body.errors : [answer.body];
  return all.map((one) => {
    const members = membersOf(one);
    const place = membersOf(members.location);
    const found: Partial<Problem> = {};
    const path = textOf(place.path);
    const [offset, line] = [numberOf(place.offset), numberOf(place.line)];
    const suggestion = textOf(members.suggestion);
    return Object.assign(
      found,
      { detail: textOf(members.detail) ?? answer.words },
      path === undefined ? {} : { path },
      offset === undefined ? {} : { offset },
      line === undefined ? {} : { line },
      suggestion === undefined ? {} : { suggestion },
    );
  });
}
