// The things that a session leaves to the next one, and those that end with it.

import { calls } from "./browser.mjs";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { askToSignOut, signOut } from "../src/actions/sign-out.ts";
import { discardDraft, draftNow, editDraft } from "../src/config/draft.ts";
import { store } from "../src/live/store.ts";
import { leave, over } from "../src/stage.ts";

const signedIn = (access) => ({ step: "signed-in", session: { access, version: "1", files: undefined } });
const [FULL, READ] = [signedIn("full"), signedIn("read")];
const [STARTING, SIGNED_OUT] = [{ step: "starting" }, { step: "signed-out", reason: undefined }];

/** Leads the page through stages; what is left of the draft. */
function pass(...stages) {
  stages.slice(1).forEach((next, at) => leave(stages[at], next));
  return draftNow()?.text;
}

beforeEach(() => {
  calls.length = 0;
  discardDraft();
  editDraft("typed", { tag: '"old"', access: "full" });
});

test("a draft outlives a session that ends by itself", () => {
  assert.equal(pass(FULL, over(FULL), FULL), "typed");
  assert.equal(draftNow().tag, '"old"');
});

test("a draft is not for a session of other rights", () => {
  assert.equal(pass(FULL, over(FULL), READ), undefined);
  assert.equal(pass(READ, FULL), undefined, "and does not come back");
});

test("a draft is not for another session that begins in the same page", () => {
  assert.equal(pass(FULL, READ), undefined);
});

test("a session of the same rights goes on with the draft", () => {
  assert.equal(pass(STARTING, FULL, FULL), "typed");
});

test("figures end with the session that has seen them", () => {
  store.lines = [{}];
  leave(FULL, over(FULL));
  assert.deepEqual(store.lines, []);
});

test("a session that ends by itself names everything that may have ended it", () => {
  const { reason } = over(FULL);
  for (const words of ["twelve hours have passed", "its token was changed", "the daemon was started anew"]) {
    assert.ok(reason.includes(words), reason);
  }
});

test("the end of a session that is over already changes nothing", () => {
  assert.equal(over(SIGNED_OUT), SIGNED_OUT);
});

test("a person who signs out is asked before a draft is lost", () => {
  let done = 0;
  const asked = [];
  const press = () => askToSignOut((action) => asked.push(action), () => (done += 1));
  press();
  assert.deepEqual([asked.length, done], [1, 0]);
  asked[0].instead();
  assert.equal(done, 1);
  discardDraft();
  press();
  assert.deepEqual([asked.length, done], [1, 2]);
});

test("a draft ends with a sign-out, and stays when the session does", async () => {
  const check = async (status, expect) => {
    const ended = signOut();
    await calls.at(-1).answer(status, {});
    await ended;
    assert.equal(draftNow()?.text, expect);
  };
  await check(503, "typed");
  await check(200, undefined);
  editDraft("typed", { tag: '"old"', access: "full" });
  await check(401, undefined);
});
