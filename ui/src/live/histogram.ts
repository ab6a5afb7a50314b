// Percentiles of durations that were counted in ranges.

/** The counts between two readings; a total that fell, as a process was replaced, counts as none. */
export const difference = (now: readonly number[], before: readonly number[] = []): number[] =>
  now.map((count, at) => Math.max(0, count - (before[at] ?? 0)));

/** The sum of several counts, range by range. */
export function sum(all: readonly (readonly number[])[]): number[] {
  const length = Math.max(0, ...all.map((counts) => counts.length));
  return Array.from({ length }, (_, at) => all.reduce((total, counts) => total + (counts[at] ?? 0), 0));
}

/**
 * The duration that this share of the requests did not exceed, as if each range were filled evenly. Durations beyond
 * the last bound count as that bound.
 */
export function percentile(
  bounds: readonly number[],
  counts: readonly number[],
  share: number,
): number | null {
  const total = counts.reduce((all, count) => all + count, 0);
  if (total <= 0) {
    return null;
  }
  let left = total * share;
  for (const [at, count] of counts.entries()) {
    const lower = at === 0 ? 0 : (bounds[at - 1] ?? 0);
    const upper = bounds[at];
    if (upper === undefined) {
      return lower;
    }
    if (count > 0 && left <= count) {
      return lower + (upper - lower) * (left / count);
    }
    left -= count;
  }
  return bounds.at(-1) ?? null;
}
