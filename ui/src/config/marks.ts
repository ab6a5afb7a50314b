// Where the problems of a configuration stand in its text.

import type { Problem } from "../api.ts";
import { nearestPlaces } from "./places.ts";

/** The offsets at which lines begin. */
function beginnings(text: string): number[] {
  const found = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) {
    found.push(end + 1);
  }
  return found;
}

/** The line of an offset, from 0, by halving. */
function lineAt(beginnings: readonly number[], offset: number): number {
  let [from, to] = [0, beginnings.length];
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    [from, to] = (beginnings[middle] ?? 0) <= offset ? [middle, to] : [from, middle];
  }
  return from;
}

/** The offset of each problem, if it has one: the text is walked once for all of them. */
export function offsetsOf(text: string, problems: readonly Problem[]): (number | undefined)[] {
  const places = nearestPlaces(text, problems.flatMap(({ path }) => path ?? []));
  const lines = beginnings(text);
  return problems.map(({ path, line, offset }) => {
    if (path !== undefined) {
      return places.get(path)?.from;
    }
    return line === undefined ? offset && Math.min(offset, text.length) : lines[line - 1];
  });
}

/** The lines, from 0, that problems stand in. */
export function markedLines(text: string, problems: readonly Problem[]): Set<number> {
  const lines = beginnings(text);
  const offsets = offsetsOf(text, problems);
  return new Set(offsets.flatMap((offset) => (offset === undefined ? [] : [lineAt(lines, offset)])));
}
