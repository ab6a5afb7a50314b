"""Answer times by percentile, as HdrHistogram plots them: the axis is the logarithm of 1/(1 - q)."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from .. import tables
from ..cells import Point
from ..context import Context, Section, paragraph, section
from ..markup import Markup
from ..plot import Line, Plot
from ..results import Results
from ..units import figure

# Eight points for each decade of 1/(1 - q), from the median's side to the 99.999th percentile.
GRID = [10 ** (step / 8) for step in range(41)]

PERCENTILES = ("50", "75", "90", "95", "99", "99.9", "100")


def latency(context: Context) -> Section:
    found = list(plots(context.results))
    text = paragraph(
        "The further to the right, the rarer: at 99 % one answer in a hundred takes longer. All rounds of a cell in "
        "one histogram. A line ends where ten answers are left: further to the right single ones would decide. Void "
        "cells are left out."
    )
    figure = context.canvas.figure(*found, choice="Workload") if found else paragraph("No valid cell has a histogram.")
    return section("latency", "Answer times by percentile", text, figure, _table(context))


def plots(results: Results) -> Iterator[Plot]:
    known = {(found.server, Point.of(found.cell)): found.counts for found in results.records.histograms}
    for point in results.points:
        lines = [
            Line(cell.server, percentiles(known[cell.server, point]))
            for cell in results.at(point)
            if cell.is_valid and (cell.server, point) in known
        ]
        if lines:
            title = f"{results.work(point.workload)}, {point.transport}, {point.clients:,} clients"
            yield _plot(title, lines)


def _plot(title: str, lines: list[Line]) -> Plot:
    """The axis ends with the longest line."""
    n_told = max(sum(value is not None for value in line.values) for line in lines)
    lines = [Line(line.server, line.values[:n_told]) for line in lines]
    return Plot(
        title,
        "share of answers that are faster",
        "percentile",
        "answer time",
        "ms",
        GRID[:n_told],
        lines,
        x_log=True,
        y_log=True,
    )


def percentiles(counts: list[list[float]]) -> list[float | None]:
    """Milliseconds at each place of the grid."""
    below = list(accumulate(count for _, count in counts))
    total = below[-1]
    found: list[float | None] = []
    for place in GRID:
        wanted = (1 - 1 / place) * total
        is_told = total / place >= 10
        found.append(counts[bisect_left(below, wanted)][0] / 1000 if is_told else None)
    return found


def _table(context: Context) -> Markup:
    columns = [
        tables.text("server"),
        tables.text("workload"),
        tables.text("how"),
        *(tables.Column("longest, ms" if name == "100" else f"{name} %, ms") for name in PERCENTILES),
    ]
    rows = []
    for workload in context.results.workloads:
        point = context.results.usual_point(workload)
        for cell in context.results.at(point) if point else ():
            if cell.is_valid and cell.p99_us is not None:
                times = (cell.percentile_us(name) for name in PERCENTILES)
                rows.append(
                    (
                        context.label(cell.server),
                        context.results.work(workload),
                        point.how,
                        *(figure(time and time / 1000) for time in times),
                    )
                )
    return tables.folded("In figures, one point of each workload", tables.table("Answer times", columns, rows))
