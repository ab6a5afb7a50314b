// The lines of the log that are kept.

import assert from "node:assert/strict";
import { test } from "node:test";
import { append, MOST_LINES, rejoin } from "../src/live/lines.ts";

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

test("lines that are equal to the last one are lines of their own", () => {
  assert.deepEqual(texts(append(lines("a"), ["b", "a", "c"].map(line))), ["a", "b", "a", "c"]);
  assert.deepEqual(texts(append(lines("a"), [line("a")])), ["a", "a"]);
});

test("lines that came again with a new connection are kept once", () => {
  const check = (kept, more, expect) =>
    assert.equal(texts(rejoin(lines(...kept), [...more].map(line))).join(""), expect);
  check("ab", "abc", "abc");
  check("a", "a", "a");
  check("xab", "abab", "xabab");
  check("xaa", "aab", "xaab");
  check("a", "aa", "aa");
  check("ab", "ba", "aba");
  check("", "aab", "aab");
  check("ab", "", "ab");
});

test("the oldest lines are let go", () => {
  const many = lines(...Array.from({ length: MOST_LINES }, (_, at) => String(at)));
  const found = append(many, [line("x")]);
  assert.equal(found.length, MOST_LINES);
  assert.deepEqual([found[0].text, found.at(-1).text], ["1", "x"]);
  assert.equal(new Set(found.map(({ id }) => id)).size, MOST_LINES);
});
