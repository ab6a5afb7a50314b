// One plot by uPlot: lines by family and dash, keys at their ends, hollow points where a cell is void.

const NARROW = 480;

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

function series(plot, lines) {
  const drawn = lines.map(({ server }) => {
    const { family, dash } = servers[server];
    const isOwn = family === "corral";
    return { stroke: colour(family), width: isOwn ? 3 : 1.75, dash, spanGaps: true, points: { show: false } };
  });
  const plan = plot.plan === undefined ? [] : [{ stroke: colour("edge"), width: 1, points: { show: false } }];
  return [{}, ...plan, ...drawn];
}

function dot(context, x, y, radius, stroke, fill) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = stroke;
  context.lineWidth = radius / 2.4;
  context.setLineDash([]);
  context.stroke();
}

/** Points, if there are few of them. */
function drawPoints(chart, plot, lines) {
  const size = 3.5 * devicePixelRatio;
  const few = plot.x.length <= 12;
  for (const line of lines) {
    const tone = colour(servers[line.server].family);
    line.values.forEach((value, at) => {
      const isVoid = line.void?.[at] !== undefined;
      if (value !== null && (few || isVoid)) {
        const [x, y] = [chart.valToPos(plot.x[at], "x", true), chart.valToPos(value, "y", true)];
        dot(chart.ctx, x, y, isVoid ? size * 1.4 : size, tone, isVoid ? colour("surface") : tone);
      }
    });
  }
}

/** Places for labels at these heights, none over another. */
function apart(heights, distance, bottom) {
  const placed = [...heights].sort((one, other) => one.y - other.y);
  for (let at = 1; at < placed.length; at += 1) {
    placed[at].y = Math.max(placed[at].y, placed[at - 1].y + distance);
  }
  for (let at = placed.length - 1, limit = bottom; at >= 0; at -= 1, limit -= distance) {
    placed[at].y = Math.min(placed[at].y, limit);
    limit = placed[at].y;
  }
  return placed;
}

/** The key of each line at its end. */
function drawKeys(chart, plot, lines) {
  const { ctx: context, bbox } = chart;
  const ends = lines.flatMap((line) => {
    const at = line.values.findLastIndex((value) => value !== null);
    return at < 0 ? [] : [{ line, x: chart.valToPos(plot.x[at], "x", true), y: chart.valToPos(line.values[at], "y", true) }];
  });
  context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { line, x, y } of apart(ends, 12 * devicePixelRatio, bbox.top + bbox.height)) {
    context.fillStyle = colour(servers[line.server].family);
    context.fillText(servers[line.server].key, Math.min(x, bbox.left + bbox.width) + 7 * devicePixelRatio, y);
  }
}

/** Draws a plot into a box, and calls back with the index that is pointed at. */
function draw(box, plot, lines, onPoint) {
  const width = box.clientWidth;
  const isNarrow = width < NARROW;
  const after = (chart) => {
    drawPoints(chart, plot, lines);
    drawKeys(chart, plot, lines);
  };
  const options = {
    width,
    height: isNarrow ? 260 : 330,
    padding: [10, 32, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
    axes: axes(plot, isNarrow),
    scales: scales(plot, lines),
    series: series(plot, lines),
    hooks: { draw: [after], setCursor: [(chart) => chart.cursor.idx !== null && onPoint(chart.cursor.idx)] },
  };
  const positive = (values) => (plot.yLog ? values.map((value) => (value > 0 ? value : null)) : values);
  const plan = plot.plan === undefined ? [] : [plot.plan];
  return new uPlot(options, [plot.x, ...plan, ...lines.map(({ values }) => positive(values))], box);
}
