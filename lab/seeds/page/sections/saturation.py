"""Past saturation: what servers answer, and what clients see, while more is asked than a server can do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean

from ...records import Ramp
from .. import tables
from ..context import Context, Section, paragraph, section
from ..markup import Child
from ..plot import Line, Plot
from ..results import Results
from ..tables import Column
from ..units import figure

COLUMNS = (
    tables.text("server"),
    tables.text("workload"),
    tables.text("profile"),
    Column("holds to, requests a second"),
    Column("first failure at, requests a second"),
    Column("recovers after, s"),
    Column("good, %"),
    Column("worst p99, ms"),
    tables.words("failures"),
    tables.words("verdict"),
)

# Columns of a ramp's rows.
PLANNED, GOOD, FAILED, P99 = 1, 3, 4, 6


def saturation(context: Context) -> Section:
    if not context.results.records.ramps:
        return section("saturation", "Past saturation", paragraph("No ramp was run."))
    text = paragraph(
        "corral-tank keeps to a schedule, whatever became of earlier requests, as users do. Times count from when a "
        "request was due, and failed requests count, too. “Holds to” is the highest rate up to which nothing failed "
        "or was slow. “Recovers after” is counted from the end of the overload until answers are good and fast "
        "again."
    )
    choices = ("Good answers of", GOOD_ANSWERS), ("Failed requests of", FAILED_REQUESTS), ("99th percentile of", TAIL)
    shown = [(label, list(plots(context.results, look))) for label, look in choices]
    figures = [context.canvas.figure(*found, choice=label) for label, found in shown if found]
    schedules = dict.fromkeys((ramp.profile, ramp.schedule) for ramp in context.results.records.ramps if ramp.schedule)
    profiles = [paragraph(f"Profile “{profile}”: {schedule}") for profile, schedule in schedules]
    table = tables.table("Ramps", COLUMNS, (_row(context, ramp) for ramp in context.results.records.ramps))
    return section("saturation", "Past saturation", text, *profiles, *figures, table)


@dataclass(frozen=True)
class Look:
    """One figure of each second, and how it is shown."""

    label: str
    unit: str
    of: Callable[[list], float | None]
    is_log: bool = False
    has_plan: bool = False


GOOD_ANSWERS = Look("good answers a second", "rate", lambda row: row[GOOD], has_plan=True)
FAILED_REQUESTS = Look("failed requests a second", "rate", lambda row: row[FAILED])
TAIL = Look("99th percentile that a client sees", "ms", lambda row: row[P99] and row[P99] / 1000, is_log=True)


def plots(results: Results, look: Look) -> Iterator[Plot]:
    """One plot for each workload and profile."""
    found: dict[tuple[str, str], list[Ramp]] = {}
    for ramp in results.records.ramps:
        if ramp.seconds:
            found.setdefault((ramp.workload, ramp.profile), []).append(ramp)
    for (workload, profile), ramps in found.items():
        yield _plot(f"{results.work(workload)}, {profile}", ramps, look)


def _plot(title: str, ramps: list[Ramp], look: Look) -> Plot:
    """The axis is the planned rate where that only grows, and the time elsewhere."""
    planned = max((_planned(ramp) for ramp in ramps), key=len)
    by_rate = planned == sorted(planned)
    places = planned if by_rate else list(range(len(planned)))
    x = sorted({place for place in places if place or not by_rate})
    axis = ("planned requests a second", "rate") if by_rate else ("time since the start", "seconds")
    lines = [_line(ramp, _values(ramp, places, x, look)) for ramp in ramps]
    plan = (x if by_rate else planned) if look.has_plan else None
    return Plot(title, *axis, look.label, look.unit, x, lines, x_log=by_rate, y_log=look.is_log, plan=plan)


def _only_grows(ramp: Ramp) -> bool:
    """A load that has no end of its overload."""
    return (planned := _planned(ramp)) == sorted(planned)


def _known(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else figure(value)


def _line(ramp: Ramp, values: list[float | None]) -> Line:
    """A ramp that is void has a hollow end."""
    end = max((at for at, value in enumerate(values) if value is not None), default=0)
    return Line(ramp.server, values, {end: ramp.void} if ramp.void else {})


def _planned(ramp: Ramp) -> list[float]:
    return [row[PLANNED] for row in ramp.seconds]


def _values(ramp: Ramp, places: list[float], x: list[float], look: Look) -> list[float | None]:
    """One value for each place of the axis: the mean of the seconds there."""
    found: dict[float, list[float]] = {}
    for place, row in zip(places, ramp.seconds, strict=False):
        if (value := look.of(row)) is not None:
            found.setdefault(place, []).append(value)
    return [mean(found[place]) if place in found else None for place in x]


def _row(context: Context, ramp: Ramp) -> tuple[Child, ...]:
    label, work = context.label(ramp.server), context.results.work(ramp.workload)
    if ramp.error is not None:
        return (label, work, ramp.profile, "–", "–", "–", "–", "–", "", f"void: {ramp.error}")
    good, failed = (sum(row[column] for row in ramp.seconds) for column in (GOOD, FAILED))
    worst = max((row[P99] for row in ramp.seconds if row[P99] is not None), default=None)
    return (
        label,
        work,
        ramp.profile,
        _known(ramp.holds_to, "not at all"),
        _known(ramp.first_failure_at, "none failed"),
        _known(ramp.recovers_after, "–" if _only_grows(ramp) else "not in time"),
        figure(100 * good / (good + failed) if good + failed else None),
        figure(worst and worst / 1000),
        ", ".join(f"{kind}: {n:,}" for kind, n in ramp.failures.items()),
        f"void: {ramp.void}" if ramp.void else "valid",
    )
