// The calls of actions: their tags, and their comments.

import { calls, settled } from "./browser.mjs";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { perform } from "../src/actions/action.ts";
import { close, open } from "../src/actions/maintenance.tsx";
import { readNumbers } from "../src/actions/processes.tsx";
import { closablesOf } from "../src/config/closing.ts";
import { commentQuery, isTooLong } from "../src/config/comment.ts";

const CONFIG = {
  routes: [
    { action: { pass: "applications/a" } },
    { action: { pass: "applications/a", maintenance: true } },
    { action: { pass: "applications/a" } },
  ],
};

beforeEach(() => (calls.length = 0));

test("steps are closed and opened in the configuration that they were read from", () => {
  const closing = close("a", closablesOf(CONFIG, "a"), '"1"').calls;
  assert.deepEqual(
    closing.map(({ method, path, tag }) => [method, path, tag]),
    [0, 2].map((at) => ["PUT", `/config/routes/${at}/action/maintenance?comment=close%20a`, '"1"']),
  );
  const [opening] = open("a", closablesOf(CONFIG, "a"), '"1"').calls;
  assert.deepEqual([opening.method, opening.tag], ["DELETE", '"1"']);
});

test("each call goes on from the configuration that the one before it has left", async () => {
  const done = perform(close("a", closablesOf(CONFIG, "a"), '"1"').calls);
  assert.equal(calls[0].tag, '"1"');
  await calls[0].answer(200, { success: "Reconfiguration done." }, '"2"');
  assert.equal(calls[1].tag, '"2"');
  await calls[1].answer(412, { error: "Precondition failed." });
  const answer = await done;
  assert.deepEqual([answer.isDone, answer.words], [false, "1 of 2 are done. Precondition failed."]);
});

test("calls that are not about a configuration have no tag", async () => {
  const call = { method: "POST", path: "/control/applications/a/restart" };
  void perform([call, call]);
  await calls[0].answer(200, {}, '"2"');
  await settled();
  assert.deepEqual([calls.length, calls[1].tag], [2, undefined]);
});

test("an application is scaled from the number that it has, or not at all", async () => {
  const check = async (status, body, tag) => {
    const found = readNumbers("a/b", '"state"');
    await calls.at(-1).answer(status, body, tag);
    return found;
  };
  const { numbers, tag } = await check(200, 7, '"1"');
  assert.deepEqual([numbers.way, numbers.fixed, tag], ["fixed", 7, '"1"']);
  assert.equal(calls[0].path, "/config/applications/a%2Fb/processes");
  const unset = await check(404, { error: "Value doesn't exist." });
  assert.deepEqual([unset.numbers.fixed, unset.tag], [1, '"state"']);
  assert.deepEqual(await check(503, { error: "Not now." }), { problem: "Not now." });
});

test("a comment is one line that is not too long", () => {
  const check = (comment, expect) =>
    assert.equal(commentQuery(comment), expect === "" ? "" : `?comment=${encodeURIComponent(expect)}`);
  check("scale a&b", "scale a&b");
  check("  ", "");
  check("a\n\tb\u0085c", "a b c");
  check("x".repeat(300), "x".repeat(200));
  check("x".repeat(199) + "ü", "x".repeat(199));
  check("\ud800", "\ufffd");
  assert.deepEqual(["ü".repeat(100), "ü".repeat(101), `${"x".repeat(200)}\n`].map(isTooLong), [false, true, false]);
});
