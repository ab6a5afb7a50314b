"""The records of a run: one JSON object a line, appended as soon as it is known.

`Records` is a whole file as typed lists. A line that was cut off by an interruption is left out, so that a run can be
resumed from any file. Of several records of one cell's histogram, the last one counts: each contains those before.
"""

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from .kinds import (
    KINDS,
    STARTED,
    Absent,
    Cell,
    Done,
    Generator,
    Histogram,
    Idle,
    Ramp,
    Record,
    Run,
    Sample,
    Server,
    Sites,
    Slow,
    Workload,
)

__all__ = [
    "STARTED", "Absent", "BrokenRecords", "Cell", "Done", "Generator", "Histogram", "Idle", "Ramp", "Record", "Records",
    "Run", "Sample", "Server", "Sites", "Slow", "Workload", "append", "compact", "from_json", "line", "read", "to_json",
]  # fmt: skip


class BrokenRecords(Exception):
    """A file that is not the record of a run."""


# The fields that a record with an error keeps.
IDENTITY = ("server", "workload", "transport", "tool", "clients", "round", "at", "profile", "connections", "sites")


def to_json(record: Record) -> dict:
    found = {"kind": record.kind, **asdict(record)}
    if "error" not in found:
        return found
    error = found.pop("error")
    if error is None:
        return found
    return {"kind": record.kind, **{key: found[key] for key in IDENTITY if key in found}, "error": error}


def from_json(found: dict) -> Record:
    """Keys that are not known are left out: records of a later lab can be read."""
    kind = KINDS.get(found.get("kind"))
    if kind is None:
        raise BrokenRecords(f"unknown kind {found.get('kind')!r}")
    known = {each.name for each in fields(kind)}
    return kind(**{key: value for key, value in found.items() if key in known})


def append(path: Path, record: Record) -> None:
    """Adds a line and has it written at once."""
    with path.open("a") as file:
        file.write(line(record))
        file.flush()
        os.fsync(file.fileno())


def line(record: Record) -> str:
    return json.dumps(_short(to_json(record)), separators=(",", ":"), ensure_ascii=False) + "\n"


def _short(value: object) -> object:
    """Numbers to six digits: more of them are noise that takes space."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    return value


@dataclass
class Records:
    """A whole file."""

    run: Run
    servers: list[Server] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)
    generators: list[Generator] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)
    ramps: list[Ramp] = field(default_factory=list)
    idle: list[Idle] = field(default_factory=list)
    slow: list[Slow] = field(default_factory=list)
    sites: list[Sites] = field(default_factory=list)
    done: Done | None = None

    def cells(self) -> dict[Cell, list[Sample]]:
        """All samples by their cell, in the order in which cells were measured first."""
        found: dict[Cell, list[Sample]] = {}
        for sample in self.samples:
            found.setdefault(sample.cell, []).append(sample)
        return found

    def all(self) -> list[Record]:
        """Every record, in the order of a file."""
        lists = [value for each in fields(self) if isinstance(value := getattr(self, each.name), list)]
        last = [self.done] if self.done else []
        return [self.run, *(record for records in lists for record in records), *last]


LISTS = {Server: "servers", Absent: "absent", Generator: "generators", Workload: "workloads", Sample: "samples",
         Ramp: "ramps", Idle: "idle", Slow: "slow", Sites: "sites"}  # fmt: skip


def read(path: Path) -> Records:
    found: list[Record] = []
    for text in path.read_text().splitlines(keepends=True):
        # A line without an end was interrupted.
        if text.endswith("\n") and text.strip():
            try:
                found.append(from_json(json.loads(text)))
            except (ValueError, TypeError, AttributeError) as error:
                raise BrokenRecords(f"{path}: {error}: {text[:80]!r}") from error
    if not found or not isinstance(found[0], Run):
        raise BrokenRecords(f"{path} does not begin with the record of a run")
    return _sorted(found)


def _sorted(found: list[Record]) -> Records:
    records = Records(found[0])
    histograms = {}
    for record in found[1:]:
        if isinstance(record, Histogram):
            histograms[record.cell] = record
        elif isinstance(record, Done):
            records.done = record
        elif not isinstance(record, Run):
            getattr(records, LISTS[type(record)]).append(record)
    records.histograms = list(histograms.values())
    return records


def compact(path: Path) -> None:
    """Writes the file anew without what is superseded or cut off."""
    records = read(path)
    beside = path.with_suffix(".new")
    beside.write_text("".join(map(line, records.all())))
    beside.replace(path)
