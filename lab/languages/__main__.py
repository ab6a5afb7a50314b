"""The command line: `python3 -m lab.languages --help`."""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from .. import contest, runs, servers
from . import contests, measuring, programs, report, wasm
from .own import Setup

APPS = Path(__file__).resolve().parent / "apps"


def main() -> int:
    options = parse_arguments()
    if options.report:
        print(report.text(json.loads(Path(options.report).read_text())))
        return 0
    chosen = contests.chosen(options.only)
    if not chosen:
        sys.exit(f"no language is called so; known: {', '.join(found.name for found in contests.CONTESTS)}")
    with tempfile.TemporaryDirectory(prefix="corral-lab-") as folder:
        run = measure_all(options, chosen, Path(folder))
    path = runs.keep(run)
    print(report.text(run))
    print(f"raw numbers: {path}")
    return 1 if any(map(contest.failed, run["contests"].values())) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m lab.languages",
                                     description="Corral's runtimes beside the servers of their languages.")
    parser.add_argument("--only", action="append", metavar="TEXT", default=[],
                        help="languages whose name contains TEXT; again for more")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="length of one measured run (default 4)")
    parser.add_argument("--workers", type=int, default=4, help="of each server (default 4)")
    parser.add_argument("--threads", type=int, default=1, help="of each worker, where there are some (default 1)")
    parser.add_argument("--no-memory", action="store_true", help="leave out what one more worker takes")
    parser.add_argument("--report", metavar="FILE", help="print the report of an earlier run again")
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
