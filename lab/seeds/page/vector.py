"""A plot as SVG for documents: lines with the names of their servers at the ends, text as text, no script."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .markup import Markup, element
from .palette import Style
from .plot import Line, Plot
from .scale import Scale
from .units import figure

WIDTH, HEIGHT = 820, 380
LEFT, RIGHT, TOP, BOTTOM = 66, 290, 44, 330

# Distance of two names, one above the other.
NAME_HEIGHT = 16


@dataclass(frozen=True)
class Ink:
    """Colours of the ground, of text and of what is behind the lines."""

    ground: str
    text: str
    quiet: str
    line: str
    is_dark: bool


LIGHT = Ink("#ffffff", "#1a2026", "#55606b", "#dde1e5", is_dark=False)
DARK = Ink("#0d1117", "#e3e8ec", "#a6b1bc", "#2f3942", is_dark=True)

TICKS: dict[str, Callable[[float], str]] = {
    "count": lambda value: f"{value:,.0f}",
    "rate": lambda value: f"{value:,.10g}",
    "seconds": lambda value: f"{value:g} s",
    "ms": lambda value: f"{value:,g} ms",
    "percentile": lambda place: f"{100 * (1 - 1 / place):.6g} %",
}


def drawn(plot: Plot, styles: dict[str, Style], titles: dict[str, str], ink: Ink) -> str:
    x = Scale(plot.x[0], plot.x[-1], LEFT, WIDTH - RIGHT, plot.x_log)
    y = _vertical(plot)
    words = f"{plot.title}: {plot.y_label} by {plot.x_label}"
    return element(
        "svg",
        element("title", words),
        element("rect", width=WIDTH, height=HEIGHT, rx=6, fill=ink.ground),
        _text(plot.title, LEFT, 24, ink.text, font_weight="bold", font_size=15),
        _text(
            f"{plot.y_label}, by {plot.x_label}; hollow: void", WIDTH - 12, HEIGHT - 10, ink.quiet, text_anchor="end"
        ),
        *_grid(plot, x, y, ink),
        *_plan(plot, x, y, ink),
        *(part for line in plot.lines for part in _line(plot, line, styles[line.server], x, y, ink)),
        *_names(plot, styles, titles, x, y, ink),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        font_family="system-ui, sans-serif",
        font_size=12,
        role="img",
        aria_label=words,
    )


def _vertical(plot: Plot) -> Scale:
    values = [value for line in plot.lines for value in line.values if value]
    if plot.y_log:
        return Scale(min(values) / 1.15, max(values) * 1.15, BOTTOM, TOP, is_log=True)
    return Scale(0, max(values, default=1) * 1.06, BOTTOM, TOP)


def _text(content: str, x: float, y: float, fill: str, **more: object) -> Markup:
    return element("text", content, x=f"{x:.1f}", y=f"{y:.1f}", fill=fill, **more)


def _grid(plot: Plot, x: Scale, y: Scale, ink: Ink) -> list[Markup]:
    columns = plot.x if plot.x_format == "count" else x.ticks()
    found = []
    for value in columns:
        place = f"{x.place(value):.1f}"
        found.append(element("line", x1=place, x2=place, y1=TOP, y2=BOTTOM, stroke=ink.line))
        found.append(_text(TICKS[plot.x_format](value), x.place(value), BOTTOM + 18, ink.quiet, text_anchor="middle"))
    for value in y.ticks():
        place = f"{y.place(value):.1f}"
        found.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=place, y2=place, stroke=ink.line))
        found.append(_text(TICKS[plot.y_format](value), LEFT - 8, y.place(value) + 4, ink.quiet, text_anchor="end"))
    return found


def _plan(plot: Plot, x: Scale, y: Scale, ink: Ink) -> list[Markup]:
    """The plan, as far as it is within the plot."""
    pairs = [(at, value) for at, value in zip(plot.x, plot.plan or (), strict=False) if value <= y.most]
    return [_path(pairs, x, y, stroke=ink.quiet, stroke_width=1)] if pairs else []


def _path(pairs: Sequence[tuple[float, float]], x: Scale, y: Scale, **more: object) -> Markup:
    points = " ".join(f"{x.place(at):.1f},{y.place(value):.1f}" for at, value in pairs)
    return element("polyline", points=points, fill="none", stroke_linejoin="round", **more)


def _line(plot: Plot, line: Line, style: Style, x: Scale, y: Scale, ink: Ink) -> list[Markup]:
    colour = style.colour(ink.is_dark)
    pairs = [
        (at, value)
        for at, value in zip(plot.x, line.values, strict=True)
        if value is not None and (value or not plot.y_log)
    ]
    dash = " ".join(map(str, style.dash)) or None
    width = 3 if style.family == "corral" else 1.75
    dots = [
        element("circle", cx=f"{x.place(plot.x[at]):.1f}", cy=f"{y.place(value):.1f}", r=4, stroke=colour,
                stroke_width=1.5, fill=ink.ground if at in line.void else colour)
        for at, value in enumerate(line.values)
        if value is not None and (len(plot.x) <= 12 or at in line.void)
    ]  # fmt: skip
    return [_path(pairs, x, y, stroke=colour, stroke_width=width, stroke_dasharray=dash), *dots]


def _names(plot: Plot, styles: dict[str, Style], titles: dict[str, str], x: Scale, y: Scale, ink: Ink) -> list[Markup]:
    """A name beside the end of each line, and its last figure: none over another."""
    ends = []
    for line in plot.lines:
        last = max((at for at, value in enumerate(line.values) if value), default=None)
        if last is not None:
            ends.append((y.place(line.values[last]), line.server, line.values[last]))
    ends.sort()
    found, free = [], TOP - NAME_HEIGHT
    for left, (height, server, value) in zip(range(len(ends), 0, -1), ends, strict=True):
        # The names below need their room, too.
        free = max(free + NAME_HEIGHT, min(height, BOTTOM - (left - 1) * NAME_HEIGHT))
        told = f"{titles[server]} {figure(value)}"
        found.append(_text(told, WIDTH - RIGHT + 10, free + 4, styles[server].colour(ink.is_dark)))
    return found
