// The figures of the page: each draws the plot that is chosen, with the servers that are.

/** Numbers of the servers that are shown. */
const shown = new Set();

/** The moves of a key, in places of the axis. */
const MOVES = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
  Home: -Infinity,
  End: Infinity,
};

class Figure {
  constructor(element) {
    this.box = element.querySelector(".plot");
    this.choice = element.querySelector("select");
    this.list = document.createElement("ul");
    this.list.className = "readout";
    this.box.after(this.list);
    this.number = Number(element.dataset.plots.split(" ")[0]);
    this.choice?.addEventListener("change", () => {
      this.number = Number(this.choice.value);
      this.at = undefined;
      this.draw();
    });
    this.box.tabIndex = 0;
    this.box.setAttribute("role", "slider");
    this.box.addEventListener("keydown", (event) => this.move(event));
    new ResizeObserver(() => this.box.clientWidth !== this.width && this.draw()).observe(this.box);
  }

  get plot() {
    return plots[this.number];
  }

  draw() {
    this.width = this.box.clientWidth;
    if (this.width === 0) {
      return;
    }
    this.chart?.destroy();
    this.lines = this.plot.lines.filter(({ server }) => shown.has(server));
    this.chart = draw(this.box, this.plot, this.lines, (at) => this.point(at));
    this.point(Math.min(this.at ?? this.usual(), this.plot.x.length - 1));
  }

  /** The last place that has a value of each line: the middle of those would say less. */
  usual() {
    const told = this.lines.map(({ values }) => values.findLastIndex((value) => value !== null));
    return Math.max(0, Math.min(...told, this.plot.x.length - 1));
  }

  /** Tells the figures at a place. */
  point(at) {
    this.at = at;
    tell(this.list, this.plot, this.lines, at);
    const { x, xFormat, yLabel, title } = this.plot;
    const place = UNITS[xFormat].full(x[at]);
    const told = this.lines.map(({ server, values }) => [servers[server].title, valueAt(values, at)]);
    const known = told.filter(([, value]) => value !== null);
    const words = known.map(([name, value]) => `${name} ${UNITS[this.plot.yFormat].full(value)}`);
    const values = {
      "aria-label": `${title}: ${yLabel}`,
      "aria-valuemin": 0,
      "aria-valuemax": x.length - 1,
      "aria-valuenow": at,
      "aria-valuetext": `${place}: ${words.join(", ")}`,
    };
    for (const [name, value] of Object.entries(values)) {
      this.box.setAttribute(name, value);
    }
  }

  move(event) {
    const by = MOVES[event.key];
    if (by === undefined) {
      return;
    }
    event.preventDefault();
    const at = Math.max(0, Math.min(this.plot.x.length - 1, this.at + by));
    this.chart.setCursor({ left: this.chart.valToPos(this.plot.x[at], "x"), top: 0 }, false);
    this.point(at);
  }
}

const figures = [...document.querySelectorAll("figure[data-plots]")].map((element) => new Figure(element));

const drawAll = () => figures.forEach((figure) => figure.draw());

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
