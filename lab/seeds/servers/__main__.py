"""`python3 -m lab.seeds.servers`: starts each server and asks it for each workload over each of its transports."""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ... import processes
from ...servers import ServerFailed
from ..workloads import Site, prepare
from . import BY_NAME, SERVERS, SeedServer
from .verify import verify


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m lab.seeds.servers", description="Does each server answer rightly?")
    parser.add_argument("names", nargs="*", metavar="SERVER", help="only these")
    parser.add_argument("--files", action="store_true", help="show the configurations")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BY_NAME):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(BY_NAME)}")
    chosen = [kind for kind in SERVERS if not options.names or kind.name in options.names]
    with tempfile.TemporaryDirectory(prefix="corral-lab-") as name, prepare(Path(name)) as site:
        for workload, reason in site.missing.items():
            print(f"{workload}: left out: {reason}")
        n_wrong = sum(check(kind, site, options.files) for kind in chosen)
    print(f"{n_wrong} wrong")
    return 1 if n_wrong else 0


def check(kind: type[SeedServer], site: Site, shows_files: bool) -> int:
    """The number of faults, which are printed."""
    if reason := kind.missing():
        print(f"{kind.name}: absent: {reason}")
        return 0
    server = kind(site, site.folder / f"server-{kind.name}")
    try:
        server.start()
        answers = list(verify(server))
        faults = [answer for answer in answers if answer[2]]
        pids = [pid for root in server.roots for pid in processes.tree(root)]
        roles = Counter(server.role_of(pid) for pid in pids)
        print(f"{kind.name}: {len(answers)} answers, {len(faults)} wrong; {dict(roles)}; {kind.version()}", flush=True)
        for workload, transport, fault in faults:
            print(f"  {workload} {transport}: {fault}", flush=True)
        if shows_files:
            print(*(f"--- {name}\n{text}" for name, text in server.files().items()), sep="\n")
    except ServerFailed as error:
        print(f"{kind.name}: FAILED: {error}", flush=True)
        return 1
    finally:
        server.stop()
    return len(faults)


if __name__ == "__main__":
    sys.exit(main())
