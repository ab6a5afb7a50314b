"""The plan of a run: which server is asked for what, by which tool, and how long all of it takes."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .records import Cell

USUAL = 100
FEWER_ROUNDS = 3

# Where a second has few requests, those that are not answered at its end would count for much: samples are longer.
SLOW_WORKLOADS, LONGER = ("wordpress", "wordpress-rest", "upload-60m"), 3

# Seconds beside the load of a sample: the answer is verified twice, the processes are warmed up and looked at, and the
# last answers are waited for. Many clients wait longer, and so do those that send 60 MB.
BESIDE = 1.4
BESIDE_MANY, MANY = 3.0, 500
BESIDE_LARGE_UPLOADS = 4.0
TO_START = 6.0
# For each candidate of the sweep, of which the best are tried once more.
TO_TRY = 8.0
TO_BEGIN, TO_END = 30.0, 15.0
IDLE_CONNECTIONS = 10_000
SLOW_CLIENTS = 500
N_SITES = 50
TO_HOLD_IDLE, TO_BE_SLOW, TO_ASK_SITES = 14.0, 26.0, 12.0

HOUR = 3600.0


@dataclass(frozen=True)
class Offer:
    """A server, and the loads that it can be asked for."""

    server: str
    serves: frozenset[str]
    transports: frozenset[str]
    is_telling: bool
    # Settings that its sweep tries.
    n_candidates: int = 0


@dataclass(frozen=True)
class Column:
    """One load for several servers."""

    workload: str
    clients: int = USUAL
    tool: str = "tank"
    transport: str = "keep-alive"
    # For all servers, and not for the telling ones alone.
    is_for_all: bool = False

    def cells(self, offers: Iterable[Offer]) -> list[Cell]:
        asked = [offer for offer in offers if self._can(offer) and (self.is_for_all or offer.is_telling)]
        return [Cell(each.server, self.workload, self.transport, self.tool, self.clients) for each in asked]

    def _can(self, offer: Offer) -> bool:
        return self.workload in offer.serves and self.transport in offer.transports


@dataclass(frozen=True)
class Extra:
    """A measurement that is made once: "ramp" (with a workload and a profile), "slow", "idle" or "sites"."""

    kind: str
    server: str
    workload: str = ""
    profile: str = ""

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.kind, self.server, self.workload, self.profile)))


@dataclass(frozen=True)
class Plan:
    name: str
    rounds: int
    seconds: float
    # Each column's cells are measured one after the other.
    columns: list[list[Cell]]
    extras: list[Extra]
    # Servers with fewer rounds.
    with_fewer_rounds: frozenset[str] = frozenset()
    # Candidates of the sweep before the first round.
    n_candidates: int = 0
    # The length of each profile of a ramp.
    ramp_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def cells(self) -> list[Cell]:
        return [cell for column in self.columns for cell in column]

    @property
    def servers(self) -> set[str]:
        return {each.server for each in (*self.cells, *self.extras)}

    @property
    def digest(self) -> str:
        """The same for the same measurements."""
        parts = [self.name, str(self.rounds), str(self.seconds)]
        names = [f"{self.rounds_of(cell)} {cell.name}" for cell in self.cells] + [extra.name for extra in self.extras]
        return hashlib.sha256("\n".join([*parts, *names]).encode()).hexdigest()[:16]

    def rounds_of(self, cell: Cell) -> int:
        return min(self.rounds, FEWER_ROUNDS) if cell.server in self.with_fewer_rounds else self.rounds

    @property
    def n_samples(self) -> int:
        return sum(map(self.rounds_of, self.cells))

    def seconds_of(self, cell: Cell) -> float:
        """The length of a sample."""
        return self.seconds * (LONGER if cell.workload in SLOW_WORKLOADS else 1)

    def cell_time(self, cell: Cell) -> float:
        """Seconds of one sample with all that belongs to it."""
        beside = BESIDE_MANY if cell.clients >= MANY else BESIDE
        return self.seconds_of(cell) + (BESIDE_LARGE_UPLOADS if cell.workload == "upload-60m" else beside)

    def extra_time(self, extra: Extra) -> float:
        known = {"slow": TO_BE_SLOW, "idle": TO_HOLD_IDLE, "sites": TO_ASK_SITES}
        return known.get(extra.kind) or self.ramp_seconds[extra.profile]

    @property
    def time(self) -> float:
        once = TO_BEGIN + TO_END + TO_TRY * self.n_candidates + TO_START * len(self.servers)
        return once + self.time_of_steps

    @property
    def time_of_steps(self) -> float:
        """Seconds of all samples and extras."""
        return sum(map(self._time_of_rounds, self.cells)) + sum(map(self.extra_time, self.extras))

    def _time_of_rounds(self, cell: Cell) -> float:
        return self.rounds_of(cell) * self.cell_time(cell)

    def only(self, texts: list[str]) -> "Plan":
        """The measurements whose name contains one of the texts."""

        def is_asked_for(name: str) -> bool:
            return any(text in name for text in texts)

        columns = [[cell for cell in column if is_asked_for(cell.name)] for column in self.columns]
        extras = [extra for extra in self.extras if is_asked_for(extra.name)]
        return replace(self, name=f"part of {self.name}", columns=list(filter(None, columns)), extras=extras, n_candidates=0)

    def text(self) -> str:
        fewer = f"; {FEWER_ROUNDS} for {', '.join(sorted(self.with_fewer_rounds))}" if self.with_fewer_rounds else ""
        lines = [
            f"{self.name}: {len(self.cells)} cells, {self.n_samples} samples of {self.seconds:g} s, {words(self.time)}",
            f"  {self.rounds} rounds{fewer}",
        ]
        if self.n_candidates:
            lines.append(_row("settings tried", f"{self.n_candidates}", TO_TRY * self.n_candidates))
        for column in self.columns:
            first = column[0]
            load = f"{first.workload}, {first.transport}, {first.clients} clients, {first.tool}"
            lines.append(_row(load, f"{len(column)} servers", sum(map(self._time_of_rounds, column))))
        for kind in dict.fromkeys(extra.kind for extra in self.extras):
            chosen = [extra for extra in self.extras if extra.kind == kind]
            lines.append(_row(kind, f"{len(chosen)} times", sum(map(self.extra_time, chosen))))
        return "\n".join(lines)


def _row(name: str, number: str, seconds: float) -> str:
    return f"  {name:<52} {number:>11} {seconds / 60:6.1f} min"


def words(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
