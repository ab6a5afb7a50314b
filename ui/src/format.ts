// Figures in words: each has its unit.

const ABSENT = "–";

// Made once by their digits: views write hundreds of numbers a second.
const FORMATS = [0, 1, 2].map((digits) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }));

/** A number with few digits: 0.25, 3.1, 120, 1,234. */
export function number(value: number): string {
  const digits = value === 0 || value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return FORMATS[digits]?.format(value) ?? String(value);
}

/** A number with a suffix for thousands: 1.2 k, 3.4 M. */
export function short(value: number): string {
  if (value < 10_000) {
    return number(value);
  }
  const [scaled, suffix] =
    value < 1e6 ? [value / 1e3, "k"] : value < 1e9 ? [value / 1e6, "M"] : [value / 1e9, "G"];
  return `${number(scaled)} ${suffix}`;
}

/** Requests a second. */
export const rate = (value: number): string => `${short(value)}/s`;

/** A share as a percentage. */
export function percent(share: number | null): string {
  if (share === null) {
    return ABSENT;
  }
  const value = share * 100;
  return value > 0 && value < 0.01 ? "<0.01 %" : `${number(value)} %`;
}

/** Bytes in units of 1024. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) {
    return ABSENT;
  }
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const at = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${number(value / 1024 ** at)} ${units[at] ?? ""}`;
}

/** The duration of a request, from microseconds on. */
export function duration(value: number | null | undefined): string {
  if (value === null || value === undefined) {
    return ABSENT;
  }
  if (value < 1) {
    return value > 0 && value < 0.001 ? `${number(value * 1e6)} µs` : `${number(value * 1e3)} ms`;
  }
  return value < 120 ? `${number(value)} s` : age(value);
}

/** How long something has lasted, in its largest unit. */
export function age(value: number | undefined): string {
  if (value === undefined) {
    return ABSENT;
  }
  const units: [number, string][] = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
  ];
  const unit = units.find(([length]) => value >= length * 2);
  return unit === undefined
    ? `${Math.max(0, Math.floor(value))} s`
    : `${Math.floor(value / unit[0])} ${unit[1]}`;
}

/** How long ago or ahead a time is, in words. */
export function relative(time: number, now: number): string {
  return time > now ? `in ${age(time - now)}` : now - time < 2 ? "just now" : `${age(now - time)} ago`;
}

/** Seconds since 1970 of a time in words, if it is one. */
export function parsed(time: string | undefined): number | undefined {
  const found = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(found) ? undefined : found / 1000;
}

/** A time of the day, with the date if it is not today's. */
export function clock(time: number, now: number): string {
  const [date, today] = [new Date(time * 1000), new Date(now * 1000)];
  const hours = date.toLocaleTimeString("en-GB");
  return date.toDateString() === today.toDateString() ? hours : `${day(time)} ${hours}`;
}

/** A date. */
export function day(time: number): string {
  const date = new Date(time * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** A count with its noun. */
export const count = (value: number, one: string, several = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : several}`;

/** A word of the API as people write it: `left_state` is "left state". */
export const spaced = (word: string): string => word.replaceAll("_", " ");
