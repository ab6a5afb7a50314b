"""One table of all points with ratios, one of the bars, from the raw samples."""

import math

from . import bars, tables
from .summary import Summary

HEADINGS = ("server", "req/s", "spread", "ratio", "p50 ms", "p99 ms", "failed", "CPU us/req", "memory MB")
WIDTHS = (15, 10, 9, 7, 9, 9, 8, 11, 10)


def text(run: dict) -> str:
    """The report of a whole run, as `bench` and `idle` leave it in the results file."""
    summary = Summary(run["samples"])
    parts = [_facts(run), _points(summary)]
    if run.get("idle"):
        parts.append(_idle(run["idle"]))
    if run.get("apply"):
        parts.append(_apply(run["apply"]))
    if run.get("scrapes"):
        parts.append(_scrapes(run["scrapes"]))
    if run.get("idle_sites"):
        parts.append(_idle_sites(run["idle_sites"]))
    parts.append(_bars(summary, run))
    return "\n".join(parts)


def _facts(run: dict) -> str:
    lines = [
        *tables.machine(run),
        f"rounds {run['rounds']}, {run['seconds']} s each, {run['php_workers']} PHP workers",
    ]
    lines += [f"  {name:15} {version}" for name, version in run["versions"].items()]
    return "\n".join(lines) + "\n"


def _known(milliseconds: float) -> str:
    """Not every generator tells percentiles."""
    return "-" if math.isnan(milliseconds) else f"{milliseconds:.2f}"


def _points(summary: Summary) -> str:
    lines = ["ratio: requests/s of corral over those of the server (above 1: corral is faster)"]
    for point in summary.points:
        lines += ["", f"{point.work}, {point.connections} connections, {point.mode}", tables.row(HEADINGS, WIDTHS)]
        own = summary.cell(point, "corral")
        for server in summary.servers:
            reasons = summary.failures_at(point, server)
            if cell := summary.cell(point, server):
                lines.append(tables.row((
                    server, f"{cell.per_second:,.0f}",
                    tables.spread(cell.slowest, cell.fastest, cell.per_second),
                    f"{own.per_second / cell.per_second:.2f}" if own else "-",
                    _known(cell.p50_ms), _known(cell.p99_ms), str(cell.failed),
                    f"{cell.cpu_us:.1f}", f"{cell.memory / 1e6:.0f}",
                ), WIDTHS))  # fmt: skip
            if reasons:
                lines.append(f"  {server:15} {len(reasons)} RUN(S) FAILED: {reasons[0]}")
    return "\n".join(lines) + "\n"


def _idle(rows: list[dict]) -> str:
    lines = ["idle keep-alive connections, each after one request",
             f"  {'server':15}{'held':>8}{'KiB each':>10}{'KiB PSS':>10}{'fresh request ms, without':>26}{'with them':>11}"]
    for row in rows:
        if "error" in row:
            lines.append(f"  {row['server']:15} FAILED: {row['error']}")
        else:
            lines.append(f"  {row['server']:15}{row['connections']:>8}{row['private_kib']:>10.2f}{row['pss_kib']:>10.2f}"
                         f"{row['fresh_without_ms']:>26.3f}{row['fresh_with_ms']:>11.3f}")
    return "\n".join(lines) + "\n"


def _apply(rows: list[dict]) -> str:
    lines = ["a change of a large configuration that starts no process"]
    for row in rows:
        outcome = row.get("error") or (f"{row['changes']} changes, median {row['median_ms']:.0f} ms, "
                                       f"slowest {row['slowest_ms']:.0f} ms")
        lines.append(f"  {row['routes']} routes: {outcome}")
    return "\n".join(lines) + "\n"


def _scrapes(rows: list[dict]) -> str:
    lines = ["metrics of many applications, read each second"]
    for row in rows:
        outcome = row.get("error") or (
            f"{row['cpu_ms']:.1f} ms of CPU each, {row['wall_ms']:.1f} ms, {row['bytes'] / 1e6:.1f} MB; p99 of requests "
            f"{row['p99_without_ms']:.3f} ms without, {row['p99_with_ms']:.3f} ms beside"
        )
        lines.append(f"  {row['applications']} applications of {row['processes']} processes: {outcome}")
    return "\n".join(lines) + "\n"


def _idle_sites(rows: list[dict]) -> str:
    lines = [f"{rows[0]['sites']} sites of as many users that nobody asks, each after one request"]
    for row in rows:
        memory = row.get("error") or f"{row['pss'] / 1e6:.0f} MB PSS, {row['pss'] / 1e6 / row['sites']:.2f} MB each"
        lines.append(f"  {row['server']:15}{row['how']:20}{memory}")
    return "\n".join(lines) + "\n"


def _bars(summary: Summary, run: dict) -> str:
    rows = [
        (f"{v.point.work} {v.point.connections} {v.point.mode}", v.against, v.promise, v.measured, v.passed)
        for v in bars.judge(summary)
    ]
    rows += [bar for row in run.get("idle", []) if row["server"] == "corral" for bar in _idle_bars(row)]
    rows += [_apply_bar(row) for row in run.get("apply", [])]
    rows += [_scrape_bar(row) for row in run.get("scrapes", [])]
    lines = ["bars"]
    for work, against, promise, measured, passed in rows:
        word = {True: "PASS", False: "MISS", None: "not measured"}[passed]
        lines.append(f"  {work:32}{against:16}{promise:26}{measured:>10}  {word}")
    n_missed = sum(row[4] is False for row in rows)
    lines.append(f"{sum(row[4] is True for row in rows)} bars held, {n_missed} missed")
    return "\n".join(lines)


def _apply_bar(row: dict) -> tuple[str, str, str, str, bool]:
    work, promise = f"apply {row['routes']} routes", "median < 200 ms"
    if "error" in row:
        return (work, "-", promise, "-", False)
    return (work, "-", promise, f"{row['median_ms']:.0f} ms", row["median_ms"] < 200)


def _scrape_bar(row: dict) -> tuple[str, str, str, str, bool]:
    work, promise = f"scrape {row['applications']} applications", "CPU < 20 ms"
    if "error" in row:
        return (work, "-", promise, "-", False)
    return (work, "-", promise, f"{row['cpu_ms']:.1f} ms", row["cpu_ms"] < 20)


def _idle_bars(row: dict) -> list[tuple[str, str, str, str, bool]]:
    work, memory, speed = "idle connections", "user memory < 1.5 KiB", "fresh request as fast"
    if "error" in row:
        return [(work, "-", promise, "-", False) for promise in (memory, speed)]
    slower = row["fresh_with_ms"] / row["fresh_without_ms"]
    return [
        (work, "-", memory, f"{row['private_kib']:.2f} KiB", row["private_kib"] < 1.5),
        # Medians of single requests differ by a tenth or two from one second to the next.
        (work, "-", speed, f"{slower:.2f}x", slower <= 1.25),
    ]
