// Percentiles of counts by ranges.

import assert from "node:assert/strict";
import { test } from "node:test";
import { difference, percentile, sum } from "../src/live/histogram.ts";

const BOUNDS = [0.001, 0.01, 0.1, 1];

const check = (counts, share, expect) => {
  const found = percentile(BOUNDS, counts, share);
  if (expect === null) {
    assert.equal(found, null);
  } else {
    assert.ok(Math.abs(found - expect) < 1e-9, `${found} in place of ${expect}`);
  }
};

test("a range is filled evenly", () => {
  check([10, 0, 0, 0, 0], 0.5, 0.0005);
  check([0, 10, 0, 0, 0], 0.5, 0.0055);
  check([5, 5, 0, 0, 0], 0.5, 0.001);
  check([5, 5, 0, 0, 0], 1, 0.01);
  check([98, 0, 0, 2, 0], 0.99, 0.55);
  check([0, 0, 0, 1, 0], 0.5, 0.55);
});

test("longer than the last bound counts as that", () => {
  check([0, 0, 0, 0, 4], 0.5, 1);
  check([1, 0, 0, 0, 99], 0.99, 1);
});

test("without requests there is no percentile", () => {
  check([0, 0, 0, 0, 0], 0.5, null);
  check([], 0.5, null);
});

test("bounds that are missing break nothing", () => {
  assert.equal(percentile([], [1, 2], 0.5), 0);
  assert.equal(percentile([], [], 0.5), null);
});

test("counts between two readings are never less than none", () => {
  assert.deepEqual(difference([5, 6], [1, 2]), [4, 4]);
  assert.deepEqual(difference([5, 6], undefined), [5, 6]);
  assert.deepEqual(difference([5, 1], [4, 2]), [1, 0]);
  assert.deepEqual(difference([5, 1, 3], [4]), [1, 1, 3]);
});

test("histograms are added range by range", () => {
  assert.deepEqual(
    sum([
      [1, 2],
      [3, 4, 5],
    ]),
    [4, 6, 5],
  );
  assert.deepEqual(sum([]), []);
});
