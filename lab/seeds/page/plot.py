"""Plots as data: the page's script draws them by uPlot, and the README's are drawn from the same as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .markup import Child, Markup, element
from .units import rounded


@dataclass(frozen=True)
class Line:
    server: str
    # One for each x of the plot.
    values: Sequence[float | None]
    # Places of points that are void, with the reasons.
    void: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    title: str
    # The quantity along each axis, and the name of its unit in browser/format.js.
    x_label: str
    x_format: str
    y_label: str
    y_format: str
    x: Sequence[float]
    lines: Sequence[Line]
    x_log: bool = False
    y_log: bool = False
    # The plan, as a thin line behind the others.
    plan: Sequence[float | None] | None = None

    def data(self, numbers: dict[str, int]) -> dict:
        """Servers by their numbers, figures with the digits that count."""
        lines = [
            {"server": numbers[line.server], "values": [rounded(value) for value in line.values],
             **({"void": line.void} if line.void else {})}
            for line in self.lines
        ]  # fmt: skip
        found = {
            "title": self.title, "xLabel": self.x_label, "xFormat": self.x_format, "yLabel": self.y_label,
            "yFormat": self.y_format, "x": [rounded(value, 5) for value in self.x], "xLog": self.x_log,
            "yLog": self.y_log, "lines": lines,
        }  # fmt: skip
        if self.plan:
            found |= {"plan": [rounded(value) for value in self.plan]}
        return found


class Canvas:
    """The plots of a page, each by the number that its place in the page names."""

    def __init__(self) -> None:
        self.plots: list[Plot] = []

    def figure(self, *plots: Plot, note: Child = None, choice: str = "") -> Markup:
        """A place for one plot; of several, one is chosen by its title."""
        first = len(self.plots)
        self.plots.extend(plots)
        title = element("span", plots[0].title) if len(plots) == 1 else self._choice(plots, first, choice)
        numbers = " ".join(str(first + at) for at in range(len(plots)))
        caption = element("figcaption", title)
        return element("figure", caption, element("div", class_="plot"), note, data_plots=numbers)

    @staticmethod
    def _choice(plots: Sequence[Plot], first: int, label: str) -> Markup:
        options = [element("option", plot.title, value=first + at) for at, plot in enumerate(plots)]
        return element("label", f"{label} ", element("select", *options, autocomplete="off"))
