// The last lines of the daemon's log, as they come.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, parsed } from "../format.ts";
import { type KeptLine, MOST_LINES } from "../live/lines.ts";
import type { LogLine } from "../live/state.ts";
import { store, useLive } from "../live/store.ts";
import { Search } from "../parts/search.tsx";
import { Heading } from "../parts/section.tsx";

/** Levels of the stream, from the one that shows the most. */
export const LEVELS = ["debug", "info", "notice", "warn", "error"] as const;

const TONES: Record<string, string> = { warn: "warn", error: "bad", alert: "bad" };

function time(line: LogLine): string {
  const seconds = parsed(line.time);
  if (seconds === undefined) {
    return line.time;
  }
  const date = new Date(seconds * 1000);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

const has = (line: LogLine, wanted: string): boolean =>
  `${line.level} ${line.text}`.toLowerCase().includes(wanted);

interface LogProps {
  level: string;
  setLevel: (level: string) => void;
}

/** The view. */
export function Log({ level, setLevel }: LogProps) {
  const { lines } = useLive();
  const [wanted, setWanted] = useState("");
  const [held, setHeld] = useState<KeptLine[]>();
  useEffect(() => () => store.forgetLines(), [level]);
  const all = held ?? lines;
  const shown = wanted === "" ? all : all.filter((line) => has(line, wanted.toLowerCase()));
  return (
    <>
      <Heading title="Log">
        <label class="choice">
          Level
          <select value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            {LEVELS.map((name) => (
              <option key={name} value={name}>
                {name === "error" ? name : `${name} and above`}
              </option>
            ))}
          </select>
        </label>
        <Search label="Find in the log" value={wanted} change={setWanted} />
        <button
          type="button"
          class="button"
          aria-pressed={held !== undefined}
          onClick={() => setHeld((last) => (last === undefined ? lines : undefined))}
        >
          {held === undefined ? "Hold" : "Go on"}
        </button>
        <span class="note">
          {shown.length === all.length ? count(all.length, "line") : `${shown.length} of ${all.length}`}
          {all.length >= MOST_LINES && ", older ones are in the log itself"}
        </span>
      </Heading>
      <Lines
        lines={shown}
        empty={all.length === 0 ? "No line of this level has come yet." : "No line has this text."}
      />
    </>
  );
}

/** How far from the end still counts as there, in pixels. */
const NEAR = 40;

function Lines({ lines, empty }: { lines: KeptLine[]; empty: string }) {
  const box = useRef<HTMLDivElement>(null);
  const inside = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  // Lines that come into sight turn out to be higher than was thought.
  useLayoutEffect(() => {
    const follow = () => isAtEnd.current && box.current?.scrollTo(0, box.current.scrollHeight);
    const sizes = new ResizeObserver(follow);
    if (inside.current !== null) {
      sizes.observe(inside.current);
    }
    return () => sizes.disconnect();
  }, []);
  const look = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {};
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
  };
  return (
    <div
      class="lines"
      role="log"
      aria-live="off"
      aria-label="Lines of the log"
      tabIndex={0}
      ref={box}
      onScroll={look}
    >
      <div ref={inside}>
        {lines.length === 0 && <p class="nothing">{empty}</p>}
        {lines.map((line) => (
          <p class={`line ${TONES[line.level] ?? ""}`} key={line.id}>
            <time>{time(line)}</time> <span class="level">{line.level}</span>{" "}
            <span class="line-text">{line.text}</span>
          </p>
        ))}
      </div>
    </div>
  );
}
