"""Tables as HTML: numbers to the right, wide ones in a box of their own that scrolls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .markup import Child, Markup, element


@dataclass(frozen=True)
class Column:
    """A heading with its unit. Figures are aligned at their last digit."""

    title: str
    # "n" for a number, "w" for text of several lines.
    css_class: str | None = "n"


def text(title: str) -> Column:
    return Column(title, css_class=None)


def words(title: str) -> Column:
    return Column(title, css_class="w")


def table(label: str, columns: Sequence[Column], rows: Iterable[Sequence[Child]], **attributes: object) -> Markup:
    heads = [element("th", column.title, scope="col", class_=column.css_class) for column in columns]
    body = [_row(columns, row) for row in rows]
    head = element("thead", element("tr", *heads))
    return scrolling(label, element("table", head, element("tbody", *body), **attributes))


def scrolling(label: str, content: Markup) -> Markup:
    """A region that is reached by the keyboard, as it may have to be scrolled."""
    return element("div", content, class_="scroll", tabindex=0, role="region", aria_label=label)


def _row(columns: Sequence[Column], row: Sequence[Child]) -> Markup:
    first, *rest = zip(columns, row, strict=True)
    cells = [element("td", value, class_=column.css_class) for column, value in rest]
    return element("tr", element("th", first[1], scope="row", class_=first[0].css_class), *cells)


def folded(summary: Child, *content: Child, is_open: bool = False) -> Markup:
    return element("details", element("summary", summary), *content, open=is_open)


def code(label: str, source: str) -> Markup:
    return element("pre", element("code", source), tabindex=0, role="region", aria_label=label)
