"""The command line: `python3 -m lab.languages --help`."""

import argparse
import shutil
import sys
from pathlib import Path

from .. import commands, contest, runs, servers
from . import contests, measuring, programs, report, wasm
from .own import Setup

APPS = Path(__file__).resolve().parent / "apps"


def main() -> int:
    options = parse_arguments()
    if not options.report and not contests.chosen(options.only):
        sys.exit(f"no language is called so; known: {', '.join(found.name for found in contests.CONTESTS)}")
    return commands.measure(options, lambda folder: measure_all(options, contests.chosen(options.only), folder), report.text)


def parse_arguments() -> argparse.Namespace:
    parser = commands.parser("lab.languages", "Corral's runtimes beside the servers of their languages.", "languages")
    parser.add_argument("--workers", type=int, default=4, help="of each server (default 4)")
    parser.add_argument("--threads", type=int, default=1, help="of each worker, where there are some (default 1)")
    parser.add_argument("--no-memory", action="store_true", help="leave out what one more worker takes")
    return parser.parse_args()


def measure_all(options: argparse.Namespace, chosen: list[contests.Contest], folder: Path) -> dict:
    folder.chmod(0o755)
    user = servers.unprivileged_user()
    apps = folder / "apps"
    shutil.copytree(APPS, apps)
    setup = Setup(apps, options.workers, options.threads, user, user)
    plan = contest.Plan(options.rounds, options.seconds)
    run = runs.begun(plan.rounds, plan.seconds) | {"workers": options.workers, "threads": options.threads, "contests": {}}
    for program in programs.PROGRAMS:
        if any(getattr(kind, "program", None) is program for found in chosen for kind in found.servers):
            program.build(apps)
    if any(wasm.CorralWasm in found.servers for found in chosen) and not wasm.missing_target():
        wasm.build(apps)
    for found in chosen:
        run["contests"][found.name] = measuring.run_contest(
            found, plan, setup, folder, with_memory=not options.no_memory)
    return run


if __name__ == "__main__":
    runs.exit_with(main)
