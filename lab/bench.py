"""Runs the rounds: every server at a point before the next point, everything again in the next round."""

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import idle, load, measure
from .servers import Server, ServerFailed
from .workloads import Point


@dataclass(frozen=True)
class Plan:
    """The options of the command line."""

    points: list[Point]
    rounds: int
    seconds: float
    warm_up: float
    idle_connections: int
    # Changes of a large configuration that are timed.
    changes: int


def run_rounds(plan: Plan, servers: list[Server]) -> list[dict]:
    samples = []
    runs = [(r, p, s) for r in range(plan.rounds) for p in plan.points for s in in_turn(servers, r) if _can(s, p)]
    for number, (round_number, point, server) in enumerate(runs, 1):
        sample = {
            "round": round_number,
            "server": server.name,
            "work": point.work,
            "connections": point.connections,
            "mode": point.mode,
        }
        try:
            sample |= sample_point(plan, point, server)
            outcome = f"{sample['per_second']:>9,.0f} req/s {sample['cpu_us']:6.1f} us p99 {sample['p99_ms']:.2f} ms"
            outcome += f" {sample['failed']} FAILED" if sample["failed"] else ""
        except (load.LoadFailed, ServerFailed) as error:
            sample["error"] = str(error)
            outcome = f"RUN FAILED: {error}"
        samples.append(sample)
        progress(f"[{number}/{len(runs)}] {point.name:28} {server.name:15} {outcome}")
    return samples


def sample_point(plan: Plan, point: Point, server: Server) -> dict:
    """Memory is sampled while the server warms up, so that the sampling costs nothing that is measured."""
    if any(child.poll() is not None for child in server.children):
        raise ServerFailed(f"{server.name} is gone: {server.tail()}")
    with measure.PeakMemory(server.roots) as memory:
        load.run(point, server.url(point.work), plan.warm_up)
    return {**measured(server, lambda: load.run(point, server.url(point.work), plan.seconds)), "memory": memory.peak}


def measured(server: Server, run: Callable[[], load.Load]) -> dict:
    """A run of load, with the processor time of each good answer: of the whole server, and of its front alone."""
    roots, front = server.roots, server.front
    before, before_front = measure.cpu_seconds(roots), measure.cpu_seconds(front)
    result = run()
    cpu, cpu_front = measure.cpu_seconds(roots) - before, measure.cpu_seconds(front) - before_front
    each = 1e6 / (result.requests - result.failed)
    return {**result.as_dict(), "cpu_us": cpu * each, "front_us": cpu_front * each}


def in_turn(servers: list[Server], round_number: int) -> list[Server]:
    """Another server goes first in each round, so that the order is not always the same."""
    start = round_number % max(1, len(servers))
    return servers[start:] + servers[:start]


def run_idle(plan: Plan, servers: list[Server]) -> list[dict]:
    rows = []
    for server in servers:
        if not server.serves_files or server.scenario != "site":
            continue
        try:
            rows.append(idle.measure_idle(server, plan.idle_connections, "1k.txt"))
        except idle.IdleFailed as error:
            rows.append({"server": server.name, "error": str(error)})
        progress(f"idle {server.name}: {rows[-1]}")
    return rows


def machine() -> dict:
    models = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000,
        "load_before": os.getloadavg()[0],
    }


def progress(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)


def _can(server: Server, point: Point) -> bool:
    if server.scenario != point.scenario:
        return False
    return server.serves_php if point.is_php else server.serves_files
