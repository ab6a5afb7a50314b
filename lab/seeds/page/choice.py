"""The servers in the plots: which are shown at first, and the checkboxes for all of them."""

from statistics import mean

from .context import Context
from .markup import Markup, element
from .results import Results


def chooser(context: Context) -> Markup:
    """Checkboxes for the lines of all plots."""
    shown = representatives(context.results)
    boxes = []
    for at, server in enumerate(context.results.servers):
        box = element("input", type="checkbox", value=at, checked=server in shown, autocomplete="off")
        boxes.append(
            element(
                "label",
                box,
                element("svg", class_="line", width=34, height=10, aria_hidden="true"),
                context.label(server),
            )
        )
    buttons = [
        element("button", title, type="button", data_choose=choice)
        for choice, title in (("best", "The best of each family"), ("all", "All"), ("none", "None"))
    ]
    families = element("fieldset", element("legend", "Servers in the plots"), *boxes)
    summary = element("summary", "Servers in the plots: ", element("output", f"{len(shown)} of {len(boxes)}"))
    return element("details", summary, element("p", *buttons), families, class_="chooser")


def representatives(results: Results) -> set[str]:
    """The server of each family that was measured at the most points, the fastest of several; with Corral as it is
    compared."""
    places: dict[str, list[int]] = {}
    for point in results.points:
        by_rate = sorted(results.at(point), key=lambda cell: -(cell.per_second or 0))
        for place, cell in enumerate(by_rate):
            places.setdefault(cell.server, []).append(place)
    best: dict[str, str] = {}
    for server in sorted(places, key=lambda server: (-len(places[server]), mean(places[server]))):
        best.setdefault(results.servers[server].family, server)
    return {*best.values(), *results.own[:1]}
