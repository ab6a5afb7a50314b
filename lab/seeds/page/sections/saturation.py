"""Past saturation: what servers answer, and what clients see, while more is asked than a server can do."""

from collections.abc import Callable, Iterator
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
    good, failed, p99 = (list(of(context.results)) for of in (good_plots, failed_plots, p99_plots))
    text = paragraph(
        "corral-tank keeps to a schedule, whatever became of earlier requests, as users do. Times count from when a "
        "request was due, and failed requests count, too. “Holds to” is the highest rate up to which nothing failed "
        "or was slow. “Recovers after” is counted from the end of the overload until answers are good and fast "
        "again."
    )
    labelled = ((good, "Good answers of"), (failed, "Failed requests of"), (p99, "99th percentile of"))
    figures = [context.canvas.figure(*shown, choice=label) for shown, label in labelled]
    schedules = dict.fromkeys((ramp.profile, ramp.schedule) for ramp in context.results.records.ramps if ramp.schedule)
    profiles = [paragraph(f"Profile “{profile}”: {schedule}") for profile, schedule in schedules]
    table = tables.table("Ramps", COLUMNS, (_row(context, ramp) for ramp in context.results.records.ramps))
    return section("saturation", "Past saturation", text, *profiles, *figures, table)


def good_plots(results: Results) -> Iterator[Plot]:
    return _plots(results, "good answers a second", "rate", lambda row: row[GOOD], with_planned=True)


def failed_plots(results: Results) -> Iterator[Plot]:
    return _plots(results, "failed requests a second", "rate", lambda row: row[FAILED])


def p99_plots(results: Results) -> Iterator[Plot]:
    return _plots(
        results, "99th percentile that a client sees", "ms", lambda row: row[P99] and row[P99] / 1000, is_log=True
    )


def _plots(
    results: Results,
    label: str,
    unit: str,
    of: Callable[[list], float | None],
    is_log: bool = False,
    with_planned: bool = False,
) -> Iterator[Plot]:
    whole = [ramp for ramp in results.records.ramps if ramp.seconds]
    for workload, profile in dict.fromkeys((ramp.workload, ramp.profile) for ramp in whole):
        ramps = [ramp for ramp in whole if (ramp.workload, ramp.profile) == (workload, profile)]
        planned = max((_planned(ramp) for ramp in ramps), key=len)
        by_rate = all(map(_only_grows, ramps))
        keys = sorted(set(planned)) if by_rate else list(range(len(planned)))
        yield Plot(
            f"{results.work(workload)}, {profile}",
            "planned requests a second" if by_rate else "time since the start",
            "rate" if by_rate else "seconds",
            label,
            unit,
            keys,
            [_line(ramp, _values(ramp, keys, by_rate, of)) for ramp in ramps],
            x_log=by_rate,
            y_log=is_log,
            beside=(keys if by_rate else planned) if with_planned else None,
            beside_label="planned",
        )


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


def _values(ramp: Ramp, keys: list[float], by_rate: bool, of: Callable[[list], float | None]) -> list[float | None]:
    """One value for each rate, or for each second."""
    found: dict[float, list[float]] = {}
    for second, row in enumerate(ramp.seconds):
        if (value := of(row)) is not None:
            found.setdefault(row[PLANNED] if by_rate else second, []).append(value)
    return [mean(found[key]) if key in found else None for key in keys]


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
