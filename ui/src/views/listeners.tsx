// Listeners and routes: the traffic of each address, and of each step.

import { useMemo } from "preact/hooks";
import { ActionButton } from "../actions/button.tsx";
import { close, open } from "../actions/maintenance.tsx";
import { useInForce } from "../config/in-force.ts";
import { closableOf, closing } from "../config/closing.ts";
import { type Step, steps } from "../config/steps.ts";
import { bytes, count, duration, number, percent, rate } from "../format.ts";
import { byClass, type Flow, flow, growth, seconds, total } from "../live/figures.ts";
import type { Classes, State } from "../live/state.ts";
import { useLive } from "../live/store.ts";
import { Pill } from "../parts/pill.tsx";
import { Heading, Section } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { link } from "../route.ts";
import { Policies } from "./policies.tsx";

interface ListenerRow extends Flow {
  address: string;
  isUp: boolean;
  error: string | undefined;
  sent: number;
  protocols: string;
  total: number;
}

function listenerRows(state: State, before: State | undefined): ListenerRow[] {
  const elapsed = before === undefined ? 1 : seconds(state, before);
  const bounds = state.traffic?.bounds ?? [];
  return Object.keys(state.status.listeners ?? {}).map((address) => {
    const status = state.status.listeners?.[address];
    const now = state.traffic?.listeners[address];
    const then = before?.traffic?.listeners[address] ?? now;
    const counted = (one: typeof now) => one && { requests: byClass(one.requests), durations: one.durations };
    const protocols = Object.keys(now?.requests ?? {}).filter((name) => total(now?.requests[name]) > 0);
    return {
      address,
      isUp: status?.state !== "down",
      error: status?.last_error,
      sent: growth(now?.sent, then?.sent) / elapsed,
      protocols: protocols.join(", ") || "–",
      total: total(byClass(now?.requests ?? {})),
      ...flow(bounds, counted(now), counted(then), elapsed),
    };
  });
}

const LISTENERS: Column<ListenerRow>[] = [
  {
    key: "address",
    label: "Address",
    size: "text",
    priority: 1,
    cell: (row) => <span title={row.address}>{row.address}</span>,
    order: (row) => row.address,
  },
  {
    key: "state",
    label: "State",
    size: "small",
    priority: 1,
    cell: (row) => <Pill tone={row.isUp ? "good" : "bad"} word={row.isUp ? "up" : "down"} />,
  },
  {
    key: "protocols",
    label: "Protocols",
    size: "name",
    priority: 3,
    cell: (row) => (row.error === undefined ? row.protocols : <span class="bad">{row.error}</span>),
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
    key: "sent",
    label: "Sent",
    term: "sent",
    size: "number",
    priority: 3,
    cell: (row) => `${bytes(row.sent)}/s`,
    order: (row) => row.sent,
  },
  {
    key: "total",
    label: "Total",
    term: "total",
    size: "number",
    priority: 3,
    cell: (row) => number(row.total),
    order: (row) => row.total,
  },
];

interface StepRow {
  place: string;
  step: Step | undefined;
  /** The tag of the configuration that the step is from. */
  tag: string | undefined;
  flow: Flow;
  classes: Classes;
}

function stepRows(state: State, before: State | undefined, known: Step[], tag: string | undefined): StepRow[] {
  const elapsed = before === undefined ? 1 : seconds(state, before);
  const counted = state.traffic?.steps;
  const steps = new Map(known.map((step) => [step.pointer, step]));
  const places = [...new Set([...steps.keys(), ...Object.keys(counted ?? {})])];
  return places.map((place) => {
    const now = counted?.[place];
    const then = before?.traffic?.steps[place] ?? now;
    return { place, step: steps.get(place), tag, flow: flow([], now, then, elapsed), classes: now?.requests ?? {} };
  });
}

const inClass = (name: string): Column<StepRow> => ({
  key: name,
  label: name,
  term: "total",
  size: "number",
  priority: 3,
  cell: ({ classes }) => number(classes[name] ?? 0),
  order: ({ classes }) => classes[name] ?? 0,
});

const STEPS: Column<StepRow>[] = [
  {
    key: "place",
    label: "Step",
    term: "step",
    size: "text",
    priority: 1,
    cell: ({ place }) => (
      <a href={link("configuration", place)} title={place}>
        {place}
      </a>
    ),
    order: ({ place }) => place,
  },
  {
    key: "match",
    label: "Requests with",
    brief: "",
    size: "name",
    priority: 2,
    cell: ({ step }) => <span title={step?.match}>{step?.match ?? "–"}</span>,
  },
  {
    key: "action",
    label: "Lead to",
    size: "name",
    priority: 3,
    cell: ({ step }) => <span title={step?.action}>{step?.action ?? "–"}</span>,
  },
  {
    key: "requests",
    label: "Requests",
    term: "requests",
    size: "number",
    priority: 2,
    cell: (row) => rate(row.flow.requests),
    order: (row) => row.flow.requests,
  },
  inClass("2xx"),
  inClass("3xx"),
  inClass("4xx"),
  inClass("5xx"),
  {
    key: "maintenance",
    label: "Maintenance",
    term: "maintenance",
    size: "actions",
    priority: 1,
    cell: ({ step, tag }) => (step === undefined ? "–" : <Maintenance step={step} tag={tag} />),
  },
];

function Maintenance({ step, tag }: { step: Step; tag: string | undefined }) {
  const place = closableOf(step);
  switch (closing(place)) {
    case "by-file":
      return <span class="note">by a file</span>;
    case "closed":
      return (
        <ActionButton
          kind="configuration"
          look="small"
          about={step.pointer}
          action={() => open(step.pointer, [place], tag)}
        >
          Open
        </ActionButton>
      );
    case "open":
      return (
        <ActionButton
          kind="configuration"
          look="small"
          about={step.pointer}
          action={() => close(step.pointer, [place], tag)}
        >
          Close
        </ActionButton>
      );
  }
}

/** The view. */
export function Listeners() {
  const { state, before } = useLive();
  const config = useInForce(state?.tag);
  const known = useMemo(() => steps(config?.value), [config]);
  if (state === undefined) {
    return null;
  }
  const [listeners, rows] = [listenerRows(state, before), stepRows(state, before, known, config?.tag)];
  return (
    <>
      <Heading title="Listeners and routes">
        <span class="note">Figures of the last ten seconds</span>
      </Heading>
      <Section title="Listeners" note={count(listeners.length, "listener")}>
        <Table
          label="Listeners"
          columns={LISTENERS}
          rows={listeners}
          keyOf={(row) => row.address}
          empty="The configuration has no listeners."
        />
      </Section>
      <Section title="Steps of routes" note={count(rows.length, "step")}>
        <Table
          label="Steps of routes"
          columns={STEPS}
          rows={rows}
          keyOf={(row) => row.place}
          empty="The configuration has no routes."
        />
      </Section>
      <Policies state={state} />
    </>
  );
}
