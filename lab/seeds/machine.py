"""The machine: its facts, how steady it is, and the time that a hypervisor takes from it."""

import statistics
import time
from pathlib import Path

from .. import bench


def facts() -> dict:
    """The facts that must be the same in a run that is resumed, and the load that there was."""
    names = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return {**bench.machine(), "os": names.get("PRETTY_NAME", "").strip('"')}


def noise(repetitions: int = 10) -> dict[str, float]:
    """A fixed piece of work, done again and again while nothing else is measured."""
    before, times = stat(), []
    for _ in range(repetitions):
        started = time.perf_counter()
        _piece_of_work()
        times.append(time.perf_counter() - started)
    return {"spread": (max(times) - min(times)) / statistics.median(times), "stolen": stolen(before, stat())}


def _piece_of_work() -> int:
    total = 0
    for number in range(1_000_000):
        total += number * number % 7
    return total


def stat() -> list[int]:
    with open("/proc/stat") as file:
        return [int(each) for each in file.readline().split()[1:9]]


def stolen(before: list[int], after: list[int]) -> float:
    """The eighth number of proc(5)'s stat."""
    total = sum(after) - sum(before)
    return (after[7] - before[7]) / total if total else 0.0
