// Places that can be closed for maintenance: actions of steps, those inside of them, and listeners.

import type { Json } from "../live/patch.ts";
import type { Path } from "./places.ts";
import { pointer } from "./pointer.ts";
import { applicationOf, members, type Step, steps } from "./steps.ts";

/** Options that can be closed. */
export interface Closable {
  /** The place, as a person looks for it. */
  pointer: string;
  /** The conditions of its step. */
  match: string | undefined;
  /** The object that has the member `maintenance`: an action, or the defaults of a listener. */
  path: Path;
  /** The value there; none if the object has to be made. */
  options: Json | undefined;
}

/** Whether something is closed, as far as the configuration says so. */
export type Closing = "open" | "closed" | "by-file";

/** Whether it is closed. */
export function closing({ options }: Closable): Closing {
  const { maintenance } = members(options);
  if (maintenance === undefined || maintenance === false || maintenance === null) {
    return "open";
  }
  return members(maintenance).file === undefined ? "closed" : "by-file";
}

/** The action of a step. */
export const closableOf = (step: Step): Closable => ({
  pointer: step.pointer,
  match: step.match,
  path: [...step.path, "action"],
  options: step.value,
});

/** Actions inside of a value of a step that pass to an application, as a `fallback` does. */
function inside(step: Step, path: Path, value: Json, application: string): Closable[] {
  if (typeof value !== "object" || value === null) {
    return [];
  }
  const { pass } = members(value);
  const isOne = typeof pass === "string" && applicationOf(pass) === application;
  const own = isOne ? [{ pointer: pointer(path), match: step.match, path, options: value }] : [];
  const name = (key: string) => (Array.isArray(value) ? Number(key) : key);
  return [
    ...own,
    ...Object.entries(value).flatMap(([key, one]) => inside(step, [...path, name(key)], one, application)),
  ];
}

function ofStep(step: Step, application: string): Closable[] {
  if (applicationOf(step.pass) === application) {
    return [closableOf(step)];
  }
  return step.value === undefined ? [] : inside(step, [...step.path, "action"], step.value, application);
}

/** Every place that passes to an application: it is closed when all of them are. */
export function closablesOf(config: Json | undefined, application: string): Closable[] {
  const listeners = members(members(config).listeners);
  const direct = Object.keys(listeners).filter((address) => {
    const { pass } = members(listeners[address]);
    return typeof pass === "string" && applicationOf(pass) === application;
  });
  return [
    ...steps(config).flatMap((step) => ofStep(step, application)),
    ...direct.map((address) => ({
      pointer: pointer(["listeners", address]),
      match: undefined,
      path: ["listeners", address, "defaults"],
      options: members(listeners[address]).defaults,
    })),
  ];
}
