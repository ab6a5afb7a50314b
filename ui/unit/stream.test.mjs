// The stream: opened again after it broke off or fell silent, and closed while the page is out of sight.

import { calls, clock, settled, sources } from "./browser.mjs";
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { store } from "../src/live/store.ts";
import { Stream } from "../src/live/stream.ts";

const status = {
  connections: { accepted: 0, active: 0, idle: 0, closed: 0 },
  requests: { total: 0 },
  applications: {},
  daemon: { version: "1", pid: 1, uptime: 1 },
};

const snapshot = (time) => ({ time, version: "1", status });

const [CONNECTING, CLOSED] = [0, 2];

let stream;
let checks;

/** Lets time pass, second by second. */
async function pass(seconds) {
  for (let second = 0; second < seconds; second += 1) {
    clock.now += 1000;
    mock.timers.tick(1000);
    await settled();
  }
}

function see(state) {
  document.visibilityState = state;
  document.dispatchEvent(new Event("visibilitychange"));
}

const last = () => sources.at(-1);

beforeEach(() => {
  mock.timers.enable();
  store.forget();
  sources.length = 0;
  calls.length = 0;
  checks = 0;
  stream = new Stream({ application: "a b" }, async () => void (checks += 1));
});

afterEach(() => {
  stream.close();
  see("visible");
  mock.timers.reset();
});

test("a stream that broke off is opened again, after a look at the session", async () => {
  assert.match(last().address, /\/events\?application=a\+b$/);
  last().send("snapshot", snapshot(100));
  assert.equal(store.link, "live");
  last().fail(CONNECTING);
  assert.equal(store.link, "lost");
  assert.equal(last().readyState, CLOSED, "the browser does not do it by itself");
  await pass(2);
  assert.deepEqual([sources.length, checks, calls.length], [2, 1, 0]);
  last().send("snapshot", snapshot(102));
  assert.equal(store.link, "live");
});

const TOO_MANY = "Too many viewers look already; this page tries again.";

/** Refuses the stream, and answers the question why; the words that the page says. */
async function refuse(status, type) {
  last().fail(CLOSED);
  const call = calls.at(-1);
  assert.deepEqual([call.method, call.path], ["HEAD", "/events?application=a+b"]);
  await call.answer(status, undefined, undefined, type);
  return [store.link, store.reason];
}

test("a stream that is refused says why, and is tried again without a place being taken", async () => {
  assert.deepEqual(await refuse(503), ["lost", TOO_MANY]);
  assert.equal(sources.length, 1, "it waits");
  await pass(2);
  assert.deepEqual([sources.length, calls.length, checks], [2, 1, 1]);
  last().fail(CLOSED);
  assert.equal(store.reason, TOO_MANY, "the words stay while they are asked for");
  await calls[1].answer(503);
  await pass(3);
  assert.deepEqual([sources.length, calls.length], [3, 2]);
  last().send("snapshot", snapshot(100));
  assert.deepEqual([store.link, store.reason], ["live", undefined]);
});

test("a daemon that would answer, and refuses nevertheless, has no place", async () => {
  assert.deepEqual(await refuse(200, "text/event-stream"), ["lost", TOO_MANY]);
});

test("a refusal for another reason does not speak of viewers", async () => {
  assert.deepEqual(await refuse(502), ["lost", "The daemon answered with status 502; this page tries again."]);
  await pass(2);
  assert.deepEqual(await refuse(200, "text/html"), ["lost", undefined]);
  await pass(3);
  assert.deepEqual(await refuse(401), ["lost", undefined], "the look at the session leads to the form");
  await pass(6);
  assert.deepEqual([sources.length, checks], [4, 3]);
});

test("words that come too late are not said", async () => {
  last().fail(CLOSED);
  await pass(2);
  last().send("snapshot", snapshot(100));
  await calls[0].answer(503);
  assert.deepEqual([store.link, store.reason], ["live", undefined]);
});

test("figures that stand still are not called live", async () => {
  last().send("snapshot", snapshot(100));
  await pass(8);
  last().send("change", { time: 101 });
  await pass(9);
  assert.equal(store.link, "live");
  last().send("change", { version: "1" });
  await pass(3);
  assert.equal(store.link, "still");
  last().send("change", { time: 90 });
  assert.equal(store.link, "live");
});

test("a daemon that sends no figure at all is noticed", async () => {
  await pass(12);
  assert.equal(store.link, "still");
});

test("a stream without an event is opened again", async () => {
  last().send("snapshot", snapshot(100));
  await pass(29);
  last().send("log", []);
  await pass(29);
  assert.equal(sources.length, 1);
  await pass(4);
  assert.equal(sources[0].readyState, CLOSED);
  assert.equal(sources.length, 2);
});

test("a page that is out of sight has no stream", async () => {
  last().send("snapshot", snapshot(100));
  see("hidden");
  await pass(20);
  see("visible");
  await pass(1);
  last().send("change", { time: 101 });
  see("hidden");
  for (let time = 102; time < 162; time += 1) {
    last().send("change", { time });
    await pass(1);
  }
  assert.equal(last().readyState, CLOSED);
  await pass(600);
  assert.equal(sources.length, 1);
  see("visible");
  assert.equal(store.link, "connecting");
  await settled();
  assert.deepEqual([sources.length, checks], [2, 1]);
});

test("a try that began before the page was hidden opens no second stream", async () => {
  stream.close();
  const looks = [];
  stream = new Stream({}, () => new Promise((done) => looks.push(done)));
  last().fail(CONNECTING);
  await pass(2);
  see("hidden");
  await pass(61);
  see("visible");
  assert.equal(looks.length, 2);
  looks.forEach((done) => done());
  await settled();
  assert.deepEqual([sources.length, last().readyState], [3, CONNECTING]);
});

test("a stream that was closed stays so", async () => {
  last().fail(CONNECTING);
  stream.close();
  see("hidden");
  see("visible");
  await pass(100);
  assert.equal(sources.length, 1);
});
