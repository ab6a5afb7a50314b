// The applications with the most requests, in a few lines.

import { duration, percent, rate } from "../format.ts";
import type { State } from "../live/state.ts";
import { Shape } from "../parts/pill.tsx";
import { Nothing, Section } from "../parts/section.tsx";
import { link } from "../route.ts";
import { applicationRows } from "./rows.ts";

const MOST = 5;

/** The list. */
export function Busiest({ state, before }: { state: State; before: State | undefined }) {
  const rows = applicationRows(state, before)
    .filter((row) => row.requests > 0)
    .toSorted((one, other) => other.requests - one.requests)
    .slice(0, MOST);
  return (
    <Section title="Busiest applications" note="last ten seconds">
      {rows.length === 0 ? (
        <Nothing>No application has had a request.</Nothing>
      ) : (
        <ul class="busiest">
          {rows.map((row) => (
            <li key={row.name}>
              <Shape tone={row.tone} />
              <a href={link("applications", row.name)}>{row.name}</a>
              <span>{rate(row.requests)}</span>
              <span class={row.errors > 0 ? "bad" : "note"}>{percent(row.errors)} errors</span>
              <span class="note">p99 {duration(row.p99)}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
