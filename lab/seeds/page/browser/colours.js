// Colours of the page's style as it is now: light, dark, or on paper.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const { servers, plots } = JSON.parse(document.getElementById("data").textContent);

/** The line of a server in the chooser and in lists. */
function sample({ family, dash }) {
  const name = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(name, "svg");
  const line = document.createElementNS(name, "line");
  for (const [key, value] of Object.entries({ x1: 0, x2: 34, y1: 5, y2: 5, "stroke-dasharray": dash.join(" ") })) {
    line.setAttribute(key, value);
  }
  svg.setAttribute("class", `line family-${family}`);
  svg.setAttribute("width", 34);
  svg.setAttribute("height", 10);
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  return svg;
}
