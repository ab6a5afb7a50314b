// The stream of the daemon: opens it, takes what it sends to the store, and opens it again after it broke off.
//
// The browser itself connects anew after a failure of the network. After an answer that is not a stream it gives up,
// which happens when the session is over, or while the daemon is being replaced.

import { address } from "../api.ts";
import { current } from "../session.ts";
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
  private source: EventSource | undefined;
  private pause = SHORTEST_PAUSE;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  constructor(private readonly wish: Wish) {
    this.open();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.source?.close();
  }

  private open(): void {
    const source = new EventSource(address(`/events${query(this.wish)}`));
    this.source = source;
    const on = (event: string, take: (data: Json) => void) =>
      source.addEventListener(event, (message: MessageEvent<string>) =>
        take(JSON.parse(message.data) as Json),
      );
    on("snapshot", (data) => {
      this.pause = SHORTEST_PAUSE;
      store.begin(data);
    });
    on("change", (data) => store.change(data));
    on("log", (data) => store.log(data as unknown as LogLine[]));
    source.addEventListener("error", () => this.fail(source));
  }

  private fail(source: EventSource): void {
    if (this.isClosed) {
      return;
    }
    store.become("lost");
    if (source.readyState === EventSource.CLOSED) {
      source.close();
      this.timer = setTimeout(() => void this.again(), this.pause * (0.5 + Math.random() / 2));
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
    }
  }

  /** Asks for the session first: one that is over leads to the form for a token. */
  private async again(): Promise<void> {
    await current();
    if (!this.isClosed) {
      this.open();
    }
  }
}
