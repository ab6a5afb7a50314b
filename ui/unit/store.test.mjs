// States, samples and lines that the page keeps, over new connections and states that lack parts.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { store } from "../src/live/store.ts";

const status = {
  connections: { accepted: 0, active: 0, idle: 0, closed: 0 },
  requests: { total: 0 },
  applications: { blog: { processes: { running: 1, starting: 0, idle: 1 }, requests: { active: 0 } } },
  daemon: { version: "1", pid: 1, uptime: 1 },
};

const snapshot = (time, more = {}) => ({ time, version: "1", status, ...more });

const past = (...times) => times.map((time) => ({ time, requests: 1 }));

const times = () => store.samples.map((sample) => sample.time);

beforeEach(() => store.forget());

test("each second makes a sample", () => {
  store.begin(snapshot(100, { past: past(98, 99) }));
  store.change({ time: 101 });
  store.change({ time: 102 });
  assert.deepEqual(times(), [98, 99, 101, 102]);
  assert.equal(store.state.time, 102);
  assert.equal(store.before.time, 100);
  assert.equal(store.link, "live");
});

test("a state that follows at once makes none", () => {
  store.begin(snapshot(100));
  store.change({ time: 100.1 });
  assert.deepEqual(times(), []);
  store.change({ time: 101.1 });
  assert.deepEqual(times(), [101.1]);
});

test("curves outlive a controller that has no past any more", () => {
  store.begin(snapshot(100, { past: past(98, 99) }));
  store.change({ time: 101 });
  store.become("lost");
  store.begin(snapshot(110));
  assert.deepEqual(times(), [98, 99, 101]);
  store.begin(snapshot(111, { past: past(99, 101, 110) }));
  assert.deepEqual(times(), [98, 99, 101, 110]);
});

test("figures are not compared with those of another daemon", () => {
  store.begin(snapshot(100));
  store.begin(snapshot(101, { version: "2" }));
  assert.equal(store.before, undefined);
  const daemon = { version: "2", pid: 2, uptime: 1 };
  store.begin(snapshot(102, { version: "2", status: { ...status, daemon } }));
  assert.equal(store.before, undefined);
});

test("a clock that was set back begins figures anew, and stops no curve", () => {
  store.begin(snapshot(1000, { past: past(980, 999) }));
  store.change({ time: 1001 });
  store.change({ time: 990 });
  assert.deepEqual(times(), [980, 999, 1001]);
  assert.equal(store.before, undefined);
  store.change({ time: 991 });
  assert.deepEqual(times(), [980, 991]);
  assert.equal(store.before.time, 990);
  store.begin(snapshot(985, { past: past(970, 991, 984) }));
  assert.deepEqual(times(), [970, 984]);
  assert.equal(store.before, undefined);
});

test("only states of the last seconds are compared with", () => {
  store.begin(snapshot(100));
  for (let time = 101; time < 130; time += 1) {
    store.change({ time });
  }
  assert.equal(store.before.time, 119);
});

test("a state without figures waits for them", () => {
  store.change({ time: 1 });
  assert.equal(store.state, undefined);
  store.begin({ time: 100, version: "1" });
  assert.equal(store.state, undefined);
  store.change({ status });
  assert.equal(store.state.time, 100);
  store.change({ time: 101, status: null });
  assert.equal(store.state.time, 100);
});

test("the curves of an application are those of the one that is looked at", () => {
  const workers = (application) => ({ application, list: {} });
  store.begin(snapshot(100, { workers: workers("blog") }));
  store.change({ time: 101 });
  assert.equal(store.samplesOf("blog").length, 1);
  assert.deepEqual(store.samplesOf("shop"), []);
  store.change({ time: 102, workers: workers("gone") });
  assert.equal(store.samplesOf("blog").length, 1);
});

test("only the lines that come with a snapshot may be here already", () => {
  const lines = (...texts) => texts.map((text) => ({ time: "t", level: "info", text }));
  const kept = () => store.lines.map(({ text }) => text).join("");
  store.begin(snapshot(100));
  store.log(lines("a", "b"));
  store.log(lines("b"));
  assert.equal(kept(), "abb");
  store.begin(snapshot(101));
  store.log(lines("b", "b", "c"));
  assert.equal(kept(), "abbc");
  store.begin(snapshot(102));
  store.change({ time: 103 });
  store.log(lines("c"));
  assert.equal(kept(), "abbcc");
});

test("after a session nothing is left", () => {
  store.begin(snapshot(100, { past: past(99) }));
  store.log([{ time: "t", level: "info", text: "x" }]);
  store.forget();
  assert.deepEqual([store.state, store.samples, store.lines], [undefined, [], []]);
  store.change({ time: 101 });
  assert.equal(store.state, undefined);
});
