// The draft of a configuration, while it is put in force and after that.

import "./browser.mjs";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { draftNow, dropDraft, setDraft, settleDraft } from "../src/config/draft.ts";

const answer = (isDone) => ({ isDone, tag: '"new"' });
const readable = async () => ({ text: "sent" });
const unreadable = async () => undefined;

beforeEach(() => setDraft({ text: "sent", tag: '"old"' }));

test("a text that is in force is no draft any more", async () => {
  await settleDraft("sent", answer(true), readable);
  assert.equal(draftNow(), undefined);
});

test("edits that were made meanwhile are kept, and go on from what was sent", async () => {
  const typing = async () => {
    setDraft({ ...draftNow(), text: "edited" });
    return {};
  };
  await settleDraft("sent", answer(true), typing);
  assert.deepEqual(draftNow(), { text: "edited", tag: '"new"' });
  await settleDraft("sent", answer(true), readable);
  assert.deepEqual(draftNow(), { text: "edited", tag: '"new"' });
});

test("a draft is kept when it is refused, or what is in force cannot be read", async () => {
  await settleDraft("sent", answer(false), readable);
  assert.deepEqual(draftNow(), { text: "sent", tag: '"old"' });
  await settleDraft("sent", answer(true), unreadable);
  assert.deepEqual(draftNow(), { text: "sent", tag: '"new"' });
});

test("a draft that was discarded meanwhile does not come back", async () => {
  setDraft(undefined);
  await settleDraft("sent", answer(true), readable);
  assert.equal(draftNow(), undefined);
});

test("a draft that is equal to what is in force is none", () => {
  dropDraft("other");
  assert.equal(draftNow().text, "sent");
  dropDraft("sent");
  assert.equal(draftNow(), undefined);
});

test("the browser asks before a page with a draft is left", () => {
  const isAsked = () => !window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  assert.ok(isAsked());
  setDraft(undefined);
  assert.ok(!isAsked());
});
