// Closes steps of routes for maintenance, and opens them again.

import type { Call } from "../api.ts";
import { commentQuery } from "../config/comment.ts";
import { readInForce } from "../config/in-force.ts";
import { apiPath } from "../config/pointer.ts";
import { closing, type Step } from "../config/steps.ts";
import type { Action } from "./action.ts";

const path = (step: Step, comment: string): string =>
  apiPath("/config", [...step.path, "action", "maintenance"]) + commentQuery(comment);

const places = (steps: readonly Step[]): string => steps.map((step) => step.pointer).join(", ");

/** Closes the open steps among these, which were read from the configuration with this tag. */
export function close(subject: string, steps: readonly Step[], tag: string | undefined): Action {
  const open = steps.filter((step) => closing(step.maintenance) === "open");
  return {
    kind: "configuration",
    title: `Close ${subject} for maintenance?`,
    happens: [
      `This changes the configuration at ${places(open)}.`,
      "From then on, requests that reach it are answered with 503 and an error page.",
      "Requests that the application has already are finished. Processes go on running.",
    ],
    verb: "Close",
    calls: open.map(
      (step): Call => ({ method: "PUT", path: path(step, `close ${subject}`), body: "true", tag }),
    ),
    onDone: readInForce,
  };
}

/** Opens the closed steps among these, which were read from the configuration with this tag. */
export function open(subject: string, steps: readonly Step[], tag: string | undefined): Action {
  const closed = steps.filter((step) => closing(step.maintenance) === "closed");
  const hasOptions = closed.some((step) => step.maintenance !== true);
  return {
    kind: "configuration",
    title: `Open ${subject}?`,
    happens: [
      `This removes "maintenance" from the configuration at ${places(closed)}: requests are served again.`,
      ...(hasOptions
        ? ["Its page and its other options go with it. The history of the configuration still has them."]
        : []),
    ],
    verb: "Open",
    calls: closed.map((step): Call => ({ method: "DELETE", path: path(step, `open ${subject}`), tag })),
    onDone: readInForce,
  };
}
