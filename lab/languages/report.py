"""One table for each language and workload, and the bars."""

from .. import tables
from ..summary import Cell, Summary
from ..tables import Verdict
from .contests import CONTESTS, PER_CPU, Contest

HEADINGS = ("server", "req/s", "spread", "ratio", "req/CPU s", "ratio", "CPU us/req", "p99 ms", "failed", "MB/worker")
WIDTHS = (18, 10, 8, 7, 11, 7, 12, 9, 8, 11)


def text(run: dict) -> str:
    parts = [
        *tables.machine(run),
        f"rounds {run['rounds']}, {run['seconds']} s each; {run['workers']} workers of {run['threads']} thread(s), "
        f"programs with one process; 100 connections, keep-alive",
        "ratio: corral over the server (above 1: corral is better)",
    ]
    verdicts = []
    for contest in CONTESTS:
        if outcome := run["contests"].get(contest.name):
            parts += ["", *_contest(contest, outcome)]
            verdicts += judge(contest, outcome)
    return "\n".join([*parts, "", *tables.bars(verdicts)])


def _contest(contest: Contest, outcome: dict) -> list[str]:
    lines = [contest.name, *tables.servers(outcome)]
    summary = Summary(outcome["samples"])
    for point in summary.points:
        lines += ["", f"  {point.work}", tables.row(HEADINGS, WIDTHS)]
        own = summary.cell(point, "corral")
        for server in summary.servers:
            if cell := summary.cell(point, server):
                lines.append(tables.row(_values(server, cell, own, outcome["worker_memory"].get(server)), WIDTHS))
            if reasons := summary.failures_at(point, server):
                lines.append(f"  {server:18}{len(reasons)} RUN(S) FAILED: {reasons[0]}")
    return lines


def per_cpu(cell: Cell) -> float:
    return 1e6 / cell.cpu_us if cell.cpu_us else float("inf")


def _values(server: str, cell: Cell, own: Cell | None, memory: float | None) -> tuple[str, ...]:
    return (
        server,
        f"{cell.per_second:,.0f}",
        tables.spread(cell.slowest, cell.fastest, cell.per_second),
        f"{own.per_second / cell.per_second:.2f}" if own else "-",
        f"{per_cpu(cell):,.0f}",
        f"{per_cpu(own) / per_cpu(cell):.2f}" if own else "-",
        f"{cell.cpu_us:.1f}",
        f"{cell.p99_ms:.2f}",
        str(cell.failed),
        "-" if memory is None else f"{memory / 1e6:.1f}",
    )


def judge(contest: Contest, outcome: dict) -> list[Verdict]:
    """Corral against the best of its peers at each workload, and that no request of its own failed."""
    summary = Summary(outcome["samples"])
    rated = per_cpu if contest.measure == PER_CPU else lambda cell: cell.per_second
    judged = [kind.name for kind in contest.peers if kind.name != "alone"]
    promise = f"{contest.measure} >= {contest.bar}x the best"
    verdicts = []
    for point in summary.points:
        own = summary.cell(point, "corral")
        cells = {name: cell for name in judged if (cell := summary.cell(point, name))}
        if not own or not cells:
            verdicts.append(Verdict(point.work, promise, "-", None))
            continue
        best = max(cells, key=lambda name: rated(cells[name]))
        ratio = rated(own) / rated(cells[best])
        verdicts.append(Verdict(point.work, promise, f"{ratio:.2f}x {best}", ratio >= contest.bar))
        verdicts.append(Verdict(point.work, "no failed request", str(own.failed), own.failed == 0))
    return verdicts or [Verdict(contest.name, promise, "-", None)]
