"""From the records of a run to one HTML page, and to plots for documents."""

from pathlib import Path

from .. import records
from .document import page
from .results import Results


def write(records_path: Path, html_path: Path) -> None:
    html_path.write_text(page(Results(records.read(records_path)), records_path.name))
