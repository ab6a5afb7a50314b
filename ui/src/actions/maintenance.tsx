// Closes places of the configuration for maintenance, and opens them again.

import type { Call } from "../api.ts";
import { type Closable, closing } from "../config/closing.ts";
import { commentQuery } from "../config/comment.ts";
import { readInForce } from "../config/in-force.ts";
import type { Path } from "../config/places.ts";
import { apiPath } from "../config/pointer.ts";
import { members } from "../config/steps.ts";
import type { Action } from "./action.ts";

const MAINTENANCE = "maintenance";

const path = (to: Path, comment: string): string => apiPath("/config", to) + commentQuery(comment);

const pointers = (places: readonly Closable[]): string => places.map((one) => one.pointer).join(", ");

function closeOne(place: Closable, comment: string, tag: string | undefined): Call {
  return place.options === undefined
    ? { method: "PUT", path: path(place.path, comment), body: JSON.stringify({ [MAINTENANCE]: true }), tag }
    : { method: "PUT", path: path([...place.path, MAINTENANCE], comment), body: "true", tag };
}

/** Options that hold nothing else go as a whole, as they came. */
function openOne(place: Closable, comment: string, tag: string | undefined): Call {
  const isAlone = Object.keys(members(place.options)).length === 1;
  const to = isAlone ? place.path : [...place.path, MAINTENANCE];
  return { method: "DELETE", path: path(to, comment), tag };
}

/** Closes the open places among these, which were read from the configuration with this tag. */
export function close(subject: string, places: readonly Closable[], tag: string | undefined): Action {
  const open = places.filter((place) => closing(place) === "open");
  return {
    kind: "configuration",
    title: `Close ${subject} for maintenance?`,
    happens: [
      `This changes the configuration at ${pointers(open)}.`,
      "From then on, requests that reach it are answered with 503 and an error page.",
      "Requests that the application has already are finished. Processes go on running.",
    ],
    verb: "Close",
    calls: open.map((place) => closeOne(place, `close ${subject}`, tag)),
    onDone: readInForce,
  };
}

/** Opens the closed places among these, which were read from the configuration with this tag. */
export function open(subject: string, places: readonly Closable[], tag: string | undefined): Action {
  const closed = places.filter((place) => closing(place) === "closed");
  const hasOptions = closed.some((place) => members(place.options)[MAINTENANCE] !== true);
  return {
    kind: "configuration",
    title: `Open ${subject}?`,
    happens: [
      `This removes "maintenance" from the configuration at ${pointers(closed)}: requests are served again.`,
      ...(hasOptions
        ? ["Its page and its other options go with it. The history of the configuration still has them."]
        : []),
    ],
    verb: "Open",
    calls: closed.map((place) => openOne(place, `open ${subject}`, tag)),
    onDone: readInForce,
  };
}
