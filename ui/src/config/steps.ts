// The steps of routes in words.

import type { Json } from "../live/patch.ts";
import { pointer } from "./pointer.ts";

type Members = { [name: string]: Json };

/** A step of a route. */
export interface Step {
  path: (string | number)[];
  pointer: string;
  /** The conditions. */
  match: string;
  /** The action. */
  action: string;
  /** Where it leads, if it passes on. */
  pass: string | undefined;
  /** The action. */
  value: Json | undefined;
}

/** The members of an object; none of what is not there. */
export const members = (value: Json | undefined): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

const words = (value: Json): string => {
  if (Array.isArray(value)) {
    return value.map(words).join(", ");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
};

const conditions = (match: Members): string => {
  const all = Object.keys(match).map((name) => `${name} ${words(match[name] as Json)}`);
  return all.length === 0 ? "every request" : all.join(", ");
};

/** Members that say what an action is; the first one that is there counts. */
const KINDS = ["pass", "proxy", "fastcgi", "scgi", "uwsgi", "share", "return"];

function actionWords(action: Members): string {
  const kind = KINDS.find((name) => action[name] !== undefined);
  const rest = kind === "return" && action.location !== undefined ? ` ${words(action.location)}` : "";
  return kind === undefined ? "no answer" : `${kind} ${words(action[kind] as Json)}${rest}`;
}

function step(path: (string | number)[], value: Json): Step {
  const action = members(members(value).action);
  return {
    path,
    pointer: pointer(path),
    match: conditions(members(members(value).match)),
    action: actionWords(action),
    pass: typeof action.pass === "string" ? action.pass : undefined,
    value: members(value).action,
  };
}

const ofRoute = (path: (string | number)[], route: Json | undefined): Step[] =>
  Array.isArray(route) ? route.map((value, at) => step([...path, at], value)) : [];

/** All steps of a configuration, in its order. */
export function steps(config: Json | undefined): Step[] {
  const routes = members(config).routes;
  const named = members(routes);
  return [
    ...ofRoute(["routes"], routes),
    ...Object.keys(named).flatMap((name) => ofRoute(["routes", name], named[name])),
  ];
}

/** The name of the application that a `pass` leads to. */
export function applicationOf(pass: string | undefined): string | undefined {
  const [kind, name] = (pass ?? "").split("/");
  if (kind !== "applications" || name === undefined) {
    return undefined;
  }
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
