// The lines of the log that are kept.

import assert from "node:assert/strict";
import { test } from "node:test";
import { append, MOST_LINES } from "../src/live/lines.ts";

const line = (text) => ({ time: "t", level: "info", text });
const lines = (...texts) => append([], texts.map(line));
const texts = (kept) => kept.map(({ text }) => text);

test("new lines stand behind old ones, and have the next numbers", () => {
  const kept = append(lines("a"), [line("b"), line("c")]);
  assert.deepEqual(texts(kept), ["a", "b", "c"]);
  assert.deepEqual(
    kept.map(({ id }) => id),
    [1, 2, 3],
  );
});

test("lines that came again are kept once", () => {
  assert.deepEqual(texts(append(lines("a", "b"), ["a", "b", "c"].map(line))), ["a", "b", "c"]);
  assert.deepEqual(texts(append(lines("a"), [line("a")])), ["a"]);
});

test("the oldest lines are let go", () => {
  const many = lines(...Array.from({ length: MOST_LINES }, (_, at) => String(at)));
  const found = append(many, [line("x")]);
  assert.equal(found.length, MOST_LINES);
  assert.deepEqual([found[0].text, found.at(-1).text], ["1", "x"]);
  assert.equal(new Set(found.map(({ id }) => id)).size, MOST_LINES);
});
