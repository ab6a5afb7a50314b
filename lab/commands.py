"""The common part of the commands that measure contests: their options, and the way from these to a report."""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import contest, runs


def parser(module: str, description: str, things: str) -> argparse.ArgumentParser:
    """The options of all; `things` is what a contest is about."""
    common = argparse.ArgumentParser(prog=f"python3 -m {module}", description=description)
    common.add_argument("--only", action="append", metavar="TEXT", default=[],
                        help=f"{things} whose name contains TEXT; again for more")  # fmt: skip
    common.add_argument("--rounds", type=int, default=5)
    common.add_argument("--seconds", type=float, default=4, help="length of one measured run (default 4)")
    common.add_argument("--report", metavar="FILE", help="print the report of an earlier run again")
    return common


def measure(options: argparse.Namespace, measure_all: Callable[[Path], dict], text: Callable[[dict], str]) -> int:
    """Measures in a folder of its own and keeps the run, or takes an earlier one; prints its report."""
    if options.report:
        print(text(json.loads(Path(options.report).read_text())))
        return 0
    with tempfile.TemporaryDirectory(prefix="corral-lab-") as folder:
        run = measure_all(Path(folder))
    path = runs.keep(run)
    print(text(run))
    print(f"raw numbers: {path}")
    return 1 if any(map(contest.failed, run["contests"].values())) else 0
