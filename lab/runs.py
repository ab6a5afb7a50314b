"""The common part of all commands of the lab: the facts of a run, where it is kept, and how a command ends."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import bench, servers

RESULTS = Path(os.environ.get("LAB_RESULTS") or Path(__file__).resolve().parent / "results")


def begun(rounds: int, seconds: float) -> dict:
    """The facts of a run that begins now."""
    return {
        "started": time.strftime("%Y-%m-%d %H:%M:%S"),
        "commit": commit(),
        "machine": bench.machine(),
        "rounds": rounds,
        "seconds": seconds,
    }


def keep(run: dict) -> Path:
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{run['started'].replace(' ', '-').replace(':', '')}-{os.uname().nodename}.json"
    path.write_text(json.dumps(run, indent=1))
    return path


def exit_with(main: Callable[[], int]) -> None:
    """Runs a command to its exit status; a server that does not start is told in one line."""
    try:
        sys.exit(main())
    except servers.ServerFailed as error:
        sys.exit(f"lab: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True,
                          cwd=servers.REPOSITORY, check=False)
    return done.stdout.strip()
