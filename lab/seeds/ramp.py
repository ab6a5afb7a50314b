"""Past saturation: an open loop that asks for more than a server can do, and what its clients see second by second."""

import math
from dataclasses import dataclass
from pathlib import Path

from .generators import Load
from .generators.generator import MOST_BUSY
from .generators.process import run
from .generators.tank import Tank, failures, read_report
from .records import Ramp
from .verdict import MOST_FAILED, SATURATED

# Clients have left after so many seconds.
PATIENCE = 5.0
CONNECTIONS = 1000

# A second holds if its requests were answered rightly, 99 of 100 within this time.
FAST_US = 1_000_000

# The 99th percentile of how late requests may leave although a connection was free.
MOST_LATE_MS = 100


@dataclass(frozen=True)
class Profile:
    """Loads in the words of corral-tank."""

    name: str
    schedule: str
    seconds: int
    # The second from which on nothing more than a server can do is asked for; None if that never comes.
    relief: int | None = None


PROFILES = {
    profile.name: profile
    for profile in (
        # Slowly where frameworks come to their end, and faster beyond.
        Profile("standard", "line(1,1000,35s) line(1000,5000,20s)", 55),
        # A rate that each server can do, a jump past all of them, and the first rate again.
        Profile("stress", "const(50,5s) const(5000,5s) const(50,20s)", 30, 10),
    )
}

# Seconds beside the schedule: the last requests are waited for, and the server is started anew.
BESIDE = PATIENCE + 6.0
LONGEST = max(profile.seconds for profile in PROFILES.values())

RAMP_SECONDS = {name: profile.seconds + BESIDE for name, profile in PROFILES.items()}


def measure(tank: Tank, server: str, workload: str, load: Load, profile: Profile, folder: Path) -> Ramp:
    """One ramp. The raw lines of all requests are read and thrown away."""
    raw = folder / "phout.txt"
    command = [*tank.request(load, folder, PATIENCE), "--schedule", profile.schedule, "--connections", str(CONNECTIONS),
               "--phout", str(raw), load.url]  # fmt: skip
    # The schedule begins when tank is ready; its first request is due at once.
    finished = run(command, profile.seconds + PATIENCE + 30)
    if not tank.accepts_status(finished.status):
        return Ramp(server, workload, profile.name, profile.schedule, error=f"tank gave up: {finished.last_words}")
    report = read_report(folder)
    rows = by_second(raw, report["each_second"], profile.seconds)
    raw.unlink()
    return judged(Ramp(server, workload, profile.name, profile.schedule, rows, failures(report),
                       void=_void(report)), profile)  # fmt: skip


def by_second(raw: Path, counts: list[dict], n_seconds: int) -> list[list]:
    """Rows by the second in which requests were due, of tank's phout.txt: failed requests have the time until they were
    given up."""
    times: list[list[int]] = [[] for _ in range(n_seconds)]
    n_failed = [0] * n_seconds
    lines = [line.split("\t") for line in raw.read_text().splitlines()]
    begun = min((float(line[0]) for line in lines), default=0.0)
    for line in lines:
        second = min(n_seconds - 1, int(float(line[0]) - begun))
        times[second].append(int(line[2]))
        n_failed[second] += (line[10], line[11]) != ("0", "200")
    sent = {count["second"]: count["sent"] for count in counts}
    planned = {count["second"]: count["planned"] or 0 for count in counts}
    return [
        [second, planned.get(second, 0), sent.get(second, 0), len(of) - failed, failed, *_percentiles(of)]
        for second, (of, failed) in enumerate(zip(times, n_failed, strict=True))
    ]


def _percentiles(times: list[int]) -> list[float | None]:
    ordered = sorted(times)
    return [ordered[math.ceil(share * len(ordered)) - 1] if ordered else None for share in (0.50, 0.99)]


def judged(ramp: Ramp, profile: Profile) -> Ramp:
    """With the rate that it holds to, the rate of the first failure, and how soon it recovers."""
    held = True
    for row in ramp.seconds:
        _, planned, _, _, failed, _, _ = row
        if failed and ramp.first_failure_at is None:
            ramp.first_failure_at = planned
        held = held and holds(row)
        if held:
            ramp.holds_to = max(ramp.holds_to or 0, planned)
    ramp.recovers_after = _recovery(ramp.seconds, profile.relief)
    return ramp


def holds(row: list) -> bool:
    _, _, _, good, failed, _, p99_us = row
    return p99_us is not None and p99_us <= FAST_US and failed < MOST_FAILED * (good + failed)


def _recovery(rows: list[list], relief: int | None) -> float | None:
    """Seconds from the relief until all seconds hold; None if the last one does not."""
    if relief is None or not rows or not holds(rows[-1]):
        return None
    bad = [row[0] for row in rows if row[0] >= relief and not holds(row)]
    return max(bad) + 1 - relief if bad else 0


def _void(report: dict) -> str | None:
    """tank is stricter: here, requests wait for connections by design, and only seconds are told apart."""
    late_ms, busy = report["generator"]["lag"]["percentiles"]["99"] / 1000, report["generator"]["busiest_thread"]
    if late_ms > MOST_LATE_MS:
        return f"{SATURATED}: requests left up to {late_ms:.0f} ms late"
    return f"{SATURATED}: tank's busiest thread ran or waited {100 * busy:.0f} % of the time" if busy > MOST_BUSY else None
