// The configuration in force belongs to the session that has read it.

import { calls } from "./browser.mjs";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { onSessionEnd } from "../src/api.ts";
import { forgetInForce, readInForce } from "../src/config/in-force.ts";
import { begin } from "../src/session.ts";

beforeEach(() => (calls.length = 0));

test("the configuration is read with its tag", async () => {
  const read = readInForce();
  await calls[0].answer(200, { a: 1 }, '"t"');
  assert.deepEqual(await read, { text: '{"a":1}', value: { a: 1 }, tag: '"t"' });
});

test("an answer to an earlier session is not for the next one", async () => {
  const before = readInForce();
  forgetInForce();
  const after = readInForce();
  await calls[1].answer(200, { token: "(hidden)" }, '"t"');
  await calls[0].answer(200, { token: "a secret" }, '"t"');
  assert.equal(await before, undefined);
  assert.equal((await after).value.token, "(hidden)");
});

test("a token that is wrong does not end the session that there is", async () => {
  let ends = 0;
  const off = onSessionEnd(() => (ends += 1));
  const attempt = begin("a wrong token");
  await calls[0].answer(401, { error: "Unauthorized." });
  assert.deepEqual(await attempt, { session: undefined, reason: "Unauthorized." });
  assert.equal(ends, 0);
  const read = readInForce();
  await calls[1].answer(401, {});
  assert.deepEqual([await read, ends], [undefined, 1]);
  off();
});
