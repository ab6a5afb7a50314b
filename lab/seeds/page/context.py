"""The things that all sections of a page use: the results, the plots so far, the styles of servers."""

from dataclasses import dataclass, field
from functools import cached_property

from . import palette
from .markup import Markup, element, join
from .plots import Canvas
from .results import Results


@dataclass
class Context:
    results: Results
    canvas: Canvas = field(default_factory=Canvas)

    @cached_property
    def styles(self) -> dict[str, palette.Style]:
        return palette.styles(self.results.servers)

    def label(self, server: str) -> Markup:
        """A server's key in its colour, and its title."""
        return join([self.key(server), " ", self.results.title(server)])

    def key(self, server: str) -> Markup | None:
        if style := self.styles.get(server):
            return element("span", style.key, class_=f"key {style.css_class}")
        return None


def section(name: str, title: str, *content: object) -> Markup:
    return element("section", element("h2", title, id=f"{name}-title"), *content, id=name, aria_labelledby=f"{name}-title")


def paragraph(*content: object) -> Markup:
    return element("p", *content)
