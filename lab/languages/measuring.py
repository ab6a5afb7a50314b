"""Runs the contest of a language, and measures what one more worker takes."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from .. import contest
from ..bench import progress
from .contests import Contest
from .own import Setup


def run_contest(found: Contest, plan: contest.Plan, setup: Setup, folder: Path, *, with_memory: bool) -> dict:
    outcome = contest.run(found, plan, setup, folder) | {"worker_memory": {}}
    if with_memory and found.has_workers:
        outcome["worker_memory"] = worker_memory(found, setup, folder, outcome["memory"])
    return outcome


def worker_memory(found: Contest, setup: Setup, folder: Path, before: dict[str, int]) -> dict[str, float]:
    """Bytes for one more worker: the same servers with twice as many, one after the other."""
    doubled = replace(setup, workers=2 * setup.workers)
    memory = {}
    for kind in found.servers:
        if kind.name not in before:
            continue
        server = kind(doubled, folder / f"{contest.folder_name(found, kind)}-doubled")
        try:
            with ExitStack() as stack:
                memory[kind.name] = (contest.begin(stack, found, server) - before[kind.name]) / setup.workers
        except contest.FAILURES as error:
            progress(f"{found.name} {kind.name} with {doubled.workers} workers: {error}")
    return memory
