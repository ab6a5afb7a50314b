"""Facts of the machine and of the run: noise, stolen time, versions, and what could not be measured."""

from collections.abc import Iterator

from .. import tables
from ..context import Context, Section, paragraph, section
from ..markup import element
from ..results import Results
from ..units import percent


def machine(context: Context) -> Section:
    facts = element(
        "dl", *(element("div", element("dt", name), element("dd", value)) for name, value in _facts(context.results))
    )
    versions = [(context.label(server.server), server.version) for server in context.results.servers.values()]
    absent = [(each.title, each.reason) for each in context.results.records.absent]
    return section(
        "machine", "Machine, versions, and what is missing",
        facts,
        element("h3", "Versions"),
        tables.table("Versions", (tables.text("server"), tables.words("version")), versions),
        element("h3", "Not measured"),
        tables.table("Not measured", (tables.text("server or tool"), tables.words("why")), absent) if absent
        else paragraph("All servers and tools that the lab knows were measured."),
    )  # fmt: skip


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    run = results.records.run
    facts = run.machine
    samples = [sample for sample in results.records.samples if sample.error is None]
    yield "processor", f"{facts.get('cpu', 'unknown')}, {facts.get('cores', '?')} cores"
    yield "memory", f"{facts['memory_mb']:,} MB" if "memory_mb" in facts else "unknown"
    yield "system", f"{facts.get('os', 'unknown')}, Linux {facts.get('kernel', 'unknown')}"
    yield "started", run.started.replace("T", " ").replace("Z", " UTC")
    yield "plan", f"{run.plan}, {run.rounds} rounds of {run.seconds:g} s for each cell"
    yield (
        "took",
        f"{results.records.done.at / 60:,.0f} minutes"
        if results.records.done
        else "interrupted: the run is not complete",
    )
    yield "Corral", " ".join(f"{key} {value}" for key, value in run.corral.items() if value)
    yield (
        "noise",
        f"the same work ten times before the run: {percent(run.noise.get('spread'))} from the fastest to the slowest",
    )
    yield (
        "stolen by the hypervisor",
        f"{percent(run.noise.get('stolen'))} before the run, {_most(s.stolen for s in samples)} in a round at most",
    )
    yield "used by others", f"{_most(sample.others for sample in samples)} in a round at most"


def _most(shares: Iterator[float]) -> str:
    return percent(max(shares, default=None))
