// The lines by which two texts differ (Myers, "An O(ND) Difference Algorithm").

/** A line of a comparison, with its numbers in both texts, from 1. */
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
  old: number | undefined;
  new: number | undefined;
}

/** A part of a comparison without the lines in between that are the same. */
export interface Hunk {
  lines: DiffLine[];
  /** Lines that were left out before it. */
  skipped: number;
}

/** Texts with more differences are shown as one that takes the place of the other. */
const MOST_EDITS = 1500;

type Edit = DiffLine["kind"];

/** The steps from one list of lines to the other. */
function edits(old: readonly string[], fresh: readonly string[]): Edit[] {
  const trace: Int32Array[] = [];
  const most = Math.min(MOST_EDITS, old.length + fresh.length);
  const middle = most + 1;
  const furthest = new Int32Array(2 * middle + 1);
  for (let n = 0; n <= most; n += 1) {
    trace.push(furthest.slice(middle - n - 1, middle + n + 2));
    for (let k = -n; k <= n; k += 2) {
      const at = middle + k;
      const isDown = k === -n || (k !== n && (furthest[at - 1] ?? 0) < (furthest[at + 1] ?? 0));
      let x = isDown ? (furthest[at + 1] ?? 0) : (furthest[at - 1] ?? 0) + 1;
      while (x < old.length && x - k < fresh.length && old[x] === fresh[x - k]) {
        x += 1;
      }
      furthest[at] = x;
      if (x >= old.length && x - k >= fresh.length) {
        return backwards(trace, old.length, fresh.length);
      }
    }
  }
  return [...old.map((): Edit => "removed"), ...fresh.map((): Edit => "added")];
}

/** Follows the trace from its end to its begin. */
function backwards(trace: readonly Int32Array[], oldLength: number, newLength: number): Edit[] {
  const found: Edit[] = [];
  let [x, y] = [oldLength, newLength];
  for (let n = trace.length - 1; n > 0; n -= 1) {
    const reached = (k: number) => trace[n]?.[k + n + 1] ?? 0;
    const k = x - y;
    const isDown = k === -n || (k !== n && reached(k - 1) < reached(k + 1));
    const before = isDown ? k + 1 : k - 1;
    const from = reached(before);
    for (; x > from + (isDown ? 0 : 1) && y > from - before + (isDown ? 1 : 0); x -= 1, y -= 1) {
      found.push("same");
    }
    found.push(isDown ? "added" : "removed");
    [x, y] = [from, from - before];
  }
  for (; x > 0; x -= 1) {
    found.push("same");
  }
  return found.reverse();
}

/** All lines of both texts. */
export function diff(old: string, fresh: string): DiffLine[] {
  const [before, after] = [old.split("\n"), fresh.split("\n")];
  let [x, y] = [0, 0];
  return edits(before, after).map((kind) => {
    const text = (kind === "added" ? after[y] : before[x]) ?? "";
    x += kind === "added" ? 0 : 1;
    y += kind === "removed" ? 0 : 1;
    return { kind, text, old: kind === "added" ? undefined : x, new: kind === "removed" ? undefined : y };
  });
}

/** The differences with a few lines around each. */
export function hunks(lines: readonly DiffLine[], context = 3): Hunk[] {
  const changed = lines.flatMap((line, at) => (line.kind === "same" ? [] : [at]));
  const found: Hunk[] = [];
  let shown = 0;
  for (const at of changed) {
    const [from, to] = [Math.max(shown, at - context), Math.min(lines.length, at + context + 1)];
    const last = found.at(-1);
    if (last !== undefined && from <= shown) {
      last.lines.push(...lines.slice(shown, to));
    } else {
      found.push({ lines: lines.slice(from, to), skipped: from - shown });
    }
    shown = Math.max(shown, to);
  }
  return found;
}
