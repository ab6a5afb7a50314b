"""One application and the servers that it is served by: all are verified, then measured in turn, workload after workload,
round after round."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from . import load, measure, servers
from .bench import in_turn, measured, progress
from .workloads import KEEP_ALIVE, Point
from .wrk import Workload, WrongAnswer

FAILURES = (servers.ServerFailed, load.LoadFailed, WrongAnswer, OSError)


@dataclass(frozen=True)
class Plan:
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Contest:
    """Corral first, then its peers."""

    name: str
    servers: list[type[servers.Server]]
    workloads: list[Workload]
    connections: tuple[int, ...] = (100,)

    @property
    def peers(self) -> list[type[servers.Server]]:
        return self.servers[1:]

    def point(self, workload: Workload, connections: int) -> Point:
        """The name that its samples are filed under."""
        return Point(f"{self.name}: {workload.name}", connections, KEEP_ALIVE)


def run(contest: Contest, plan: Plan, setup: object, folder: Path) -> dict:
    """The measurement. A server that cannot be measured is reported, and the others go on."""
    absent = {kind.name: what for kind in contest.servers if (what := kind.missing())}
    outcome = nothing(absent)
    present = [kind for kind in contest.servers if kind.name not in absent]
    if not present or present[0] is not contest.servers[0]:
        return outcome
    with ExitStack() as stack:
        running = []
        for kind in present:
            server = kind(setup, folder / folder_name(contest, kind))
            try:
                outcome["memory"][kind.name] = begin(stack, contest, server)
                running.append(server)
                outcome["versions"][kind.name] = kind.version()
            except FAILURES as error:
                outcome["refused"][kind.name] = str(error)
                progress(f"{contest.name} {kind.name}: CANNOT BE MEASURED: {error}")
        outcome["samples"] = _run_rounds(contest, plan, running)
    return outcome


def nothing(absent: dict[str, str]) -> dict:
    """An outcome without measurements."""
    return {"absent": absent, "refused": {}, "versions": {}, "samples": [], "memory": {}}


def failed(outcome: dict) -> bool:
    """Whether something that is there could not be measured."""
    return bool(outcome["refused"]) or any("error" in sample or sample["failed"] for sample in outcome["samples"])


def folder_name(contest: Contest, kind: type[servers.Server]) -> str:
    return f"{contest.name}-{kind.name}".replace(" ", "-")


def begin(stack: ExitStack, contest: Contest, server: servers.Server) -> int:
    """Starts a server, has it answer everything right, and warms it up. Returns its memory then."""
    stack.callback(server.stop)
    server.start(contest.workloads[0].path.removeprefix("/"))
    for workload in contest.workloads:
        workload.verify(server.port)
    for workload in contest.workloads:
        load.run_command(workload.command(server.port, 1, max(contest.connections)), 1, load.parse_wrk)
    return measure.memory(server.roots).pss


def _run_rounds(contest: Contest, plan: Plan, running: list[servers.Server]) -> list[dict]:
    return [
        _sample(contest, workload, connections, server, number, plan.seconds)
        for number in range(plan.rounds)
        for workload in contest.workloads
        for connections in contest.connections
        for server in in_turn(running, number)
    ]


def _sample(
    contest: Contest, workload: Workload, connections: int, server: servers.Server, number: int, seconds: float
) -> dict:
    point = contest.point(workload, connections)
    found = {"round": number, "server": server.name, "work": point.work, "connections": connections, "mode": point.mode}
    try:
        command = workload.command(server.port, seconds, connections)
        found |= {**measured(server, lambda: load.run_command(command, seconds, load.parse_wrk)), "memory": 0}
        outcome = f"{found['per_second']:>9,.0f} req/s {found['cpu_us']:7.1f} us"
        outcome += f" {found['failed']} FAILED" if found["failed"] else ""
    except FAILURES as error:
        found["error"] = str(error)
        outcome = f"RUN FAILED: {error}"
    progress(f"{point.work:26} {connections:>4} {server.name:24} {outcome}")
    return found
