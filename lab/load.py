"""Load generators: h2load over HTTP/2, wrk with keep-alive, ab (for several sites wrk) without, openssl for resumed sessions; their reports turned into numbers."""

import math
import re
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .workloads import CLOSE, HANDSHAKE, HTTP_1, KEEP_ALIVE, N_HOSTS, N_ROUTES, N_SITES, RESUMED, STREAMS, Point, route

RANDOM_ROUTE = Path(__file__).resolve().parent / "random_route.lua"
RANDOM_SITE = RANDOM_ROUTE.with_name("random_site.lua")

# The Connection header of a request.
CONNECTION = {KEEP_ALIVE: "keep-alive", CLOSE: "close"}

# One handshake after the other in each: enough to keep both sides busy.
RESUMING_PROCESSES = 8

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
    if point.scenario == "h2":
        return run_command(h2load_command(point, url, seconds), seconds, parse_h2load)
    # ab asks for one thing only.
    if point.mode == CLOSE and point.scenario != "owners":
        return run_command(ab_command(url, point.connections, seconds), seconds, parse_ab)
    if point.mode == RESUMED:
        return _run_s_time(url, seconds)
    return run_command(wrk_command(point, url, seconds), seconds, parse_wrk)


def wrk_command(point: Point, url: str, seconds: float) -> list[str]:
    options, arguments = [], []
    if point.mode == HANDSHAKE:
        options = ["-H", "Connection: close"]
    elif point.scenario == "owners":
        options, arguments = ["-s", str(RANDOM_SITE)], ["--", str(N_SITES), CONNECTION[point.mode]]
    elif point.work == "routes/random":
        options, arguments = ["-s", str(RANDOM_ROUTE)], ["--", str(N_ROUTES), str(N_HOSTS)]
    elif point.scenario == "routes":
        host, path = route(N_ROUTES - 1)
        options, url = ["-H", f"Host: {host}"], url + path
    return ["wrk", "-t2", f"-c{point.connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "--latency",
            *options, url, *arguments]


def ab_command(url: str, connections: int, seconds: float) -> list[str]:
    # -t first: it sets -n to 50,000. -l: phpinfo() is not of one length. -r: go on after an error, and count it.
    return ["ab", "-q", "-r", "-l", "-s", "10", "-t", str(max(1, round(seconds))), "-n", str(AB_MOST_REQUESTS),
            "-c", str(connections), url]


def h2load_command(point: Point, url: str, seconds: float) -> list[str]:
    how = ["--h1"] if point.mode == HTTP_1 else ["-m", str(STREAMS[point.mode])]
    return ["h2load", "-t1", "-c", str(point.connections), "-D", str(max(1, round(seconds))), *how, url]


def run_command(command: list[str], seconds: float, parse) -> Load:
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


def _run_s_time(url: str, seconds: float) -> Load:
    """Several `openssl s_time`, which go on for up to a second more than they are told: the clock is ours."""
    parts = urlsplit(url)
    command = ["openssl", "s_time", "-connect", parts.netloc, "-reuse", "-time", str(max(1, round(seconds))),
               "-www", parts.path]  # fmt: skip
    started = time.monotonic()
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for _ in range(RESUMING_PROCESSES)]
    try:
        texts = [process.communicate(timeout=seconds + 60)[0] for process in running]
    except subprocess.TimeoutExpired as error:
        raise LoadFailed("openssl s_time did not end") from error
    finally:
        for process in running:
            process.kill()
    elapsed = time.monotonic() - started
    counts = [parse_s_time(text) for text in texts]
    return Load(sum(counts), 0, elapsed, math.nan, math.nan)


def parse_s_time(text: str) -> int:
    """How many connections there were, all of them resumed and answered."""
    _, _, text = text.partition("starting\n")
    found = _search(r"^(\d+) connections in \d+ real seconds, (\d+) bytes read per connection", text)
    marks = text.partition("\n")[0]
    if int(found[2]) < 1024 or set(marks) - {"r"} or not marks:
        raise LoadFailed(f"sessions were not resumed or not answered: {text.strip()[:100]}")
    return int(found[1])


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


def parse_h2load(text: str) -> Load:
    """The tool reports no percentiles."""
    counts = _search(r"^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded", text)
    finished = _search(r"^finished in ([\d.]+)(us|ms|s|m|h),", text)
    done, succeeded = int(counts[1]), int(counts[2])
    return Load(done, done - succeeded, _milliseconds(finished[1], finished[2]) / 1000, math.nan, math.nan)


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
