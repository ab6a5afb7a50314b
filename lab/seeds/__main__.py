"""The command line: `python3 -m lab seeds --help`."""

import argparse
import resource
import signal
import sys
from pathlib import Path

from .. import runs
from . import beginning, records, verdict
from .beginning import Options, Refused


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        return run(options)
    except (Refused, records.BrokenRecords) as error:
        sys.exit(f"lab: {error}")


def run(options: argparse.Namespace) -> int:
    if options.page:
        return make_page(options)
    chosen = Options("quick" if options.quick else "full", options.only, options.servers, options.rounds, options.seconds)
    if options.plan:
        print(beginning.imagined_plan(chosen).text())
        return 0
    _allow_open_files()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options.page = options.resume or beginning.new_path()
    try:
        beginning.measure(chosen, options.page, is_resumed=bool(options.resume))
    except (Refused, records.BrokenRecords):
        raise
    except BaseException as error:
        if options.page.exists():
            print(f"\ninterrupted; to go on: python3 -m lab seeds --resume {options.page}", file=sys.stderr)
        if isinstance(error, KeyboardInterrupt):
            return 130
        raise
    print(f"{n_valid(options.page)}\nraw data: {options.page}")
    return make_page(options)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m lab seeds", description="Web application servers against each other.")
    parser.add_argument("--quick", action="store_true", help="a plan of 20 minutes; without it, one of at most three hours")
    parser.add_argument("--plan", action="store_true", help="print what would be measured, and how long it would take")
    parser.add_argument("--only", action="append", metavar="TEXT", default=[],
                        help="measurements whose name contains TEXT, as in nginx-fpm-socket/echoes/keep-alive/tank/100")
    parser.add_argument("--servers", metavar="A,B", type=lambda text: text.split(","), help="only these servers")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="length of one sample")
    parser.add_argument("--resume", metavar="FILE", type=_existing, help="go on with an interrupted run")
    parser.add_argument("--page", metavar="FILE", type=_existing, help="make the page of an earlier run again")
    parser.add_argument("--plots", metavar="FOLDER", type=Path, help="write plots into FOLDER as well")
    return parser.parse_args(arguments)


def _existing(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return Path(text)


def n_valid(path: Path) -> str:
    verdicts = [verdict.judge(samples) for samples in records.read(path).cells().values()]
    return f"{sum(each.valid for each in verdicts)} of {len(verdicts)} cells are valid"


def make_page(options: argparse.Namespace) -> int:
    from . import page

    html = options.page.with_suffix(".html")
    page.write(options.page, html)
    print(f"page: {html}")
    if options.plots:
        page.plots(options.page, options.plots)
        print(f"plots: {options.plots}")
    return 0


def _allow_open_files() -> None:
    """As many as this process may have; servers and generators inherit that."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    runs.exit_with(main)
