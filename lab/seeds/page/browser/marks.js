// Marks on the lines of a plot: points, hollow where a cell is void, and keys of servers at the ends.

/** The place of a point of a line, in pixels of the canvas. */
const placeOf = (chart, plot, line, at) => ({
  x: chart.valToPos(plot.x[at], "x", true),
  y: chart.valToPos(line.values[at], "y", true),
});

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
        const { x, y } = placeOf(chart, plot, line, at);
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
    return at < 0 ? [] : [{ line, ...placeOf(chart, plot, line, at) }];
  });
  context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { line, x, y } of apart(ends, 12 * devicePixelRatio, bbox.top + bbox.height)) {
    context.fillStyle = colour(servers[line.server].family);
    context.fillText(servers[line.server].key, Math.min(x, bbox.left + bbox.width) + 7 * devicePixelRatio, y);
  }
}
