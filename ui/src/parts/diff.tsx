// The lines by which two texts differ.

import { useMemo } from "preact/hooks";
import { diff, hunks } from "../config/diff.ts";
import { count } from "../format.ts";

interface DiffProps {
  label: string;
  old: string;
  fresh: string;
}

const SIGNS = { same: " ", added: "+", removed: "−" } as const;
const WORDS = { same: "", added: "added: ", removed: "removed: " } as const;

/** More than these are not drawn. */
const MOST_LINES = 2000;

/** The lines, with a few around them. */
export function Diff({ label, old, fresh }: DiffProps) {
  const found = useMemo(() => hunks(diff(old, fresh)), [old, fresh]);
  const lines = found.reduce((all, hunk) => all + hunk.lines.length, 0);
  if (found.length === 0) {
    return <p class="nothing">Both are the same.</p>;
  }
  return (
    <div class="diff" tabIndex={0} role="region" aria-label={label}>
      {lines > MOST_LINES ? (
        <p class="nothing">{count(lines, "line")} differ, which are too many to show.</p>
      ) : (
        found.map((hunk) => (
          <div key={`${hunk.lines[0]?.old} ${hunk.lines[0]?.new}`} class="hunk">
            {hunk.skipped > 0 && <p class="skipped">{count(hunk.skipped, "line")} that stay</p>}
            {hunk.lines.map((line) => (
              <div key={`${line.old} ${line.new}`} class={`diff-line ${line.kind}`}>
                <span class="diff-number">{line.new ?? line.old}</span>
                <span class="diff-sign" aria-hidden="true">
                  {SIGNS[line.kind]}
                </span>
                <span class="unseen">{WORDS[line.kind]}</span>
                <code>{line.text}</code>
              </div>
            ))}
          </div>
        ))
      )}
    </div>
  );
}
