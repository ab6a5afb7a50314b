"""The common part of load generators: the load that is asked for, and the figures that come back."""

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from ...load import LoadFailed
from .process import Finished, run

# Seconds after which an answer is not waited for any more.
TIMEOUT = 10

CORES = len(os.sched_getaffinity(0))

# The share of its cores from which a generator is the limit, and that of a thread's time in which it ran or waited for
# a core. Beyond either, answers waited for the generator.
MOST_USED = 0.90
MOST_BUSY = 0.95


@dataclass(frozen=True)
class Load:
    """One request, made over and over by a number of clients for some seconds."""

    url: str
    host: str
    # "keep-alive", "close", "tls" or "h2".
    transport: str
    clients: int
    seconds: float
    # A text that every right answer contains.
    expected: bytes = b""
    method: str = "GET"
    body: Path | None = None
    body_type: str = ""


@dataclass
class Outcome:
    """The generator's report of a run."""

    good: int
    # By kind.
    failures: dict[str, int]
    seconds: float
    # Good answers.
    per_second: float
    percentiles_us: dict[str, float] | None = None
    # Pairs of nanoseconds and a number of answers, where the tool tells them.
    histogram: list[list[int]] = field(default_factory=list)
    # Cores that it used.
    cpu: float = 0.0
    # The reason why it was the limit itself, if it was.
    limit: str | None = None


class Generator:
    """A command, and how its report is read."""

    name = ""
    # The failures that it sees, and those that it cannot see.
    counts = ""
    package = ""
    transports = frozenset({"keep-alive", "close"})
    sends_bodies = False
    # Seconds beside those of the load after which a run has hung, and how often a run is begun.
    patience = 6 * TIMEOUT
    attempts = 1

    def env(self, folder: Path) -> dict[str, str]:
        return {}

    @property
    def executable(self) -> str:
        return self.name

    def missing(self) -> str | None:
        return None if shutil.which(self.executable) else f"{self.package} (scripts/setup bench)"

    def version(self) -> str:
        raise NotImplementedError

    def command(self, load: Load, folder: Path) -> list[str]:
        """Files that the command reads or writes are in the folder."""
        raise NotImplementedError

    def parse(self, finished: Finished, folder: Path) -> Outcome:
        raise NotImplementedError

    def cores(self, load: Load) -> int:
        """The number of cores that its threads can use."""
        raise NotImplementedError

    def accepts_status(self, status: int) -> bool:
        """Some reports are whole although the command failed."""
        return status == 0

    def run(self, load: Load, folder: Path) -> Outcome:
        command = self.command(load, folder)
        finished = run(command, load.seconds + self.patience, self.env(folder))
        if not self.accepts_status(finished.status):
            raise LoadFailed(f"{self.name} gave up, status {finished.status}: {finished.last_words}")
        try:
            outcome = self.parse(finished, folder)
        except (ArithmeticError, LookupError, ValueError) as error:
            raise LoadFailed(f"{self.name}'s report was not understood: {error!r}") from error
        outcome.cpu = finished.cpu_seconds / finished.elapsed
        outcome.limit = outcome.limit or self._limit(outcome, finished, self.cores(load))
        return outcome

    def _limit(self, outcome: Outcome, finished: Finished, cores: int) -> str | None:
        if outcome.cpu >= MOST_USED * cores:
            return f"{self.name} used {outcome.cpu:.2f} of the {cores} cores that it can use"
        if finished.busiest >= MOST_BUSY:
            share = f"{100 * finished.busiest:.0f} %"
            return f"{self.name}'s busiest thread ran or waited for a processor {share} of the time"
        return None


def seconds_of(text: str) -> float:
    """The seconds of a time as wrk writes it: 12.34us, 1.5ms, 2.00s, 1.0m."""
    found = re.fullmatch(r"([\d.]+)(us|ms|s|m|h)", text)
    if not found:
        raise LoadFailed(f"not a time: {text!r}")
    return float(found[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}[found[2]]


def search(pattern: str, text: str) -> re.Match:
    found = re.search(pattern, text, re.M)
    if not found:
        raise LoadFailed(f"report without {pattern!r}: {text.strip()[-300:]}")
    return found


def without_zeros(failures: dict[str, int]) -> dict[str, int]:
    return {kind: number for kind, number in failures.items() if number}


def whole_seconds(load: Load) -> int:
    return max(1, round(load.seconds))
