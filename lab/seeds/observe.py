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
        self._memory = _MemoryOverTime(interval)

    def __enter__(self) -> "Watch":
        self._memory.begin(accounts.trees(accounts.processes(), self._subject.roots))
        self._before = _Snapshot(self._subject)
        return self

    def __exit__(self, *_) -> None:
        self._after = _Snapshot(self._subject)
        self._memory.end(self._after.server)

    def observed(self) -> Observed:
        before, after = self._before, self._after
        return Observed(
            seconds=after.begun - before.ended,
            cpu={role: max(0.0, after.cpu[role] - before.cpu.get(role, 0.0)) for role in after.cpu},
            switches={kind: max(0, after.switches[kind] - before.switches[kind]) for kind in after.switches},
            memory_mb=self._memory.points,
            stolen=machine.stolen(before.stat, after.stat),
            others=self._others(),
        )

    def _others(self) -> float:
        """The share of processes that are read at the same point of both snapshots, and of this process between both."""
        before, after = self._before, self._after
        used = max(0.0, after.others - before.others) / (after.begun - before.begun)
        own = (after.own_begun - before.own_ended) / (after.begun - before.ended)
        return min(1.0, (used + own) / len(os.sched_getaffinity(0)))


class _Snapshot:
    """Among thousands of processes, it takes long enough to be left out of the time between two."""

    def __init__(self, subject: Subject):
        self.begun, self.own_begun = time.monotonic(), time.process_time()
        self.stat = machine.stat()
        table = accounts.processes()
        self.server, databases = accounts.trees(table, subject.roots), accounts.trees(table, subject.databases)
        self.others = accounts.others(table, self.server | databases)
        fine = {pid: accounts.Fine.of(pid, table[pid]) for pid in self.server}
        self.cpu = accounts.cpu_by_role(table, fine, subject.role_of)
        self.switches = {
            "voluntary": sum(process.voluntary for process in fine.values()),
            "involuntary": sum(process.involuntary for process in fine.values()),
        }
        if databases:
            self.cpu[DATABASE] = accounts.seconds(table, databases)
        self.ended, self.own_ended = time.monotonic(), time.process_time()


class _MemoryOverTime:
    """Points of time and megabytes: before the load, some meanwhile, and after it.

    Meanwhile, only processes from before the load are looked at. A server of hundreds of processes takes long to look at:
    it is looked at after the load alone.
    """

    def __init__(self, interval: float):
        self._interval = interval
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self.points: list[list[float]] = []

    def begin(self, pids: set[int]) -> None:
        self._started = time.monotonic()
        if len(pids) <= MANY_PROCESSES:
            cost = self._look(pids)
            self._thread = threading.Thread(target=self._look_on, args=(pids, cost), daemon=True)
            self._thread.start()

    def end(self, pids: set[int]) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()
        self._look(pids)

    def _look_on(self, pids: set[int], cost: float) -> None:
        while not self._done.wait(max(self._interval, cost / MOST_LOOKING)) and len(self.points) < MOST_POINTS - 1:
            cost = self._look(pids)

    def _look(self, pids: set[int]) -> float:
        """Returns the seconds that it took."""
        started = time.monotonic()
        pss = measure.memory_of(pids).pss
        self.points.append([round(started - self._started, 2), round(pss / 1e6, 1)])
        return time.monotonic() - started
