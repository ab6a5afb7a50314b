"""Good answers a second by the number of clients; of workloads with one number, bars."""

from collections.abc import Iterable
from itertools import groupby

from .. import bars, tables
from ..bars import Bar
from ..cells import Figures, Point
from ..context import Context, Section, paragraph, section
from ..markup import Child, Markup
from ..plot import Line, Plot
from ..results import USUAL_TOOL, Results
from ..units import figure
from .overview import overview
from .voids import voids


def throughput(context: Context) -> Section:
    series = list(levels(context.results))
    curves = [part for points in series if len(points) > 1 for part in _curve(context, points)]
    single = [_bars(context, points[0]) for points in series if len(points) == 1]
    return section(
        "throughput",
        "Throughput by number of clients",
        *overview(context),
        paragraph("By number of clients, where several were measured; hollow points are void, as told below."),
        *curves,
        paragraph("Other points, as bars:") if single else None,
        *single,
    )


def levels(results: Results) -> Iterable[list[Point]]:
    """Points that differ in their clients alone."""
    of_tank = [point for point in results.points if point.tool == USUAL_TOOL]
    for _, points in groupby(of_tank, lambda point: (point.workload, point.transport)):
        yield list(points)


def plot(results: Results, points: list[Point]) -> Plot:
    first = points[0]
    lines = []
    for server in results.servers:
        cells = [results.cells.get((server, point)) for point in points]
        if any(cells):
            lines.append(_line(server, cells))
    return Plot(
        f"{results.work(first.workload)}, {first.transport}", "clients", "count", "good answers a second", "rate",
        [point.clients for point in points], lines, x_log=True,
    )  # fmt: skip


def _line(server: str, cells: list[Figures | None]) -> Line:
    values = [cell.per_second if cell else None for cell in cells]
    void = {at: "; ".join(cell.verdict.reasons) for at, cell in enumerate(cells) if cell and not cell.is_valid}
    return Line(server, values, void)


def _curve(context: Context, points: list[Point]) -> list[Child]:
    drawn = plot(context.results, points)
    columns = [tables.text("server"), *(tables.Column(f"{point.clients:,} clients, /s") for point in points)]
    rows = [(context.label(line.server), *(_told(line, at) for at in range(len(points)))) for line in drawn.lines]
    return [
        context.canvas.figure(drawn, note=voids(context, drawn)),
        tables.folded("The same in figures", tables.table(drawn.title, columns, rows)),
    ]


def _told(line: Line, at: int) -> str:
    return figure(line.values[at]) + (" void" if at in line.void else "")


def _bars(context: Context, point: Point) -> Markup:
    title = f"{context.results.work(point.workload)}, {point.transport}, {point.clients:,} clients"
    cells = sorted(context.results.at(point), key=lambda cell: -(cell.per_second or 0))
    drawn = [Bar(cell.server, context.label(cell.server), {"good": cell.per_second or 0}, cell.words) for cell in cells]
    return tables.folded(title, bars.chart(title, "good answers a second", ["good"], drawn))
