// Figures in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../src/format.ts";
import { link, linkOf, route } from "../src/route.ts";
import { curl, quoted } from "../src/shell.ts";

const check = (of, pairs) => {
  for (const [value, expect] of pairs) {
    assert.equal(of(value), expect);
  }
};

test("numbers have few digits", () => {
  check(format.number, [
    [0, "0"],
    [0.256, "0.26"],
    [3.14, "3.14"],
    [31.42, "31.4"],
    [1234.5, "1,235"],
    [7, "7"],
  ]);
  check(format.short, [
    [9999, "9,999"],
    [12_345, "12.3 k"],
    [3_400_000, "3.4 M"],
    [5e9, "5 G"],
  ]);
  check(format.percent, [
    [null, "–"],
    [0, "0 %"],
    [0.00001, "<0.01 %"],
    [0.125, "12.5 %"],
    [1, "100 %"],
  ]);
});

test("bytes and times have the unit that suits them", () => {
  check(format.bytes, [
    [undefined, "–"],
    [null, "–"],
    [0, "0 B"],
    [1023, "1,023 B"],
    [1536, "1.5 KiB"],
    [5 * 2 ** 30, "5 GiB"],
  ]);
  check(format.duration, [
    [null, "–"],
    [0.00025, "250 µs"],
    [0.0123, "12.3 ms"],
    [1.5, "1.5 s"],
    [60, "60 s"],
    [300, "5 min"],
  ]);
  check(format.age, [
    [undefined, "–"],
    [0.4, "0 s"],
    [119, "119 s"],
    [120, "2 min"],
    [7200, "2 h"],
    [200_000, "2 d"],
  ]);
  assert.equal(format.relative(100, 400), "5 min ago");
  assert.equal(format.relative(400, 100), "in 5 min");
  assert.equal(format.relative(100, 100), "just now");
  assert.equal(format.parsed("1970-01-01T00:01:00Z"), 60);
  assert.equal(format.parsed("no time"), undefined);
});

test("counts have a noun", () => {
  assert.equal(format.count(1, "process", "processes"), "1 process");
  assert.equal(format.count(0, "line"), "0 lines");
});

test("a fragment names a view", () => {
  assert.deepEqual(route(""), { view: "overview" });
  assert.deepEqual(route("#/"), { view: "overview" });
  assert.deepEqual(route("#/applications/a%2Fb"), { view: "applications", name: "a/b" });
  assert.deepEqual(route("#/applications/a/b"), { view: "applications", name: "a/b" });
  assert.deepEqual(route("#/applications/100%"), { view: "applications", name: "100%" });
  assert.deepEqual(route(link("applications", "../x#?")), { view: "applications", name: "../x#?" });
  assert.equal(linkOf("javascript:alert(1)"), "#/javascript:alert(1)");
  assert.equal(linkOf("applications/blog"), "#/applications/blog");
});

test("calls can be pasted into a shell", () => {
  assert.equal(quoted("it's"), "'it'\\''s'");
  assert.equal(quoted("$(x)"), "'$(x)'");
  assert.equal(
    curl("http://h", "POST", "/a", undefined),
    "curl -X POST http://h/a -H 'X-Requested-With: curl'",
  );
  assert.equal(curl("http://h", "PUT", "/a", "12"), "curl -X PUT http://h/a -d 12");
});
