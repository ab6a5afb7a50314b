"""A run: rounds of all cells, then what is measured once. Each record is written as soon as it is known, and what is
written already is not measured again."""

import time
from pathlib import Path

from ..bench import in_turn
from . import chosen, histogram, records
from .extras import Extras, name_of
from .fleet import Fleet
from .generators import Outcome
from .plan import Extra, Plan
from .progress import Progress
from .records import Cell, Histogram, Records, Sample
from .sampling import Sampler
from .servers import SeedServer
from .workloads import WORKLOADS, Site, Workload


class Contest:
    """One run, new or resumed: `found` is what its file contains already."""

    def __init__(
        self, plan: Plan, site: Site, kinds: dict[str, type[SeedServer]], path: Path, found: Records,
        workloads: dict[str, Workload] = WORKLOADS,
    ):  # fmt: skip
        self._plan = plan
        self._workloads = workloads
        self._path = path
        self._started = found.run.epoch
        self._measured = {(sample.cell, sample.round) for sample in found.samples}
        self._told = {record.server for record in found.servers}
        self._extras = {name_of(record) for record in (*found.ramps, *found.slow, *found.idle, *found.sites)}
        self._histograms = {record.cell: record.counts for record in found.histograms}
        self._site = site
        self._fleet = Fleet(site, kinds, self._tell_server)
        n_steps = plan.n_samples + len(plan.extras)
        self._progress = Progress(n_steps, plan.time_of_steps)

    def measure(self) -> None:
        """An interruption stops all servers; the file remains."""
        folder = self._site.folder / "generators"
        folder.mkdir(exist_ok=True)
        with self._fleet:
            sampler = Sampler(self._fleet, self._workloads, self._plan.seconds_of, folder)
            for number in range(self._plan.rounds):
                for column in self._plan.columns:
                    for cell in in_turn([cell for cell in column if number < self._plan.rounds_of(cell)], number):
                        self._round(sampler, cell, number)
            extras = Extras(self._fleet, self._site, folder)
            for extra in self._plan.extras:
                self._once(extras, extra)
        self._keep(records.Done(self._at()))
        records.compact(self._path)

    def _round(self, sampler: Sampler, cell: Cell, number: int) -> None:
        planned = self._plan.cell_time(cell)
        if (cell, number) in self._measured:
            self._progress.skip(planned)
            return
        sample, outcome = sampler.take(cell, number, self._at())
        self._keep(sample)
        if outcome and outcome.histogram:
            self._keep_histogram(cell, outcome)
        self._progress.step(cell.name, _words(sample), planned)

    def _keep_histogram(self, cell: Cell, outcome: Outcome) -> None:
        counts = histogram.merged(self._histograms.get(cell, []), outcome.histogram)
        self._histograms[cell] = counts
        self._keep(Histogram(cell.server, cell.workload, cell.transport, cell.tool, cell.clients, counts))

    def _once(self, extras: Extras, extra: Extra) -> None:
        planned = self._plan.extra_time(extra)
        if extra.name in self._extras:
            self._progress.skip(planned)
            return
        record = extras.measure(extra)
        self._keep(record)
        self._progress.step(extra.name, record.error or "measured", planned)

    def _tell_server(self, server: SeedServer) -> None:
        if server.name in self._told:
            self._progress.say(f"{server.name} was started again")
            return
        self._told.add(server.name)
        self._keep(server_record(server))
        self._progress.say(f"{server.name} answers")

    def _keep(self, record: records.Record) -> None:
        records.append(self._path, record)

    def _at(self) -> float:
        return round(time.time() - self._started, 1)


def server_record(server: SeedServer) -> records.Server:
    told = ("setting", "per_second", "cpu_us", "chosen")
    tuning = [{key: row[key] for key in told} for row in chosen.rows(server.name)]
    return records.Server(server.name, server.title, server.family, server.version(), server.files(), tuning)


def _words(sample: Sample) -> str:
    if sample.error:
        return f"NO FIGURES: {sample.error}"
    p99 = (sample.percentiles_us or {}).get("99")
    tail = f" p99 {p99 / 1000:.1f} ms" if p99 else ""
    void = f" VOID: {sample.void}" if sample.void else ""
    return f"{sample.per_second:,.0f} req/s {sum(sample.cpu_us.values()):,.0f} us{tail}{void}"
