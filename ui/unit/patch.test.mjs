// Merge patches, as in appendix A of RFC 7396, and names that are dangerous to objects of JavaScript.

import assert from "node:assert/strict";
import { test } from "node:test";
import { merge } from "../src/live/patch.ts";

const check = (target, patch, expect) =>
  assert.deepEqual(JSON.parse(JSON.stringify(merge(target, patch))), expect, JSON.stringify([target, patch]));

test("the examples of the RFC", () => {
  check({ a: "b" }, { a: "c" }, { a: "c" });
  check({ a: "b" }, { b: "c" }, { a: "b", b: "c" });
  check({ a: "b" }, { a: null }, {});
  check({ a: "b", b: "c" }, { a: null }, { b: "c" });
  check({ a: ["b"] }, { a: "c" }, { a: "c" });
  check({ a: "c" }, { a: ["b"] }, { a: ["b"] });
  check({ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } });
  check({ a: [{ b: "c" }] }, { a: [1] }, { a: [1] });
  check(["a", "b"], ["c", "d"], ["c", "d"]);
  check({ a: "b" }, ["c"], ["c"]);
  check({ a: "foo" }, "bar", "bar");
  check({ e: null }, { a: 1 }, { e: null, a: 1 });
  check([1, 2], { a: "b", c: null }, { a: "b" });
  check({}, { a: { bb: { ccc: null } } }, { a: { bb: {} } });
});

test("names of objects of JavaScript are names like others", () => {
  const patch = JSON.parse('{"applications": {"__proto__": {"a": 1}, "constructor": {"a": 2}}}');
  const merged = merge(undefined, patch);
  assert.equal(merged.applications["__proto__"].a, 1);
  assert.equal(merged.applications.constructor.a, 2);
  assert.equal(merged.applications.toString, undefined);
  assert.equal({}.a, undefined);
  const removed = merge(merged, JSON.parse('{"applications": {"__proto__": null}}'));
  assert.deepEqual(Object.keys(removed.applications), ["constructor"]);
});

test("the target stays as it was, and equal parts are shared", () => {
  const target = merge(undefined, { a: { x: 1 }, b: { y: 2 } });
  const merged = merge(target, { a: { x: 3 } });
  assert.equal(target.a.x, 1);
  assert.equal(merged.a.x, 3);
  assert.equal(merged.b, target.b);
});
