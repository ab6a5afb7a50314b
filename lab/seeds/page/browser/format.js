// Figures as text, with their unit.

/** Three digits that count, with commas. */
const digits = (value) => {
  const size = Math.abs(value);
  const places = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  return value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
};

/** As short as it can be, for axes. */
const short = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });

/** The place 1/(1 - q) as a percentage: 10 is 90 %. */
const percentage = (place) => `${Number((100 * (1 - 1 / place)).toPrecision(place > 900 ? 5 : 3))} %`;

const UNITS = {
  count: { full: (value) => `${short(value)} clients`, tick: short },
  rate: { full: (value) => `${digits(value)}/s`, tick: short },
  ms: { full: (value) => `${digits(value)} ms`, tick: (value) => `${short(value)} ms` },
  mb: { full: (value) => `${digits(value)} MB`, tick: (value) => `${short(value)} MB` },
  seconds: { full: (value) => `${digits(value)} s`, tick: (value) => `${short(value)} s` },
  minutes: { full: (value) => `${digits(value)} min`, tick: (value) => `${short(value)} min` },
  percentile: { full: percentage, tick: percentage },
};
