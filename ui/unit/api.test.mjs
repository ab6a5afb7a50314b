// Calls of the API, and how long they are waited for.

import { calls, settled } from "./browser.mjs";
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { ask } from "../src/api.ts";

beforeEach(() => {
  mock.timers.enable();
  calls.length = 0;
});

afterEach(() => mock.timers.reset());

/** The answer to a call that the daemon is silent about for a minute; nothing if it is still waited for. */
async function silence(call) {
  let answer;
  void ask(call).then((found) => (answer = found));
  mock.timers.tick(60_000);
  await settled();
  return answer;
}

test("a read is given up after a while, a change is not", async () => {
  const read = await silence({ method: "GET", path: "/config" });
  assert.deepEqual([read.isDone, read.status], [false, 0]);
  assert.equal(read.words, "The daemon did not answer: it took longer than 30 seconds");
  assert.equal((await silence({ method: "PUT", path: "/config?dry_run=true", body: "" })).status, 0);
  assert.equal(await silence({ method: "PUT", path: "/config", body: "" }), undefined);
  assert.equal(await silence({ method: "POST", path: "/control/applications/a/restart" }), undefined);
});

test("an answer in time is taken, and the caller can give up", async () => {
  const answer = ask({ method: "GET", path: "/config" });
  await calls[0].answer(200, { a: 1 }, '"t"');
  assert.deepEqual((await answer).body, { a: 1 });
  assert.equal((await answer).tag, '"t"');
  const gone = new AbortController();
  const other = ask({ method: "GET", path: "/config", signal: gone.signal });
  gone.abort();
  assert.equal((await other).status, 0);
});
