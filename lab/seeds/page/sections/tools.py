"""The articles' tools beside corral-tank, and the statistic of the first article beside medians."""

from collections.abc import Iterator

from .. import tables
from ..cells import Figures, Point
from ..context import Context, Section, paragraph, section
from ..markup import Child, Markup
from ..results import USUAL_TOOL, Results
from ..tables import Column
from ..units import figure


def tools(context: Context) -> Section:
    text = paragraph(
        "The same point by ab, siege and wrk, as the articles used them. “Article” is the statistic of the first "
        "one: of five rounds the two slowest are dropped, and the mean of the other three is told. It leans "
        "upwards, as bad rounds are forgotten. A tool that needs a whole core before the server does measures "
        "itself: such cells are void. The table of all cells says why each is."
    )
    charts = [_table(context, workload, clients, found) for (workload, clients), found in _compared(context.results)]
    return section(
        "tools",
        "The articles’ tools beside corral-tank",
        text,
        *(charts or [paragraph("No other tool was run.")]),
        _generators(context),
    )


def _compared(results: Results) -> Iterator[tuple[tuple[str, int], list[Point]]]:
    """Loads that several tools made; they may have differed in the transport."""
    for workload, clients in dict.fromkeys(
        (point.workload, point.clients) for point in results.points if point.tool != USUAL_TOOL
    ):
        same = [point for point in results.points if (point.workload, point.clients) == (workload, clients)]
        transports = {point.transport for point in same if point.tool != USUAL_TOOL}
        yield (
            (workload, clients),
            [point for point in same if point.tool != USUAL_TOOL or point.transport in transports],
        )


def _table(context: Context, workload: str, clients: int, points: list[Point]) -> Markup:
    transports = "; ".join(f"{point.tool}: {point.transport}" for point in points)
    title = f"{context.results.work(workload)}, {clients:,} clients ({transports})"
    columns = [tables.text("server")]
    for point in points:
        columns += [Column(f"{point.tool}: median, /s"), Column(f"{point.tool}: article, /s")]
    cells = [{cell.server: cell for cell in context.results.at(point)} for point in points]
    rows = [
        (context.label(server), *(value for found in cells for value in _values(found.get(server))))
        for server in context.results.servers if any(server in found for found in cells)
    ]  # fmt: skip
    first = "; by ".join(
        f"{point.tool}: {_first(context.results, found)}" for point, found in zip(points, cells, strict=True)
    )
    return tables.folded(
        title, paragraph(f"First of the valid cells, by {first}."), tables.table(title, columns, rows), is_open=True
    )


def _values(cell: Figures | None) -> tuple[Child, ...]:
    if cell is None:
        return ("", "")
    void = "" if cell.is_valid else " void"
    return (figure(cell.per_second) + void, figure(cell.verdict.article_mean) + void)


def _first(results: Results, cells: dict[str, Figures]) -> str:
    valid = [cell for cell in cells.values() if cell.is_valid and cell.per_second]
    return results.title(max(valid, key=lambda cell: cell.per_second).server) if valid else "none is valid"


def _generators(context: Context) -> Markup | None:
    found = context.results.records.generators
    if not found:
        return None
    columns = (tables.text("tool"), tables.text("version"), tables.text("failures that it counts"))
    return tables.table("Load generators", columns, ((each.tool, each.version, each.counts) for each in found))
