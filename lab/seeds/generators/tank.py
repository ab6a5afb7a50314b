"""corral-tank, the generator of this lab: looks at each body, and says so when it was the limit itself."""

import json
import os
from pathlib import Path

from ...load import LoadFailed
from ...servers import REPOSITORY, first_line
from .generator import CORES, TIMEOUT, Generator, Load, Outcome, without_zeros


class Tank(Generator):
    name = "tank"
    package = "cargo build --release -p corral-tank"
    counts = "Counts by kind all that is not status 200 with the expected text in its body."
    transports = frozenset({"keep-alive", "close", "tls", "h2"})
    sends_bodies = True

    @property
    def executable(self) -> str:
        return os.environ.get("LAB_TANK", str(REPOSITORY / "target/release/corral-tank"))

    def missing(self) -> str | None:
        return None if Path(self.executable).exists() else f"{self.executable} ({self.package})"

    def version(self) -> str:
        return first_line([self.executable, "--version"]).split()[-1]

    @property
    def threads(self) -> int:
        """One makes tens of thousands of requests a second; the servers need the other cores."""
        return max(1, CORES // 2)

    def cores(self, load: Load) -> int:
        return min(self.threads, load.clients)

    def command(self, load: Load, folder: Path) -> list[str]:
        milliseconds = round(1000 * load.seconds)
        return [*self.request(load, folder), "--connections", str(load.clients), "--duration", f"{milliseconds}ms",
                load.url]  # fmt: skip

    def request(self, load: Load, folder: Path, timeout: float = TIMEOUT) -> list[str]:
        """The command without the load itself, and without the URL."""
        options = ["--threads", str(self.threads), "--timeout", f"{round(1000 * timeout)}ms", "--expect-status", "200",
                   "--json", str(folder / "tank.json"), "--header", f"Host: {load.host}"]  # fmt: skip
        if load.expected:
            options += ["--expect-body", load.expected.decode()]
        if load.body:
            options += ["--method", load.method, "--body", str(load.body), "--header", f"Content-Type: {load.body_type}"]
        return [self.executable, *options, *TRANSPORTS[load.transport]]

    def accepts_status(self, status: int) -> bool:
        # 1: no request was answered, which the report tells.
        return status in (0, 1)

    def parse(self, finished, folder: Path) -> Outcome:
        found = read_report(folder)
        # Requests that were under way at the end are answered as well, but not within the time.
        per_second = found["per_second"]["answered"] * found["good"] / max(1, found["answered"])
        times = found["response_time"]
        percentiles = {**times["percentiles"], "100": times["max"]} if found["good"] else None
        return Outcome(found["good"], failures(found), found["seconds"], per_second, percentiles, times["histogram"],
                       limit=found["generator"]["limit"])  # fmt: skip


TRANSPORTS = {"keep-alive": [], "close": ["--no-keep-alive"], "tls": ["--insecure"], "h2": ["--insecure", "--http2"]}


def read_report(folder: Path) -> dict:
    path = folder / "tank.json"
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise LoadFailed(f"corral-tank gave no report: {error}") from error
    finally:
        path.unlink(missing_ok=True)


def failures(found: dict) -> dict[str, int]:
    """By kind, and bad statuses one by one."""
    kinds = {kind.replace("_", " "): number for kind, number in found["failures"].items() if kind != "status"}
    statuses = {f"status {status}": number for status, number in found["statuses"].items() if status != "200"}
    return without_zeros(kinds | statuses)
