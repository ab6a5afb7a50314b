// The parts of a browser that modules of the page ask for. A test imports it first.

globalThis.window = new EventTarget();
globalThis.document = Object.assign(new EventTarget(), {
  baseURI: "http://daemon.test/dashboard/",
  visibilityState: "visible",
});

/** The time since the page was opened, in milliseconds. */
export const clock = { now: 0 };
Object.defineProperty(performance, "now", { value: () => clock.now });

/** Calls that were made, with functions that answer them. */
export const calls = [];

globalThis.fetch = (address, { method = "GET", headers = {}, body, signal } = {}) =>
  new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
    const path = address.replace("http://daemon.test", "");
    const answer = async (status, value, tag, type = "application/json") => {
      const fields = { "Content-Type": type, ...(tag === undefined ? {} : { ETag: tag }) };
      resolve(new Response(method === "HEAD" ? null : JSON.stringify(value), { status, headers: fields }));
      await settled();
    };
    calls.push({ method, path, tag: headers["If-Match"], body, signal, answer });
  });

/** Everything that can go on without time has gone on. */
export async function settled() {
  for (let round = 0; round < 50; round += 1) {
    await Promise.resolve();
  }
}

/** Streams that were opened, the last one at the end. */
export const sources = [];

globalThis.EventSource = class extends EventTarget {
  static CLOSED = 2;
  readyState = 0;

  constructor(address) {
    super();
    this.address = address;
    sources.push(this);
  }

  close() {
    this.readyState = 2;
  }

  /** Has the daemon send something. */
  send(event, data) {
    this.dispatchEvent(Object.assign(new Event(event), { data: JSON.stringify(data) }));
  }

  /** Has it break off, or end with an answer that is not a stream. */
  fail(readyState) {
    this.readyState = readyState;
    this.dispatchEvent(new Event("error"));
  }
};
