"""The verdict on a cell: valid, or void and why.

The slowest rounds are dropped first, two of five, as in the first article. Load beside and stolen time void a cell if
they are in the rounds that are kept; failures, wrong answers and deaths of the server in any round.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, field

from .observe import Observed
from .records import Sample

MOST_FAILED = 0.001
MOST_OTHERS = 0.10
MOST_STOLEN = 0.05
MOST_SPREAD = 0.15

ARTICLE_ROUNDS = 5

# First words of the reasons that a run finds out itself.
SATURATED = "generator saturated"
WRONG = "wrong answer"
DIED = "server died"
NO_FIGURES = "no figures"


@dataclass(frozen=True)
class Verdict:
    valid: bool
    # Words up to the first figure are the same for the same reason.
    reasons: list[str] = field(default_factory=list)
    # Good answers per second: of all rounds, and the mean of those that are kept of five or more.
    median: float | None = None
    article_mean: float | None = None
    # The distance of the fastest from the slowest kept round, over their median.
    spread: float | None = None


def judge(samples: list[Sample]) -> Verdict:
    """The verdict on all samples of one cell."""
    with_figures = [sample for sample in samples if sample.error is None]
    errors = [sample.error for sample in samples if sample.error is not None]
    if not with_figures:
        return Verdict(False, _unique(errors) or [f"{NO_FIGURES}: not measured"])
    kept = kept_rounds(with_figures)
    rates = [sample.per_second for sample in kept]
    spread = _spread(rates)
    reasons = [*_unique(errors), *_failed(with_figures), *_found_out(with_figures, kept), *_disturbed(kept)]
    if spread >= MOST_SPREAD:
        reasons.append(f"spread of the rounds: {_percent(spread)}")
    middle = statistics.median(sample.per_second for sample in with_figures)
    mean = statistics.mean(rates) if len(with_figures) >= ARTICLE_ROUNDS else None
    return Verdict(not reasons, reasons, middle, mean, spread)


def kept_rounds(samples: list[Sample]) -> list[Sample]:
    """The rounds without the slowest: two are dropped of five, one of three, none of two."""
    n_dropped = 2 * len(samples) // 5
    return sorted(samples, key=lambda sample: sample.per_second)[n_dropped:]


def void(sample: Sample) -> str | None:
    """The first reason why one sample says nothing, as far as its figures tell."""
    return next(iter(_failed([sample]) + _disturbed([sample])), None)


def _found_out(samples: list[Sample], kept: list[Sample]) -> list[str]:
    wrong = [sample.void for sample in samples if (sample.void or "").startswith(WRONG)]
    saturated = [sample.void for sample in kept if (sample.void or "").startswith(SATURATED)]
    is_usual = 2 * len(saturated) > len(kept)
    return _unique(wrong)[:1] + (_unique(saturated)[:1] if is_usual else [])


def _failed(samples: list[Sample]) -> list[str]:
    n_failed = sum(sample.failed for sample in samples)
    n_requests = n_failed + sum(sample.good for sample in samples)
    if n_requests == 0:
        return [f"{NO_FIGURES}: no request was answered"]
    share = n_failed / n_requests
    if share < MOST_FAILED:
        return []
    kinds = sum((Counter(sample.failures) for sample in samples), Counter())
    named = ", ".join(kind for kind, _ in kinds.most_common(3))
    return [f"failures: {_percent(share)} ({named})"]


def _disturbed(samples: list[Sample]) -> list[str]:
    return _of_machine(*(max(getattr(sample, name) for sample in samples) for name in ("others", "stolen")))


def disturbance(observed: Observed) -> str | None:
    """The first reason why the machine itself makes a measurement void."""
    return next(iter(_of_machine(observed.others, observed.stolen)), None)


def _of_machine(others: float, stolen: float) -> list[str]:
    reasons = []
    if others >= MOST_OTHERS:
        reasons.append(f"other load on the machine: {_percent(others)}")
    if stolen >= MOST_STOLEN:
        reasons.append(f"stolen time: {_percent(stolen)}")
    return reasons


def _spread(rates: list[float]) -> float:
    middle = statistics.median(rates)
    return (max(rates) - min(rates)) / middle if middle else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def _unique(reasons: list[str]) -> list[str]:
    return list(dict.fromkeys(reasons))
