"""The command line: `python3 -m lab.php_tests --help`."""

import argparse
import resource
import sys
from pathlib import Path

from ..servers.server import REPOSITORY
from . import chosen, comparison, declared, source


# Processes of the user that tests run as: one that starts itself again and again ends there.
MOST_PROCESSES = 2000


def main() -> int:
    options = parse_arguments()
    resource.setrlimit(resource.RLIMIT_NPROC, (MOST_PROCESSES, MOST_PROCESSES))
    sources = source.fetched(Path(options.target))
    tests = chosen.tests(sources, options.all, options.only)
    outcome = comparison.compared(sources, tests, declared.rules(declared.LIST.read_text()))
    print(comparison.report(outcome, options.verbose))
    return 1 if outcome.failures else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m lab.php_tests", description=__doc__)
    parser.add_argument("--all", action="store_true", help="all of the folders that are chosen, not a tenth of them")
    parser.add_argument("--only", action="append", metavar="PATTERN", default=[], help="tests of these names; again for more")
    parser.add_argument("--verbose", action="store_true", help="show replies that differ")
    parser.add_argument("--target", default=REPOSITORY / "target", help="where the sources are kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
