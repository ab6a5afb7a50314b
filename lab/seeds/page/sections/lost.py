"""The first table: cells at which a rival is better than Corral."""

from collections.abc import Sequence

from .. import losses, tables
from ..context import Context, Section, paragraph, section
from ..losses import Comparison
from ..markup import Child, Markup
from ..tables import Column
from ..units import figure

COLUMNS = (
    Column("rival is better, times"),
    tables.text("measure"),
    tables.text("workload"),
    tables.text("how"),
    tables.text("best rival"),
    Column("rival"),
    Column("Corral"),
    Column("better rivals"),
    tables.text("certainty"),
)

# Rows that are shown at once; the others are folded.
SHOWN = 15


def lost(context: Context) -> Section:
    own = context.results.own
    content = [part for server in own[:1] for part in _of(context, server)] or [paragraph("Corral was not measured.")]
    others = [
        tables.folded(f"{context.results.title(server)}, beside the same rivals", *_of(context, server))
        for server in own[1:]
    ]
    return section("lost", "Where rivals are better than Corral", *content, *others)


def _of(context: Context, server: str) -> list[Child]:
    found = losses.comparisons(context.results, server)
    rows = losses.lost(found)
    head = paragraph(
        f"{context.results.title(server)} beside the best of all rivals, whatever they keep in memory between "
        f"requests. Compared are valid cells alone: a rival is better in {len(rows)} of {len(found)} comparisons. "
        "“Every round” means that each round of the rival was better than each of Corral’s."
    )
    if not rows:
        return [head]
    table = _table(context, "Where rivals are better", rows[:SHOWN])
    rest = rows[SHOWN:]
    more = (
        tables.folded(f"The other {len(rest)}", _table(context, "Where rivals are better, the others", rest))
        if rest
        else None
    )
    return [head, table, more]


def _table(context: Context, label: str, rows: Sequence[Comparison]) -> Markup:
    return tables.table(label, COLUMNS, (_row(context, row) for row in rows))


def _row(context: Context, found: Comparison) -> tuple[Child, ...]:
    measure = found.measure
    return (
        f"{found.ratio:.2f}",
        measure.name,
        context.results.work(found.point.workload),
        found.point.how,
        context.label(found.rival.server),
        _value(found, measure.of(found.rival)),
        _value(found, measure.of(found.own)),
        found.n_better,
        "every round" if found.is_sure else "rounds overlap",
    )


def _value(found: Comparison, value: float) -> str:
    return f"{figure(value * found.measure.scale)} {found.measure.unit}".replace(" /s", "/s")
