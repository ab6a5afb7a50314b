// The lines of the log that the page keeps.

import type { LogLine } from "./state.ts";

/** A line with a number of this page. */
export interface KeptLine extends LogLine {
  id: number;
}

/** Older lines are let go. */
export const MOST_LINES = 2000;

const isSame = (one: LogLine, other: LogLine): boolean =>
  one.time === other.time && one.level === other.level && one.text === other.text;

/** The lines with new ones behind them; after a new connection, these begin with some that are here already. */
export function append(lines: readonly KeptLine[], more: readonly LogLine[]): KeptLine[] {
  const last = lines.at(-1);
  const known = last === undefined ? -1 : more.findLastIndex((line) => isSame(line, last));
  const next = (last?.id ?? 0) + 1;
  const fresh = more.slice(known + 1).map((line, at): KeptLine => ({ ...line, id: next + at }));
  return [...lines, ...fresh].slice(-MOST_LINES);
}
