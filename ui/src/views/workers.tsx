// The processes of an application, and what each of them does at the moment.

import { ActionButton } from "../actions/button.tsx";
import { drain, end } from "../actions/processes.tsx";
import { age, bytes, count, duration, number } from "../format.ts";
import type { Backtrace, State, Worker } from "../live/state.ts";
import { Pill, type Tone } from "../parts/pill.tsx";
import { Nothing, Section } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";

interface WorkerRow {
  pid: string;
  worker: Worker;
  age: number | undefined;
}

const TONES: Record<string, Tone> = { idle: "calm", busy: "good", starting: "calm", leaving: "warn" };

function Current({ worker }: { worker: Worker }) {
  const { request } = worker;
  if (request === undefined) {
    return <span class="note">–</span>;
  }
  const others = (worker.in_progress ?? 1) - 1;
  const text = `${request.method ?? ""} ${request.path ?? ""}`;
  return (
    <span class="current" title={text}>
      <code>{text}</code>{" "}
      {request.seconds !== undefined && <span class="note">for {duration(request.seconds)}</span>}
      {others > 0 && <span class="note"> and {others} more</span>}
    </span>
  );
}

/** The calls of a slow request, which a press unfolds. */
function Calls({ pid, backtrace }: { pid: string; backtrace: Backtrace }) {
  return (
    <details class="trace">
      <summary>
        Where process {pid} was after {duration(backtrace.seconds)}
      </summary>
      <pre tabIndex={0} aria-label={`Calls of process ${pid}`}>
        {backtrace.calls.join("\n")}
      </pre>
    </details>
  );
}

const columns = (name: string): Column<WorkerRow>[] => [
  {
    key: "pid",
    label: "Process",
    size: "small",
    priority: 1,
    cell: (row) => row.pid,
    order: (row) => Number(row.pid),
  },
  {
    key: "state",
    label: "State",
    term: "workerState",
    size: "small",
    priority: 1,
    cell: ({ worker }) => <Pill tone={TONES[worker.state] ?? "calm"} word={worker.state} />,
    order: ({ worker }) => worker.state,
  },
  {
    key: "current",
    label: "Now",
    brief: "",
    term: "current",
    size: "name",
    priority: 2,
    cell: ({ worker }) => <Current worker={worker} />,
    order: ({ worker }) => worker.request?.seconds ?? -1,
  },
  {
    key: "age",
    label: "Age",
    term: "age",
    size: "number",
    priority: 3,
    cell: (row) => age(row.age),
    order: (row) => row.age ?? 0,
  },
  {
    key: "requests",
    label: "Requests",
    size: "number",
    priority: 3,
    cell: ({ worker }) => number(worker.requests ?? 0),
    order: ({ worker }) => worker.requests ?? 0,
  },
  {
    key: "memory",
    label: "Memory",
    term: "workerMemory",
    size: "number",
    priority: 2,
    cell: ({ worker }) => bytes(worker.memory?.pss ?? worker.memory?.rss),
    order: ({ worker }) => worker.memory?.pss ?? worker.memory?.rss ?? 0,
  },
  {
    key: "cpu",
    label: "CPU time",
    size: "number",
    priority: 3,
    cell: ({ worker }) => duration(worker.cpu),
    order: ({ worker }) => worker.cpu ?? 0,
  },
  {
    key: "actions",
    label: "Actions",
    size: "actions",
    priority: 1,
    cell: ({ pid, worker }) => (
      <span class="buttons">
        <ActionButton kind="process" look="small" about={`process ${pid}`} action={() => drain(name, pid)}>
          Drain
        </ActionButton>
        <ActionButton
          kind="process"
          look="small"
          about={`process ${pid}`}
          action={() => end(name, pid, worker)}
        >
          End
        </ActionButton>
      </span>
    ),
  },
];

/** The section. */
export function Workers({ name, state }: { name: string; state: State }) {
  const list = state.workers?.application === name ? state.workers.list : undefined;
  const rows = Object.keys(list ?? {}).map((pid): WorkerRow => {
    const worker = list?.[pid] as Worker;
    return { pid, worker, age: worker.started === undefined ? undefined : state.time - worker.started };
  });
  return (
    <Section title="Processes" note={list !== undefined && count(rows.length, "process", "processes")}>
      {list === undefined ? (
        <Nothing>Waiting for the list of processes…</Nothing>
      ) : (
        <Table
          label={`Processes of ${name}`}
          columns={columns(name)}
          rows={rows}
          keyOf={(row) => row.pid}
          sorted={{ by: "pid", isDescending: false }}
          empty="No process runs. One is started for the next request."
        />
      )}
      {rows.map(({ pid, worker }) => {
        const backtrace = worker.request?.backtrace;
        return backtrace !== undefined && <Calls key={pid} pid={pid} backtrace={backtrace} />;
      })}
    </Section>
  );
}
