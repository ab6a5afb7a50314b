// The figures of all lines at one x, below a plot: its legend.

/** The value at an index. Within a gap, the one before it. */
function valueAt(values, at) {
  const isWithin = values.slice(at).some((value) => value !== null);
  return isWithin ? (values.slice(0, at + 1).findLast((value) => value !== null) ?? null) : null;
}

function entry(plot, line, at) {
  const server = servers[line.server];
  const item = document.createElement("li");
  const value = valueAt(line.values, at);
  const isVoid = line.void?.[at] !== undefined;
  const told = value === null ? "–" : UNITS[plot.yFormat].full(value) + (isVoid ? " (void)" : "");
  const name = document.createElement("span");
  name.textContent = `${server.key} ${server.title}`;
  const figure = document.createElement("b");
  figure.textContent = told;
  item.append(sample(server), name, figure);
  return item;
}

/** Fills the list, the largest figure first. */
function tell(list, plot, lines, at) {
  const sorted = [...lines].sort((one, other) => valueAt(other.values, at) - valueAt(one.values, at));
  const head = document.createElement("li");
  head.className = "place";
  const planned = plot.plan?.[at] === undefined ? "" : `, planned ${UNITS.rate.full(plot.plan[at])}`;
  head.textContent = `${plot.yLabel} at ${UNITS[plot.xFormat].full(plot.x[at])}${planned}`;
  list.replaceChildren(head, ...sorted.map((line) => entry(plot, line, at)));
}
