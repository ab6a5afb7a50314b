"""ApacheBench: one thread, HTTP/1.0."""

import re
from pathlib import Path

from ...servers import first_line
from .generator import TIMEOUT, Generator, Load, Outcome, search, whole_seconds, without_zeros

# ab reserves memory for each request that it may make.
MOST_REQUESTS = 2_000_000
TOLD = ("50", "75", "90", "95", "99")


class Ab(Generator):
    name = "ab"
    package = "apache2-utils"
    counts = "Counts statuses other than 2xx and broken connections; lengths are not compared, as those of right answers differ."

    def version(self) -> str:
        return search(r"Version (\S+)", first_line(["ab", "-V"]))[1]

    def cores(self, load: Load) -> int:
        return 1

    def command(self, load: Load, folder: Path) -> list[str]:
        # -t first: it sets -n to 50,000. -r: go on after an error, and count it.
        keep = ["-k"] if load.transport == "keep-alive" else []
        return ["ab", "-q", "-r", "-l", *keep, "-s", str(TIMEOUT), "-t", str(whole_seconds(load)),
                "-n", str(MOST_REQUESTS), "-c", str(load.clients), "-H", f"Host: {load.host}",
                "-e", str(folder / "ab.csv"), load.url]  # fmt: skip

    def parse(self, finished, folder: Path) -> Outcome:
        text, table = finished.stdout, folder / "ab.csv"
        total = int(search(r"^Complete requests:\s+(\d+)", text)[1])
        seconds = float(search(r"^Time taken for tests:\s+([\d.]+) seconds", text)[1])
        failures = _failures(text)
        good = max(0, total - sum(failures.values()))
        percentiles = _percentiles(table.read_text(), text) if good and table.exists() else None
        table.unlink(missing_ok=True)
        return Outcome(good, failures, seconds, good / seconds, percentiles)


def _failures(text: str) -> dict[str, int]:
    kinds = re.search(r"\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)", text)
    connect, receive, length, exceptions = map(int, kinds.groups()) if kinds else (0, 0, 0, 0)
    statuses = re.search(r"^Non-2xx responses:\s+(\d+)", text, re.M)
    failures = {"status not 2xx": int(statuses[1]) if statuses else 0, "connect": connect, "receive": receive,
                "length": length, "exception": exceptions}  # fmt: skip
    unnamed = int(search(r"^Failed requests:\s+(\d+)", text)[1]) - connect - receive - length - exceptions
    return without_zeros(failures | {"other": max(0, unnamed)})


def _percentiles(table: str, text: str) -> dict[str, float]:
    """The table has fractions of milliseconds; the report, which alone has the longest, whole ones."""
    rows = dict(line.split(",") for line in table.splitlines()[1:])
    longest = search(r"^\s*100%\s+(\d+)", text)
    return {percent: 1000 * float(rows[percent]) for percent in TOLD} | {"100": 1000 * float(longest[1])}
