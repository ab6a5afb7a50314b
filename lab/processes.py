"""Child processes: started in the foreground, found again with their descendants, ended by pid."""

import os
import signal
import subprocess
import time
from pathlib import Path


def spawn(argv: list[str], log: Path, env: dict[str, str] | None = None) -> subprocess.Popen:
    """Starts a server whose output goes to `log`."""
    with log.open("ab") as output:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )


def tree(root: int) -> list[int]:
    """`root` and all its descendants that exist now."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := stat_fields(int(entry))):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found, pending = [], [root]
    while pending:
        pid = pending.pop()
        found.append(pid)
        pending.extend(children.get(pid, []))
    return found


def session(root: int) -> list[int]:
    """The processes of the session that `root` began, also those whose parents are gone."""
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if (fields := stat_fields(pid)) and int(fields[3]) == root]


def stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from `state` on (proc(5) numbers them from 3)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def title(pid: int) -> str:
    """The process's title: its command line, or what it has written over it."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def stop(process: subprocess.Popen, patience: float = 10.0) -> None:
    """Asks, waits, then kills what is left of the tree."""
    pids = tree(process.pid)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and any(map(_same_session_alive, pids)):
        time.sleep(0.02)
    # A server that forks when it is told to end leaves children that were not there before.
    for pid in filter(_same_session_alive, {*pids, *session(process.pid)}):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _same_session_alive(pid: int) -> bool:
    fields = stat_fields(pid)
    return fields is not None and fields[0] != "Z"
