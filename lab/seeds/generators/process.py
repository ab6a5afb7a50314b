"""A generator's process: its output, its processor time, and how busy its busiest thread was."""

import os
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ...load import LoadFailed

INTERVAL = 0.1
# A generator with a thread for each client is not looked at by thread.
MOST_THREADS = 16
LAST_WORDS = 300
# A generator that waits for a processor takes its own waiting for the server's. Only root may put it first.
FIRST = ["nice", "-n", "-10"] if os.geteuid() == 0 else []


class Hung(LoadFailed):
    """A generator that did not end."""


@dataclass(frozen=True)
class Finished:
    stdout: str
    stderr: str
    status: int
    elapsed: float
    cpu_seconds: float
    # The share of its time that a thread ran or waited for a processor.
    busiest: float

    @property
    def last_words(self) -> str:
        return (self.stderr.strip() or self.stdout.strip())[-LAST_WORDS:]


def run(command: list[str], patience: float, env: dict[str, str] | None = None) -> Finished:
    """Waits for the command's end. Without an end within `patience`, it is killed and `Hung` is raised."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        started = time.monotonic()
        process = subprocess.Popen([*FIRST, *command], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                   env={**os.environ, **(env or {})})  # fmt: skip
        try:
            busiest = _await_end(process.pid, started, patience)
        except BaseException:
            process.kill()
            process.wait()
            raise
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        return Finished(_text(stdout), _text(stderr), process.returncode, elapsed,
                        usage.ru_utime + usage.ru_stime, busiest)  # fmt: skip


def _await_end(pid: int, started: float, patience: float) -> float:
    """Returns how busy the busiest thread was when it was seen last. The process is left to be reaped."""
    busiest = 0.0
    descriptor = os.pidfd_open(pid)
    try:
        while not select.select([descriptor], [], [], INTERVAL)[0]:
            elapsed = time.monotonic() - started
            if elapsed > patience:
                raise Hung(f"the generator did not end within {patience:.0f} s")
            busiest = _busiest(pid, elapsed) or busiest
    finally:
        os.close(descriptor)
    return busiest


def _busiest(pid: int, elapsed: float) -> float | None:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        if len(tasks) > MOST_THREADS:
            return None
        # Nanoseconds that it ran and waited: proc(5), schedstat.
        times = [Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split() for task in tasks]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return max((int(ran) + int(waited) for ran, waited, _ in times), default=0) / 1e9 / elapsed


def _text(file) -> str:
    """The beginning and the end of what was written: some tools tell each failure."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1_000_000))
    return file.read().decode(errors="replace")
