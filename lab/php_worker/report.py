"""One table for each application, workload and number of connections, and the bars."""

from collections.abc import Callable, Iterator
from statistics import median

from .. import tables
from ..summary import Cell, Summary
from ..tables import Verdict
from ..workloads import Point
from .applications import APPLICATIONS
from .contenders import CorralClassic, CorralUnguarded, CorralWorker, NginxFpm

WORKER, UNGUARDED, CLASSIC, FPM = (kind.name for kind in (CorralWorker, CorralUnguarded, CorralClassic, NginxFpm))

OWN = (WORKER, UNGUARDED, CLASSIC)

# Processor time of `hello` over that of PHP's own loop and the router together.
FLOOR_BAR = 1.3
# Requests per second of Laravel's JSON route over nginx + php-fpm's.
LARAVEL_BAR = 4.0
# Processor time with the guard's reports over that without a guard.
GUARD_BAR = 1.03

HEADINGS = ("server", "req/s", "spread", "ratio", "CPU us/req", "ratio", "router us/req", "workers us/req", "p99 ms", "failed")
WIDTHS = (26, 10, 8, 7, 12, 7, 15, 16, 9, 8)


def text(run: dict) -> str:
    parts = [
        *tables.machine(run),
        f"rounds {run['rounds']}, {run['seconds']} s each; {run['php_workers']} PHP workers; keep-alive",
        f"ratio: the server over {FPM} (requests/s above 1: faster; CPU below 1: cheaper)",
        "router: the process in front of the workers, in nginx + php-fpm nginx; workers: all other processes",
        "RoadRunner and Swoole are left out: they run loops of their own, which are not written here",
        *_floor(run),
    ]
    verdicts = []
    for application in APPLICATIONS:
        if outcome := run["contests"].get(application.name):
            parts += ["", application.name, *tables.servers(outcome), *_points(Summary(outcome["samples"]))]
            verdicts += [*judge(outcome, run["floor_us"]), none_failed(application.name, outcome)]
    return "\n".join([*parts, "", *tables.bars(verdicts)])


def _floor(run: dict) -> list[str]:
    if not (rounds := run["floor_us"]):
        return []
    return [f"PHP's own loop around the handler of hello: {median(rounds):.3f} us ({min(rounds):.3f} to {max(rounds):.3f})"]


def _points(summary: Summary) -> Iterator[str]:
    for point in summary.points:
        yield from ("", f"  {_name(point)}", tables.row(HEADINGS, WIDTHS))
        peer = summary.cell(point, FPM)
        for server in summary.servers:
            if cell := summary.cell(point, server):
                yield tables.row(_values(server, cell, peer), WIDTHS)
            if reasons := summary.failures_at(point, server):
                yield f"  {server:26}{len(reasons)} RUN(S) FAILED: {reasons[0]}"


def _name(point: Point) -> str:
    return f"{point.work}, c={point.connections}"


def _values(server: str, cell: Cell, peer: Cell | None) -> tuple[str, ...]:
    return (
        server,
        f"{cell.per_second:,.0f}",
        tables.spread(cell.slowest, cell.fastest, cell.per_second),
        f"{cell.per_second / peer.per_second:.2f}" if peer else "-",
        f"{cell.cpu_us:.1f}",
        f"{cell.cpu_us / peer.cpu_us:.2f}" if peer else "-",
        f"{cell.front_us:.1f}",
        f"{cell.cpu_us - cell.front_us:.1f}",
        f"{cell.p99_ms:.2f}",
        str(cell.failed),
    )


def judge(outcome: dict, floor_us: list[float]) -> list[Verdict]:
    """The promises about one application, at each of its points."""
    summary = Summary(outcome["samples"])
    verdicts = []
    for point in summary.points:
        if point.work.startswith("hello"):
            verdicts.append(_against_floor(summary, point, floor_us))
        if point.work == "laravel: JSON":
            verdicts.append(_against_fpm(summary, point))
        if point.work in ("hello: echo", "laravel: JSON"):
            verdicts.append(_guard(outcome["samples"], point))
    return verdicts


def _verdict(point: Point, promise: str, ratio: float | None, holds: Callable[[float], bool], told: str = "") -> Verdict:
    if ratio is None:
        return Verdict(_name(point), promise, "-", None)
    return Verdict(_name(point), promise, f"{ratio:.2f}x{told}", holds(ratio))


def _against_floor(summary: Summary, point: Point, floor_us: list[float]) -> Verdict:
    own = summary.cell(point, WORKER)
    ratio = own.cpu_us / (median(floor_us) + own.front_us) if own and floor_us else None
    return _verdict(point, f"CPU <= {FLOOR_BAR}x PHP's own loop plus router", ratio, lambda found: found <= FLOOR_BAR)


def _against_fpm(summary: Summary, point: Point) -> Verdict:
    own, peer = summary.cell(point, WORKER), summary.cell(point, FPM)
    ratio = own.per_second / peer.per_second if own and peer else None
    return _verdict(point, f"requests/s >= {LARAVEL_BAR}x {FPM}", ratio, lambda found: found >= LARAVEL_BAR)


def _guard(samples: list[dict], point: Point) -> Verdict:
    """Each round compared with itself: what the machine's other tenants do changes from one to the next."""
    cpu: dict[str, dict[int, float]] = {WORKER: {}, UNGUARDED: {}}
    for sample in samples:
        if (sample["work"], sample["connections"]) == (point.work, point.connections) and "error" not in sample:
            cpu.get(sample["server"], {})[sample["round"]] = sample["cpu_us"]
    ratios = [cpu[WORKER][number] / cpu[UNGUARDED][number] for number in cpu[WORKER] if number in cpu[UNGUARDED]]
    told = f" ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
    return _verdict(point, f"CPU with reports <= {GUARD_BAR}x guard off", median(ratios) if ratios else None,
                    lambda found: found <= GUARD_BAR, told)  # fmt: skip


def none_failed(name: str, outcome: dict) -> Verdict:
    """Corral's own requests and runs, in all modes."""
    own = [sample for sample in outcome["samples"] if sample["server"] in OWN]
    runs = sum("error" in sample for sample in own) + sum(server in outcome["refused"] for server in OWN)
    requests = sum(sample.get("failed", 0) for sample in own)
    passed = not runs and not requests if own or runs else None
    return Verdict(name, "nothing of Corral's fails", f"{requests} requests, {runs} runs", passed)
