"""The things that all sections of a page use: the results, the plots so far, the styles of servers."""

from dataclasses import dataclass, field
from functools import cached_property

from . import palette
from .markup import Child, Markup, element, join
from .plot import Canvas
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


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    content: tuple[Child, ...]

    @property
    def markup(self) -> Markup:
        heading = element("h2", self.title, id=f"{self.name}-title")
        return element("section", heading, *self.content, id=self.name, aria_labelledby=f"{self.name}-title")

    @property
    def entry(self) -> Markup:
        """The line of the contents."""
        return element("li", element("a", self.title, href=f"#{self.name}"))


def section(name: str, title: str, *content: Child) -> Section:
    return Section(name, title, content)


def paragraph(*content: Child) -> Markup:
    return element("p", *content)
