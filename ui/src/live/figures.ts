// Figures that are made of two states: requests a second, shares of failures, percentiles.

import { difference, percentile, sum } from "./histogram.ts";
import type { Application, ByName, Classes, Listener, Sample, State } from "./state.ts";

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

const added = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** All requests of these classes. */
export const total = (classes: Classes | undefined): number => added(values(classes));

/** The growth of a total. One that fell, as a process was replaced, counts as none: the rest would be a peak. */
export const growth = (now: number | undefined, before: number | undefined): number =>
  Math.max(0, (now ?? 0) - (before ?? 0));

/** Seconds between two states; never zero. */
export const seconds = (now: State, before: State): number => Math.max(now.time - before.time, 0.001);

/** The requests between two states. */
interface Passed {
  requests: number;
  failed: number;
  durations: number[];
}

const passed = (now: Counted | undefined, before: Counted | undefined): Passed => ({
  requests: growth(total(now?.requests), total(before?.requests)),
  failed: growth(now?.requests[FAILED], before?.requests[FAILED]),
  durations: difference(now?.durations ?? [], before?.durations),
});

const flowOf = (bounds: readonly number[], { requests, failed, durations }: Passed, elapsed: number): Flow => ({
  requests: requests / elapsed,
  errors: requests > 0 ? Math.min(1, failed / requests) : 0,
  p50: percentile(bounds, durations, 0.5),
  p99: percentile(bounds, durations, 0.99),
});

/** The flow of what was counted in two states. */
export const flow = (
  bounds: readonly number[],
  now: Counted | undefined,
  before: Counted | undefined,
  elapsed: number,
): Flow => flowOf(bounds, passed(now, before), elapsed);

/**
 * The requests of all listeners. Each is compared with itself: the totals of one that has come or gone would make a
 * peak of the sum.
 */
function ofListeners(now: State, before: State): Passed {
  const [latest, earlier] = [now.traffic?.listeners ?? {}, before.traffic?.listeners ?? {}];
  const counted = (one: Listener): Counted => ({ requests: byClass(one.requests), durations: one.durations });
  const all = Object.keys(latest).flatMap((address) => {
    const [one, other] = [latest[address], earlier[address]];
    return one === undefined || other === undefined ? [] : [passed(counted(one), counted(other))];
  });
  return {
    requests: added(all.map((one) => one.requests)),
    failed: added(all.map((one) => one.failed)),
    durations: sum(all.map((one) => one.durations)),
  };
}

/** Processes with a request. */
export const busy = (application: Application): number =>
  Math.max(0, application.processes.running - application.processes.idle);

/** Requests that wait for a process. */
export const queued = (application: Application): number => application.requests.waiting ?? 0;

/** Processors in use, if both states know how long they were. */
function processors(now: State, before: State): number | null {
  const [latest, earlier] = [now.processes?.cpu, before.processes?.cpu];
  return latest === undefined || earlier === undefined ? null : growth(latest, earlier) / seconds(now, before);
}

/** The figures of the second between two states. */
export function sample(now: State, before: State): Sample {
  const applications = values(now.status.applications);
  const upstreams = values(now.status.upstreams);
  const { active, idle } = now.status.connections;
  return {
    time: now.time,
    ...flowOf(now.traffic?.bounds ?? [], ofListeners(now, before), seconds(now, before)),
    busy: added(applications.map(busy)),
    queue: added([...applications.map(queued), ...upstreams.map(({ waiting }) => waiting ?? 0)]),
    connections: active + idle,
    memory: now.processes?.memory ?? null,
    cpu: processors(now, before),
  };
}

/** The same of one application. */
export function sampleOf(name: string, now: State, before: State): Sample | undefined {
  const application = now.status.applications[name];
  if (application === undefined) {
    return undefined;
  }
  const counted = (state: State) => state.traffic?.applications[name];
  const latest = counted(now);
  return {
    time: now.time,
    // An application that is new has had its requests before it was looked at.
    ...flow(now.traffic?.bounds ?? [], latest, counted(before) ?? latest, seconds(now, before)),
    busy: busy(application),
    queue: queued(application),
    connections: 0,
    memory: application.memory ?? null,
    cpu: null,
  };
}
