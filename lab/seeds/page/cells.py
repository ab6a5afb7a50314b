"""A cell's figures: medians over its rounds, and the verdict on them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from .. import verdict
from ..records import Cell, Sample

# Processes that are not the server's own: shown, but not counted as its processor time.
BESIDE = "database"


@dataclass(frozen=True, order=True)
class Point:
    """A load that several servers are measured under."""

    workload: str
    transport: str
    tool: str
    clients: int

    @classmethod
    def of(cls, cell: Cell) -> "Point":
        return cls(cell.workload, cell.transport, cell.tool, cell.clients)

    @property
    def how(self) -> str:
        return f"{self.transport}, {self.clients:,} clients, {self.tool}"


class Figures:
    """One server at one point."""

    def __init__(self, server: str, point: Point, samples: list[Sample]):
        self.server = server
        self.point = point
        self.verdict = verdict.judge(samples)
        # Rounds that gave figures.
        self.rounds = [sample for sample in samples if sample.error is None]

    @property
    def is_valid(self) -> bool:
        return self.verdict.valid

    @property
    def words(self) -> str:
        return "valid" if self.is_valid else f"void: {'; '.join(self.verdict.reasons)}"

    def _median(self, of: Callable[[Sample], float | None]) -> float | None:
        found = [value for sample in self.rounds if (value := of(sample)) is not None]
        return median(found) if found else None

    @property
    def per_second(self) -> float | None:
        return self.verdict.median

    def percentile_us(self, name: str) -> float | None:
        return self._median(lambda sample: (sample.percentiles_us or {}).get(name))

    @cached_property
    def p99_us(self) -> float | None:
        return self.percentile_us("99")

    @cached_property
    def roles(self) -> dict[str, float]:
        """Microseconds of processor time for each request, by role."""
        names = dict.fromkeys(role for sample in self.rounds for role in sample.cpu_us)
        return {name: self._median(lambda sample, name=name: sample.cpu_us.get(name)) or 0.0 for name in names}

    @cached_property
    def cpu_us(self) -> float | None:
        """Microseconds of the server's processor time for each request."""
        return self._median(own_cpu_us)

    @cached_property
    def switches(self) -> dict[str, float]:
        """Context switches of each request, by kind."""
        names = dict.fromkeys(kind for sample in self.rounds for kind in sample.switches)
        return {name: self._median(lambda sample, name=name: sample.switches.get(name)) or 0.0 for name in names}

    @cached_property
    def memory_mb(self) -> float | None:
        """The most that the server had."""
        return max((megabytes for sample in self.rounds for _, megabytes in sample.memory_mb), default=None)

    @cached_property
    def failures(self) -> Counter[str]:
        return sum((Counter(sample.failures) for sample in self.rounds), Counter())

    @property
    def n_requests(self) -> int:
        return sum(sample.good for sample in self.rounds) + self.failures.total()

    @property
    def failed_share(self) -> float | None:
        return self.failures.total() / self.n_requests if self.n_requests else None


def own_cpu_us(sample: Sample) -> float | None:
    if not sample.cpu_us:
        return None
    return sum(used for role, used in sample.cpu_us.items() if role != BESIDE)
