// A change of the configuration in words.

import { clock, parsed, relative } from "../format.ts";
import type { Change } from "../live/state.ts";

const MOST_PLACES = 3;

/** The places that a change is about. */
function Places({ changed }: { changed: string[] }) {
  const left = changed.length - MOST_PLACES;
  return (
    <>
      {changed.slice(0, MOST_PLACES).map((place) => (
        <code key={place} class="place">
          {place === "" ? "everything" : place}
        </code>
      ))}
      {left > 0 && <span class="note">and {left} more</span>}
    </>
  );
}

/** The author, the time and the places of a change. */
export function ChangeWords({ change, now }: { change: Change; now: number }) {
  const time = parsed(change.time);
  return (
    <>
      <p class="change-head">
        <strong>Change {change.id}</strong>
        {time !== undefined && (
          <span class="note">
            {relative(time, now)}, {clock(time, now)}
          </span>
        )}
      </p>
      {change.comment !== undefined && <p class="comment">{change.comment}</p>}
      <p class="change-by">{change.author}</p>
      {change.changed !== undefined && change.changed.length > 0 && (
        <p class="places">
          <Places changed={change.changed} />
        </p>
      )}
    </>
  );
}
