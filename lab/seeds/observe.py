"""The machine and a server's processes while a load goes on: processor time by role, context switches, memory, and how
much of the machine others took."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .. import measure
from . import accounts, machine

MOST_POINTS = 12

MANY_PROCESSES = 200

# The part of its time that may be spent on looking at memory.
MOST_LOOKING = 0.02

DATABASE = "database"


@dataclass(frozen=True)
class Subject:
    """The processes that a load is about."""

    roots: list[int]
    role_of: Callable[[int], str]
    databases: list[int] = field(default_factory=list)


@dataclass
class Observed:
    seconds: float
    # Seconds of processor time by role.
    cpu: dict[str, float]
    # Numbers of context switches of the server: "voluntary", "involuntary".
    switches: dict[str, int]
    memory_mb: list[list[float]]
    stolen: float
    others: float


class Watch:
    """Observes from its beginning to its end; what it does itself happens before and after that, but for memory."""

    def __init__(self, subject: Subject, interval: float):
        self._subject = subject
        self._memory = _MemoryOverTime(subject.roots, interval)

    def __enter__(self) -> "Watch":
        self._memory.begin()
        self._before = _Snapshot(self._subject)
        return self

    def __exit__(self, *_) -> None:
        self._after = _Snapshot(self._subject)
        self._memory.end()

    def observed(self) -> Observed:
        before, after = self._before, self._after
        seconds = after.at - before.at
        all_seconds = seconds * len(os.sched_getaffinity(0))
        return Observed(
            seconds=seconds,
            cpu={role: max(0.0, after.cpu[role] - before.cpu.get(role, 0.0)) for role in after.cpu},
            switches={kind: max(0, after.switches[kind] - before.switches[kind]) for kind in after.switches},
            memory_mb=self._memory.points,
            stolen=machine.stolen(before.stat, after.stat),
            others=min(1.0, max(0.0, after.others - before.others) / all_seconds),
        )


class _Snapshot:
    def __init__(self, subject: Subject):
        self.at = time.monotonic()
        self.stat = machine.stat()
        table = accounts.processes()
        server, databases = accounts.trees(table, subject.roots), accounts.trees(table, subject.databases)
        self.others = accounts.others(table, server | databases)
        fine = {pid: accounts.Fine.of(pid, table[pid]) for pid in server}
        self.cpu = accounts.cpu_by_role(table, fine, subject.role_of)
        self.switches = {
            "voluntary": sum(process.voluntary for process in fine.values()),
            "involuntary": sum(process.involuntary for process in fine.values()),
        }
        if databases:
            self.cpu[DATABASE] = accounts.seconds(table, databases)


class _MemoryOverTime:
    """Points of time and megabytes: before the load, some meanwhile, and after it. A server of hundreds of processes takes
    long to look at: it is looked at less often, and not before the load."""

    def __init__(self, roots: list[int], interval: float):
        self._roots = roots
        self._interval = interval
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self.points: list[list[float]] = []

    def begin(self) -> None:
        self._started = time.monotonic()
        pids = self._pids()
        if len(pids) <= MANY_PROCESSES:
            self._cost = self._look(pids)
            self._thread.start()

    def end(self) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._look(self._pids())

    def _look_on(self) -> None:
        while not self._done.wait(max(self._interval, self._cost / MOST_LOOKING)) and len(self.points) < MOST_POINTS - 1:
            started = time.monotonic()
            self._look(self._pids())
            self._cost = time.monotonic() - started

    def _pids(self) -> set[int]:
        return accounts.trees(accounts.processes(), self._roots)

    def _look(self, pids: set[int]) -> float:
        """Returns the seconds that it took."""
        started = time.monotonic()
        pss = measure.memory_of(pids).pss
        self.points.append([round(started - self._started, 2), round(pss / 1e6, 1)])
        return time.monotonic() - started
