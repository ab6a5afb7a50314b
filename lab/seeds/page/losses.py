"""Where a rival is better than Corral: compared are valid cells alone, at the same point."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..records import Sample
from .cells import Figures, Point, own_cpu_us
from .results import Results


@dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    of: Callable[[Figures], float | None]
    of_round: Callable[[Sample], float | None]
    is_more_better: bool
    # From the unit of the records to the unit that is shown.
    scale: float = 1

    def better(self, one: float, other: float) -> float:
        """How many times better the one is; 1 means the same."""
        if min(one, other) <= 0:
            return 1
        return one / other if self.is_more_better else other / one


MEASURES = (
    Measure("requests a second", "/s", lambda c: c.per_second, lambda s: s.per_second, is_more_better=True),
    Measure("processor time", "us", lambda c: c.cpu_us, own_cpu_us, is_more_better=False),
    Measure(
        "99th percentile",
        "ms",
        lambda c: c.p99_us,
        lambda s: (s.percentiles_us or {}).get("99"),
        is_more_better=False,
        scale=1e-3,
    ),
)


@dataclass(frozen=True)
class Comparison:
    """Corral in one of its ways beside the best of its rivals."""

    point: Point
    measure: Measure
    own: Figures
    rival: Figures
    # How many times better the rival is: below 1, Corral is.
    ratio: float
    n_better: int
    # Each round of the rival is better than all rounds of Corral.
    is_sure: bool

    @property
    def is_lost(self) -> bool:
        return self.ratio > 1


def comparisons(results: Results, own: str) -> list[Comparison]:
    """Each point and measure at which this server and a rival have valid cells."""
    found = (_compare(results, own, point, measure) for point in results.points for measure in MEASURES)
    return [comparison for comparison in found if comparison]


def _compare(results: Results, own: str, point: Point, measure: Measure) -> Comparison | None:
    cell = results.cells.get((own, point))
    mine = measure.of(cell) if cell and cell.is_valid else None
    ratios = {rival: measure.better(theirs, mine) for rival, theirs in _rivals(results, point, measure)} if mine else {}
    if not ratios:
        return None
    best = max(ratios, key=ratios.get)
    n_better = sum(ratio > 1 for ratio in ratios.values())
    return Comparison(point, measure, cell, best, ratios[best], n_better, _is_sure(measure, best, cell))


def _rivals(results: Results, point: Point, measure: Measure) -> Iterator[tuple[Figures, float]]:
    for cell in results.at(point):
        if cell.server not in results.own and cell.is_valid and (value := measure.of(cell)):
            yield cell, value


def _is_sure(measure: Measure, rival: Figures, own: Figures) -> bool:
    theirs, mine = ([v for s in cell.rounds if (v := measure.of_round(s)) is not None] for cell in (rival, own))
    return all(measure.better(one, other) > 1 for one in theirs for other in mine)


def lost(found: list[Comparison]) -> list[Comparison]:
    """The largest loss first."""
    return sorted((comparison for comparison in found if comparison.is_lost), key=lambda c: -c.ratio)
