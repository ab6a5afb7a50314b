// The draft of a configuration, while it is put in force and after that.

import "./browser.mjs";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  discardDraft,
  draftNow,
  dropDraft,
  editDraft,
  rebaseDraft,
  sendDraft,
  settleDraft,
} from "../src/config/draft.ts";

const OLD = { text: "old", tag: '"old"' };
const NEW = { text: "sent", tag: '"new"' };

const done = { isDone: true, tag: '"new"' };
const refused = { isDone: false, tag: undefined };
const readable = async () => NEW;
const unreadable = async () => undefined;

/** The text and the tag of the draft; nothing if there is none. */
const found = () => draftNow() && [draftNow().text, draftNow().tag];

/** Types a text while the old one is shown as in force. */
const edit = (text) => editDraft(text, { tag: '"old"', access: "full" });

/** Sends the draft; the function settles it. */
function send() {
  const sent = draftNow();
  sendDraft();
  return (answer, read) => settleDraft(sent, answer, read);
}

beforeEach(() => {
  discardDraft();
  edit("sent");
});

test("a text that is in force is no draft any more", async () => {
  await send()(done, readable);
  assert.equal(found(), undefined);
});

test("edits that were made meanwhile are kept, and go on from what was sent", async () => {
  const typing = async () => {
    edit("edited");
    return NEW;
  };
  await send()(done, typing);
  assert.deepEqual(found(), ["edited", '"new"']);
});

test("a draft is kept when it is refused, or what is in force cannot be read", async () => {
  await send()(refused, readable);
  assert.deepEqual(found(), ["sent", '"old"']);
  await send()(done, unreadable);
  assert.deepEqual(found(), ["sent", '"new"']);
  dropDraft(NEW);
  assert.equal(found(), undefined);
});

test("a draft that was discarded meanwhile does not come back", async () => {
  const settle = send();
  discardDraft();
  await settle(done, readable);
  assert.equal(found(), undefined);
});

test("a draft that was begun anew meanwhile does not take back what was sent", async () => {
  const settle = send();
  discardDraft();
  edit("anew");
  await settle(done, readable);
  assert.deepEqual(found(), ["anew", '"old"'], "it would be refused");
  rebaseDraft('"new"');
  assert.deepEqual(found(), ["anew", '"new"'], "once its differences were looked at");
});

test("an edit that is undone while it is on its way is a draft", async () => {
  const settle = send();
  edit("old");
  dropDraft(OLD);
  assert.deepEqual(found(), ["old", '"old"']);
  const reading = async () => {
    dropDraft(OLD);
    return NEW;
  };
  await settle(done, reading);
  dropDraft(NEW);
  assert.deepEqual(found(), ["old", '"new"']);
});

test("an edit that is undone stays when what is in force cannot be read", async () => {
  const settle = send();
  edit("old");
  await settle(done, unreadable);
  dropDraft(OLD);
  assert.deepEqual(found(), ["old", '"new"']);
  dropDraft(NEW);
  assert.deepEqual(found(), ["old", '"new"']);
  dropDraft({ text: "old", tag: '"old"' });
  assert.equal(found(), undefined, "another client has brought the old text back");
});

test("an edit that is undone while it is refused is no draft", async () => {
  const settle = send();
  edit("old");
  await settle(refused, unreadable);
  dropDraft(OLD);
  assert.equal(found(), undefined);
});

test("a text that changes nothing is no draft", async () => {
  await send()({ isDone: true, tag: '"old"' }, unreadable);
  dropDraft({ text: "sent", tag: '"old"' });
  assert.equal(found(), undefined);
});

test("a draft that is equal to what is in force is none", () => {
  dropDraft({ text: "other", tag: '"old"' });
  assert.equal(draftNow().text, "sent");
  dropDraft({ text: "sent", tag: '"other"' });
  assert.equal(found(), undefined);
});

test("the browser asks before a page with a draft is left", () => {
  const isAsked = () => !window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  assert.ok(isAsked());
  discardDraft();
  assert.ok(!isAsked());
});
