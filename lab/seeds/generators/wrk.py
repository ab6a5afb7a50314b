"""wrk: a closed loop on few threads."""

import re
from pathlib import Path

from ...load import parse_wrk
from ...servers import first_line
from .generator import CORES, TIMEOUT, Generator, Load, Outcome, search, seconds_of, whole_seconds, without_zeros

KINDS = ("connect", "read", "write", "timeout")


class Wrk(Generator):
    name = "wrk"
    package = "wrk"
    counts = "Counts statuses other than 2xx and 3xx and broken connections; bodies are not looked at."

    def version(self) -> str:
        return first_line(["wrk", "-v"]).split(" [")[0].removeprefix("wrk ")

    def cores(self, load: Load) -> int:
        return min(2, load.clients, CORES)

    def command(self, load: Load, folder: Path) -> list[str]:
        close = ["-H", "Connection: close"] if load.transport == "close" else []
        return ["wrk", f"-t{min(2, load.clients)}", f"-c{load.clients}", f"-d{whole_seconds(load)}s",
                "--timeout", f"{TIMEOUT}s", "--latency", "-H", f"Host: {load.host}", *close, load.url]  # fmt: skip

    def parse(self, finished, folder: Path) -> Outcome:
        text = finished.stdout
        total = parse_wrk(text)
        good = total.requests - total.failed
        return Outcome(good, _failures(text), total.seconds, total.per_second, _percentiles(text) if good else None)


def _failures(text: str) -> dict[str, int]:
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    statuses = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    failures = dict(zip(KINDS, map(int, errors.groups()), strict=True)) if errors else {}
    return without_zeros(failures | {"status not 2xx or 3xx": int(statuses[1]) if statuses else 0})


def _percentiles(text: str) -> dict[str, float]:
    rows = re.findall(r"^\s+(50|75|90|99)%\s+(\S+)$", text, re.M)
    longest = search(r"^\s+Latency\s+\S+\s+\S+\s+(\S+)", text)[1]
    return {percent: 1e6 * seconds_of(time) for percent, time in [*rows, ("100", longest)]}
