// Axes of a plot for uPlot: linear or logarithmic, with ticks at round figures.

/** Powers of ten, and 2 and 5 between them where there is room. */
function logSplits(_, __, least, most) {
  const found = [];
  const isWide = Math.log10(most / least) < 3;
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power += 1) {
    for (const factor of isWide ? [1, 2, 5] : [1]) {
      const value = Number((factor * 10 ** power).toPrecision(3));
      if (value >= least * 0.999 && value <= most * 1.001) {
        found.push(value);
      }
    }
  }
  return found;
}

/** Numbers of clients are few: each is a tick. */
const ticksOf = (plot) => (plot.xFormat === "count" ? () => plot.x : logSplits);

/** Without a figure there is no logarithm: a decade stands for it. */
const logRange = (_, least, most) => (least > 0 ? [least / 1.15, most * 1.15] : [1, 10]);

function axes(plot, isNarrow) {
  const common = {
    stroke: colour("quiet"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 },
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
  };
  const x = {
    ...common,
    label: plot.xLabel,
    labelSize: 20,
    size: 30,
    space: isNarrow ? 40 : 50,
    values: (_, values) => values.map((value) => UNITS[plot.xFormat].tick(value)),
    ...(plot.xLog ? { splits: ticksOf(plot), filter: (_, values) => values } : {}),
  };
  const y = {
    ...common,
    size: 72,
    values: (_, values) => values.map((value) => UNITS[plot.yFormat].tick(value)),
    ...(plot.yLog ? { splits: logSplits, filter: (_, values) => values } : {}),
  };
  return [x, y];
}

/** The largest value of the lines. A plan beside them may go far beyond, and is cut off. */
const most = (lines) => Math.max(0, ...lines.flatMap(({ values }) => values));

function scales(plot, lines) {
  const y = plot.yLog
    ? { distr: 3, range: logRange }
    : { range: () => [0, Math.max(most(lines) * 1.06, 1e-9)] };
  const x = plot.xLog ? { time: false, distr: 3, range: [plot.x[0], plot.x.at(-1)] } : { time: false };
  return { x, y };
}
