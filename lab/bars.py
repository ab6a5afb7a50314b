"""Bars that Corral promises against each peer, judged by the medians of one run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .summary import Cell, Summary
from .workloads import HTTP_1, KEEP_ALIVE, Point, all_points, h2_points, owners_points, pool_points, proxy_points, routing_points, tls_points

FPM_AND_APACHE = ("apache+mod_php", "apache+fpm", "nginx+fpm")


@dataclass(frozen=True)
class Verdict:
    """One judged promise. `passed` is None where something was not measured."""

    point: Point
    against: str
    promise: str
    measured: str
    passed: bool | None


def judge(summary: Summary) -> list[Verdict]:
    return [verdict for rule in _rules() for verdict in rule(summary)]


Rule = Callable[[Summary], Iterator[Verdict]]


def _rules() -> list[Rule]:
    hello = Point("hello.php", 100, KEEP_ALIVE)
    small, large = Point("1k.txt", 100, KEEP_ALIVE), Point("100k.txt", 100, KEEP_ALIVE)
    rules = [
        _rate(hello, ("apache+mod_php",), 1.8),
        _cpu(hello, "apache+mod_php", 0.6),
        _p99(hello, "apache+mod_php"),
        _rate(hello, ("nginx+fpm",), 2.5),
        _cpu(hello, "nginx+fpm", 0.5),
        _rate(hello, ("unit",), 1.3),
    ]
    loop_points = [p for p in all_points() if p.work == "loop.php"]
    rules += [_per_cpu_of("corral+php-cgi", point, "apache+fcgid", 1.3) for point in (hello, *loop_points)]
    rules += [_rate(point, FPM_AND_APACHE, 1.15) for point in loop_points]
    rules += [_none_failed(point) for point in loop_points]
    rules += [_rate(p, FPM_AND_APACHE, 1.0) for p in all_points() if p.work == "phpinfo.php"]
    rules += [_rate(small, ("nginx",), 1.2), _cpu(small, "nginx", 1.0), _rate(large, ("nginx",), 1.0)]
    rules += [_rate(point, ("nginx",), 5.0) for point in routing_points() if point.work.startswith("routes/")]
    rules += [_rate(point, ("nginx",), 1.0) for point in tls_points()]
    rules += [_per_cpu(point, "nginx", 1.2) for point in proxy_points()]
    for point in pool_points():
        rules += [_per_cpu(point, "nginx", 1.1), _none_failed(point)]
        if point.connections == 1000:
            rules.append(_p99(point, "nginx"))
    h2 = [point for point in h2_points() if not point.is_php and point.mode != "m=1"]
    rules += [_cpu(point, "nginx", 0.9) for point in h2]
    rules.append(_own_cpu(Point("h2/hello.php", 10, "m=10"), Point("h2/hello.php", 100, HTTP_1), 1.15))
    one, *owners = owners_points()
    rules += [_rate(point, ("apache+itk",), 20.0) for point in owners]
    rules += [_own_rate(owners[0], one, 0.9)]
    return rules


def _rate(point: Point, peers: tuple[str, ...], bar: float) -> Rule:
    def rule(summary: Summary) -> Iterator[Verdict]:
        cells = {peer: cell for peer in peers if (cell := summary.cell(point, peer))}
        if not cells:
            return
        best = max(cells, key=lambda peer: cells[peer].per_second)
        yield _compare(summary, point, best, f"requests/s >= {bar}x", lambda own, peer: own.per_second / peer.per_second,
                       lambda ratio: ratio >= bar, "{:.2f}x")  # fmt: skip

    return rule


def _own_rate(point: Point, other: Point, bar: float) -> Rule:
    """Our own rates at two points."""

    def rule(summary: Summary) -> Iterator[Verdict]:
        own, reference = summary.cell(point, "corral"), summary.cell(other, "corral")
        if own and reference:
            ratio = own.per_second / reference.per_second
            yield Verdict(point, f"{other.work}", f"requests/s >= {bar}x", f"{ratio:.2f}x", ratio >= bar)

    return rule


def _own_cpu(point: Point, other: Point, bar: float) -> Rule:
    """The same work at two points, by us."""

    def rule(summary: Summary) -> Iterator[Verdict]:
        own, reference = summary.cell(point, "corral"), summary.cell(other, "corral")
        if own and reference:
            ratio = own.cpu_us / reference.cpu_us
            yield Verdict(point, f"{other.mode}", f"CPU/request <= {bar}x", f"{ratio:.2f}x", ratio <= bar)

    return rule


def _cpu(point: Point, peer: str, bar: float) -> Rule:
    def rule(summary: Summary) -> Iterator[Verdict]:
        if summary.cell(point, peer):
            yield _compare(summary, point, peer, f"CPU/request <= {bar}x", lambda own, other: own.cpu_us / other.cpu_us,
                           lambda ratio: ratio <= bar, "{:.2f}x")  # fmt: skip

    return rule


def _per_cpu(point: Point, peer: str, bar: float) -> Rule:
    """Requests that a second of processor time is enough for."""

    def rule(summary: Summary) -> Iterator[Verdict]:
        if summary.cell(point, peer):
            yield _compare(summary, point, peer, f"requests/CPU s >= {bar}x", lambda own, other: other.cpu_us / own.cpu_us,
                           lambda ratio: ratio >= bar, "{:.2f}x")  # fmt: skip

    return rule


def _per_cpu_of(name: str, point: Point, peer: str, bar: float) -> Rule:
    """The same of another server of ours, which does the work as the peer does it."""

    def rule(summary: Summary) -> Iterator[Verdict]:
        own, other = summary.cell(point, name), summary.cell(point, peer)
        if own and other:
            ratio = other.cpu_us / own.cpu_us
            yield Verdict(point, f"{peer} ({name})", f"requests/CPU s >= {bar}x", f"{ratio:.2f}x", ratio >= bar)

    return rule


def _p99(point: Point, peer: str) -> Rule:
    def rule(summary: Summary) -> Iterator[Verdict]:
        if summary.cell(point, peer):
            yield _compare(summary, point, peer, "p99 lower", lambda own, other: own.p99_ms / other.p99_ms,
                           lambda ratio: ratio < 1, "{:.2f}x")  # fmt: skip

    return rule


def _none_failed(point: Point) -> Rule:
    def rule(summary: Summary) -> Iterator[Verdict]:
        own = summary.cell(point, "corral")
        if own or summary.failures_at(point, "corral"):
            failed = own.failed if own else None
            yield Verdict(point, "-", "no failed request", "no run" if failed is None else str(failed), failed == 0)

    return rule


def _compare(
    summary: Summary,
    point: Point,
    peer: str,
    promise: str,
    ratio_of: Callable[[Cell, Cell], float],
    holds: Callable[[float], bool],
    form: str,
) -> Verdict:
    own, other = summary.cell(point, "corral"), summary.cell(point, peer)
    assert other is not None, "the caller looked"
    if own is None:
        # A run of ours that failed misses its bar; one that was not asked for says nothing.
        passed = False if summary.failures_at(point, "corral") else None
        return Verdict(point, peer, promise, "-", passed)
    ratio = ratio_of(own, other)
    return Verdict(point, peer, promise, form.format(ratio), holds(ratio))
