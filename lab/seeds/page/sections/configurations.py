"""Each configuration in full, the sweep that chose it, the workloads' code, and how to run it again."""

from ...records import Server
from .. import tables
from ..context import Context, Section, paragraph, section
from ..markup import Markup, element
from ..tables import Column
from ..units import figure

TUNING = (tables.words("setting"), Column("requests a second"), Column("processor time, us"), tables.words("outcome"))


def configurations(context: Context) -> Section:
    servers = [_server(context, server) for server in context.results.servers.values()]
    sources = [tables.folded(work.title, tables.code(f"Code of {work.title}", work.source))
               for work in context.results.workloads.values() if work.source]  # fmt: skip
    return section(
        "configurations", "Configurations in full",
        paragraph("Each server has the best settings that its manual knows; how many processes is tried out."),
        *servers,
        element("h3", "Code of the workloads") if sources else None,
        *sources,
    )  # fmt: skip


def _server(context: Context, server: Server) -> Markup:
    files = [tables.folded(name, tables.code(f"{name} of {server.title}", text)) for name, text in server.files.items()]
    rows = [
        (
            row["setting"],
            figure(row.get("per_second")),
            figure(row.get("cpu_us")),
            _outcome(row),
        )
        for row in server.tuning
    ]
    tuning = (
        tables.table(f"Settings that were tried for {server.title}", TUNING, rows)
        if rows
        else paragraph("Nothing was tried out.")
    )
    return tables.folded(context.label(server.server), tuning, *files)


def _outcome(row: dict) -> str | None:
    return f"out: {row['fault']}" if row.get("fault") else "chosen" if row.get("chosen") else None


def repeat(raw: str, command: str) -> Section:
    return section(
        "repeat", "How to repeat it",
        element("pre", element("code", command), tabindex=0, role="region", aria_label="Commands"),
        paragraph("This page was made from ", element("code", raw), ", the raw data: one JSON object a line."),
    )  # fmt: skip
