// Figures from two states.

import assert from "node:assert/strict";
import { test } from "node:test";
import { flow, growth, queued, sample, sampleOf } from "../src/live/figures.ts";

const state = (time, requests, failed, more = {}) => ({
  time,
  version: "1",
  status: {
    connections: { accepted: 9, active: 2, idle: 3, closed: 4 },
    requests: { total: requests },
    applications: {
      blog: {
        processes: { running: 4, starting: 0, idle: 1 },
        requests: { active: 5, waiting: 2 },
        memory: 7,
      },
    },
    daemon: { version: "1", pid: 1, uptime: 1 },
  },
  traffic: {
    bounds: [0.1, 1],
    listeners: {
      "*:80": {
        requests: { "HTTP/1.1": { "2xx": requests - failed }, "HTTP/2": { "5xx": failed } },
        durations: [requests, 0, 0],
        duration_sum: 1,
        sent: 1,
      },
    },
    steps: {},
    applications: { blog: { requests: { "2xx": requests }, durations: [0, requests, 0], duration_sum: 1 } },
  },
  processes: { memory: 1000, cpu: time / 2 },
  ...more,
});

test("rates are differences by the time between", () => {
  const found = sample(state(12, 120, 20), state(10, 20, 10));
  assert.equal(found.requests, 50);
  assert.equal(found.errors, 0.1);
  assert.equal(found.p50, 0.05);
  assert.equal(found.busy, 3);
  assert.equal(found.queue, 2);
  assert.equal(found.connections, 5);
  assert.equal(found.memory, 1000);
  assert.equal(found.cpu, 0.5);
});

test("one application has figures of its own", () => {
  const found = sampleOf("blog", state(12, 120, 20), state(10, 20, 10));
  assert.equal(found.requests, 50);
  assert.equal(found.errors, 0);
  assert.equal(found.memory, 7);
  assert.equal(sampleOf("gone", state(12, 1, 0), state(10, 1, 0)), undefined);
});

test("without traffic there are no percentiles, and no failures", () => {
  const found = sample(state(11, 20, 10), state(10, 20, 10));
  assert.equal(found.requests, 0);
  assert.equal(found.errors, 0);
  assert.equal(found.p99, null);
});

test("a state that lacks parts is no obstacle", () => {
  const bare = state(11, 0, 0, { traffic: undefined, processes: undefined });
  const found = sample(bare, state(10, 20, 10));
  assert.deepEqual([found.requests, found.memory, found.cpu, found.p50], [0, null, null, null]);
  assert.equal(flow([], undefined, undefined, 1).requests, 0);
});

test("a total that fell counts as none", () => {
  assert.equal(growth(5, 3), 2);
  assert.equal(growth(2, 3), 0);
  assert.equal(growth(undefined, 3), 0);
  assert.equal(growth(4, undefined), 4);
});

test("a listener that comes or goes makes no peak", () => {
  const listener = (requests) => ({
    requests: { "HTTP/1.1": { "2xx": requests } },
    durations: [requests, 0, 0],
    duration_sum: 1,
    sent: 1,
  });
  const listening = (time, listeners) => {
    const whole = state(time, 0, 0);
    return { ...whole, traffic: { ...whole.traffic, listeners } };
  };
  const both = listening(10, { "*:80": listener(1_000), "*:81": listener(50) });
  const one = listening(11, { "*:81": listener(60) });
  assert.equal(sample(one, both).requests, 10);
  assert.equal(sample({ ...both, time: 12 }, one).requests, 0);
  const fresh = listening(12, { "*:81": listener(70), "*:82": listener(5_000) });
  assert.equal(sample(fresh, one).requests, 10);
  assert.equal(sample(fresh, { ...one, traffic: undefined }).requests, 0);
  assert.equal(sample(one, listening(10, { "*:81": listener(9_000) })).requests, 0);
});

test("an application that comes makes no peak", () => {
  const before = state(10, 0, 0, { traffic: undefined });
  assert.equal(sampleOf("blog", state(11, 5_000, 0), before).requests, 0);
});

test("processor time that fell, as an application was removed, is none", () => {
  const used = (time, cpu) => state(time, 0, 0, { processes: { memory: 1, cpu } });
  assert.equal(sample(used(11, 3), used(10, 900)).cpu, 0);
  assert.equal(sample(used(11, 901), used(10, 900)).cpu, 1);
  assert.equal(sample(used(11, 901), state(10, 0, 0, { processes: {} })).cpu, null);
});

test("requests that wait for a server of an upstream are in the queue", () => {
  const now = state(11, 0, 0);
  const upstreams = { a: { servers: {}, waiting: 5 }, b: { servers: {} } };
  assert.equal(sample({ ...now, status: { ...now.status, upstreams } }, state(10, 0, 0)).queue, 7);
});

test("states with the same time divide by nothing", () => {
  assert.ok(Number.isFinite(sample(state(10, 30, 0), state(10, 20, 0)).requests));
});

test("a queue that is empty is not told of", () => {
  const application = (requests) => ({ processes: { running: 4, starting: 0, idle: 1 }, requests });
  assert.equal(queued(application({ active: 9 })), 0);
  assert.equal(queued(application({ active: 9, waiting: 1 })), 1);
});
