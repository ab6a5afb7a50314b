"""One sample: the server's answer is verified, its processes are warmed up, and observed while a generator asks."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..load import LoadFailed
from ..servers import ServerFailed
from . import verdict
from .fleet import Fleet, death
from .generators import GENERATORS, Generator, Load, Outcome
from .generators.process import Hung
from .observe import Observed, Watch
from .records import Cell, Sample
from .servers import SeedServer
from .servers.verify import fault
from .workloads import Workload

WARM_UP = 0.5
# Points of memory in a sample.
N_POINTS = 8
MOST_WORDS = 300


class Sampler:
    """Takes samples; `folder` is for the files of generators."""

    def __init__(self, fleet: Fleet, workloads: dict[str, Workload], seconds_of: Callable[[Cell], float], folder: Path):
        self._fleet = fleet
        self._workloads = workloads
        self._seconds_of = seconds_of
        self._folder = folder

    def take(self, cell: Cell, round_number: int, at: float) -> tuple[Sample, Outcome | None]:
        """A sample, and the generator's report if it gave one."""
        sample = Sample(cell.server, cell.workload, cell.transport, cell.tool, cell.clients, round_number, at)
        try:
            server = self._fleet.get(cell.server)
        except ServerFailed as error:
            return _failed(sample, f"{verdict.DIED} at its start: {error}"), None
        try:
            outcome = self._measure(cell, server, sample)
        except (LoadFailed, OSError) as error:
            gone = death(server)
            return _failed(sample, f"{verdict.DIED}: {gone}" if gone else str(error)), None
        if gone := death(server):
            return _failed(sample, f"{verdict.DIED}: {gone}"), None
        return sample, outcome

    def _measure(self, cell: Cell, server: SeedServer, sample: Sample) -> Outcome:
        workload, generator = self._workloads[cell.workload], GENERATORS[cell.tool]
        if wrong := fault(server, workload, cell.transport):
            raise LoadFailed(f"{verdict.WRONG} before the run: {wrong}")
        load = load_of(cell, server, workload, self._seconds_of(cell))
        if not workload.body:
            GENERATORS["tank"].run(replace(load, seconds=WARM_UP), self._folder)
        outcome, observed = self._observe(generator, load, server, generator.attempts)
        fill(sample, outcome, observed)
        wrong = None if death(server) else fault(server, workload, cell.transport)
        sample.void = _void(sample, wrong, outcome.limit)
        return outcome

    def _observe(self, generator: Generator, load: Load, server: SeedServer, attempts: int) -> tuple[Outcome, Observed]:
        """A generator that is known to hang now and then has several attempts."""
        watch = Watch(self._fleet.subject(server), load.seconds / N_POINTS)
        try:
            with watch:
                outcome = generator.run(load, self._folder)
        except Hung:
            if attempts <= 1:
                raise
            return self._observe(generator, load, server, attempts - 1)
        return outcome, watch.observed()


def _void(sample: Sample, wrong: str | None, limit: str | None) -> str | None:
    """Other load comes before the generator's limit: a generator that waits for a processor may be its victim."""
    if wrong:
        return f"{verdict.WRONG} after the run: {wrong}"[:MOST_WORDS]
    return verdict.void(sample) or (f"{verdict.SATURATED}: {limit}" if limit else None)


def load_of(cell: Cell, server: SeedServer, workload: Workload, seconds: float) -> Load:
    url = server.url(workload.name, cell.transport)
    return Load(url, workload.host, cell.transport, cell.clients, seconds, workload.expected, workload.method,
                workload.body, workload.body_type)  # fmt: skip


def fill(sample: Sample, outcome: Outcome, observed: Observed) -> None:
    """Figures of the generator and of the machine; costs are those of each good answer."""
    each = 1 / max(1, outcome.good)
    sample.seconds = outcome.seconds
    sample.good = outcome.good
    sample.failures = outcome.failures
    sample.per_second = outcome.per_second
    sample.percentiles_us = outcome.percentiles_us
    sample.cpu_us = {role: 1e6 * used * each for role, used in observed.cpu.items()}
    sample.switches = {kind: number * each for kind, number in observed.switches.items()}
    sample.memory_mb = observed.memory_mb
    sample.generator_cpu = outcome.cpu
    sample.stolen = observed.stolen
    sample.others = observed.others


def _failed(sample: Sample, words: str) -> Sample:
    sample.void = None
    sample.error = re.sub(r"\s+", " ", words)[:MOST_WORDS]
    return sample
