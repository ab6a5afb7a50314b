// Requests that took long, and where their time went.

import { useMemo, useState } from "preact/hooks";
import { clock, count, duration } from "../format.ts";
import type { SlowRequest } from "../live/state.ts";
import { useLive } from "../live/store.ts";
import { Search } from "../parts/search.tsx";
import { Heading } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Term } from "../parts/tip.tsx";
import { link } from "../route.ts";

interface SlowRow {
  key: string;
  slow: SlowRequest;
  now: number;
}

const PARTS = [
  ["queue", "queue"],
  ["worker", "process"],
  ["upstream", "upstream"],
  ["client", "client"],
] as const;

/** Where the time of a request went, as a bar and in words. */
function Where({ slow }: { slow: SlowRequest }) {
  const parts = PARTS.map(([part, word]) => ({ part, word, time: slow[part] ?? 0 })).filter(
    ({ time }) => time > 0,
  );
  const words = parts.map(({ word, time }) => `${word} ${duration(time)}`).join(", ");
  const whole = Math.max(
    slow.duration,
    parts.reduce((all, { time }) => all + time, 0),
    1e-9,
  );
  return (
    <span class="where" role="img" aria-label={words || "not known"} title={words}>
      <span class="bar">
        {parts.map(({ part, time }) => (
          <span key={part} class={`part ${part}`} style={{ width: `${(time / whole) * 100}%` }} />
        ))}
      </span>
    </span>
  );
}

/** The application, or whatever else the request was for. */
function Subject({ slow }: { slow: SlowRequest }) {
  const name = slow.application ?? undefined;
  return name === undefined ? (
    <span>{slow.step ?? slow.listener ?? "–"}</span>
  ) : (
    <a href={link("applications", name)}>{name}</a>
  );
}

const COLUMNS: Column<SlowRow>[] = [
  {
    key: "time",
    label: "Time",
    size: "small",
    priority: 3,
    cell: ({ slow, now }) => clock(slow.time, now),
    order: ({ slow }) => slow.time,
  },
  {
    key: "path",
    label: "Request",
    size: "name",
    priority: 1,
    cell: ({ slow }) => (
      <code title={`${slow.method} ${slow.path}`}>
        {slow.method} {slow.path}
      </code>
    ),
    order: ({ slow }) => slow.path,
  },
  {
    key: "subject",
    label: "Application",
    brief: "",
    size: "text",
    priority: 2,
    cell: ({ slow }) => <Subject slow={slow} />,
    order: ({ slow }) => slow.application ?? "",
  },
  {
    key: "status",
    label: "Status",
    size: "small",
    priority: 3,
    cell: ({ slow }) => (
      <span class={slow.status >= 500 ? "bad" : ""}>{slow.status === 0 ? "none" : slow.status}</span>
    ),
    order: ({ slow }) => slow.status,
  },
  {
    key: "duration",
    label: "Took",
    size: "number",
    priority: 1,
    cell: ({ slow }) => duration(slow.duration),
    order: ({ slow }) => slow.duration,
  },
  {
    key: "where",
    label: "Where the time went",
    brief: "",
    term: "whereTime",
    size: "text",
    priority: 2,
    cell: ({ slow }) => <Where slow={slow} />,
  },
];

/** The view. */
export function Slow() {
  const { state } = useLive();
  const [wanted, setWanted] = useState("");
  const rows = useMemo(
    () =>
      (state?.slow ?? []).map((slow, at): SlowRow => {
        const key = `${slow.time} ${slow.path} ${at}`;
        return { key, slow, now: state?.time ?? slow.time };
      }),
    [state?.slow],
  );
  const shown = rows.filter(({ slow }) =>
    `${slow.method} ${slow.path} ${slow.application ?? ""} ${slow.status}`
      .toLowerCase()
      .includes(wanted.toLowerCase()),
  );
  return (
    <>
      <Heading title="Slow requests">
        <Search label="Find a request" value={wanted} change={setWanted} />
        <span class="note">
          <Term name="slow">{count(shown.length, "request")}</Term>
        </span>
        <span class="legend">
          {PARTS.map(([part, word]) => (
            <span key={part}>
              <span class={`swatch part ${part}`} /> {word}
            </span>
          ))}
        </span>
      </Heading>
      <Table
        label="Slow requests"
        columns={COLUMNS}
        rows={shown}
        keyOf={(row) => row.key}
        sorted={{ by: "time", isDescending: true }}
        empty={rows.length === 0 ? "No request has taken long." : "No request is like that."}
      />
    </>
  );
}
