"""The whole page: one file that asks nothing of the network, and runs and styles nothing but what its policy names."""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from . import library, opening, palette
from .choice import chooser
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
SCRIPTS = (
    "format",
    "colours",
    "readout",
    "axes",
    "marks",
    "drawing",
    "figures",
    "chooser",
    "filter",
    "sorting",
    "printing",
)

SECTIONS = (
    lost,
    throughput,
    latency,
    failures,
    processor_time,
    memory,
    context_switches,
    saturation,
    crowds,
    tools,
    everything,
    machine,
    configurations,
)

INTERRUPTED = "This run was interrupted: what is missing was not measured."

COMMANDS = """\
make lab                     # everything: up to three hours
make lab LAB_ARGS=--quick    # twenty minutes
python3 -m lab seeds --page lab/results/{raw}    # this page again
"""


def page(results: Results, raw: str) -> str:
    context = Context(results)
    sections = [*(make(context) for make in SECTIONS), repeat(raw, COMMANDS.format(raw=raw))]
    body = element(
        "body",
        element("header", *_opening(results)),
        element("nav", element("ul", *(made.entry for made in sections)), aria_label="Contents"),
        chooser(context),
        element("main", *(made.markup for made in sections)),
        _data(context),
        _script(),
    )
    return f"<!doctype html>\n{element('html', _head(results), body, lang='en')}\n"


def _opening(results: Results) -> list[Markup | None]:
    run = results.records.run
    processor = f"{run.machine.get('cpu', 'unknown processor')}, {run.machine.get('cores', '?')} cores"
    told = [element("p", sentence[:1].upper() + sentence[1:]) for sentence in opening.sentences(results)]
    return [
        element("h1", "Corral beside other web application servers"),
        element("p", f"{processor}, {run.started[:10]}, plan: {run.plan}", class_="machine"),
        None if results.records.done else element("p", INTERRUPTED, class_="warning"),
        *told,
    ]


def _head(results: Results) -> Markup:
    style = "\n".join([library.load().style, palette.css(), (BROWSER / "page.css").read_text()])
    allowed = f"script-src {_hash(_code())}; style-src {_hash(style)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
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
        for name, server in context.results.servers.items()
        for style in [context.styles[name]]
    ]
    numbers = {name: at for at, name in enumerate(context.results.servers)}
    data = {"servers": servers, "plots": [plot.data(numbers) for plot in context.canvas.plots]}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Markup(text), type="application/json", id="data")
