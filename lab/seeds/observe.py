"""The machine and a server's processes while a load goes on: processor time by role, context switches, memory, and how
much of the machine others took."""

import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .. import bench, measure
from ..measure import TICKS_PER_SECOND
from ..processes import stat_fields

MOST_POINTS = 12

MANY_PROCESSES = 200

# The part of its time that may be spent on looking at memory.
MOST_LOOKING = 0.02

DATABASE = "database"
KERNEL_THREADS = 2


@dataclass(frozen=True)
class Process:
    parent: int
    # Seconds of processor time, in steps of a tick: its own, and that of children that were reaped.
    own: float
    reaped: float
    is_threaded: bool


def processes() -> dict[int, Process]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := stat_fields(int(entry))):
            own, reaped = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
            found[int(entry)] = Process(
                int(fields[1]), own / TICKS_PER_SECOND, reaped / TICKS_PER_SECOND, is_threaded=fields[17] != "1")
    return found


def trees(table: dict[int, Process], roots: list[int]) -> set[int]:
    """The roots that exist and all their descendants."""
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    found, pending = set(), [root for root in roots if root in table]
    while pending:
        pid = pending.pop()
        found.add(pid)
        pending.extend(children.get(pid, []))
    return found


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
            stolen=_stolen(before.stat, after.stat),
            others=min(1.0, max(0.0, after.others - before.others) / all_seconds),
        )


class _Snapshot:
    def __init__(self, subject: Subject):
        self.at = time.monotonic()
        self.stat = _stat()
        table = processes()
        server, databases = trees(table, subject.roots), trees(table, subject.databases)
        self.others = _others(table, server | databases)
        fine = {pid: _Fine.of(pid, table[pid]) for pid in server}
        self.cpu = _cpu_by_role(table, fine, subject.role_of)
        self.switches = {
            "voluntary": sum(process.voluntary for process in fine.values()),
            "involuntary": sum(process.involuntary for process in fine.values()),
        }
        if databases:
            self.cpu[DATABASE] = _seconds(table, databases)


@dataclass
class _Fine:
    """One process, more exactly than in ticks: hundreds of processes have less than a tick each."""

    own: float
    # Context switches of threads; those of a thread that has ended are lost.
    voluntary: int = 0
    involuntary: int = 0

    @classmethod
    def of(cls, pid: int, process: Process) -> "_Fine":
        found, of_threads = cls(process.own), 0
        try:
            threads = os.listdir(f"/proc/{pid}/task") if process.is_threaded else [str(pid)]
            for thread in threads:
                of_threads += found._add_thread(f"/proc/{pid}/task/{thread}")
        except (FileNotFoundError, ProcessLookupError):
            pass
        # Ticks include threads that have ended.
        found.own = max(found.own, of_threads / 1e9)
        return found

    def _add_thread(self, folder: str) -> int:
        """Returns its nanoseconds of processor time."""
        with open(f"{folder}/status", "rb") as file:
            lines = file.read().rsplit(b"\n", 3)
        self.voluntary += int(lines[1].partition(b":")[2])
        self.involuntary += int(lines[2].partition(b":")[2])
        with open(f"{folder}/schedstat", "rb") as file:
            return int(file.read().split()[0])


def _cpu_by_role(table: dict[int, Process], fine: dict[int, _Fine], role_of: Callable[[int], str]) -> dict[str, float]:
    """Time of children that were reaped goes to the role of those that are still there."""
    roles = {pid: role_of(pid) for pid in fine}
    of_children = {table[pid].parent: role for pid, role in roles.items()}
    found: dict[str, float] = {}
    for pid, role in roles.items():
        heir = of_children.get(pid, role)
        found[role] = found.get(role, 0.0) + fine[pid].own
        found[heir] = found.get(heir, 0.0) + table[pid].reaped
    return found


def _seconds(table: dict[int, Process], pids: set[int]) -> float:
    return sum(table[pid].own + table[pid].reaped for pid in pids)


def _others(table: dict[int, Process], known: set[int]) -> float:
    """Seconds of all other processes. The kernel's own threads work for everyone; children that this process has reaped
    are generators."""
    kernel = trees(table, [KERNEL_THREADS])
    pids = table.keys() - known - kernel - {os.getpid()}
    return _seconds(table, pids) + table[os.getpid()].own


def _stat() -> list[int]:
    with open("/proc/stat") as file:
        return [int(each) for each in file.readline().split()[1:9]]


def _stolen(before: list[int], after: list[int]) -> float:
    """The eighth number of proc(5)'s stat."""
    total = sum(after) - sum(before)
    return (after[7] - before[7]) / total if total else 0.0


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
        if len(trees(processes(), self._roots)) > MANY_PROCESSES:
            return
        self._cost = self._look()
        self._thread.start()

    def end(self) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._look()

    def _look_on(self) -> None:
        while not self._done.wait(max(self._interval, self._cost / MOST_LOOKING)) and len(self.points) < MOST_POINTS - 1:
            self._cost = self._look()

    def _look(self) -> float:
        started = time.monotonic()
        pss = measure.memory_of(trees(processes(), self._roots)).pss
        self.points.append([round(started - self._started, 2), round(pss / 1e6, 1)])
        return time.monotonic() - started


def machine() -> dict:
    """The facts that must be the same in a run that is resumed, and the load that there was."""
    names = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return {**bench.machine(), "os": names.get("PRETTY_NAME", "").strip('"')}


def noise(repetitions: int = 10) -> dict[str, float]:
    """A fixed piece of work, done again and again while nothing else is measured."""
    before, times = _stat(), []
    for _ in range(repetitions):
        started = time.perf_counter()
        _piece_of_work()
        times.append(time.perf_counter() - started)
    return {"spread": (max(times) - min(times)) / statistics.median(times), "stolen": _stolen(before, _stat())}


def _piece_of_work() -> int:
    total = 0
    for number in range(1_000_000):
        total += number * number % 7
    return total
