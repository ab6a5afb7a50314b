"""Names of the void points of a plot, below it."""

from collections.abc import Callable

from .. import tables
from ..context import Context, paragraph
from ..markup import Markup, element
from ..plot import Plot


def voids(
    context: Context, plot: Plot, name: Callable[[float], str] = lambda clients: f"{clients:,} clients"
) -> Markup | None:
    found = [
        element("li", context.label(line.server), f", {name(plot.x[at])}: {reason}")
        for line in plot.lines for at, reason in line.void.items()
    ]  # fmt: skip
    if not found:
        return paragraph("All points are valid.")
    noun = "point is" if len(found) == 1 else "points are"
    return tables.folded(f"{len(found)} {noun} void, and why", element("ul", *found))
