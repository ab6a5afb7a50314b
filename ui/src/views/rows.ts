// The rows of the tables of applications: figures of the last seconds.

import { busy, type Flow, flow, queued, seconds } from "../live/figures.ts";
import type { Application, State } from "../live/state.ts";
import type { Tone } from "../parts/pill.tsx";

/** An application with its figures. */
export interface ApplicationRow extends Flow {
  name: string;
  application: Application;
  busy: number;
  queue: number;
  tone: Tone;
  word: string;
}

/** The state of an application as a word. */
export function condition(application: Application): [Tone, string] {
  const { processes, last_error, crashes, warning, schedule } = application;
  if (last_error !== undefined) {
    return ["bad", "failing"];
  }
  if (processes.starting > 0 && processes.running === 0) {
    return ["calm", "starting"];
  }
  if (crashes !== undefined) {
    return ["warn", "crashed"];
  }
  if (warning !== undefined) {
    return ["warn", "warning"];
  }
  if (schedule !== undefined) {
    return schedule.runs.failed > 0 ? ["warn", "runs failed"] : ["calm", "scheduled"];
  }
  return processes.running === 0 ? ["calm", "asleep"] : ["good", "running"];
}

/** All applications, in the order of the configuration. */
export function applicationRows(state: State, before: State | undefined): ApplicationRow[] {
  const elapsed = before === undefined ? 1 : seconds(state, before);
  const bounds = state.traffic?.bounds ?? [];
  return Object.keys(state.status.applications).map((name) => {
    const application = state.status.applications[name] as Application;
    const now = state.traffic?.applications[name];
    const then = before?.traffic?.applications[name] ?? now;
    const [tone, word] = condition(application);
    return {
      name,
      application,
      busy: busy(application),
      queue: queued(application),
      tone,
      word,
      ...flow(bounds, now, then, elapsed),
    };
  });
}
