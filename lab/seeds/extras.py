"""Measurements that are made once for a server: ramps, slow clients, idle connections, sites of many users."""

from collections.abc import Callable
from pathlib import Path

from .. import owners, servers
from ..load import LoadFailed
from . import ramp, records, slow, verdict
from .fleet import Fleet
from .generators import GENERATORS
from .observe import Watch
from .plan import IDLE_CONNECTIONS, N_SITES, SLOW_CLIENTS, USUAL, Extra
from .records import Cell, Record
from .sampling import WARM_UP, load_of
from .servers import SeedServer
from .sites import measure_sites
from .workloads import WORKLOADS, Site

# The workload beside slow clients, and the file that idle connections ask for once.
BESIDE_SLOW, IDLE_FILE = "echoes", "1k.txt"

# Records of what could not be measured, with the reason.
FAILED: dict[str, Callable[[Extra, str], Record]] = {
    "ramp": lambda extra, words: records.Ramp(extra.server, extra.workload, extra.profile, error=words),
    "slow": lambda extra, words: records.Slow(extra.server, SLOW_CLIENTS, error=words),
    "idle": lambda extra, words: records.Idle(extra.server, IDLE_CONNECTIONS, error=words),
    "sites": lambda extra, words: records.Sites(extra.server, N_SITES, error=words),
}


def name_of(record: Record) -> str:
    """The name of the extra that a record is of."""
    return Extra(record.kind, record.server, getattr(record, "workload", ""), getattr(record, "profile", "")).name


class Extras:
    """`folder` is for the files of generators."""

    def __init__(self, fleet: Fleet, site: Site, folder: Path):
        self._fleet = fleet
        self._site = site
        self._folder = folder
        self._tank = GENERATORS["tank"]
        self._has_users = False

    def measure(self, extra: Extra) -> Record:
        try:
            if extra.kind == "sites":
                return self._sites(extra)
            server = self._fleet.get(extra.server)
        except (servers.ServerFailed, OSError) as error:
            return FAILED[extra.kind](extra, str(error))
        if extra.kind == "idle":
            return slow.measure_idle(server, IDLE_CONNECTIONS, IDLE_FILE)
        return self._slow(server) if extra.kind == "slow" else self._ramp(server, extra)

    def _slow(self, server: SeedServer) -> Record:
        workload = WORKLOADS[BESIDE_SLOW]
        load = load_of(_cell(server, workload.name), server, workload, 1.0)
        return slow.measure_slow(self._tank, server, load, workload.path, SLOW_CLIENTS, self._folder)

    def _ramp(self, server: SeedServer, extra: Extra) -> Record:
        """A server that was overloaded is not measured again: the next measurement starts it anew."""
        workload = WORKLOADS[extra.workload]
        load = load_of(_cell(server, workload.name), server, workload, WARM_UP)
        try:
            self._tank.run(load, self._folder)
            with Watch(self._fleet.subject(server), ramp.LONGEST) as watch:
                found = ramp.measure(self._tank, server.name, workload.name, load, ramp.PROFILES[extra.profile], self._folder)
            found.void = verdict.disturbance(watch.observed()) or found.void
            return found
        except LoadFailed as error:
            return FAILED[extra.kind](extra, str(error))
        finally:
            self._fleet.stop(server.name)

    def _sites(self, extra: Extra) -> Record:
        if not self._has_users:
            owners.add_users(self._site.folder)
            self._has_users = True
        return measure_sites(self._tank, extra.server, self._site.setup, self._site.folder)


def _cell(server: SeedServer, workload: str) -> Cell:
    return Cell(server.name, workload, "keep-alive", "tank", USUAL)
