// Places, meanings, steps and differences of configurations.

import assert from "node:assert/strict";
import { test } from "node:test";
import { diff, hunks } from "../src/config/diff.ts";
import { markedLines, offsetsOf } from "../src/config/marks.ts";
import { lineOf, nearestPlace, nearestPlaces, pathAt } from "../src/config/places.ts";
import { apiPath, names, pointer } from "../src/config/pointer.ts";
import { described, options } from "../src/config/schema.ts";
import { applicationOf, steps } from "../src/config/steps.ts";

const TEXT = `{
  "routes": [
    { "action": { "share": "/srv", "types": [1, 2] } },
    // a comment with "quotes": {
    { "action": { "pass": "applications/a" } }
  ],
  "a/b~c": { "x": "say \\"}\\"", "y": null }
}`;

const found = (wanted) => {
  const place = nearestPlace(TEXT, wanted);
  return TEXT.slice(place.from, place.to);
};

test("a pointer leads to its place", () => {
  assert.equal(found(""), "{");
  assert.equal(found("/routes"), '"routes": [');
  assert.equal(found("/routes/0"), "{");
  assert.equal(found("/routes/0/action/types/1"), "2");
  assert.equal(found("/routes/1/action/pass"), '"pass": "applications/a"');
  assert.equal(found("/a~1b~0c/x"), '"x": "say \\"}\\""');
  assert.equal(found("/a~1b~0c/y"), '"y": null');
  assert.equal(found("/nothing"), "{");
  assert.equal(found("/routes/1/action/pass/x/y"), found("/routes/1/action/pass"));
  assert.equal(lineOf(TEXT, nearestPlace(TEXT, "/routes/1/action/pass").from), 4);
  assert.equal(nearestPlace("", "/a"), undefined);
});

test("many pointers lead to the same places as one at a time", () => {
  const all = ["/routes/1", "/a~1b~0c/y", "/routes/1", "/nothing", "no pointer"];
  const places = nearestPlaces(TEXT, all);
  for (const one of all) {
    assert.deepEqual(places.get(one), nearestPlace(TEXT, one), one);
  }
  assert.equal(nearestPlaces("", all).size, 0);
  const twice = '{"a": 1, "a": 2}';
  assert.equal(nearestPlace(twice, "/a").from, 1);
});

test("problems have offsets and mark their lines", () => {
  const problems = [
    { path: "/routes/1/action/pass" },
    { line: 4 },
    { offset: 3 },
    { offset: 9_999 },
    { line: 99 },
    { detail: "somewhere" },
  ].map((problem) => ({ detail: "wrong", ...problem }));
  assert.deepEqual(offsetsOf(TEXT, problems), [
    TEXT.indexOf('"pass"'),
    TEXT.indexOf("    // a comment"),
    3,
    TEXT.length,
    undefined,
    undefined,
  ]);
  assert.deepEqual([...markedLines(TEXT, problems)].sort(), [1, 3, 4, 7]);
  assert.deepEqual([...markedLines("{", [{ detail: "", offset: 0 }])], [0]);
  assert.equal(markedLines("", []).size, 0);
});

test("a large text with many problems is marked at once", () => {
  const step = { match: { uri: "/a" }, action: { pass: "applications/a" } };
  const text = JSON.stringify({ routes: Array.from({ length: 5_000 }, () => step) }, null, 4);
  const problems = Array.from({ length: 5_000 }, (_, at) => ({ detail: "", path: `/routes/${at}/action/pass` }));
  const began = Date.now();
  assert.equal(markedLines(text, problems).size, 5_000);
  assert.ok(Date.now() - began < 2_000);
});

test("the cursor has a path, also in a text that breaks off", () => {
  const at = (mark) => pathAt(TEXT, TEXT.indexOf(mark) + 1);
  assert.deepEqual(at('"share"'), ["routes", 0, "action", "share"]);
  assert.deepEqual(at('"/srv"'), ["routes", 0, "action", "share"]);
  assert.deepEqual(at("2]"), ["routes", 0, "action", "types", 1]);
  assert.deepEqual(at('"pass"'), ["routes", 1, "action", "pass"]);
  assert.deepEqual(pathAt('{"a": {"b', 9), ["a", "b"]);
  assert.deepEqual(pathAt('{"a": [1, {"b": ', 16), ["a", 1, "b"]);
  assert.deepEqual(pathAt("}}}]", 4), []);
  assert.deepEqual(pathAt("", 0), []);
});

test("pointers and paths of the API escape what they must", () => {
  assert.deepEqual(names("/a~1b/0/~0"), ["a/b", "0", "~"]);
  assert.equal(pointer(["a/b", 0, "~"]), "/a~1b/0/~0");
  assert.equal(apiPath("/config", ["routes", "a/b c", 0]), "/config/routes/a%2Fb%20c/0");
});

const SCHEMA = {
  properties: {
    routes: {
      description: "steps",
      items: { properties: { action: { properties: { share: { description: "files" } } } } },
    },
    applications: {
      additionalProperties: { properties: { processes: { description: "how many", default: 1 } } },
    },
  },
};

test("an option has a meaning", () => {
  assert.equal(described(SCHEMA, ["routes", 3, "action", "share"]).schema.description, "files");
  assert.equal(described(SCHEMA, ["routes", 3, "action", "none"]).schema.description, "steps");
  assert.equal(described(SCHEMA, ["applications", "x", "processes", "max"]).name, "processes");
  assert.equal(described(SCHEMA, ["constructor"]), undefined);
  assert.deepEqual(
    options(SCHEMA, ["applications", "x"]).map((one) => one.name),
    ["processes"],
  );
  assert.deepEqual(
    options(SCHEMA, ["applications", "x", "pro"]).map((one) => one.name),
    ["processes"],
  );
});

test("steps are told in words", () => {
  const config = {
    routes: {
      main: [
        { match: { uri: ["/a", "/b"], headers: { x: "y" } }, action: { pass: "applications/a" } },
        { action: { return: 301, location: "/new" } },
      ],
      none: 7,
    },
  };
  const all = steps(config);
  assert.deepEqual(
    all.map((one) => one.pointer),
    ["/routes/main/0", "/routes/main/1"],
  );
  assert.equal(all[0].match, 'uri /a, /b, headers {"x":"y"}');
  assert.equal(all[1].match, "every request");
  assert.equal(all[1].action, "return 301 /new");
  assert.equal(steps({ routes: [{ action: {} }] })[0].action, "no answer");
  assert.deepEqual([steps(undefined), steps([]), steps({ routes: "x" })], [[], [], []]);
});

test("a name in a pass is decoded, if it can be", () => {
  assert.equal(applicationOf("applications/a%2Fb/target"), "a/b");
  assert.equal(applicationOf("applications/100%"), "100%");
  assert.equal(applicationOf("routes/a"), undefined);
  assert.equal(applicationOf(undefined), undefined);
});

const compared = (old, fresh) =>
  diff(old.join("\n"), fresh.join("\n")).map(
    (line) => ({ same: " ", removed: "-", added: "+" })[line.kind] + line.text,
  );

test("differences are few lines", () => {
  assert.deepEqual(compared(["a", "b", "c"], ["a", "x", "c"]), [" a", "-b", "+x", " c"]);
  assert.deepEqual(compared(["a"], ["a"]), [" a"]);
  assert.deepEqual(compared(["a", "b"], ["b"]), ["-a", " b"]);
  assert.deepEqual(compared(["b"], ["a", "b", "c"]), ["+a", " b", "+c"]);
});

test("a comparison leads from one text to the other, whatever they are", () => {
  let seed = 1;
  const random = (most) => (seed = (seed * 48_271) % 0x7fffffff) % most;
  for (let round = 0; round < 300; round += 1) {
    const [old, fresh] = [0, 0].map(() => Array.from({ length: 1 + random(12) }, () => "abc"[random(3)]));
    const lines = diff(old.join("\n"), fresh.join("\n"));
    const without = (kind) => lines.filter((line) => line.kind !== kind).map((line) => line.text);
    assert.deepEqual([without("added"), without("removed")], [old, fresh]);
  }
});

test("texts that have nothing in common are not searched for long", () => {
  const lines = (mark) => Array.from({ length: 20_000 }, (_, at) => `${mark}${at}`).join("\n");
  const began = Date.now();
  assert.equal(diff(lines("a"), lines("b")).length, 40_000);
  assert.ok(Date.now() - began < 5_000);
});

test("what is the same is left out", () => {
  const old = Array.from({ length: 40 }, (_, at) => String(at));
  const fresh = old.map((line, at) => (at === 5 || at === 9 || at === 30 ? "x" : line));
  const found = hunks(diff(old.join("\n"), fresh.join("\n")));
  assert.deepEqual(
    found.map((hunk) => hunk.skipped),
    [2, 14],
  );
  assert.equal(found[0].lines.length, 3 + 2 + 3 + 2 + 3);
  assert.deepEqual(hunks(diff("a", "a")), []);
});
