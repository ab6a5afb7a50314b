"""The kinds of records: each is one line of a file, and says what was measured, or why it could not be."""

import calendar
import time
from dataclasses import dataclass, field
from typing import ClassVar

# The form of a moment, in UTC.
STARTED = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Cell:
    """One server under one load: the samples of all rounds are judged together."""

    server: str
    workload: str
    # "keep-alive", "close", "tls" or "h2".
    transport: str
    # "tank", "ab", "siege" or "wrk".
    tool: str
    clients: int

    @property
    def name(self) -> str:
        return f"{self.server}/{self.workload}/{self.transport}/{self.tool}/{self.clients}"


@dataclass
class Run:
    """The first line of a file."""

    kind: ClassVar = "run"
    # UTC, as in 2026-11-27T12:00:00Z.
    started: str
    # "full", "quick", or either with "part of " before it.
    plan: str
    rounds: int
    seconds: float
    # cpu, cores, kernel, memory_mb, os.
    machine: dict
    # Spread of a fixed piece of work that was done ten times before the run, and the stolen share meanwhile.
    noise: dict
    # version, commit.
    corral: dict
    # Options of the command line that shape the plan: a resumed run takes them from here.
    options: dict = field(default_factory=dict)
    # The digest of all cells and extras: a resumed run must have the same.
    digest: str = ""

    @property
    def epoch(self) -> int:
        return calendar.timegm(time.strptime(self.started, STARTED))


@dataclass
class Server:
    kind: ClassVar = "server"
    server: str
    title: str
    family: str
    version: str
    # The configuration in full, by file name.
    files: dict[str, str]
    # Candidates of the sweep: setting, per_second, cpu_us, chosen.
    tuning: list[dict] = field(default_factory=list)


@dataclass
class Absent:
    """A server or a load generator that could not be run here."""

    kind: ClassVar = "absent"
    server: str
    title: str
    reason: str


@dataclass
class Generator:
    kind: ClassVar = "generator"
    tool: str
    version: str
    # The failures that it can and cannot see, in one sentence.
    counts: str


@dataclass
class Workload:
    kind: ClassVar = "workload"
    workload: str
    title: str
    source: str


@dataclass
class Sample:
    """One round of one cell: the figures, or the error in place of all of them."""

    kind: ClassVar = "sample"
    server: str
    workload: str
    transport: str
    tool: str
    clients: int
    round: int
    # Seconds since the start of the run.
    at: float
    # Measured, not planned.
    seconds: float = 0.0
    good: int = 0
    # By kind, as in {"status 502": 3}.
    failures: dict[str, int] = field(default_factory=dict)
    # Good answers.
    per_second: float = 0.0
    # By percentage as text, "100" being the longest; None where the tool does not tell any.
    percentiles_us: dict[str, float] | None = None
    # Processor time of each good answer, by role of the process.
    cpu_us: dict[str, float] = field(default_factory=dict)
    # Context switches of each good answer: "voluntary" and "involuntary".
    switches: dict[str, float] = field(default_factory=dict)
    # Proportional set size: pairs of seconds since the start of the sample and megabytes, 12 at most.
    memory_mb: list[list[float]] = field(default_factory=list)
    # In cores: 1.0 is one core all the time.
    generator_cpu: float = 0.0
    # Shares of all processor time: taken by the hypervisor, and used by neither server, generator nor database.
    stolen: float = 0.0
    others: float = 0.0
    # The reason why this sample says nothing about the server.
    void: str | None = None
    error: str | None = None

    @property
    def cell(self) -> Cell:
        return Cell(self.server, self.workload, self.transport, self.tool, self.clients)

    @property
    def failed(self) -> int:
        return sum(self.failures.values())


@dataclass
class Histogram:
    """Answer times of a cell, merged over its rounds."""

    kind: ClassVar = "histogram"
    server: str
    workload: str
    transport: str
    tool: str
    clients: int
    # Pairs of microseconds, which are the upper end of a bucket, and a number of answers; 120 at most.
    counts: list[list[float]]

    @property
    def cell(self) -> Cell:
        return Cell(self.server, self.workload, self.transport, self.tool, self.clients)


@dataclass
class Ramp:
    kind: ClassVar = "ramp"
    server: str
    workload: str
    # "standard" or "stress".
    profile: str
    # The words that corral-tank was given.
    schedule: str = ""
    # Rows by the second in which requests were due: [t, planned, sent, good, failed, p50_us, p99_us]. Times are those
    # of all requests that were due then, failed ones included; None if there were none.
    seconds: list[list] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    # The highest rate of a second up to which no second failed or was slow.
    holds_to: float | None = None
    # The planned rate in the second of the first failure.
    first_failure_at: float | None = None
    # Seconds from the end of the overload until answers are good and fast again; None if never, or without overload.
    recovers_after: float | None = None
    void: str | None = None
    error: str | None = None


@dataclass
class Idle:
    kind: ClassVar = "idle"
    server: str
    connections: int
    # For each connection.
    private_kib: float = 0.0
    fresh_without_ms: float = 0.0
    fresh_with_ms: float = 0.0
    error: str | None = None


@dataclass
class Slow:
    kind: ClassVar = "slow"
    server: str
    clients: int
    # Slow clients whose connections were still open, or answered rightly, at the end.
    held: int = 0
    # The 99th percentile of other clients' answers beside slow clients, and alone.
    others_p99_ms: float | None = None
    others_without_ms: float | None = None
    error: str | None = None


@dataclass
class Sites:
    kind: ClassVar = "sites"
    server: str
    sites: int
    per_second: float = 0.0
    pss_mb: float = 0.0
    error: str | None = None


@dataclass
class Done:
    """The last line of a run that came to its end."""

    kind: ClassVar = "done"
    at: float


Record = Run | Server | Absent | Generator | Workload | Sample | Histogram | Ramp | Idle | Slow | Sites | Done

KINDS = {kind.kind: kind for kind in Record.__args__}
