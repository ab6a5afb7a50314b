"""Memory over the whole run, and within one round of the most clients."""

from ...records import Sample
from .. import tables
from ..context import Context, Section, paragraph, section
from ..markup import Child
from ..plot import Line, Plot
from ..results import Results
from ..units import figure

# So many steps of time make up the run.
STEPS = 60


def memory(context: Context) -> Section:
    found = [plot for plot in (_over_run(context.results), _within_round(context.results)) if plot]
    text = paragraph(
        "Proportional set size of all processes of a server, in megabytes: pages that processes share are counted "
        "once. Over the run each point is the most of a step of time, whatever the server was asked for then."
    )
    table = tables.table("Memory", COLUMNS, _rows(context))
    return section("memory", "Memory over time", text, *(context.canvas.figure(plot) for plot in found), table)


COLUMNS = (
    tables.text("server"),
    tables.Column("least of a round, MB"),
    tables.Column("most, MB"),
    tables.Column("first round, MB"),
    tables.Column("last round, MB"),
    tables.text("most at"),
)


def _rows(context: Context) -> list[tuple[Child, ...]]:
    rows = []
    for server, samples in _by_server(context.results).items():
        peaks = [max(megabytes for _, megabytes in sample.memory_mb) for sample in samples]
        most = samples[peaks.index(max(peaks))]
        where = f"{context.results.work(most.workload)}, {most.clients:,} clients"
        rows.append(
            (context.label(server), *(figure(value) for value in (min(peaks), max(peaks), peaks[0], peaks[-1])), where)
        )
    return rows


def _by_server(results: Results) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in sorted(results.records.samples, key=lambda sample: sample.at):
        if sample.memory_mb:
            found.setdefault(sample.server, []).append(sample)
    return found


def _over_run(results: Results) -> Plot | None:
    by_server = _by_server(results)
    end = max((sample.at for samples in by_server.values() for sample in samples), default=0)
    if not end:
        return None
    lines = []
    for server, samples in by_server.items():
        values: list[float | None] = [None] * STEPS
        for sample in samples:
            step = min(int(sample.at / end * STEPS), STEPS - 1)
            values[step] = max(values[step] or 0, *(megabytes for _, megabytes in sample.memory_mb))
        lines.append(Line(server, values))
    x = [(step + 0.5) / STEPS * end / 60 for step in range(STEPS)]
    return Plot("Over the run", "time since the start", "minutes", "memory", "mb", x, lines, y_log=True)


def _within_round(results: Results) -> Plot | None:
    """The last round of the point with the most clients that the most servers were measured at."""
    points = [
        point
        for point in results.points
        if any(sample.memory_mb for cell in results.at(point) for sample in cell.rounds)
    ]
    if not points:
        return None
    point = max(points, key=lambda point: (len(results.at(point)), point.clients))
    last = {cell.server: cell.rounds[-1].memory_mb for cell in results.at(point) if cell.rounds}
    times = sorted({time for pairs in last.values() for time, _ in pairs})
    steps = [times[-1] * step / 11 for step in range(12)]
    lines = [Line(server, [_latest(pairs, time) for time in steps]) for server, pairs in last.items() if pairs]
    return Plot(
        f"Within one round: {results.work(point.workload)}, {point.how}",
        "time since the start of the round",
        "seconds",
        "memory",
        "mb",
        steps,
        lines,
        y_log=True,
    )


def _latest(pairs: list[list[float]], time: float) -> float:
    """The newest figure at that time, or the first one before there is any."""
    before = [megabytes for at, megabytes in pairs if at <= time]
    return before[-1] if before else pairs[0][1]
