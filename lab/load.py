"""Load generators: wrk with keep-alive, ab without; their reports turned into numbers."""

import re
import subprocess
from dataclasses import asdict, dataclass

from .workloads import CLOSE, Point

# ab reserves memory for each request that it may make.
AB_MOST_REQUESTS = 2_000_000


class LoadFailed(Exception):
    """The generator gave no usable report."""


@dataclass(frozen=True)
class Load:
    """One run. `failed` counts requests without a 2xx or 3xx answer, whatever the reason."""

    requests: int
    failed: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        """Good answers in a second."""
        return (self.requests - self.failed) / self.seconds

    def as_dict(self) -> dict:
        return {**asdict(self), "per_second": self.per_second}


def run(point: Point, url: str, seconds: float) -> Load:
    if point.mode == CLOSE:
        return _run(ab_command(url, point.connections, seconds), seconds, parse_ab)
    return _run(wrk_command(url, point.connections, seconds), seconds, parse_wrk)


def wrk_command(url: str, connections: int, seconds: float) -> list[str]:
    return ["wrk", "-t2", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "--latency", url]


def ab_command(url: str, connections: int, seconds: float) -> list[str]:
    # -t first: it sets -n to 50,000. -l: phpinfo() is not of one length. -r: go on after an error, and count it.
    return ["ab", "-q", "-r", "-l", "-s", "10", "-t", str(max(1, round(seconds))), "-n", str(AB_MOST_REQUESTS),
            "-c", str(connections), url]


def _run(command: list[str], seconds: float, parse) -> Load:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60)
    except subprocess.TimeoutExpired as error:
        raise LoadFailed(f"{command[0]} did not end") from error
    if done.returncode != 0:
        raise LoadFailed(f"{' '.join(command)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    load = parse(done.stdout)
    if load.requests - load.failed <= 0:
        raise LoadFailed(f"{command[0]}: no request succeeded ({load.failed} failed)")
    return load


def parse_wrk(text: str) -> Load:
    done = _search(r"^\s*(\d+) requests in ([\d.]+)(us|ms|s|m|h),", text)
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    socket_errors = sum(map(int, errors.groups())) if errors else 0
    n_bad = int(bad[1]) if bad else 0
    return Load(
        # wrk counts answers; what ended in a socket error was asked as well.
        requests=int(done[1]) + socket_errors,
        failed=n_bad + socket_errors,
        seconds=_milliseconds(done[2], done[3]) / 1000,
        p50_ms=_wrk_percentile(text, 50),
        p99_ms=_wrk_percentile(text, 99),
    )


def _wrk_percentile(text: str, percent: int) -> float:
    found = _search(rf"^\s*{percent}%\s+([\d.]+)(us|ms|s|m|h)", text)
    return _milliseconds(found[1], found[2])


def parse_ab(text: str) -> Load:
    bad = re.search(r"^Non-2xx responses:\s+(\d+)", text, re.M)
    return Load(
        requests=int(_search(r"^Complete requests:\s+(\d+)", text)[1]),
        failed=int(_search(r"^Failed requests:\s+(\d+)", text)[1]) + (int(bad[1]) if bad else 0),
        seconds=float(_search(r"^Time taken for tests:\s+([\d.]+) seconds", text)[1]),
        p50_ms=float(_search(r"^\s*50%\s+(\d+)", text)[1]),
        p99_ms=float(_search(r"^\s*99%\s+(\d+)", text)[1]),
    )


def _milliseconds(number: str, unit: str) -> float:
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}[unit]


def _search(pattern: str, text: str) -> re.Match:
    found = re.search(pattern, text, re.M)
    if not found:
        raise LoadFailed(f"report without {pattern!r}: {text.strip()[-300:]}")
    return found
