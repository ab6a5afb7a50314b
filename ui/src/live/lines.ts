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

/** The lines with new ones behind them. */
export function append(lines: readonly KeptLine[], more: readonly LogLine[]): KeptLine[] {
  const next = (lines.at(-1)?.id ?? 0) + 1;
  const fresh = more.map((line, at): KeptLine => ({ ...line, id: next + at }));
  return [...lines, ...fresh].slice(-MOST_LINES);
}

/** The same for the first lines of a new connection, which begin with some that are here already. */
export const rejoin = (lines: readonly KeptLine[], more: readonly LogLine[]): KeptLine[] =>
  append(lines, more.slice(overlap(lines, more)));

/** The length of the longest end of the lines that the new ones begin with. */
function overlap(lines: readonly LogLine[], more: readonly LogLine[]): number {
  for (let length = Math.min(lines.length, more.length); length > 0; length -= 1) {
    const begins = lines.length - length;
    if (more.slice(0, length).every((line, at) => isSame(line, lines[begins + at] as LogLine))) {
      return length;
    }
  }
  return 0;
}
