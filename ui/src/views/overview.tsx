// The overview: is it well, what needs attention, what was changed last.

import { values } from "../live/figures.ts";
import { useLive } from "../live/store.ts";
import type { Attention, Change, Sample } from "../live/state.ts";
import { age, bytes, count, duration, number, percent, rate } from "../format.ts";
import { Heading, Nothing, Section } from "../parts/section.tsx";
import { Shape } from "../parts/pill.tsx";
import { type Figure, Tiles } from "../parts/tile.tsx";
import { link, linkOf } from "../route.ts";
import { Busiest } from "./busiest.tsx";
import { ChangeWords } from "./change.tsx";

const or = (value: number | null): number => value ?? 0;

function figures(running: number): Figure[] {
  const line = (of: (sample: Sample) => number | null) => [{ of }];
  return [
    {
      term: "requests",
      label: "Requests",
      lines: line((one) => one.requests),
      show: (value) => rate(or(value)),
    },
    {
      term: "errors",
      label: "Errors",
      lines: line((one) => one.errors),
      show: (value) => percent(or(value)),
    },
    {
      term: "latency",
      label: "Latency",
      lines: [
        { name: "p50", of: (one) => one.p50 },
        { name: "p99", of: (one) => one.p99 },
      ],
      show: duration,
    },
    {
      term: "busy",
      label: "Busy processes",
      lines: line((one) => one.busy),
      show: (value) => number(or(value)),
      more: () => `of ${number(running)}`,
    },
    {
      term: "queue",
      label: "Queue",
      lines: line((one) => one.queue),
      show: (value) => count(or(value), "request"),
    },
    {
      term: "connections",
      label: "Connections",
      lines: line((one) => one.connections),
      show: (value) => number(or(value)),
    },
    { term: "memory", label: "Memory", lines: line((one) => one.memory), show: bytes },
    { term: "cpu", label: "CPU", lines: line((one) => one.cpu), show: percent },
  ];
}

/** The view. */
export function Overview() {
  const { state, before, samples } = useLive();
  if (state === undefined) {
    return null;
  }
  const applications = values(state.status.applications);
  const running = applications.reduce((all, one) => all + one.processes.running, 0);
  const { daemon } = state.status;
  return (
    <>
      <Heading title="Overview" />
      <Tiles
        figures={figures(running)}
        samples={samples}
        about={`Up for ${age(daemon.uptime)}, main process ${daemon.pid}. Curves show the last ten minutes.`}
      />
      <div class="columns">
        <NeedsAttention attention={state.attention ?? []} />
        <div>
          <NewestChange change={state.newest_change} now={state.time} />
          <Busiest state={state} before={before} />
        </div>
      </div>
    </>
  );
}

function NeedsAttention({ attention }: { attention: Attention[] }) {
  return (
    <Section title="Needs attention" note={attention.length > 0 ? number(attention.length) : undefined}>
      <ul class="attention" aria-live="polite" aria-label="Needs attention">
        {attention.map((one) => (
          <li key={`${one.subject} ${one.text}`} class={one.severity === "error" ? "bad" : "warn"}>
            <Shape tone={one.severity === "error" ? "bad" : "warn"} />
            <div>
              <p>
                <span class="unseen">{one.severity === "error" ? "Error: " : "Warning: "}</span>
                {one.view === undefined ? (
                  <strong>{one.subject}</strong>
                ) : (
                  <a href={linkOf(one.view)}>{one.subject}</a>
                )}
              </p>
              <p>{one.text}</p>
              <p class="next">{one.next}</p>
            </div>
          </li>
        ))}
        {attention.length === 0 && (
          <li class="good">
            <Shape tone="good" />
            <p>Nothing. Listeners listen, applications run, certificates are valid.</p>
          </li>
        )}
      </ul>
    </Section>
  );
}

function NewestChange({ change, now }: { change: Change | undefined; now: number }) {
  return (
    <Section title="Newest change">
      {change === undefined ? (
        <Nothing>The configuration has not been changed yet.</Nothing>
      ) : (
        <div class="card">
          <ChangeWords change={change} now={now} />
          <p>
            <a href={link("configuration", "history")}>All changes</a>
          </p>
        </div>
      )}
    </Section>
  );
}
