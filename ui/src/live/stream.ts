// The stream of the daemon: opens it, takes what it sends to the store, and opens it again after it broke off.
//
// A browser would connect anew by itself, but would not look whether the session is still the same one, and gives up
// after an answer that is not a stream.

import { address, refusal } from "../api.ts";
import type { Json } from "./patch.ts";
import type { LogLine } from "./state.ts";
import { store } from "./store.ts";

/** The further parts that a view needs. */
export interface Wish {
  application?: string;
  log?: string;
}

const SHORTEST_PAUSE = 1_000;
const LONGEST_PAUSE = 15_000;

/** A stream without an event for so long is opened anew. */
const LONGEST_SILENCE = 30_000;

/** The stream of a page that was out of sight for so long is closed. */
const LONGEST_HIDDEN = 60_000;

const WATCH = 1_000;

const query = (wish: Wish): string => {
  const parameters = new URLSearchParams();
  if (wish.application !== undefined) {
    parameters.set("application", wish.application);
  }
  if (wish.log !== undefined) {
    parameters.set("log", wish.log);
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
};

/** A stream that is open until it is closed. */
export class Stream {
  private readonly path: string;
  private source: EventSource | undefined;
  /** When the source was opened, or its last event came. */
  private heard = 0;
  private pause = SHORTEST_PAUSE;
  private retry: ReturnType<typeof setTimeout> | undefined;
  /** Counts how often it was stopped: a try that began before is not gone on with. */
  private stops = 0;
  private isResting = false;
  private hiding: ReturnType<typeof setTimeout> | undefined;
  private readonly watch = setInterval(() => this.look(), WATCH);

  /** Before it is opened again, `check` looks at the session: one that is over leads to the form for a token. */
  constructor(
    wish: Wish,
    private readonly check: () => Promise<void>,
  ) {
    this.path = `/events${query(wish)}`;
    document.addEventListener("visibilitychange", this.see);
    this.open();
    this.see();
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.see);
    clearInterval(this.watch);
    clearTimeout(this.hiding);
    this.stop();
  }

  private open(): void {
    const source = new EventSource(address(this.path));
    this.source = source;
    this.heard = performance.now();
    const on = (event: string, take: (data: Json) => void) =>
      source.addEventListener(event, (message: MessageEvent<string>) => {
        this.heard = performance.now();
        take(JSON.parse(message.data) as Json);
      });
    on("snapshot", (data) => {
      this.pause = SHORTEST_PAUSE;
      store.begin(data);
    });
    on("change", (data) => store.change(data));
    on("log", (data) => store.log(data as unknown as LogLine[]));
    source.addEventListener("error", () => {
      if (source === this.source) {
        this.fail(source.readyState === EventSource.CLOSED);
      }
    });
  }

  private stop(): void {
    this.stops += 1;
    clearTimeout(this.retry);
    this.source?.close();
    this.source = undefined;
  }

  /** Opens it again after a pause; `isRefused` says whether the answer was not a stream. */
  private fail(isRefused: boolean): void {
    this.stop();
    store.become("lost", isRefused ? store.reason : undefined);
    if (isRefused) {
      void this.explain();
    }
    this.retry = setTimeout(() => void this.again(), this.pause * (0.5 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  /** Says why it was refused, unless it is being opened again by then. */
  private async explain(): Promise<void> {
    const { stops } = this;
    const reason = await refusal(this.path);
    if (stops === this.stops && this.source === undefined) {
      store.become("lost", reason);
    }
  }

  private async again(): Promise<void> {
    const { stops } = this;
    await this.check();
    if (stops === this.stops) {
      this.open();
    }
  }

  private look(): void {
    store.watch();
    if (this.source !== undefined && performance.now() - this.heard > LONGEST_SILENCE) {
      this.fail(false);
    }
  }

  /** Notices whether the page is in sight. All tabs together have six connections to a daemon without HTTP/2. */
  private readonly see = (): void => {
    clearTimeout(this.hiding);
    if (document.visibilityState === "hidden") {
      this.hiding = setTimeout(() => this.rest(), LONGEST_HIDDEN);
    } else if (this.isResting) {
      this.isResting = false;
      this.pause = SHORTEST_PAUSE;
      store.become("connecting");
      void this.again();
    }
  };

  private rest(): void {
    this.isResting = true;
    this.stop();
  }
}
