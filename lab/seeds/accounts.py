"""The accounts of processes: their parents, their processor time, and their context switches."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from ..measure import TICKS_PER_SECOND

# The parent of the kernel's own threads.
KERNEL_THREADS = 2


@dataclass(frozen=True)
class Process:
    parent: int
    # Seconds of processor time, in steps of a tick: its own, and that of children that were reaped.
    own: float
    reaped: float
    is_threaded: bool


def processes() -> dict[int, Process]:
    """All that exist. There are thousands while many servers wait, so this is a plain loop."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat_fields(entry)):
            own, reaped = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
            found[int(entry)] = Process(
                int(fields[1]), own / TICKS_PER_SECOND, reaped / TICKS_PER_SECOND, is_threaded=fields[17] != b"1")
    return found


def _stat_fields(entry: str) -> list[bytes] | None:
    """Fields as `processes.stat_fields` has them, in half its time."""
    try:
        descriptor = os.open(f"/proc/{entry}/stat", os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        return os.read(descriptor, 1024).rpartition(b")")[2].split()
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)


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


@dataclass
class Fine:
    """One process, more exactly than in ticks: hundreds of processes have less than a tick each."""

    own: float
    # Context switches of threads; those of a thread that has ended are lost.
    voluntary: int = 0
    involuntary: int = 0

    @classmethod
    def of(cls, pid: int, process: Process) -> "Fine":
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


def cpu_by_role(table: dict[int, Process], fine: dict[int, Fine], role_of: Callable[[int], str]) -> dict[str, float]:
    """Time of children that were reaped goes to the role of those that are still there."""
    roles = {pid: role_of(pid) for pid in fine}
    of_children = {table[pid].parent: role for pid, role in roles.items()}
    found: dict[str, float] = {}
    for pid, role in roles.items():
        heir = of_children.get(pid, role)
        found[role] = found.get(role, 0.0) + fine[pid].own
        found[heir] = found.get(heir, 0.0) + table[pid].reaped
    return found


def seconds(table: dict[int, Process], pids: set[int]) -> float:
    return sum(table[pid].own + table[pid].reaped for pid in pids)


def others(table: dict[int, Process], known: set[int]) -> float:
    """Seconds of all other processes. The kernel's own threads work for everyone, and this process accounts for itself."""
    kernel = trees(table, [KERNEL_THREADS])
    return seconds(table, table.keys() - known - kernel - {os.getpid()})
