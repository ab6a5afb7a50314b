// A state as a word with a colour and a shape.

/** How good a state is. */
export type Tone = "good" | "warn" | "bad" | "calm";

const SHAPES: Record<Tone, string> = {
  good: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3z",
  warn: "M8 2.5 14.5 13.5h-13z",
  bad: "M5 2.5h6L14.5 8 11 13.5H5L1.5 8z",
  calm: "M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z",
};

/** The shape of a tone. */
export const Shape = ({ tone }: { tone: Tone }) => (
  <svg class={`shape ${tone}`} viewBox="0 0 16 16" width="10" height="10" aria-hidden="true">
    <path d={SHAPES[tone]} fill="currentColor" />
  </svg>
);

/** A word with the shape of its tone. */
export const Pill = ({ tone, word }: { tone: Tone; word: string }) => (
  <span class={`pill ${tone}`}>
    <Shape tone={tone} />
    {word}
  </span>
);
