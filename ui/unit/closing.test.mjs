// Places that are closed for maintenance, and the calls that close and open them.

import "./browser.mjs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { close, open } from "../src/actions/maintenance.tsx";
import { closablesOf, closing } from "../src/config/closing.ts";

const CONFIG = {
  listeners: {
    "*:80": { pass: "routes" },
    "*:81": { pass: "applications/a%2Fb" },
    "*:82": { pass: "applications/a%2Fb/front", defaults: { charset: "utf-8" } },
    "*:83": { pass: "applications/other" },
  },
  routes: {
    main: [
      { match: { uri: "/a" }, action: { pass: "applications/a%2Fb/front", charset: "utf-8" } },
      { action: { share: "/srv", fallback: { share: "/more", fallback: { pass: "applications/a%2Fb" } } } },
      { action: { return: 404, errors: { 404: { pass: "applications/other" } } } },
    ],
    none: 7,
  },
};

const METHODS = { close, open };

const calls = (which, places) => {
  const action = METHODS[which]("it", places, '"1"');
  return action.calls.map(({ method, path, body }) => [method, path.split("?")[0], body]);
};

test("an application is reached by steps, by what is inside of them, and by listeners", () => {
  assert.deepEqual(
    closablesOf(CONFIG, "a/b").map((one) => [one.pointer, one.match]),
    [
      ["/routes/main/0", "uri /a"],
      ["/routes/main/1/action/fallback/fallback", "every request"],
      ["/listeners/*:81", undefined],
      ["/listeners/*:82", undefined],
    ],
  );
  assert.deepEqual(
    closablesOf(CONFIG, "other").map((one) => one.pointer),
    ["/routes/main/2/action/errors/404", "/listeners/*:83"],
  );
  assert.deepEqual([closablesOf(undefined, "a"), closablesOf({ listeners: [], routes: "x" }, "a")], [[], []]);
});

test("options are closed, open, or closed by a file", () => {
  const state = (maintenance) => closing({ options: { maintenance } });
  assert.equal(closing({ options: undefined }), "open");
  assert.equal(state(undefined), "open");
  assert.equal(state(false), "open");
  assert.equal(state(true), "closed");
  assert.equal(state({ page: "x" }), "closed");
  assert.equal(state({ file: "/x" }), "by-file");
});

test("everything that passes to an application is closed", () => {
  assert.deepEqual(calls("close", closablesOf(CONFIG, "a/b")), [
    ["PUT", "/config/routes/main/0/action/maintenance", "true"],
    ["PUT", "/config/routes/main/1/action/fallback/fallback/maintenance", "true"],
    ["PUT", "/config/listeners/*%3A81/defaults", '{"maintenance":true}'],
    ["PUT", "/config/listeners/*%3A82/defaults/maintenance", "true"],
  ]);
});

test("what was closed is opened, and nothing is left of it", () => {
  const closed = structuredClone(CONFIG);
  closed.routes.main[0].action.maintenance = { page: "closed" };
  closed.listeners["*:81"].defaults = { maintenance: true };
  closed.listeners["*:82"].defaults.maintenance = true;
  assert.deepEqual(calls("open", closablesOf(closed, "a/b")), [
    ["DELETE", "/config/routes/main/0/action/maintenance", undefined],
    ["DELETE", "/config/listeners/*%3A81/defaults", undefined],
    ["DELETE", "/config/listeners/*%3A82/defaults/maintenance", undefined],
  ]);
});
