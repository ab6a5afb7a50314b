// Servers that requests are proxied to.

import { count, number, percent, rate } from "../format.ts";
import { growth, seconds } from "../live/figures.ts";
import type { Server, State } from "../live/state.ts";
import { useLive } from "../live/store.ts";
import { Pill, type Tone } from "../parts/pill.tsx";
import { Heading, Nothing, Section } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Term } from "../parts/tip.tsx";

interface ServerRow {
  address: string;
  server: Server;
  requests: number;
  failing: number;
}

const TONES: Record<string, Tone> = { up: "good", avoided: "warn", down: "bad" };

function serverRows(upstream: string, state: State, before: State | undefined): ServerRow[] {
  const elapsed = before === undefined ? 1 : seconds(state, before);
  const servers = state.status.upstreams?.[upstream]?.servers ?? {};
  return Object.keys(servers).map((address) => {
    const server = servers[address] as Server;
    const then = before?.status.upstreams?.[upstream]?.servers[address] ?? server;
    const requests = growth(server.requests.total, then.requests.total);
    const failed = growth(server.requests.failed, then.requests.failed);
    return {
      address,
      server,
      requests: requests / elapsed,
      failing: requests > 0 ? Math.min(1, failed / requests) : 0,
    };
  });
}

const COLUMNS: Column<ServerRow>[] = [
  {
    key: "address",
    label: "Server",
    size: "name",
    priority: 1,
    cell: (row) => <span title={row.address}>{row.address}</span>,
    order: (row) => row.address,
  },
  {
    key: "state",
    label: "State",
    term: "serverState",
    size: "small",
    priority: 1,
    cell: ({ server }) => <Pill tone={TONES[server.state] ?? "calm"} word={server.state} />,
    order: ({ server }) => server.state,
  },
  {
    key: "requests",
    label: "Requests",
    size: "number",
    priority: 2,
    cell: (row) => rate(row.requests),
    order: (row) => row.requests,
  },
  {
    key: "failing",
    label: "Failing",
    size: "number",
    priority: 2,
    cell: (row) => <span class={row.failing > 0 ? "bad" : ""}>{percent(row.failing)}</span>,
    order: (row) => row.failing,
  },
  {
    key: "active",
    label: "Active",
    size: "number",
    priority: 2,
    cell: ({ server }) => number(server.requests.active),
    order: ({ server }) => server.requests.active,
  },
  {
    key: "total",
    label: "Total",
    size: "number",
    priority: 3,
    cell: ({ server }) => number(server.requests.total),
    order: ({ server }) => server.requests.total,
  },
  {
    key: "failed",
    label: "Failed",
    size: "number",
    priority: 3,
    cell: ({ server }) => number(server.requests.failed),
    order: ({ server }) => server.requests.failed,
  },
];

/** The view. */
export function Upstreams() {
  const { state, before } = useLive();
  if (state === undefined) {
    return null;
  }
  const upstreams = state.status.upstreams ?? {};
  const names = Object.keys(upstreams);
  return (
    <>
      <Heading title="Upstreams">
        <span class="note">Figures of the last ten seconds</span>
      </Heading>
      {names.length === 0 && (
        <Nothing>The configuration has no upstreams: groups of servers that requests are proxied to.</Nothing>
      )}
      {names.map((name) => {
        const waiting = upstreams[name]?.waiting;
        const rows = serverRows(name, state, before);
        const note =
          waiting === undefined ? (
            count(rows.length, "server")
          ) : (
            <Term name="waiting">{`${number(waiting)} waiting`}</Term>
          );
        return (
          <Section key={name} title={name} note={note}>
            <Table
              label={`Servers of ${name}`}
              columns={COLUMNS}
              rows={rows}
              keyOf={(row) => row.address}
              empty="It has no servers."
            />
          </Section>
        );
      })}
    </>
  );
}
