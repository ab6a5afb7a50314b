// One application: its figures, what went wrong, and its processes.

import { useMemo } from "preact/hooks";
import { ActionButton } from "../actions/button.tsx";
import { close, open } from "../actions/maintenance.tsx";
import { restart, runNow, scale } from "../actions/processes.tsx";
import { type Closable, closablesOf, closing } from "../config/closing.ts";
import { useInForce } from "../config/in-force.ts";
import { pointer } from "../config/pointer.ts";
import { bytes, count, duration, number, percent, rate, spaced } from "../format.ts";
import { values } from "../live/figures.ts";
import type { Application as ApplicationState, Sample } from "../live/state.ts";
import { useLive } from "../live/store.ts";
import { Pill } from "../parts/pill.tsx";
import { Heading, Nothing, Remark, Section } from "../parts/section.tsx";
import { type Figure, Tiles } from "../parts/tile.tsx";
import { Term } from "../parts/tip.tsx";
import { link } from "../route.ts";
import { condition } from "./rows.ts";
import { ScheduleWords } from "./schedule.tsx";
import { Workers } from "./workers.tsx";

const or = (value: number | null): number => value ?? 0;

function figures(application: ApplicationState): Figure[] {
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
      more: () => `of ${number(application.processes.running)}`,
    },
    {
      term: "queue",
      label: "Queue",
      lines: line((one) => one.queue),
      show: (value) => count(or(value), "request"),
    },
    {
      term: "applicationMemory",
      label: "Memory",
      lines: line((one) => one.memory),
      show: bytes,
    },
  ];
}

/** The view. */
export function Application({ name }: { name: string }) {
  const live = useLive();
  const { state } = live;
  const config = useInForce(state?.tag);
  const places = useMemo(() => closablesOf(config?.value, name), [config, name]);
  const above = <a href={link("applications")}>Applications</a>;
  const application = state?.status.applications[name];
  if (state === undefined || application === undefined) {
    return (
      <>
        <Heading title={name} above={above} />
        <Nothing>The configuration has no application of this name.</Nothing>
      </>
    );
  }
  const [tone, word] = condition(application);
  return (
    <>
      <Heading title={name} above={above}>
        <Pill tone={tone} word={word} />
        <Actions
          name={name}
          application={application}
          places={places}
          tag={config?.tag ?? state.tag}
        />
      </Heading>
      <Troubles application={application} places={places} />
      <Tiles
        figures={figures(application)}
        samples={live.samplesOf(name)}
        about="Curves begin when this view is opened, and show ten minutes."
      />
      {application.schedule !== undefined && (
        <ScheduleWords schedule={application.schedule} now={state.time} />
      )}
      <Workers name={name} state={state} />
      <LeftState application={application} />
      <Sources name={name} places={places} />
    </>
  );
}

interface ActionsProps {
  name: string;
  application: ApplicationState;
  /** Where the configuration passes to it. */
  places: Closable[];
  /** The tag of that configuration. */
  tag: string | undefined;
}

function Actions({ name, application, places, tag }: ActionsProps) {
  const isClosed = places.some((place) => closing(place) === "closed");
  const canClose = places.some((place) => closing(place) === "open");
  return (
    <span class="buttons">
      <ActionButton kind="process" action={() => restart(name)}>
        Restart
      </ActionButton>
      <ActionButton kind="configuration" action={() => scale(name, tag)}>
        Scale
      </ActionButton>
      {application.schedule !== undefined && (
        <ActionButton kind="process" action={() => runNow(name)}>
          Run now
        </ActionButton>
      )}
      {isClosed ? (
        <ActionButton kind="configuration" action={() => open(name, places, tag)}>
          Open
        </ActionButton>
      ) : (
        <ActionButton
          kind="configuration"
          action={() => close(name, places, tag)}
          reason={canClose ? undefined : "Nothing that is open passes to the application."}
        >
          Maintenance
        </ActionButton>
      )}
    </span>
  );
}

function Troubles({ application, places }: { application: ApplicationState; places: Closable[] }) {
  const { last_error, crashes, warning, queue } = application;
  const closed = places.filter((place) => closing(place) === "closed");
  return (
    <>
      {closed.length > 0 && (
        <Remark tone="warn">
          <p>Closed for maintenance at {closed.map((place) => place.pointer).join(", ")}.</p>
        </Remark>
      )}
      {last_error !== undefined && (
        <Remark tone="bad">
          <p>
            <strong>Processes cannot be started.</strong>
          </p>
          <pre>{last_error}</pre>
        </Remark>
      )}
      {crashes !== undefined && (
        <Remark tone="warn">
          <p>
            <strong>
              <Term name="crashes">{count(crashes.total, "crash", "crashes")}</Term>, the last one:
            </strong>
          </p>
          <pre>{crashes.last}</pre>
        </Remark>
      )}
      {warning !== undefined && (
        <Remark tone="warn">
          <p>{warning}</p>
        </Remark>
      )}
      {queue?.last_error !== undefined && (
        <Remark tone="bad">
          <p>The length of its queue is not known: {queue.last_error}</p>
        </Remark>
      )}
    </>
  );
}

function LeftState({ application }: { application: ApplicationState }) {
  const left = application.requests.left_state;
  if (left === undefined || values(left.kinds).length === 0) {
    return null;
  }
  return (
    <Section
      title="Findings of the state guard"
      note={<Term name="leftState">{count(left.total, "request")}</Term>}
    >
      <ul class="kinds">
        {Object.entries(left.kinds).map(([kind, found]) => (
          <li key={kind}>
            <span>{spaced(kind)}</span> <strong>{number(found)}</strong>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Where requests come from, and where the application is configured. */
function Sources({ name, places }: { name: string; places: Closable[] }) {
  return (
    <Section title="Where it is in the configuration">
      <ul class="plain">
        <li>
          <a href={link("configuration", pointer(["applications", name]))}>
            {pointer(["applications", name])}
          </a>
        </li>
        {places.map((place) => (
          <li key={place.pointer}>
            <a href={link("configuration", place.pointer)}>{place.pointer}</a>{" "}
            <span class="note">{place.match}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
