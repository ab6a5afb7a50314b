// Figures that are made of two states: requests a second, shares of failures, percentiles.

import { difference, percentile, sum } from "./histogram.ts";
import type { Application, ByName, Classes, Sample, State } from "./state.ts";

/** Requests between two states. */
export interface Flow {
  /** A second. */
  requests: number;
  /** The share that failed, 0 to 1. */
  errors: number;
  /** Seconds; nothing without requests. */
  p50: number | null;
  p99: number | null;
}

interface Counted {
  requests: Classes;
  durations?: number[];
}

const FAILED = "5xx";

/** The values of an object that may be missing. */
export function values<Value>(members: ByName<Value> | undefined): Value[] {
  return members === undefined ? [] : Object.keys(members).map((name) => members[name] as Value);
}

/** The requests of all protocols together, by class. */
export function byClass(protocols: ByName<Classes>): Classes {
  const all: Classes = {};
  for (const classes of values(protocols)) {
    for (const [name, count] of Object.entries(classes)) {
      all[name] = (all[name] ?? 0) + count;
    }
  }
  return all;
}

/** All requests of these classes. */
export const total = (classes: Classes | undefined): number =>
  values(classes).reduce((all, count) => all + count, 0);

/** The growth of a total; one that fell has begun anew. */
export function growth(now: number | undefined, before: number | undefined): number {
  const [latest, earlier] = [now ?? 0, before ?? 0];
  return latest < earlier ? latest : latest - earlier;
}

/** Seconds between two states; never zero. */
export const seconds = (now: State, before: State): number => Math.max(now.time - before.time, 0.001);

/** The flow of what was counted in two states. */
export function flow(
  bounds: readonly number[],
  now: Counted | undefined,
  before: Counted | undefined,
  elapsed: number,
): Flow {
  const requests = growth(total(now?.requests), total(before?.requests));
  const failed = growth(now?.requests[FAILED], before?.requests[FAILED]);
  const durations = difference(now?.durations ?? [], before?.durations);
  return {
    requests: requests / elapsed,
    errors: requests > 0 ? Math.min(1, failed / requests) : 0,
    p50: percentile(bounds, durations, 0.5),
    p99: percentile(bounds, durations, 0.99),
  };
}

/** The counts of all listeners. */
export function ofListeners(state: State): Counted {
  const listeners = values(state.traffic?.listeners);
  return {
    requests: byClass(Object.fromEntries(listeners.map((one, at) => [at, byClass(one.requests)]))),
    durations: sum(listeners.map((one) => one.durations)),
  };
}

/** Processes with a request. */
export const busy = (application: Application): number =>
  Math.max(0, application.processes.running - application.processes.idle);

/** Requests that wait for a process. */
export const queued = (application: Application): number => application.requests.waiting ?? 0;

/** The figures of the second between two states. */
export function sample(now: State, before: State): Sample {
  const elapsed = seconds(now, before);
  const applications = values(now.status.applications);
  const { active, idle } = now.status.connections;
  return {
    time: now.time,
    ...flow(now.traffic?.bounds ?? [], ofListeners(now), ofListeners(before), elapsed),
    busy: applications.reduce((all, one) => all + busy(one), 0),
    queue: applications.reduce((all, one) => all + queued(one), 0),
    connections: active + idle,
    memory: now.processes?.memory ?? 0,
    cpu: growth(now.processes?.cpu, before.processes?.cpu) / elapsed,
  };
}

/** The same of one application. */
export function sampleOf(name: string, now: State, before: State): Sample | undefined {
  const application = now.status.applications[name];
  if (application === undefined) {
    return undefined;
  }
  const counted = (state: State) => state.traffic?.applications[name];
  return {
    time: now.time,
    ...flow(now.traffic?.bounds ?? [], counted(now), counted(before), seconds(now, before)),
    busy: busy(application),
    queue: queued(application),
    connections: 0,
    memory: application.memory ?? 0,
    cpu: 0,
  };
}
