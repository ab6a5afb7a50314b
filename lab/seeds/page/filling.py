"""The marked part of a document: two pictures, three sentences and a link to the page."""

from html import escape
from os.path import relpath
from pathlib import Path

from . import opening
from .markup import Markup, element
from .pictures import Picture, pictures
from .results import Results

BEGIN, END = "<!-- seeds -->", "<!-- end of seeds -->"


class NoPlace(Exception):
    """A document without the marks."""


def fill(document: Path, results: Results, folder: Path, html: Path) -> None:
    before, begin, rest = document.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlace(f"{document} does not have {BEGIN} and {END}")
    images = [_picture(picture, relpath(folder, document.parent)) for picture in pictures(results)]
    told = " ".join(sentence[:1].upper() + sentence[1:] for sentence in opening.sentences(results))
    told = escape(told, quote=False)
    link = f"[All figures of this run]({relpath(html, document.parent)}), with what Corral loses first."
    document.write_text("\n\n".join([f"{before}{BEGIN}", *images, told, link, f"{END}{after}"]))


def _picture(picture: Picture, folder: str) -> Markup:
    dark = element("source", media="(prefers-color-scheme: dark)", srcset=f"{folder}/{picture.file('dark')}")
    words = f"{picture.plot.title}: {picture.plot.y_label} by {picture.plot.x_label}"
    return element("picture", dark, element("img", alt=words, src=f"{folder}/{picture.file('light')}"))
