"""Slow clients, idle connections, and many sites of as many users."""

from ...records import Idle, Sites, Slow
from .. import tables
from ..context import Context, Section, section
from ..markup import Child, element
from ..tables import Column
from ..units import figure

IDLE = (
    tables.text("server"),
    Column("idle connections"),
    Column("memory of each, KiB"),
    Column("fresh request without them, ms"),
    Column("beside them, ms"),
    tables.words("failure"),
)
SLOW = (
    tables.text("server"),
    Column("slow clients"),
    Column("held to the end"),
    Column("p99 of other clients alone, ms"),
    Column("beside slow ones, ms"),
    tables.words("failure"),
)
SITES = (
    tables.text("server"),
    Column("sites, a user each"),
    Column("requests a second"),
    Column("memory of all, MB"),
    tables.words("failure"),
)


def crowds(context: Context) -> Section:
    records = context.results.records
    parts = (
        ("Idle connections", IDLE, [_idle(context, row) for row in records.idle]),
        ("Slow clients: a byte a second", SLOW, [_slow(context, row) for row in records.slow]),
        ("Sites of many users", SITES, [_sites(context, row) for row in records.sites]),
    )
    content = [
        part
        for title, columns, rows in parts
        if rows
        for part in (element("h3", title), tables.table(title, columns, rows))
    ]
    return section(
        "crowds", "Slow clients, idle connections, many sites", *(content or [element("p", "None was measured.")])
    )


def _idle(context: Context, row: Idle) -> tuple[Child, ...]:
    figures = (row.private_kib, row.fresh_without_ms, row.fresh_with_ms)
    return (context.label(row.server), f"{row.connections:,}", *_figures(figures, row.error), row.error)


def _slow(context: Context, row: Slow) -> tuple[Child, ...]:
    figures = (row.held, row.others_without_ms, row.others_p99_ms)
    return (context.label(row.server), f"{row.clients:,}", *_figures(figures, row.error), row.error)


def _sites(context: Context, row: Sites) -> tuple[Child, ...]:
    return (context.label(row.server), f"{row.sites:,}", *_figures((row.per_second, row.pss_mb), row.error), row.error)


def _figures(values: tuple[float | None, ...], error: str | None) -> list[str]:
    return ["–" if error else figure(value) for value in values]
