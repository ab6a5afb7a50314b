"""The command line: `python3 -m lab.php_worker --help`."""

import argparse
import sys
from pathlib import Path

from .. import commands, contest, runs, servers
from . import contenders, floor, report
from .applications import APPLICATIONS, HELLO, Application


def main() -> int:
    options = parse_arguments()
    if not options.report and not contenders.chosen(options.only):
        sys.exit(f"no application is called so; known: {', '.join(found.name for found in APPLICATIONS)}")
    return commands.measure(options, lambda folder: measure_all(options, contenders.chosen(options.only), folder), report.text)


def parse_arguments() -> argparse.Namespace:
    parser = commands.parser(
        "lab.php_worker", "PHP applications in memory, beside the same code started for each request.", "applications"
    )
    parser.add_argument("--workers", type=int, default=8, help="PHP workers of each server (default 8)")
    parser.add_argument("--php-ini", action="append", metavar="KEY=VALUE", default=[], help="for all servers")
    return parser.parse_args()


def measure_all(options: argparse.Namespace, chosen: list[Application], folder: Path) -> dict:
    folder.chmod(0o755)
    # FrankenPHP would not look where Debian has the frameworks.
    ini = ["include_path = .:/usr/share/php", *(line.replace("=", " = ", 1) for line in options.php_ini)]
    common = servers.prepare(folder, folder, options.workers, ini)
    plan = contest.Plan(options.rounds, options.seconds)
    run = runs.begun(plan.rounds, plan.seconds) | {
        "php_workers": options.workers, "php_ini": common.php_ini.read_text(), "floor_us": [], "contests": {},
    }  # fmt: skip
    if HELLO in chosen and not floor.missing():
        run["floor_us"] = [floor.measure(common) for _ in range(plan.rounds)]
    for application in chosen:
        run["contests"][application.name] = measure_one(application, plan, common, folder)
    return run


def measure_one(application: Application, plan: contest.Plan, common: servers.Setup, folder: Path) -> dict:
    if what := application.missing():
        return contest.nothing({"every server": what})
    site = application.copy_to(folder / application.name, common.user, common.group)
    setup = contenders.Setup(**(vars(common) | {"site": site}), application=application)
    return contest.run(contenders.contest_of(application), plan, setup, folder)


if __name__ == "__main__":
    runs.exit_with(main)
