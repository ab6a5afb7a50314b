"""Two plots of a run for documents, in light and dark: throughput by clients, and what happens past saturation."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import choice, vector
from .context import Context
from .plot import Plot
from .results import Results
from .sections import latency, saturation, throughput

# The workloads of the plots, those that are wanted most first.
CURVES = ("mysql", "echoes", "phpinfo")
RAMPS = ("laravel", "mysql")


@dataclass(frozen=True)
class Picture:
    name: str
    plot: Plot

    def file(self, theme: str) -> str:
        return f"seeds-{self.name}-{theme}.svg"


def pictures(results: Results) -> list[Picture]:
    shown = choice.representatives(results)
    found = (("throughput", _throughput(results)), ("saturation", _saturation(results)), ("latency", _latency(results)))
    drawn = [Picture(name, _only(plot, shown)) for name, plot in found if plot]
    return drawn[:2]


def write(results: Results, folder: Path) -> None:
    context = Context(results)
    titles = {name: server.title for name, server in results.servers.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures(results):
        for theme, ink in (("light", vector.LIGHT), ("dark", vector.DARK)):
            svg = vector.drawn(picture.plot, context.styles, titles, ink)
            (folder / picture.file(theme)).write_text(f"{svg}\n")


def _only(plot: Plot, servers: set[str]) -> Plot:
    return replace(plot, lines=[line for line in plot.lines if line.server in servers])


def _first(plots: Iterable[Plot], titles: Iterable[str]) -> Plot | None:
    """The plot whose title begins with the earliest of these; else any."""
    found = list(plots)
    wanted = (plot for title in titles for plot in found if plot.title.startswith(title))
    return next(wanted, found[0] if found else None)


def _titles(results: Results, names: Iterable[str]) -> Iterator[str]:
    return (f"{results.work(name)}, " for name in names)


def _throughput(results: Results) -> Plot | None:
    plots = (throughput.plot(results, points) for points in throughput.levels(results) if len(points) > 1)
    return _first(plots, _titles(results, CURVES))


def _saturation(results: Results) -> Plot | None:
    return _first(saturation.plots(results, saturation.GOOD_ANSWERS), _titles(results, RAMPS))


def _latency(results: Results) -> Plot | None:
    return _first(latency.plots(results), _titles(results, CURVES))
