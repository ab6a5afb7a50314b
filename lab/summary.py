"""Raw samples in, medians out."""

from dataclasses import dataclass
from statistics import median

from .workloads import Point


@dataclass(frozen=True)
class Cell:
    """One server at one point: medians over its rounds, but `failed` is the sum and memory the peak."""

    rounds: int
    per_second: float
    # Lowest and highest round: how far the median can be believed.
    slowest: float
    fastest: float
    p50_ms: float
    p99_ms: float
    failed: int
    cpu_us: float
    # The part of it that is not spent in workers, where that is told apart.
    front_us: float
    memory: int


class Summary:
    """Built from samples as `bench` writes them: one dictionary for each run."""

    def __init__(self, samples: list[dict]):
        self._good: dict[tuple[Point, str], list[dict]] = {}
        self._bad: dict[tuple[Point, str], list[dict]] = {}
        self.points: list[Point] = []
        self.servers: list[str] = []
        for sample in samples:
            point = Point(sample["work"], sample["connections"], sample["mode"])
            if point not in self.points:
                self.points.append(point)
            if sample["server"] not in self.servers:
                self.servers.append(sample["server"])
            runs = self._bad if "error" in sample else self._good
            runs.setdefault((point, sample["server"]), []).append(sample)

    def cell(self, point: Point, server: str) -> Cell | None:
        runs = self._good.get((point, server))
        if not runs:
            return None
        rates = [run["per_second"] for run in runs]
        return Cell(
            rounds=len(runs),
            per_second=median(rates),
            slowest=min(rates),
            fastest=max(rates),
            p50_ms=median(run["p50_ms"] for run in runs),
            p99_ms=median(run["p99_ms"] for run in runs),
            failed=sum(run["failed"] for run in runs),
            cpu_us=median(run["cpu_us"] for run in runs),
            front_us=median(run.get("front_us", 0) for run in runs),
            memory=max(run["memory"] for run in runs),
        )

    def failures_at(self, point: Point, server: str) -> list[str]:
        """Why runs gave no numbers."""
        return [run["error"] for run in self._bad.get((point, server), [])]
