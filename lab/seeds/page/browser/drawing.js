// One plot by uPlot: lines by family and dash.

/** Plots in fewer pixels are lower and have fewer ticks. */
const NARROW = 480;

function series(plot, lines) {
  const drawn = lines.map(({ server }) => {
    const { family, dash } = servers[server];
    const isOwn = family === "corral";
    return { stroke: colour(family), width: isOwn ? 3 : 1.75, dash, spanGaps: true, points: { show: false } };
  });
  const plan = plot.plan === undefined ? [] : [{ stroke: colour("edge"), width: 1, points: { show: false } }];
  return [{}, ...plan, ...drawn];
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
