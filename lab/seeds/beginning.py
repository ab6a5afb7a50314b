"""The beginning of a run: what is installed, what is planned, and whether a run that is resumed is still the same one."""

import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .. import bench, runs, servers
from . import machine, records, tuning
from .generators import GENERATORS
from .plan import Offer, Plan
from .plans import PLANS, TELLING, USUAL_FAMILIES
from .ramp import RAMP_SECONDS
from .records import Records
from .run import Contest
from .servers import SERVERS, SeedServer
from .workloads import WORKLOADS, Site, prepare


class Refused(Exception):
    """A run that cannot be begun, or resumed."""


@dataclass(frozen=True)
class Options:
    """The options of the command line that shape a plan."""

    plan: str = "full"
    only: list[str] = field(default_factory=list)
    servers: list[str] | None = None
    rounds: int | None = None
    seconds: float | None = None


EXAMPLE = "nginx-fpm-socket/echoes/keep-alive/tank/100 and ramp/nginx-fpm-socket/laravel/stress"

# Facts that have to be the same when a run is resumed.
FACTS = ("cpu", "cores", "kernel", "memory_mb", "os")


def new_path() -> Path:
    runs.RESULTS.mkdir(parents=True, exist_ok=True)
    return runs.RESULTS / f"seeds-{_now().replace(':', '')}.jsonl"


def measure(options: Options, path: Path, *, is_resumed: bool) -> None:
    """A whole run, or the rest of one."""
    if reason := GENERATORS["tank"].missing():
        raise Refused(f"the load generator is missing: {reason}")
    if is_resumed:
        records.compact(path)
        options = Options(**records.read(path).run.options)
    kinds = chosen_kinds(options)
    with tempfile.TemporaryDirectory(prefix="corral-lab-") as folder, prepare(Path(folder)) as site:
        plan = make_plan(options, offers(kinds, site, options))
        if not plan.cells and not plan.extras:
            raise Refused(f"nothing is called so; names are like {EXAMPLE}")
        if is_resumed:
            check_same(records.read(path).run, plan)
        else:
            begin(path, plan, options, site)
        if plan.n_candidates and not records.read(path).samples:
            tuning.sweep(site, [kind for kind in kinds if kind.name in plan.servers], bench.progress)
        Contest(plan, site, {kind.name: kind for kind in kinds}, path, records.read(path)).measure()


def chosen_kinds(options: Options) -> list[type[SeedServer]]:
    """The servers that can be run here, of those that are asked for."""
    known = {kind.name for kind in SERVERS}
    if unknown := [name for name in options.servers or [] if name not in known]:
        raise Refused(f"unknown server {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    asked = [kind for kind in SERVERS if options.servers is None or kind.name in options.servers]
    return [kind for kind in asked if not kind.missing()]


def offers(kinds: list[type[SeedServer]], site: Site, options: Options) -> list[Offer]:
    """Servers that the command line names are all telling."""

    def is_telling(kind: type[SeedServer]) -> bool:
        return bool(options.servers) or kind.name in TELLING or kind.family not in USUAL_FAMILIES

    return [
        Offer(kind.name, frozenset(kind(site, site.folder / "none").serves), kind.transports, is_telling(kind),
              len(kind.candidates()))
        for kind in kinds
    ]


def make_plan(options: Options, found: list[Offer]) -> Plan:
    """Tools that are not installed are left out."""
    plan = PLANS[options.plan](found, RAMP_SECONDS)
    tools = {name for name, generator in GENERATORS.items() if not generator.missing()}
    columns = [[cell for cell in column if cell.tool in tools] for column in plan.columns]
    plan = replace(plan, columns=list(filter(None, columns)))
    if options.only:
        plan = plan.only(options.only)
    return replace(plan, rounds=options.rounds or plan.rounds, seconds=options.seconds or plan.seconds)


def imagined_plan(options: Options) -> Plan:
    """The plan as it would be if all sites could be prepared."""
    with tempfile.TemporaryDirectory(prefix="corral-lab-") as name:
        folder = Path(name)
        user = servers.unprivileged_user()
        setup = servers.Setup(folder, folder, folder, 8, user, user)
        site = Site(folder, {}, setup, [], folder, None)
        return make_plan(options, offers(chosen_kinds(options), site, options))


def begin(path: Path, plan: Plan, options: Options, site: Site) -> None:
    """Writes what is known before the first measurement."""
    corral = next(kind for kind in SERVERS if kind.family == "corral")
    version = {"version": "" if corral.missing() else corral.version(), "commit": runs.commit()}
    run = records.Run(_now(), plan.name, plan.rounds, plan.seconds, machine.facts(), machine.noise(), version,
                      asdict(options), plan.digest)  # fmt: skip
    absent = [records.Absent(kind.name, kind.title, reason) for kind in SERVERS if (reason := kind.missing())]
    absent += [records.Absent(name, f"workload: {WORKLOADS[name].title}", reason) for name, reason in site.missing.items()]
    absent += [records.Absent(name, f"load generator: {name}", reason)
               for name, each in GENERATORS.items() if (reason := each.missing())]  # fmt: skip
    generators = [records.Generator(name, each.version(), each.counts) for name, each in GENERATORS.items() if not each.missing()]
    asked = {cell.workload for cell in plan.cells} | {extra.workload for extra in plan.extras}
    workloads = [records.Workload(each.name, each.title, each.source) for each in WORKLOADS.values() if each.name in asked]
    for record in (run, *absent, *generators, *workloads):
        records.append(path, record)


def check_same(run: records.Run, plan: Plan) -> None:
    """Figures of two machines, or of two plans, do not belong into one table."""
    here = machine.facts()
    changed = [f"{fact}: {run.machine.get(fact)} then, {here[fact]} now" for fact in FACTS if run.machine.get(fact) != here[fact]]
    if run.digest != plan.digest:
        changed.append("other cells than then: a server, a tool or the lab itself has changed")
    if changed:
        raise Refused(f"this run cannot be resumed here: {'; '.join(changed)}")


def _now() -> str:
    return time.strftime(records.STARTED, time.gmtime())
