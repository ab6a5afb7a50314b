// Actions on an application and its processes.

import { useEffect, useState } from "preact/hooks";
import { ask, type Call } from "../api.ts";
import { commentQuery } from "../config/comment.ts";
import { apiPath } from "../config/pointer.ts";
import { readInForce } from "../config/in-force.ts";
import type { Json } from "../live/patch.ts";
import type { Worker } from "../live/state.ts";
import type { Action } from "./action.ts";

const APPLICATIONS = "/control/applications";

/** New processes for an application. */
export const restart = (name: string): Action => ({
  kind: "process",
  title: `Restart ${name}?`,
  happens: [
    "New processes are started. When they serve, they take over; old ones end after the requests that they have.",
    "No request is lost. The answer comes when the new processes serve, which takes as long as the application loads.",
  ],
  verb: "Restart",
  calls: [{ method: "POST", path: apiPath(APPLICATIONS, [name, "restart"]) }],
});

/** A run of a command that has a schedule. */
export const runNow = (name: string): Action => ({
  kind: "process",
  title: `Run ${name} now?`,
  happens: [
    "The command is run once, at once. Its schedule stays as it is. While it runs, a second run is refused.",
  ],
  verb: "Run",
  calls: [{ method: "POST", path: apiPath(APPLICATIONS, [name, "run"]) }],
});

/** A process that takes nothing new. */
export const drain = (name: string, pid: string): Action => ({
  kind: "process",
  title: `Drain process ${pid} of ${name}?`,
  happens: [
    "The process takes no new request, and ends when it has finished those that it has.",
    "Another process is started in its place if the application needs one.",
  ],
  verb: "Drain",
  calls: [{ method: "POST", path: apiPath(APPLICATIONS, [name, "workers", pid, "drain"]) }],
});

/** A process that ends at once. */
export const end = (name: string, pid: string, worker: Worker): Action => ({
  kind: "process",
  title: `End process ${pid} of ${name}?`,
  happens: [
    (worker.in_progress ?? 0) > 0
      ? "The process is ended at once. Its request is answered with 503, and what it had begun is not finished."
      : "The process is ended at once. If it has a request by then, that is answered with 503.",
    "Another process is started in its place if the application needs one.",
  ],
  verb: "End",
  isGrave: true,
  calls: [{ method: "POST", path: apiPath(APPLICATIONS, [name, "workers", pid, "end"]) }],
});

/** Another number of processes; the tag is that of the configuration, where that does not say how many. */
export const scale = (name: string, tag: string | undefined): Action => ({
  kind: "configuration",
  title: `Scale ${name}`,
  happens: [
    "This changes the configuration of the application.",
    "New processes are started beside the old ones and take over, without losing a request.",
  ],
  verb: "Scale",
  calls: [],
  form: (set) => <Scale name={name} tag={tag} set={set} />,
  onDone: readInForce,
});

type Way = "fixed" | "between" | "auto";

interface Numbers {
  way: Way;
  fixed: number;
  spare: number;
  max: number;
  /** Further members, which stay. */
  others: { [name: string]: Json };
}

function numbersOf(value: Json): Numbers {
  const defaults: Numbers = { way: "fixed", fixed: 1, spare: 1, max: 4, others: {} };
  if (typeof value === "number") {
    return { ...defaults, fixed: value, max: Math.max(value, 4) };
  }
  if (value === "auto") {
    return { ...defaults, way: "auto" };
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const { max, spare, ...others } = value;
    const found = {
      max: typeof max === "number" ? max : 1,
      spare: typeof spare === "number" ? spare : 0,
      others,
    };
    return { ...defaults, way: "between", ...found };
  }
  return defaults;
}

function processes({ way, fixed, spare, max, others }: Numbers): Json | undefined {
  const isCount = (value: number, least: number) => Number.isInteger(value) && value >= least;
  switch (way) {
    case "auto":
      return "auto";
    case "fixed":
      return isCount(fixed, 1) ? fixed : undefined;
    case "between":
      return isCount(max, 1) && isCount(spare, 0) && spare <= max ? { ...others, max, spare } : undefined;
  }
}

function callOf(name: string, numbers: Numbers, tag: string | undefined): Call[] {
  const value = processes(numbers);
  const path = apiPath("/config", ["applications", name, "processes"]) + commentQuery(`scale ${name}`);
  return value === undefined ? [] : [{ method: "PUT", path, body: JSON.stringify(value), tag }];
}

/** The numbers with the tag of the configuration that they are from, or why they are not known. */
type Found = { numbers: Numbers; tag: string | undefined } | { problem: string };

/** How many processes a configuration asks for; `tag` is that of one that does not say so. */
export async function readNumbers(name: string, tag: string | undefined): Promise<Found> {
  const answer = await ask({ method: "GET", path: apiPath("/config", ["applications", name, "processes"]) });
  if (answer.status === 404) {
    return { numbers: numbersOf(null), tag };
  }
  return answer.isDone ? { numbers: numbersOf(answer.body), tag: answer.tag } : { problem: answer.words };
}

interface ScaleProps {
  name: string;
  tag: string | undefined;
  set: (calls: Call[]) => void;
}

/** The fields of how many processes there are to be. */
function Scale({ name, tag, set }: ScaleProps) {
  const [found, setFound] = useState<Found>();
  const take = (next: Found) => {
    setFound(next);
    set("problem" in next ? [] : callOf(name, next.numbers, next.tag));
  };
  useEffect(() => void readNumbers(name, tag).then(take), [name]);
  if (found === undefined) {
    return <p>Reading how many there are…</p>;
  }
  if ("problem" in found) {
    return (
      <p role="alert" class="answer bad">
        {found.problem}
      </p>
    );
  }
  const { numbers } = found;
  const change = (part: Partial<Numbers>) => take({ ...found, numbers: { ...numbers, ...part } });
  const field = (key: "fixed" | "spare" | "max", label: string, least: number) => (
    <label class="field">
      {label}
      <input
        type="number"
        min={least}
        max={1_000_000}
        value={numbers[key]}
        onInput={(event) => change({ [key]: event.currentTarget.valueAsNumber })}
      />
    </label>
  );
  const choice = (way: Way, label: string) => (
    <label class="choice">
      <input type="radio" name="way" checked={numbers.way === way} onChange={() => change({ way })} />
      {label}
    </label>
  );
  return (
    <>
      {choice("fixed", "As many, always")}
      {numbers.way === "fixed" && <div class="fields">{field("fixed", "Processes", 1)}</div>}
      {choice("between", "As requests need them")}
      {numbers.way === "between" && (
        <div class="fields">
          {field("spare", "Idle ones kept ready", 0)}
          {field("max", "At most", 1)}
        </div>
      )}
      {choice("auto", "As the daemon sees fit")}
    </>
  );
}
