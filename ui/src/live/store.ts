// The latest states, and what is made of them. Views are drawn anew whenever something arrives.

import { useEffect, useReducer } from "preact/hooks";
import { sample, sampleOf } from "./figures.ts";
import { append, type KeptLine, rejoin } from "./lines.ts";
import { type Json, merge } from "./patch.ts";
import type { LogLine, Sample, State } from "./state.ts";

/** How the stream does; one that is lost is being tried again, and one that stands still has no new figures. */
export type Link = "connecting" | "live" | "still" | "lost";

/** Figures that are older stand still, in milliseconds. */
const LONGEST_STILL = 10_000;

/** Ten minutes. */
const MOST_SAMPLES = 600;

/** States that are closer to each other make no sample. */
const SHORTEST_SECOND = 0.5;

/** How many seconds figures in tables are about. */
export const WINDOW = 10;

/** A state, if it has what views rely on: without an answer of the main process it has not. */
function shown(value: Json): State | undefined {
  const state = value as unknown as Partial<State>;
  const { applications, connections, daemon } = state.status ?? {};
  const isWhole = [state.time, applications, connections, daemon].every((part) => part !== undefined);
  return isWhole ? (state as State) : undefined;
}

/** The last samples in the order of time. Where the clock was set back, those go that are newer than a later one. */
export function rising(samples: readonly Sample[]): Sample[] {
  const kept: Sample[] = [];
  for (const sample of samples) {
    while ((kept.at(-1)?.time ?? -Infinity) >= sample.time) {
      kept.pop();
    }
    kept.push(sample);
  }
  return kept.slice(-MOST_SAMPLES);
}

/** Everything that is known. */
class Store {
  link: Link = "connecting";
  /** Why the daemon refuses the stream, if it does. */
  reason: string | undefined;
  /** When figures came that were new, by the clock of the browser that is never set. */
  private renewed = performance.now();
  /** The latest one that views can show. */
  state: State | undefined;
  /** The latest one, which changes are about. */
  private base: Json | undefined;
  /** The state that the last sample was made with. */
  private sampled: State | undefined;
  /** The states of the last seconds, the oldest first. */
  private recent: State[] = [];
  samples: Sample[] = [];
  /** The curves of one application, since its view was opened. */
  private followed: { name: string; samples: Sample[] } | undefined;
  lines: KeptLine[] = [];
  /** Whether the next lines belong to a snapshot, and may be here already. */
  private isRejoining = false;
  private listeners = new Set<() => void>();

  /** A state that figures of tables are compared with. */
  get before(): State | undefined {
    return this.recent.length > 1 ? this.recent[0] : undefined;
  }

  samplesOf(name: string): Sample[] {
    return this.followed?.name === name ? this.followed.samples : [];
  }

  begin(snapshot: Json): void {
    this.isRejoining = true;
    this.base = merge(undefined, snapshot);
    const state = shown(this.base);
    if (state === undefined) {
      return;
    }
    // Another daemon counts from zero.
    const isSame = ({ version, status }: State) =>
      version === state.version && status.daemon.pid === state.status.daemon.pid;
    this.recent = this.recent.filter((one) => one.time < state.time && isSame(one));
    // A controller that was started anew has no past, but this page has.
    this.samples = rising([...this.samples, ...(state.past ?? [])]);
    this.sampled = state;
    this.take(state);
  }

  change(patch: Json): void {
    this.isRejoining = false;
    if (this.base === undefined) {
      return;
    }
    this.base = merge(this.base, patch);
    const state = shown(this.base);
    if (state === undefined) {
      return;
    }
    const before = this.sampled;
    // A state that follows a new connection at once would make a rate of very little.
    if (before !== undefined && state.time >= before.time + SHORTEST_SECOND) {
      this.samples = rising([...this.samples, sample(state, before)]);
      this.follow(state, before);
      this.sampled = state;
    } else if (before !== undefined && state.time < before.time) {
      // The clock was set back, so that the time in between is not known.
      this.sampled = state;
    }
    this.take(state);
  }

  private follow(state: State, before: State): void {
    const name = state.workers?.application;
    const found = name === undefined ? undefined : sampleOf(name, state, before);
    if (name !== undefined && found !== undefined) {
      this.followed = { name, samples: rising([...this.samplesOf(name), found]) };
    }
  }

  private take(state: State): void {
    const isBack = state.time < (this.state?.time ?? state.time);
    const comparable = isBack ? [] : this.recent.filter((one) => one.time >= state.time - WINDOW);
    this.recent = [...comparable, state];
    if (state.time !== this.state?.time) {
      this.renewed = performance.now();
      [this.link, this.reason] = ["live", undefined];
    }
    this.state = state;
    this.tell();
  }

  /** Notices figures that stand still: the daemon may be there, and have no more of them. */
  watch(): void {
    if (this.link !== "lost" && performance.now() - this.renewed > LONGEST_STILL) {
      this.become("still");
    }
  }

  log(lines: LogLine[]): void {
    this.lines = (this.isRejoining ? rejoin : append)(this.lines, lines);
    this.isRejoining = false;
    this.tell();
  }

  /** Nothing is known any more, as the session is over. */
  forget(): void {
    this.renewed = performance.now();
    [this.link, this.reason, this.state] = ["connecting", undefined, undefined];
    this.base = undefined;
    this.sampled = undefined;
    this.followed = undefined;
    [this.recent, this.samples, this.lines] = [[], [], []];
  }

  forgetLines(): void {
    this.lines = [];
    this.tell();
  }

  become(link: Link, reason?: string): void {
    if (link === "connecting") {
      this.renewed = performance.now();
    }
    if (this.link !== link || this.reason !== reason) {
      [this.link, this.reason] = [link, reason];
      this.tell();
    }
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell(): void {
    this.listeners.forEach((listener) => listener());
  }
}

/** The only one of the page. */
export const store = new Store();

/** The store, in a component that is drawn anew with each of its changes. */
export function useLive(): Store {
  const [, draw] = useReducer<number, undefined>((count) => count + 1, 0);
  useEffect(() => store.listen(() => draw(undefined)), []);
  return store;
}
