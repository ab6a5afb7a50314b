"""The cost of a server: processor time and memory over all of its processes."""

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .processes import stat_fields, tree

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots: list[int]) -> float:
    """Processor time so far of the trees below `roots`, with that of children that have been reaped."""
    return cpu_seconds_of(_pids(roots))


def cpu_seconds_of(pids: list[int]) -> float:
    """Processor time so far of these processes, with that of children that have been reaped."""
    ticks = 0
    for pid in pids:
        if fields := stat_fields(pid):
            # utime, stime, cutime, cstime: fields 14 to 17 of proc(5).
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS_PER_SECOND


@dataclass(frozen=True)
class Memory:
    """Bytes, summed over processes."""

    pss: int
    private: int


def memory(roots: list[int]) -> Memory:
    return memory_of(_pids(roots))


def memory_of(pids: Iterable[int]) -> Memory:
    pss = private = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        for line in lines:
            key, _, rest = line.partition(":")
            if key == "Pss":
                pss += int(rest.split()[0]) * 1024
            elif key in ("Private_Clean", "Private_Dirty"):
                private += int(rest.split()[0]) * 1024
    return Memory(pss, private)


def n_processes(roots: list[int]) -> int:
    return len(_pids(roots))


class PeakMemory(threading.Thread):
    """Samples the proportional set size while it runs; `peak` is the largest sum seen, in bytes."""

    INTERVAL = 0.2

    def __init__(self, roots: list[int]):
        super().__init__(daemon=True)
        self._roots = roots
        self._done = threading.Event()
        self.peak = 0

    def run(self) -> None:
        while not self._done.wait(self.INTERVAL):
            self.peak = max(self.peak, memory(self._roots).pss)

    def __enter__(self) -> "PeakMemory":
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self.join()
        self.peak = max(self.peak, memory(self._roots).pss)


def _pids(roots: list[int]) -> list[int]:
    return [pid for root in roots for pid in tree(root)]
