// All applications.

import { useMemo, useState } from "preact/hooks";
import { bytes, count, duration, number, percent, rate } from "../format.ts";
import { useLive } from "../live/store.ts";
import { Pill } from "../parts/pill.tsx";
import { Search } from "../parts/search.tsx";
import { Heading } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { link } from "../route.ts";
import { type ApplicationRow, applicationRows } from "./rows.ts";

const COLUMNS: Column<ApplicationRow>[] = [
  {
    key: "name",
    label: "Name",
    size: "name",
    priority: 1,
    cell: (row) => (
      <a href={link("applications", row.name)} title={row.name}>
        {row.name}
      </a>
    ),
    order: (row) => row.name,
  },
  {
    key: "state",
    label: "State",
    term: "applicationState",
    size: "small",
    priority: 1,
    cell: (row) => <Pill tone={row.tone} word={row.word} />,
    order: (row) => ["good", "calm", "warn", "bad"].indexOf(row.tone),
  },
  {
    key: "requests",
    label: "Requests",
    term: "requests",
    size: "number",
    priority: 2,
    cell: (row) => rate(row.requests),
    order: (row) => row.requests,
  },
  {
    key: "errors",
    label: "Errors",
    term: "errors",
    size: "number",
    priority: 2,
    cell: (row) => <span class={row.errors > 0 ? "bad" : ""}>{percent(row.errors)}</span>,
    order: (row) => row.errors,
  },
  {
    key: "p50",
    label: "p50",
    term: "latency",
    size: "number",
    priority: 3,
    cell: (row) => duration(row.p50),
    order: (row) => row.p50 ?? -1,
  },
  {
    key: "p99",
    label: "p99",
    term: "latency",
    size: "number",
    priority: 2,
    cell: (row) => duration(row.p99),
    order: (row) => row.p99 ?? -1,
  },
  {
    key: "processes",
    label: "Busy",
    term: "processes",
    size: "number",
    priority: 3,
    cell: (row) => `${number(row.busy)} of ${number(row.application.processes.running)}`,
    order: (row) => row.busy,
  },
  {
    key: "queue",
    label: "Queue",
    term: "queue",
    size: "number",
    priority: 3,
    cell: (row) => number(row.queue),
    order: (row) => row.queue,
  },
  {
    key: "memory",
    label: "Memory",
    term: "applicationMemory",
    size: "number",
    priority: 3,
    cell: (row) => bytes(row.application.memory),
    order: (row) => row.application.memory ?? 0,
  },
  {
    key: "crashes",
    label: "Crashes",
    term: "crashes",
    size: "number",
    priority: 3,
    cell: (row) => number(row.application.crashes?.total ?? 0),
    order: (row) => row.application.crashes?.total ?? 0,
  },
];

/** The view. */
export function Applications() {
  const { state, before } = useLive();
  const [wanted, setWanted] = useState("");
  const rows = useMemo(() => (state === undefined ? [] : applicationRows(state, before)), [state, before]);
  const shown = rows.filter((row) => `${row.name} ${row.word}`.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <>
      <Heading title="Applications">
        <Search label="Find an application" value={wanted} change={setWanted} />
        <span class="note">
          {shown.length === rows.length
            ? count(rows.length, "application")
            : `${shown.length} of ${rows.length}`}
          , figures of the last ten seconds
        </span>
      </Heading>
      <Table
        label="Applications"
        columns={COLUMNS}
        rows={shown}
        keyOf={(row) => row.name}
        sorted={{ by: "name", isDescending: false }}
        empty={rows.length === 0 ? "The configuration has no applications." : "No application is called so."}
      />
    </>
  );
}
