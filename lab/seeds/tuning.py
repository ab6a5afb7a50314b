"""The sweep: each server with each of its candidates for a moment, and the best one for the whole run.

`python3 -m lab.seeds.tuning` does nothing else, and keeps what it has chosen for later runs.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from math import exp, log
from pathlib import Path
from statistics import fmean

from .. import measure
from ..load import LoadFailed
from ..servers import ServerFailed
from . import chosen, crowd
from .generators import GENERATORS, Load
from .servers import BY_NAME, KEEP_ALIVE, SERVERS, SeedServer
from .workloads import WORKLOADS, Site, prepare

# Workloads and clients that a candidate is measured with: the processor is the limit, the database is, or clients are many.
POINTS = (("echoes", 100), ("mysql", 100), ("echoes", 1000))
SECONDS = 1.0
# The share of requests that may fail before a candidate is out.
MOST_FAILED = 0.001
# Once is luck: a candidate that looks best is measured again, until the best one has been measured as often.
RUNS_OF_BEST = 2
# Seconds for a server to make the processes again that a load before has cost it.
PATIENCE = 5.0

Progress = Callable[[str], None]


def sweep(site: Site, kinds: list[type[SeedServer]], progress: Progress) -> None:
    """Measures the candidates of each server that is here. What it has chosen is in force for servers made afterwards."""
    for kind in kinds:
        if not kind.missing():
            chosen.keep({kind.name: sweep_server(kind, site, progress)})


def sweep_server(kind: type[SeedServer], site: Site, progress: Progress) -> list[dict]:
    """One row for each candidate. The fastest one is chosen that fails nothing and lets no client wait for the end of
    another one's connection."""
    rows = [_row(kind, settings, number, site) for number, settings in enumerate(kind.candidates())]
    numbers = count(len(rows))
    while (row := best(rows))["runs"] < RUNS_OF_BEST and not row["fault"]:
        join(row, _row(kind, row["settings"], next(numbers), site))
    best(rows)["chosen"] = best(rows)["per_second"] > 0
    for row in rows:
        outcome = row["fault"] or f"{row['per_second']:,.0f} requests/s, {row['cpu_us']:.0f} us"
        progress(f"tuning {kind.name}: {row['setting']}: {outcome}{', chosen' if row['chosen'] else ''}")
    return rows


def best(rows: list[dict]) -> dict:
    """A server with faults in each of its candidates is still to be shown at its fastest."""
    return max(rows, key=lambda row: (row["fault"] is None, row["points"], row["per_second"]))


def join(row: dict, again: dict) -> None:
    """Makes one row of a row and a further measurement with the same settings."""
    row["fault"] = again["fault"]
    if not again["fault"]:
        row["per_second"] = exp((row["runs"] * log(row["per_second"]) + log(again["per_second"])) / (row["runs"] + 1))
        row["cpu_us"] = (row["runs"] * row["cpu_us"] + again["cpu_us"]) / (row["runs"] + 1)
        row["runs"] += 1


def _row(kind: type[SeedServer], settings: dict[str, object], number: int, site: Site) -> dict:
    row = {"setting": kind.in_words(settings), "settings": settings, "per_second": 0.0, "cpu_us": 0.0, "fault": None,
           "points": 0, "runs": 1, "chosen": False}  # fmt: skip
    server = kind(site, site.folder / f"tuning-{kind.name}-{number}", settings)
    found: list[tuple[float, float]] = []
    try:
        server.start()
        for workload, clients in (point for point in POINTS if point[0] in server.serves):
            server.settle(PATIENCE)
            found.append(_measure(server, workload, clients, site.folder))
        server.settle(PATIENCE)
        if left := crowd.n_unanswered(server.port, WORKLOADS["echoes"].host, WORKLOADS["echoes"].path):
            raise LoadFailed(f"{left} of {crowd.CLIENTS} clients had no answer within {crowd.PATIENCE:.0f} s")
    except (ServerFailed, LoadFailed, OSError) as error:
        row["fault"] = str(error)[:300]
    finally:
        server.stop()
    row["points"] = len(found)
    if found:
        row["per_second"] = exp(fmean(log(per_second) for per_second, _ in found))
        row["cpu_us"] = fmean(cpu_us for _, cpu_us in found)
    return row


def _measure(server: SeedServer, workload: str, clients: int, folder: Path) -> tuple[float, float]:
    """Good answers in a second, and processor time of each, in microseconds."""
    load = Load(server.url(workload), WORKLOADS[workload].host, KEEP_ALIVE, clients, SECONDS)
    before = measure.cpu_seconds(server.roots)
    outcome = GENERATORS["wrk"].run(load, folder)
    used = measure.cpu_seconds(server.roots) - before
    failed = sum(outcome.failures.values())
    if failed > MOST_FAILED * (outcome.good + failed) or not outcome.good:
        raise LoadFailed(f"{workload}, {clients} clients: {failed} of {outcome.good + failed} requests failed")
    return outcome.per_second, 1e6 * used / outcome.good


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m lab.seeds.tuning", description="Chooses the settings of each server.")
    parser.add_argument("names", nargs="*", metavar="SERVER", help="only these")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BY_NAME):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(BY_NAME)}")
    kinds = [kind for kind in SERVERS if not options.names or kind.name in options.names]
    with tempfile.TemporaryDirectory(prefix="corral-lab-") as name, prepare(Path(name)) as site:
        sweep(site, kinds, lambda line: print(line, flush=True))
    print(f"kept in {chosen.MEASURED_HERE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
