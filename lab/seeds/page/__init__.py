"""From the records of a run to one HTML page, and to plots for documents."""

from pathlib import Path

from .. import records
from . import pictures
from .document import page
from .filling import fill
from .library import ROOT
from .results import Results


def write(records_path: Path, html_path: Path) -> None:
    html = page(Results(records.read(records_path)), records_path.name)
    # Reasons and failures may name files of this repository, wherever it lies.
    html_path.write_text(html.replace(f"{ROOT}/", ""))


def plots(records_path: Path, folder: Path) -> None:
    pictures.write(Results(records.read(records_path)), folder)


def publish(records_path: Path, html_path: Path, folder: Path, documents: list[Path]) -> None:
    """The page, the plots, and the documents that show them."""
    write(records_path, html_path)
    plots(records_path, folder)
    for document in documents:
        fill(document, Results(records.read(records_path)), folder, html_path)
