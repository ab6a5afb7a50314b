"""The page, the plots and the documents of a run that is kept: `python3 -m lab.seeds.page lab/results/FILE.jsonl`."""

import argparse
from pathlib import Path

from . import publish
from .library import ROOT

MANUAL = ROOT / "docs" / "src"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.seeds.page", description="Keeps the page of a run in the manual."
    )
    parser.add_argument("records", type=Path, help="the raw data of a whole run")
    parser.add_argument("--html", type=Path, default=MANUAL / "measured" / "run.html")
    parser.add_argument("--plots", type=Path, default=MANUAL / "images", metavar="FOLDER")
    parser.add_argument("--document", type=Path, action="append", help="a document with the marks; again for more")
    options = parser.parse_args()
    documents = options.document or [ROOT / "README.md", MANUAL / "measuring-servers.md"]
    options.html.parent.mkdir(parents=True, exist_ok=True)
    publish(options.records, options.html, options.plots, documents)


if __name__ == "__main__":
    main()
