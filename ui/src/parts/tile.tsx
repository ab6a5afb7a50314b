// A figure with its unit, and the curve of it. All curves show the moment that is pointed at in one of them.

import { useMemo, useState } from "preact/hooks";
import { clock } from "../format.ts";
import type { Sample } from "../live/state.ts";
import type { TermName } from "../terms.ts";
import { Curve } from "./curve.tsx";
import { Term } from "./tip.tsx";

/** A figure that is drawn over time. */
export interface Figure {
  term: TermName;
  label: string;
  /** One or two lines, with their names if there are two. */
  lines: { name?: string; of: (sample: Sample) => number | null }[];
  show: (value: number | null) => string;
  /** A word beside the figure, such as "of 12". */
  more?: (value: number | null) => string | undefined;
}

interface TileProps {
  figure: Figure;
  samples: Sample[];
  times: number[];
  pointed: number | undefined;
  onPoint: (at: number | undefined) => void;
}

function describe(figure: Figure, lines: (number | null)[][]): string {
  const parts = lines.map((values, at) => {
    const known = values.filter((value) => value !== null);
    const name = figure.lines[at]?.name ?? figure.label;
    if (known.length === 0) {
      return `${name}: nothing in the last ten minutes`;
    }
    const [last, most] = [known.at(-1) ?? null, Math.max(...known)].map(figure.show);
    return `${name} in the last ten minutes: ${last} at the end, ${most} at most`;
  });
  return parts.join("; ");
}

function Tile({ figure, samples, times, pointed, onPoint }: TileProps) {
  const lines = useMemo(() => figure.lines.map(({ of }) => samples.map(of)), [samples]);
  const at = pointed ?? samples.length - 1;
  const now = times.at(-1) ?? 0;
  return (
    <div class="tile">
      <div class="tile-head">
        <Term name={figure.term}>{figure.label}</Term>
        {figure.lines.length === 1 && <Most figure={figure} values={lines[0] ?? []} />}
      </div>
      <div class="tile-values">
        {figure.lines.map(({ name }, line) => {
          const value = lines[line]?.[at] ?? null;
          const more = figure.more?.(value);
          return (
            <span class="tile-value" key={line}>
              {name !== undefined && <span class={`key line-${line + 1}`}>{name}</span>}
              <strong>{figure.show(value)}</strong>
              {more !== undefined && <span class="note">{more}</span>}
            </span>
          );
        })}
      </div>
      <Curve times={times} lines={lines} now={now} label={describe(figure, lines)} onPoint={onPoint} />
    </div>
  );
}

function Most({ figure, values }: { figure: Figure; values: (number | null)[] }) {
  const known = values.filter((value) => value !== null);
  const most = known.length === 0 ? null : Math.max(...known);
  return <span class="note">max {figure.show(most)}</span>;
}

interface TilesProps {
  figures: Figure[];
  samples: Sample[];
  /** Words about them, while no moment is pointed at. */
  about: string;
}

/** Several tiles. */
export function Tiles({ figures, samples, about }: TilesProps) {
  const [pointed, setPointed] = useState<number>();
  const times = useMemo(() => samples.map((sample) => sample.time), [samples]);
  const time = pointed === undefined ? undefined : times[pointed];
  return (
    <>
      <p class="moment note">{time === undefined ? about : `At ${clock(time, times.at(-1) ?? time)}`}</p>
      <div class="tiles">
        {figures.map((figure) => (
          <Tile
            key={figure.label}
            figure={figure}
            samples={samples}
            times={times}
            pointed={pointed}
            onPoint={(at) => setPointed((last) => (last === at ? last : at))}
          />
        ))}
      </div>
    </>
  );
}
