"""Three sentences about a run: what Corral wins, what it loses, and what cannot be said."""

from collections.abc import Sequence
from statistics import median

from . import losses
from .losses import MEASURES, Comparison
from .results import Results
from .units import count, percent


def sentences(results: Results) -> list[str]:
    if not results.own:
        return ["Corral was not measured in this run.", _void(results), _noise(results)]
    found = losses.comparisons(results, results.own[0])
    return [_won(results, found), _lost(results, found), f"{_void(results)[:-1]}; {_noise(results)}"]


def _won(results: Results, found: Sequence[Comparison]) -> str:
    rates = [comparison for comparison in found if comparison.measure is MEASURES[0]]
    if not rates:
        return "No valid cell of Corral has a valid cell of a rival beside it."
    n_won = sum(not comparison.is_lost for comparison in rates)
    usual = 1 / median(comparison.ratio for comparison in rates)
    return (
        f"Corral without worker mode answers the most requests a second under {n_won} of {len(rates)} loads; "
        f"in the median it makes {usual:.2f} times the best rival's."
    )


def _lost(results: Results, found: Sequence[Comparison]) -> str:
    n_lost = [sum(c.is_lost for c in found if c.measure is measure) for measure in MEASURES]
    rates, times, tails = n_lost
    told = f"Rivals are better under {rates} loads in requests a second, {times} in processor time, {tails} in p99"
    worst = losses.lost(found)[:1]
    if not worst:
        return f"{told}."
    rival, work = results.title(worst[0].rival.server), worst[0].point.workload
    return f"{told}; most of all {rival}: {worst[0].ratio:.2f} times ({work}, {worst[0].measure.name})."


def _void(results: Results) -> str:
    n_void = sum(not cell.is_valid for cell in results.cells.values())
    often = ", mostly for " + results.reasons.most_common(1)[0][0] if results.reasons else ""
    verb = "is" if n_void == 1 else "are"
    return f"Of {count(len(results.cells), 'cell')}, each a server under a load, {n_void} {verb} void{often}."


def _noise(results: Results) -> str:
    run = results.records.run
    cores, spread = run.machine.get("cores", "?"), percent(run.noise.get("spread"))
    return f"servers and load generator shared {cores} cores, whose speed varied by {spread}."
