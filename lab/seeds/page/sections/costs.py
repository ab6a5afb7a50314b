"""Processor time and context switches of a request: a stacked bar for each server, at one point of each workload."""

from collections.abc import Callable, Iterator, Sequence

from .. import bars, tables
from ..bars import Bar
from ..cells import BESIDE, Figures
from ..context import Context, Section, paragraph, section
from ..markup import Child
from ..results import Results

SWITCHES = ("voluntary", "involuntary")


def processor_time(context: Context) -> Section:
    parts = _roles(context.results)
    text = paragraph(
        "Microseconds of processor time, user and system, for each good answer. Front is what stands before PHP; "
        "where PHP runs within the web server, all of it is counted as PHP. The database’s share is shown, and not "
        "counted where servers are compared."
    )
    charts = _charts(context, "us per request", parts, lambda cell: cell.roles)
    return section("cpu", "Processor time of a request by role of the process", text, bars.legend(parts), *charts)


def context_switches(context: Context) -> Section:
    text = paragraph(
        "Context switches of all processes of the server for each good answer: voluntary ones wait, involuntary "
        "ones are interrupted."
    )
    charts = _charts(context, "switches per request", SWITCHES, lambda cell: cell.switches)
    return section("switches", "Context switches", text, bars.legend(SWITCHES), *charts)


def _roles(results: Results) -> Sequence[str]:
    """Roles in the order of a request's way, others before the database."""
    named = ("front", "php")
    seen = {role for cell in results.cells.values() for role in cell.roles}
    others = sorted(seen.difference(named, [BESIDE]))
    return [role for role in (*named, *others, BESIDE) if role in seen]


def _charts(
    context: Context, unit: str, parts: Sequence[str], of: Callable[[Figures], dict[str, float]]
) -> Iterator[Child]:
    is_first = True
    for workload in context.results.workloads:
        point = context.results.usual_point(workload)
        drawn = [
            Bar(cell.server, context.label(cell.server), of(cell), cell.words)
            for cell in (context.results.at(point) if point else ()) if of(cell)
        ]  # fmt: skip
        if drawn:
            title = f"{context.results.work(workload)}, {point.how}"
            chart = bars.chart(title, unit, parts, sorted(drawn, key=lambda bar: bar.total))
            yield tables.folded(title, chart, is_open=is_first)
            is_first = False
