// Figures of limits for clients and of mirrors.

import { number } from "../format.ts";
import type { Limit, State } from "../live/state.ts";
import { Section } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { link } from "../route.ts";

interface LimitRow {
  place: string;
  limit: Limit;
}

interface MirrorRow {
  place: string;
  answered: number;
  failed: number;
  dropped: number;
}

const place = (pointer: string) => (
  <a href={link("configuration", pointer)} title={pointer}>
    {pointer}
  </a>
);

const isTried = (limit: Limit): boolean => limit.would_refuse !== undefined;

const LIMITS: Column<LimitRow>[] = [
  {
    key: "place",
    label: "Limit",
    term: "limit",
    size: "name",
    priority: 1,
    cell: (row) => place(row.place),
    order: (row) => row.place,
  },
  {
    key: "mode",
    label: "Mode",
    size: "small",
    priority: 1,
    cell: ({ limit }) => (isTried(limit) ? "dry run" : "in force"),
  },
  {
    key: "passed",
    label: "Passed",
    size: "number",
    priority: 2,
    cell: ({ limit }) => number(limit.passed),
    order: ({ limit }) => limit.passed,
  },
  {
    key: "delayed",
    label: "Delayed",
    size: "number",
    priority: 2,
    cell: ({ limit }) => number(limit.delayed ?? limit.would_delay ?? 0),
  },
  {
    key: "refused",
    label: "Refused",
    size: "number",
    priority: 2,
    cell: ({ limit }) => number(limit.refused ?? limit.would_refuse ?? 0),
  },
  { key: "keys", label: "Clients", size: "number", priority: 3, cell: ({ limit }) => number(limit.keys) },
];

const MIRRORS: Column<MirrorRow>[] = [
  {
    key: "place",
    label: "Mirror",
    term: "mirror",
    size: "name",
    priority: 1,
    cell: (row) => place(row.place),
    order: (row) => row.place,
  },
  { key: "answered", label: "Answered", size: "number", priority: 2, cell: (row) => number(row.answered) },
  { key: "failed", label: "Failed", size: "number", priority: 2, cell: (row) => number(row.failed) },
  { key: "dropped", label: "Not sent", size: "number", priority: 2, cell: (row) => number(row.dropped) },
];

/** The sections, of those that there are. */
export function Policies({ state }: { state: State }) {
  const { limits, mirrors } = state.status;
  return (
    <>
      {limits !== undefined && (
        <Section title="Limits for clients" note="since they were configured">
          <Table
            label="Limits for clients"
            columns={LIMITS}
            rows={Object.keys(limits).map((at): LimitRow => ({ place: at, limit: limits[at] as Limit }))}
            keyOf={(row) => row.place}
            empty="There are none."
          />
        </Section>
      )}
      {mirrors !== undefined && (
        <Section title="Mirrors" note="since they were configured">
          <Table
            label="Mirrors"
            columns={MIRRORS}
            rows={Object.keys(mirrors).map((at): MirrorRow => ({
              place: at,
              ...(mirrors[at] as Omit<MirrorRow, "place">),
            }))}
            keyOf={(row) => row.place}
            empty="There are none."
          />
        </Section>
      )}
    </>
  );
}
