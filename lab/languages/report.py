"""One table for each language and workload, and the bars."""

from dataclasses import dataclass

from ..summary import Cell, Summary
from .contests import CONTESTS, PER_CPU, Contest

HEADINGS = ("server", "req/s", "spread", "ratio", "req/CPU s", "ratio", "CPU us/req", "p99 ms", "failed", "MB/worker")
WIDTHS = (18, 10, 8, 7, 11, 7, 12, 9, 8, 11)


@dataclass(frozen=True)
class Verdict:
    """One judged promise. `passed` is None where something was not measured."""

    work: str
    promise: str
    measured: str
    passed: bool | None


def text(run: dict) -> str:
    machine = run["machine"]
    parts = [
        f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, {run['started']}",
        f"rounds {run['rounds']}, {run['seconds']} s each; {run['workers']} workers of {run['threads']} thread(s), "
        f"programs with one process; 100 connections, keep-alive; load generator on the same cores",
        f"load average before the run: {machine['load_before']:.2f}",
        "ratio: corral over the server (above 1: corral is better)",
    ]
    verdicts = []
    for contest in CONTESTS:
        if outcome := run["contests"].get(contest.name):
            parts += ["", *_contest(contest, outcome)]
            verdicts += judge(contest, outcome)
    return "\n".join([*parts, "", *_bars(verdicts)])


def _contest(contest: Contest, outcome: dict) -> list[str]:
    lines = [contest.name]
    lines += [f"  {name:18} {version}" for name, version in outcome["versions"].items()]
    lines += [f"  {name:18} NOT MEASURED: missing {what}" for name, what in outcome["absent"].items()]
    lines += [f"  {name:18} NOT MEASURED: {reason}" for name, reason in outcome["refused"].items()]
    summary = Summary(outcome["samples"])
    for point in summary.points:
        lines += ["", f"  {point.work}", _row(HEADINGS)]
        own = summary.cell(point, "corral")
        for server in summary.servers:
            if cell := summary.cell(point, server):
                lines.append(_row(_values(server, cell, own, outcome["worker_memory"].get(server))))
            if reasons := summary.failures_at(point, server):
                lines.append(f"  {server:18}{len(reasons)} RUN(S) FAILED: {reasons[0]}")
    return lines


def per_cpu(cell: Cell) -> float:
    return 1e6 / cell.cpu_us if cell.cpu_us else float("inf")


def _values(server: str, cell: Cell, own: Cell | None, memory: float | None) -> tuple[str, ...]:
    return (
        server,
        f"{cell.per_second:,.0f}",
        f"{100 * (cell.fastest - cell.slowest) / cell.per_second:.0f}%",
        f"{own.per_second / cell.per_second:.2f}" if own else "-",
        f"{per_cpu(cell):,.0f}",
        f"{per_cpu(own) / per_cpu(cell):.2f}" if own else "-",
        f"{cell.cpu_us:.1f}",
        f"{cell.p99_ms:.2f}",
        str(cell.failed),
        "-" if memory is None else f"{memory / 1e6:.1f}",
    )


def _row(values: tuple[str, ...]) -> str:
    first, *rest = values
    return "  " + first.ljust(WIDTHS[0]) + "".join(v.rjust(w) for v, w in zip(rest, WIDTHS[1:], strict=True))


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


def _bars(verdicts: list[Verdict]) -> list[str]:
    lines = ["bars"]
    for verdict in verdicts:
        word = {True: "PASS", False: "MISS", None: "not measured"}[verdict.passed]
        lines.append(f"  {verdict.work:26}{verdict.promise:44}{verdict.measured:>24}  {word}")
    n_passed, n_missed = (sum(verdict.passed is wanted for verdict in verdicts) for wanted in (True, False))
    return [*lines, f"{n_passed} bars held, {n_missed} missed"]
