"""HTML and SVG from Python: text is escaped wherever it is put, as names and failures come from outside."""

from collections.abc import Iterable
from html import escape

VOID = {"img", "input", "meta", "source", "rect", "line", "polyline", "circle"}

Child = "str | Markup | int | None | Iterable[Child]"


class Markup(str):
    """Text that is markup already and is not escaped again."""


def element(name: str, /, *children: Child, **attributes: object) -> Markup:
    """An element. `class_` stands for `class`, `data_x` for `data-x`; attributes that are None or False are left "
    "out."""
    written = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def join(children: Iterable[Child]) -> Markup:
    """Children one after the other; lists among them are taken apart."""
    return Markup("".join(_written(child) for child in children))


def _written(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str):
        return join(child)
    return escape(str(child))
