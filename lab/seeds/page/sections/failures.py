"""Failed requests by their kind."""

from collections import Counter
from collections.abc import Iterator

from .. import tables
from ..context import Context, Section, paragraph, section
from ..markup import Child, Markup
from ..tables import Column
from ..units import count, figure

COLUMNS = (
    tables.text("server"),
    tables.text("kind of failure"),
    Column("failed requests"),
    Column("share of its requests, %"),
    Column("cells with it"),
    tables.words("most of them at"),
)


def failures(context: Context) -> Section:
    rows = sorted(_rows(context), key=lambda row: -row[0])
    clean = [
        context.results.title(server) for server in context.results.servers if server not in {row[1] for row in rows}
    ]
    text = paragraph(
        "Failures in all cells but the ramps, which have a section of their own. From 0.1 % on, a cell is void. "
        f"{count(len(clean), 'server')} had none",
        f": {'; '.join(clean)}." if clean else ".",
    )
    table = tables.table("Failures by kind", COLUMNS, (cells for _, _, cells in rows)) if rows else None
    return section("failures", "Failures by kind", text, table, _errors(context))


def _rows(context: Context) -> Iterator[tuple[int, str, tuple[Child, ...]]]:
    for server in context.results.servers:
        cells = [cell for (name, _), cell in context.results.cells.items() if name == server]
        requests = sum(cell.n_requests for cell in cells)
        for kind, n_failed in sum((cell.failures for cell in cells), Counter()).items():
            hit = [cell for cell in cells if cell.failures[kind]]
            worst = max(hit, key=lambda cell: cell.failures[kind])
            where = f"{context.results.work(worst.point.workload)}, {worst.point.how} ({worst.failures[kind]:,})"
            yield (
                n_failed,
                server,
                (context.label(server), kind, f"{n_failed:,}", figure(100 * n_failed / requests), len(hit), where),
            )


def _errors(context: Context) -> Markup | None:
    """Runs that gave no figures at all."""
    found = Counter((s.server, s.workload, s.tool, s.error) for s in context.results.records.samples if s.error)
    if not found:
        return None
    columns = (
        tables.text("server"),
        tables.text("workload"),
        tables.text("tool"),
        tables.words("what happened"),
        Column("rounds"),
    )
    rows = [
        (context.label(server), context.results.work(work), tool, error, n)
        for (server, work, tool, error), n in found.items()
    ]
    return tables.folded(
        "Rounds that gave no figures", tables.table("Rounds without figures", columns, rows), is_open=True
    )
