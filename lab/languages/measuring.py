"""Runs a contest: every server is verified, then all are measured in turn, workload after workload, round after round."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from .. import load, measure, servers
from ..bench import progress
from ..workloads import KEEP_ALIVE
from .contests import Contest
from .own import Setup
from .workloads import CONNECTIONS, WORKLOADS, Workload, WrongAnswer

FAILURES = (servers.ServerFailed, load.LoadFailed, WrongAnswer, OSError)


@dataclass(frozen=True)
class Plan:
    rounds: int
    seconds: float
    # Whether to measure what one more worker takes.
    memory: bool


def run_contest(contest: Contest, plan: Plan, setup: Setup, folder: Path) -> dict:
    """What was measured of one language. A server that cannot be measured is told, and the others go on."""
    absent = {kind.name: what for kind in contest.servers if (what := kind.missing())}
    outcome: dict = {"absent": absent, "refused": {}, "versions": {}, "samples": [], "worker_memory": {}}
    present = [kind for kind in contest.servers if kind.name not in absent]
    if not present or present[0] is not contest.servers[0]:
        return outcome
    memory = {}
    with ExitStack() as stack:
        running = []
        for kind in present:
            server = kind(setup, folder / f"{contest.name}-{kind.name.replace(' ', '-')}")
            try:
                memory[kind.name] = begin(stack, server, plan)
                running.append(server)
                outcome["versions"][kind.name] = kind.version()
            except FAILURES as error:
                outcome["refused"][kind.name] = str(error)
                progress(f"{contest.name} {kind.name}: CANNOT BE MEASURED: {error}")
        outcome["samples"] = run_rounds(contest, plan, running)
    if plan.memory and contest.has_workers:
        outcome["worker_memory"] = worker_memory(contest, plan, setup, folder, memory)
    return outcome


def begin(stack: ExitStack, server: servers.Server, plan: Plan) -> int:
    """Starts a server, has it answer everything right, and warms it up. Returns its memory then."""
    stack.callback(server.stop)
    server.start("hello")
    for workload in WORKLOADS:
        workload.verify(server.port)
    for workload in WORKLOADS:
        load.run_command(workload.command(server.port, 1), 1, load.parse_wrk)
    return measure.memory(server.roots).pss


def run_rounds(contest: Contest, plan: Plan, running: list[servers.Server]) -> list[dict]:
    samples = []
    for number in range(plan.rounds):
        for workload in WORKLOADS:
            # Another one goes first in each round.
            first = number % max(1, len(running))
            for server in running[first:] + running[:first]:
                samples.append(sample(contest, workload, server, number, plan.seconds))
    return samples


def sample(contest: Contest, workload: Workload, server: servers.Server, number: int, seconds: float) -> dict:
    found = {"round": number, "server": server.name, "work": f"{contest.name}: {workload.name}",
             "connections": CONNECTIONS, "mode": KEEP_ALIVE}  # fmt: skip
    try:
        before = measure.cpu_seconds(server.roots)
        result = load.run_command(workload.command(server.port, seconds), seconds, load.parse_wrk)
        cpu = measure.cpu_seconds(server.roots) - before
        found |= {**result.as_dict(), "cpu_us": 1e6 * cpu / (result.requests - result.failed), "memory": 0}
        outcome = f"{result.per_second:>9,.0f} req/s {found['cpu_us']:7.1f} us"
        outcome += f" {result.failed} FAILED" if result.failed else ""
    except FAILURES as error:
        found["error"] = str(error)
        outcome = f"RUN FAILED: {error}"
    progress(f"{found['work']:26} {server.name:18} {outcome}")
    return found


def worker_memory(contest: Contest, plan: Plan, setup: Setup, folder: Path, before: dict[str, int]) -> dict[str, float]:
    """Bytes for one more worker: the same servers with twice as many, one after the other."""
    doubled = replace(setup, workers=2 * setup.workers)
    found = {}
    for kind in contest.servers:
        if kind.name not in before:
            continue
        server = kind(doubled, folder / f"{contest.name}-{kind.name.replace(' ', '-')}-doubled")
        try:
            with ExitStack() as stack:
                found[kind.name] = (begin(stack, server, plan) - before[kind.name]) / setup.workers
        except FAILURES as error:
            progress(f"{contest.name} {kind.name} with {doubled.workers} workers: {error}")
    return found
