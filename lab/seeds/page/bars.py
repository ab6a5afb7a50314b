"""Bars that are stacked from parts, in rows of a table: drawn by SVG, told in figures beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

from . import tables
from .markup import Child, Markup, element
from .units import figure


@dataclass(frozen=True)
class Bar:
    """A server's row."""

    server: str
    label: Child
    parts: dict[str, float]
    note: str = ""

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def chart(label: str, unit: str, parts: Sequence[str], bars: Sequence[Bar]) -> Markup:
    """Bars by the length of all their parts; one column of figures for each part if there are several."""
    longest = max((bar.total for bar in bars), default=0) or 1
    used = [part for part in parts if any(part in bar.parts for bar in bars)]
    several = used if len(used) > 1 else []
    columns = [tables.text("server"), tables.text("bar"), tables.Column(f"all, {unit}" if several else unit),
               *(tables.Column(part) for part in several), tables.words("verdict")]  # fmt: skip
    rows = [
        (
            bar.label,
            _drawn(bar, used, parts, longest),
            figure(bar.total),
            *(figure(bar.parts.get(part)) for part in several),
            bar.note,
        )
        for bar in bars
    ]
    return tables.table(label, columns, rows, class_="bars")


def legend(parts: Sequence[str]) -> Markup:
    swatches = [element("li", _swatch(at), name) for at, name in enumerate(parts)]
    return element("ul", *swatches, class_="legend")


def _swatch(at: int) -> Markup:
    return element(
        "svg", element("rect", width=12, height=12, class_=f"part-{at}"), width=12, height=12, aria_hidden="true"
    )


def _drawn(bar: Bar, used: Sequence[str], parts: Sequence[str], longest: float) -> Markup:
    drawn, start = [], 0.0
    for part in used:
        if width := 100 * bar.parts.get(part, 0) / longest:
            # The gap is what tells parts apart without colours.
            place = {"x": f"{start:.2f}", "width": f"{max(width - 0.4, 0.2):.2f}", "height": 10}
            drawn.append(element("rect", **place, class_=f"part-{parts.index(part)}"))
            start += width
    return element("svg", *drawn, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true", class_="bar")
