"""The plan of a run: which server is asked for what, by which tool, and how long all of it takes.

Not each combination is worth its time. Every server has each of its workloads at one level. Six levels of clients, the
tools of the articles, transports, and all five rounds are for the servers that tell most; the others have three rounds.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .records import Cell

LEVELS = (10, 50, 100, 200, 500, 1000)
USUAL = 100
# Where one request takes a tenth of a second or more: others would only wait.
FEW = 10

# One of each way to run PHP. Servers that are only there because a variable names them are among these if time allows.
TELLING = ("corral-php", "corral-worker", "corral-fpm", "apache-prefork-mod_php", "apache-event-fpm", "nginx-fpm-socket")
USUAL_FAMILIES = ("corral", "apache", "nginx", "caddy", "varnish")
ARTICLES_TOOLS = ("ab", "siege", "wrk")
FEWER_ROUNDS = 3
# Servers that lab.owners can set up with a user for each site.
WITH_OWNERS = ("corral-php", "nginx-fpm-socket", "apache-itk-mod_php")

# Seconds beside the load of a sample: the answer is verified twice, the processes are warmed up and looked at, and the
# last answers are waited for. Many clients wait longer, and so do those that send 60 MB.
BESIDE = 1.4
BESIDE_MANY, MANY = 3.0, 500
BESIDE_LARGE_UPLOADS = 5.0
TO_START = 6.0
TO_TUNE = 600.0
TO_BEGIN, TO_END = 30.0, 15.0
IDLE_CONNECTIONS = 10_000
SLOW_CLIENTS = 500
N_SITES = 50
TO_HOLD_IDLE, TO_BE_SLOW, TO_ASK_SITES = 14.0, 26.0, 12.0

HOUR = 3600.0


@dataclass(frozen=True)
class Offer:
    """What a server can be asked for."""

    server: str
    serves: frozenset[str]
    transports: frozenset[str]
    is_telling: bool


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
    is_tuned: bool = False
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

    def cell_time(self, cell: Cell) -> float:
        """Seconds of one sample."""
        if cell.workload == "upload-60m":
            return self.seconds + BESIDE_LARGE_UPLOADS
        return self.seconds + (BESIDE_MANY if cell.clients >= MANY else BESIDE)

    def extra_time(self, extra: Extra) -> float:
        known = {"slow": TO_BE_SLOW, "idle": TO_HOLD_IDLE, "sites": TO_ASK_SITES}
        return known.get(extra.kind) or self.ramp_seconds[extra.profile]

    @property
    def time(self) -> float:
        once = TO_BEGIN + TO_END + (TO_TUNE if self.is_tuned else 0) + TO_START * len(self.servers)
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
        return replace(self, name=f"part of {self.name}", columns=list(filter(None, columns)), extras=extras, is_tuned=False)

    def text(self) -> str:
        lines = [f"{self.name}: {self.rounds} rounds of {self.seconds:g} s, {len(self.cells)} cells, {words(self.time)}"]
        for column in self.columns:
            first, time = column[0], sum(map(self._time_of_rounds, column))
            load = f"{first.workload}, {first.transport}, {first.clients} clients, {first.tool}"
            lines.append(f"  {load:<52} {len(column):>2} servers {time / 60:5.1f} min")
        for kind in dict.fromkeys(extra.kind for extra in self.extras):
            chosen = [extra for extra in self.extras if extra.kind == kind]
            lines.append(f"  {kind:<52} {len(chosen):>2} times   {sum(map(self.extra_time, chosen)) / 60:5.1f} min")
        return "\n".join(lines)


def words(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"


def full(offers: list[Offer], ramp_seconds: dict[str, float]) -> Plan:
    """Three hours at most: it aims at a quarter less, as machines differ."""
    return _fitted([_full(each, ramp_seconds, seconds) for each in _poorer(offers) for seconds in (3.0, 2.0, 1.0)], 2.25 * HOUR)


def _full(offers: list[Offer], ramp_seconds: dict[str, float], seconds: float) -> Plan:
    columns = [
        *_every_workload(is_for_all=True),
        *(Column(work, clients) for work in ("echoes", "mysql", "phpinfo") for clients in LEVELS if clients != USUAL),
        *(Column("echoes", clients, tool, "close") for tool in ARTICLES_TOOLS for clients in (USUAL, 1000)),
        *(Column(work, transport=how) for work in ("file-1k", "echoes") for how in ("close", "tls", "h2")),
    ]
    ramps = [("laravel", "standard"), ("laravel", "stress"), ("mysql", "standard"), ("mysql", "stress")]
    extras = [*_ramps(offers, ramps), *_others(offers)]
    others = frozenset(offer.server for offer in offers if not offer.is_telling)
    return Plan("full", 5, seconds, _measured(columns, offers), extras, others, True, ramp_seconds)


def quick(offers: list[Offer], ramp_seconds: dict[str, float]) -> Plan:
    """Twenty minutes: three rounds, the telling servers, the others on one workload."""
    return _fitted([_quick(each, ramp_seconds, seconds) for each in _poorer(offers) for seconds in (2.0, 1.0)], 18 * 60)


def _quick(offers: list[Offer], ramp_seconds: dict[str, float], seconds: float) -> Plan:
    columns = [
        Column("echoes", is_for_all=True),
        *(Column(work) for work in ("phpinfo", "mysql", "laravel", "file-1k", "upload-64k")),
        Column("wordpress", FEW),
        *(Column("echoes", clients) for clients in (10, 1000)),
        *(Column("echoes", USUAL, tool, "close") for tool in ARTICLES_TOOLS),
        Column("file-1k", transport="h2"),
    ]
    few = [offer for offer in offers if offer.server in ("corral-php", "nginx-fpm-socket")]
    extras = [*_ramps(few, [("laravel", "stress")]), *(Extra("slow", offer.server) for offer in few)]
    return Plan("quick", 3, seconds, _measured(columns, offers), extras, ramp_seconds=ramp_seconds)


def _poorer(offers: list[Offer]) -> list[list[Offer]]:
    """The offers, and again with fewer telling servers, for where there is no time for more."""
    few = [replace(offer, is_telling=offer.is_telling and offer.server in TELLING) for offer in offers]
    return [offers, few]


def _fitted(plans: list[Plan], target: float) -> Plan:
    """The richest plan that fits into the target."""
    return next((plan for plan in plans if plan.time <= target), plans[-1])


def _every_workload(*, is_for_all: bool) -> list[Column]:
    usual = ("phpinfo", "echoes", "sort", "mysql", "mysql-persistent", "laravel", "lumen", "file-1k", "file-100k", "upload-64k")
    slow = ("wordpress", "wordpress-rest", "upload-60m")
    clients = dict.fromkeys(usual, USUAL) | dict.fromkeys(slow, FEW)
    return [Column(work, number, is_for_all=is_for_all) for work, number in clients.items()]


def _measured(columns: list[Column], offers: list[Offer]) -> list[list[Cell]]:
    return list(filter(None, (column.cells(offers) for column in columns)))


def _ramps(offers: list[Offer], ramps: list[tuple[str, str]]) -> list[Extra]:
    return [
        Extra("ramp", offer.server, workload, profile)
        for workload, profile in ramps
        for offer in offers
        if offer.is_telling and workload in offer.serves
    ]


def _others(offers: list[Offer]) -> list[Extra]:
    telling = [offer for offer in offers if offer.is_telling]
    slow = [Extra("slow", offer.server) for offer in telling if "echoes" in offer.serves]
    idle = [Extra("idle", offer.server) for offer in telling if "file-1k" in offer.serves]
    sites = [Extra("sites", offer.server) for offer in offers if offer.server in WITH_OWNERS]
    return [*slow, *idle, *sites]


PLANS = {"full": full, "quick": quick}
