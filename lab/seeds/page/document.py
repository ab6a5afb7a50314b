"""The whole page: one file that asks nothing of the network, and runs and styles nothing but what its policy names."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from . import library, opening, palette
from .context import Context
from .markup import Markup, element
from .results import Results
from .sections.configurations import configurations, repeat
from .sections.costs import context_switches, processor_time
from .sections.crowds import crowds
from .sections.everything import everything
from .sections.failures import failures
from .sections.latency import latency
from .sections.lost import lost
from .sections.machine import machine
from .sections.memory import memory
from .sections.saturation import saturation
from .sections.throughput import throughput
from .sections.tools import tools

BROWSER = Path(__file__).with_name("browser")

# In the order in which each uses those before it.
SCRIPTS = ("format", "colours", "readout", "drawing", "figures", "chooser", "filter", "sorting", "printing")

SECTIONS = (lost, throughput, latency, failures, processor_time, memory, context_switches, saturation, crowds, tools, everything,
            machine, configurations)  # fmt: skip

COMMANDS = "make lab                                  # everything: up to three hours\nmake lab LAB_ARGS=--quick                 # twenty minutes\n"


def page(results: Results, raw: str) -> str:
    context = Context(results)
    sections = [make(context) for make in SECTIONS]
    commands = f"{COMMANDS}python3 -m lab seeds --page lab/results/{raw}   # this page again"
    body = element(
        "body",
        element("header", *_opening(results)),
        element("nav", element("ul", *(_entry(made) for made in sections)), aria_label="Contents"),
        chooser(context),
        element("main", *sections, repeat(raw, commands)),
        _data(context),
        _script(),
    )
    return f"<!doctype html>\n{element('html', _head(results), body, lang='en')}\n"


def _opening(results: Results) -> list[Markup | None]:
    run = results.records.run
    machine = f"{run.machine.get('cpu', 'unknown processor')}, {run.machine.get('cores', '?')} cores, {run.started[:10]}"
    warning = None if results.records.done else element("p", "This run was interrupted: what is missing was not measured.", class_="warning")
    told = [element("p", sentence[:1].upper() + sentence[1:]) for sentence in opening.sentences(results)]
    return [element("h1", "Corral beside other web application servers"), element("p", machine, class_="machine"), warning, *told]


def _entry(section: Markup) -> Markup:
    """A line of the contents, from the heading that the section begins with."""
    name = section.split('id="', 1)[1].split('-title"', 1)[0]
    title = section.split("<h2", 1)[1].split(">", 1)[1].split("</h2>", 1)[0]
    return element("li", element("a", Markup(title), href=f"#{name}"))


def chooser(context: Context) -> Markup:
    """Checkboxes for the lines of all plots."""
    shown = representatives(context.results)
    boxes = []
    for at, server in enumerate(context.results.servers):
        box = element("input", type="checkbox", value=at, checked=server in shown, autocomplete="off")
        boxes.append(element("label", box, element("svg", class_="line", width=34, height=10, aria_hidden="true"), context.label(server)))
    buttons = [element("button", title, type="button", data_choose=choice) for choice, title in
               (("best", "The best of each family"), ("all", "All"), ("none", "None"))]  # fmt: skip
    families = element("fieldset", element("legend", "Servers in the plots"), *boxes)
    summary = element("summary", "Servers in the plots: ", element("output", f"{len(shown)} of {len(boxes)}"))
    return element("details", summary, element("p", *buttons), families, class_="chooser")


def representatives(results: Results) -> set[str]:
    """The fastest server of each family, by the places that it takes; of Corral, what is compared."""
    places: dict[str, list[int]] = {}
    for point in results.points:
        by_rate = sorted(results.at(point), key=lambda cell: -(cell.per_second or 0))
        for place, cell in enumerate(by_rate):
            places.setdefault(cell.server, []).append(place)
    best: dict[str, str] = {}
    for server in sorted(places, key=lambda server: sum(places[server]) / len(places[server])):
        best.setdefault(results.servers[server].family, server)
    return {*best.values(), *results.own[:1]}


def _head(results: Results) -> Markup:
    style = "\n".join([library.load().style, palette.css(), (BROWSER / "page.css").read_text()])
    policy = f"default-src 'none'; script-src {_hash(_code())}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"Corral beside other servers, {results.records.run.started[:10]}"),
        element("style", Markup(style)),
    )


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def _code() -> str:
    own = "\n".join((BROWSER / f"{name}.js").read_text() for name in SCRIPTS)
    return f'{library.load().script}\n(() => {{\n"use strict";\n{own}}})();\n'


def _script() -> Markup:
    return element("script", Markup(_code()))


def _data(context: Context) -> Markup:
    """The plots. JSON within HTML may not have a `<`, which could end the element."""
    servers = [
        {"title": server.title, "key": style.key, "family": style.family, "dash": style.dash}
        for name, server in context.results.servers.items() for style in [context.styles[name]]
    ]  # fmt: skip
    numbers = {name: at for at, name in enumerate(context.results.servers)}
    data = {"servers": servers, "plots": [plot.data(numbers) for plot in context.canvas.plots]}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return element("script", Markup(text), type="application/json", id="data")
