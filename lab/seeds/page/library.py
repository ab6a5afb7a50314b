"""uPlot, which draws the page's curves: from the packages of the dashboard, in the version of its lock file."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "ui" / "node_modules" / "uplot"


class MissingLibrary(Exception):
    """uPlot is not there and cannot be fetched."""


@dataclass(frozen=True)
class Library:
    script: str
    style: str


def load() -> Library:
    if not (FOLDER / "dist").is_dir():
        _fetch()
    dist = FOLDER / "dist"
    terms = (FOLDER / "LICENSE").read_text().replace("*/", "")
    return Library(f"/*!\n{terms}*/\n{(dist / 'uPlot.iife.min.js').read_text()}", (dist / "uPlot.min.css").read_text())


def _fetch() -> None:
    fetched = subprocess.run([ROOT / "scripts" / "build-ui", "tests"], check=False, capture_output=True, text=True)
    if not (FOLDER / "dist").is_dir():
        raise MissingLibrary(
            f"uPlot is not in {FOLDER}: scripts/build-ui tests: {fetched.stdout}{fetched.stderr}".strip()
        )
