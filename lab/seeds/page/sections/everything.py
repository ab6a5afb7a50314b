"""All cells as one table that is filtered and sorted."""

from .. import tables
from ..cells import Figures
from ..context import Context, Section, paragraph, section
from ..markup import Child, Markup, element
from ..tables import Column
from ..units import figure

COLUMNS = (
    tables.text("server"),
    tables.text("workload"),
    tables.text("transport"),
    tables.text("tool"),
    Column("clients"),
    Column("good answers, /s"),
    Column("spread of rounds, %"),
    Column("p50, ms"),
    Column("p99, ms"),
    Column("p99.9, ms"),
    Column("processor time, us"),
    Column("most memory, MB"),
    Column("failed, %"),
    tables.words("verdict"),
)


def everything(context: Context) -> Section:
    cells = [cell for point in context.results.points for cell in context.results.at(point)]
    text = paragraph(
        "Medians of all rounds. The spread is the distance of the fastest round from the slowest, without the "
        "slowest two of five. A void cell says nothing about its server."
    )
    table = tables.table("All cells", COLUMNS, (_row(context, cell) for cell in cells), class_="sorted")
    return section("cells", "All cells", text, _filter(len(cells)), table)


def _filter(n_cells: int) -> Markup:
    words = element(
        "label",
        "Rows with all of these words ",
        element("input", type="search", autocomplete="off", spellcheck="false"),
    )
    verdicts = [
        element("option", title, value=value) for value, title in (("", "all"), ("valid", "valid"), ("void", "void"))
    ]
    chosen = element("label", "Verdict ", element("select", *verdicts, autocomplete="off"))
    return element(
        "form", words, chosen, element("output", f"{n_cells:,} of {n_cells:,} cells"), class_="filter", role="search"
    )


def _row(context: Context, cell: Figures) -> tuple[Child, ...]:
    point = cell.point
    times = (cell.percentile_us(name) for name in ("50", "99", "99.9"))
    return (
        context.label(cell.server),
        context.results.work(point.workload),
        point.transport,
        point.tool,
        point.clients,
        figure(cell.per_second),
        _percent(cell.verdict.spread),
        *(figure(time and time / 1000) for time in times),
        figure(cell.cpu_us),
        figure(cell.memory_mb),
        _percent(cell.failed_share),
        cell.words,
    )


def _percent(share: float | None) -> str:
    return figure(None if share is None else 100 * share)
