"""All servers and workloads in one table, each workload at its usual point, with the best valid figure in bold."""

from .. import tables
from ..cells import Figures, Point
from ..context import Context, paragraph
from ..markup import Child, element, join
from ..tables import Column
from ..units import figure


def overview(context: Context) -> list[Child]:
    results = context.results
    points = [point for workload in results.workloads if (point := results.usual_point(workload))]
    if not points:
        return []
    columns = [tables.text("server"), *(Column(f"{results.work(point.workload)}, /s") for point in points)]
    best = dict(zip(points, (_best(results.at(point)) for point in points), strict=True))
    rows = [
        (context.label(server), *(_value(results.cells.get((server, point)), best[point]) for point in points))
        for server in results.servers
    ]
    text = paragraph(
        f"Good answers a second of all servers: {_hows(points)}. The best valid figure of each workload is bold."
    )
    return [text, tables.table("All servers and workloads", columns, rows)]


def _best(cells: list[Figures]) -> Figures | None:
    return max((cell for cell in cells if cell.is_valid), key=lambda cell: cell.per_second or 0, default=None)


def _value(cell: Figures | None, best: Figures | None) -> Child:
    if cell is None:
        return None
    told = figure(cell.per_second)
    return element("b", told) if cell is best else join([told, None if cell.is_valid else " void"])


def _hows(points: list[Point]) -> str:
    """The loads, each with its workloads where it is not that of most."""
    by_load: dict[str, list[str]] = {}
    for point in points:
        by_load.setdefault(point.how, []).append(point.workload)
    usual, *others = sorted(by_load, key=lambda how: -len(by_load[how]))
    return "; ".join([usual, *(f"{', '.join(by_load[how])}: {how}" for how in others)])
