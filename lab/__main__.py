"""The command line: `python3 -m lab --help`."""

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from . import apply, bench, owners, report, runs, scenarios, scrape, servers, workloads
from .seeds import __main__ as seeds


def main() -> int:
    if sys.argv[1:2] == ["seeds"]:
        return seeds.main(sys.argv[2:])
    options = parse_arguments()
    if options.report:
        print(report.text(json.loads(Path(options.report).read_text())))
        return 0
    chosen = choose_servers(options)
    plan = make_plan(options)
    with tempfile.TemporaryDirectory(prefix="corral-lab-") as folder:
        run = measure_all(options, plan, chosen, Path(folder))
    path = runs.keep(run)
    print(report.text(run))
    print(f"raw numbers: {path}")
    failed = [s for s in [*run["samples"], *run["idle"], *run["apply"], *run["scrapes"], *run["idle_sites"]] if "error" in s]
    return 1 if failed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m lab", description="Corral beside the servers it takes the place of.",
                                     epilog="python3 -m lab seeds --help: web application servers against each other")
    parser.add_argument("--quick", action="store_true", help="the points that have bars, 3 rounds of 2 s")
    parser.add_argument("--only", action="append", metavar="TEXT", default=[],
                        help="points whose name contains TEXT, as in hello.php/100/keep-alive; again for more")
    parser.add_argument("--servers", metavar="A,B", help="only these servers")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="length of one measured run")
    parser.add_argument("--workers", type=int, default=8, help="PHP workers of each server (default 8)")
    parser.add_argument("--php-ini", action="append", metavar="KEY=VALUE", default=[], help="for all servers")
    parser.add_argument("--idle", type=int, default=10_000, metavar="N", help="idle connections; 0: skip (default 10000)")
    parser.add_argument("--apply", type=int, default=15, metavar="N",
                        help="changes of a configuration with 2,000 routes; 0: skip (default 15)")
    parser.add_argument("--no-scrapes", action="store_true", help="skip reading the metrics of 500 applications")
    parser.add_argument("--report", metavar="FILE", help="print the report of an earlier run again")
    return parser.parse_args()


def make_plan(options: argparse.Namespace) -> bench.Plan:
    points = workloads.quick_points() if options.quick else workloads.all_points()
    if options.only:
        points = [p for p in workloads.all_points() if any(text in p.name for text in options.only)]
    return bench.Plan(
        points=points,
        rounds=options.rounds or (3 if options.quick else 5),
        seconds=options.seconds or (2 if options.quick else 5),
        warm_up=1,
        idle_connections=options.idle,
        changes=options.apply,
    )


def choose_servers(options: argparse.Namespace) -> list[type[servers.Server]]:
    optional = servers.OPTIONAL + scenarios.OPTIONAL + owners.OWNERS
    every = servers.REQUIRED + optional + scenarios.PAIRS
    if options.servers:
        names, known = options.servers.split(","), {kind.name for kind in every}
        if unknown := [name for name in names if name not in known]:
            sys.exit(f"unknown server {', '.join(unknown)}; known: {', '.join(sorted(known))}")
        chosen = [kind for kind in every if kind.name in names]
    else:
        chosen = servers.REQUIRED + scenarios.PAIRS + [kind for kind in optional if not kind.missing()]
    if missing := [f"{kind.name}: {what}" for kind in chosen if (what := kind.missing())]:
        sys.exit("missing\n  " + "\n  ".join(missing))
    return chosen


def measure_all(
    options: argparse.Namespace, plan: bench.Plan, chosen: list[type[servers.Server]], folder: Path
) -> dict:
    folder.chmod(0o755)
    site = folder / "site"
    workloads.write_site(site)
    setup = servers.prepare(folder, site, options.workers, [line.replace("=", " = ", 1) for line in options.php_ini])
    needed = [kind for kind in chosen if is_needed(kind, plan)]
    run = runs.begun(plan.rounds, plan.seconds) | {
        "versions": {kind.name: kind.version() for kind in needed},
        "php_workers": options.workers,
        "php_ini": setup.php_ini.read_text(),
    }
    has_owners = any(kind.scenario == "owners" for kind in needed)
    if has_owners:
        owners.add_users(folder)
    with ExitStack() as stack:
        if any(kind.scenario in ("h2", "proxy") for kind in needed):
            setup = scenarios.with_backend(stack, setup, folder)
        running = [start(stack, kind(setup, folder / f"{kind.scenario}-{kind.name}")) for kind in needed]
        # Before the load: what a server keeps of it would hide what the connections cost.
        run["idle"] = bench.run_idle(plan, running) if plan.idle_connections else []
        run["samples"] = bench.run_rounds(plan, running)
    # Last and alone: it is about one process after the other, not about many at once.
    run["apply"] = measure_apply(plan, setup, chosen, folder)
    run["scrapes"] = [] if options.no_scrapes else measure_scrapes(setup, chosen, folder)
    run["idle_sites"] = owners.measure_idle_sites(setup, folder) if has_owners else []
    return run


def is_needed(kind: type[servers.Server], plan: bench.Plan) -> bool:
    own = [p for p in plan.points if p.scenario == kind.scenario]
    is_idle = plan.idle_connections and kind.serves_files and kind.scenario == "site"
    return is_idle or any(kind.serves_php if p.is_php else kind.serves_files for p in own)


def measure_apply(plan: bench.Plan, setup: servers.Setup, chosen: list[type[servers.Server]], folder: Path) -> list[dict]:
    if not plan.changes or servers.Corral not in chosen:
        return []
    row = apply.measure_apply(setup, folder / "apply-corral", plan.changes)
    bench.progress(f"apply: {row}")
    return [row]


def measure_scrapes(setup: servers.Setup, chosen: list[type[servers.Server]], folder: Path) -> list[dict]:
    if servers.Corral not in chosen:
        return []
    row = scrape.measure_scrapes(setup, folder / "scrape-corral")
    bench.progress(f"scrapes: {row}")
    return [row]


def start(stack: ExitStack, server: servers.Server) -> servers.Server:
    stack.callback(server.stop)
    server.start("hello.php" if server.serves_php else "1k.txt")
    bench.progress(f"{server.name} answers at 127.0.0.1:{server.port}")
    return server


if __name__ == "__main__":
    runs.exit_with(main)
