"""The plan of a run: which server is asked for what, by which tool, and how long all of it takes.

Not each combination is worth its time. Every server has each of its workloads at one level. Six levels of clients, the
tools of the articles, and transports are for the servers that tell most, on the workloads that tell most.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .records import Cell

LEVELS = (10, 50, 100, 200, 500, 1000)
USUAL = 100
# Each of them holds a body in memory or on disk.
UPLOADERS = 10

# One of each way to run PHP; servers that are only there because a variable names them are always among these.
TELLING = ("corral-php", "corral-worker", "corral-fpm", "apache-prefork-mod_php", "apache-event-fpm", "nginx-fpm-socket")
USUAL_FAMILIES = ("corral", "apache", "nginx", "varnish")
ARTICLES_TOOLS = ("ab", "siege", "wrk")
# Servers that lab.owners can set up with a user for each site.
WITH_OWNERS = ("corral-php", "nginx-fpm-socket", "apache-itk-mod_php")

# Seconds beside the load of a sample: the answer is verified twice, the processes are warmed up and looked at.
BESIDE = 1.3
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
    family: str
    serves: frozenset[str]
    transports: frozenset[str]
    # Named by the command line.
    is_asked_for: bool = False

    @property
    def is_telling(self) -> bool:
        return self.is_asked_for or self.server in TELLING or self.family not in USUAL_FAMILIES


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
        names = [each.name for each in (*self.cells, *self.extras)]
        return hashlib.sha256("\n".join([*parts, *names]).encode()).hexdigest()[:16]

    def cell_time(self, cell: Cell) -> float:
        """Seconds of one sample."""
        return self.seconds + (BESIDE_LARGE_UPLOADS if cell.workload == "upload-60m" else BESIDE)

    def extra_time(self, extra: Extra) -> float:
        known = {"slow": TO_BE_SLOW, "idle": TO_HOLD_IDLE, "sites": TO_ASK_SITES}
        return known.get(extra.kind) or self.ramp_seconds[extra.profile]

    @property
    def time(self) -> float:
        once = TO_BEGIN + TO_END + (TO_TUNE if self.is_tuned else 0) + TO_START * len(self.servers)
        samples = self.rounds * sum(map(self.cell_time, self.cells))
        return once + samples + sum(map(self.extra_time, self.extras))

    def only(self, texts: list[str]) -> "Plan":
        """The measurements whose name contains one of the texts."""

        def is_asked_for(name: str) -> bool:
            return any(text in name for text in texts)

        columns = [[cell for cell in column if is_asked_for(cell.name)] for column in self.columns]
        extras = [extra for extra in self.extras if is_asked_for(extra.name)]
        return replace(self, name=f"part of {self.name}", columns=list(filter(None, columns)), extras=extras, is_tuned=False)

    def fitted(self, target: float) -> "Plan":
        """With samples as long as fit into the target; a second at least."""
        lengths = (replace(self, seconds=seconds) for seconds in (4.0, 3.0, 2.0))
        return next((plan for plan in lengths if plan.time <= target), replace(self, seconds=1.0))

    def text(self) -> str:
        lines = [f"{self.name}: {self.rounds} rounds of {self.seconds:g} s, {len(self.cells)} cells, {words(self.time)}"]
        for column in self.columns:
            first, time = column[0], self.rounds * sum(map(self.cell_time, column))
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
    columns = [
        *_every_workload(is_for_all=True),
        *(Column(work, clients) for work in ("echoes", "mysql", "phpinfo") for clients in LEVELS if clients != USUAL),
        *(Column("echoes", clients, tool, "close") for tool in ARTICLES_TOOLS for clients in (USUAL, 1000)),
        *(Column("phpinfo", USUAL, tool, "close") for tool in ARTICLES_TOOLS),
        *(Column(work, transport=how) for work in ("file-1k", "echoes") for how in ("close", "tls", "h2")),
        *(Column("file-100k", transport=how) for how in ("tls", "h2")),
    ]
    ramps = [("laravel", "standard"), ("laravel", "stress"), ("mysql", "standard"), ("mysql", "stress")]
    extras = [*_ramps(offers, ramps), *_others(offers)]
    plan = Plan("full", 5, 1.0, _measured(columns, offers), extras, True, ramp_seconds)
    return plan.fitted(2.25 * HOUR)


def quick(offers: list[Offer], ramp_seconds: dict[str, float]) -> Plan:
    """Twenty minutes: three rounds, the telling servers, the others on one workload."""
    columns = [
        Column("echoes", is_for_all=True),
        *(column for column in _every_workload(is_for_all=False) if column.workload not in ("echoes", "sort", "upload-60m")),
        *(Column("echoes", clients) for clients in (10, 1000)),
        *(Column("echoes", USUAL, tool, "close") for tool in ARTICLES_TOOLS),
        *(Column("file-1k", transport=how) for how in ("tls", "h2")),
    ]
    few = [offer for offer in offers if offer.server in ("corral-php", "nginx-fpm-socket")]
    extras = [*_ramps(few, [("laravel", "stress")]), *(Extra("slow", offer.server) for offer in few)]
    return Plan("quick", 3, 1.0, _measured(columns, offers), extras, False, ramp_seconds)


def _every_workload(*, is_for_all: bool) -> list[Column]:
    usual = ("phpinfo", "echoes", "sort", "mysql", "mysql-persistent", "laravel", "lumen", "wordpress", "wordpress-rest",
             "file-1k", "file-100k", "upload-64k")  # fmt: skip
    large = Column("upload-60m", UPLOADERS, is_for_all=is_for_all)
    return [*(Column(work, is_for_all=is_for_all) for work in usual), large]


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
