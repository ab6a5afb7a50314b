"""A run as the page looks at it: servers and workloads by name, figures of cells by their points."""

from collections import Counter
from functools import cached_property

from ..records import Records, Server, Workload
from .cells import Figures, Point

# The point that stands for a workload where there is room for one.
USUAL_TOOL, USUAL_TRANSPORT, USUAL_CLIENTS = "tank", "keep-alive", 100

OWN = "corral"

# The way to run Corral that rivals are compared with: an application begins anew with each request, as in most of them.
COMPARED = "corral-php"


class Results:
    def __init__(self, records: Records):
        self.records = records
        # A server that was started again has several records.
        self.servers: dict[str, Server] = {server.server: server for server in records.servers}
        self.workloads: dict[str, Workload] = {workload.workload: workload for workload in records.workloads}
        self._name_the_unnamed()
        self.cells = {
            (cell.server, Point.of(cell)): Figures(cell.server, Point.of(cell), samples)
            for cell, samples in records.cells().items()
        }

    def _name_the_unnamed(self) -> None:
        """An interrupted run may have samples of what it has not described."""
        for sample in self.records.samples:
            self.servers.setdefault(sample.server, Server(sample.server, sample.server, "other", "", {}))
            self.workloads.setdefault(sample.workload, Workload(sample.workload, sample.workload, ""))

    @cached_property
    def points(self) -> list[Point]:
        """In the order of the workloads, those that are measured most commonly first."""
        order = {name: at for at, name in enumerate(self.workloads)}

        def place(point: Point) -> tuple:
            is_other = (point.transport != USUAL_TRANSPORT, point.tool != USUAL_TOOL)
            return (order[point.workload], *is_other, point.transport, point.tool, point.clients)

        return sorted({point for _, point in self.cells}, key=place)

    def at(self, point: Point) -> list[Figures]:
        """The cells of a point, in the order of the servers."""
        return [figures for server in self.servers if (figures := self.cells.get((server, point)))]

    def usual_point(self, workload: str) -> Point | None:
        def distance(point: Point) -> tuple:
            return (point.tool != USUAL_TOOL, point.transport != USUAL_TRANSPORT, abs(point.clients - USUAL_CLIENTS))

        return min((point for point in self.points if point.workload == workload), key=distance, default=None)

    def title(self, server: str) -> str:
        return self.servers[server].title if server in self.servers else server

    def work(self, workload: str) -> str:
        return self.workloads[workload].title if workload in self.workloads else workload

    @cached_property
    def own(self) -> list[str]:
        """Corral in all ways that it was measured. The first is what rivals are compared with."""
        found = [name for name, server in self.servers.items() if server.family == OWN]
        return sorted(found, key=lambda name: name != COMPARED)

    @cached_property
    def reasons(self) -> Counter[str]:
        """How many cells are void for which reason."""
        found = (figures.verdict.reasons for figures in self.cells.values() if not figures.is_valid)
        return Counter(reason for reasons in found for reason in {_without_figures(reason) for reason in reasons})


def _without_figures(reason: str) -> str:
    """The words of a reason up to the first one with a digit."""
    words = []
    for word in reason.split():
        if any(character.isdigit() for character in word):
            break
        words.append(word)
    return " ".join(words).rstrip(":,(") or reason
