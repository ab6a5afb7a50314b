// A curve of the last minutes, by uPlot: one or two lines over the same times.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useDark } from "./width.ts";

/** A curve. */
export interface CurveProps {
  /** Seconds since 1970. */
  times: number[];
  lines: (number | null)[][];
  /** The curve in words. */
  label: string;
  /** The time at the right edge. */
  now: number;
  /** Tells which of the times is pointed at, if any. */
  onPoint: (at: number | undefined) => void;
}

/** The time axis is at most and at least so many seconds wide. */
const LONGEST = 600;
const SHORTEST = 60;
const HEIGHT = 56;

/** All curves of the page show the same moment. */
const SHARED = "time";

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function series(lines: number): uPlot.Series[] {
  const drawn = Array.from({ length: lines }, (_, at): uPlot.Series => {
    const stroke = colour(`--line-${at + 1}`);
    const fill = colour(`--fill-${at + 1}`);
    return { stroke, width: 1.5, points: { show: false }, ...(lines === 1 ? { fill } : {}) };
  });
  return [{}, ...drawn];
}

/** From zero to a little above the largest value. */
const range = (_: uPlot, __: number, most: number): [number, number] => [0, Math.max(most * 1.1, 1e-9)];

interface CurveEvents {
  span: (plot: uPlot) => [number, number];
  point: (at: number | undefined) => void;
}

function options(width: number, lines: number, { span, point }: CurveEvents): uPlot.Options {
  return {
    width,
    height: HEIGHT,
    padding: [2, 0, 2, 0],
    legend: { show: false },
    axes: [{ show: false }, { show: false }],
    scales: { x: { time: true, range: span }, y: { range } },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      sync: { key: SHARED },
      points: { size: 6 },
    },
    series: series(lines),
    hooks: {
      setCursor: [(plot) => point(plot.cursor.idx ?? undefined)],
    },
  };
}

/** The curve. */
export function Curve({ times, lines, label, now, onPoint }: CurveProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef({ now, onPoint });
  latest.current = { now, onPoint };
  const isDark = useDark();
  useEffect(() => {
    const around = box.current;
    if (around === null) {
      return undefined;
    }
    const span = (plot: uPlot): [number, number] => {
      const end = latest.current.now;
      const first = plot.data[0][0] ?? end;
      return [Math.max(end - LONGEST, Math.min(first, end - SHORTEST)), end];
    };
    const point = (at: number | undefined) => latest.current.onPoint(at);
    const made = new uPlot(
      options(around.clientWidth, lines.length, { span, point }),
      data(times, lines),
      around,
    );
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: around.clientWidth, height: HEIGHT }));
    sizes.observe(around);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [isDark, lines.length]);
  useEffect(() => {
    if (plot.current?.data[0] !== times) {
      plot.current?.setData(data(times, lines));
    }
  });
  return <div class="curve" role="img" aria-label={label} ref={box} />;
}

const data = (times: number[], lines: (number | null)[][]): uPlot.AlignedData =>
  [times, ...lines] as uPlot.AlignedData;
