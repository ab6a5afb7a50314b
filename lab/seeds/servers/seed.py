"""The common part of all servers of the contest: sites, settings that are tuned, ports, and roles of processes."""

import dataclasses
import os
import time
from pathlib import Path
from typing import ClassVar

from ... import measure, processes
from ...servers import Server, free_port
from .. import chosen
from ..workloads import WORKLOADS, Site
from .shown import shown

KEEP_ALIVE, CLOSE, TLS, H2 = "keep-alive", "close", "tls", "h2"
HTTP = frozenset({KEEP_ALIVE, CLOSE})
HTTPS = HTTP | {TLS}
ALL_TRANSPORTS = HTTPS | {H2}

# Bytes of the largest request body, with room for its form.
MAX_BODY = 68 << 20


class SeedServer(Server):
    """One server with all sites, told by their host, at a port of its own and at another one with TLS."""

    title = ""
    family = ""
    transports: ClassVar[frozenset[str]] = HTTP
    # Values of the settings that are tuned, where no sweep has chosen others.
    defaults: ClassVar[dict[str, object]] = {}
    # The server's own words for settings.
    words: ClassVar[dict[str, str]] = {"processes": "PHP processes"}

    def __init__(self, site: Site, folder: Path, settings: dict[str, object] | None = None):
        self.settings_in_force = {**self.defaults, **(chosen.settings(self.name) if settings is None else settings)}
        workers = self.settings_in_force.get("processes")
        setup = dataclasses.replace(site.setup, php_workers=workers) if isinstance(workers, int) else site.setup
        super().__init__(setup, folder)
        self.site = site
        self.tls_port = free_port()
        self.written: list[Path] = []

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        """Settings for the sweep, each as a change of the defaults."""
        return [{}]

    @classmethod
    def in_words(cls, settings: dict[str, object]) -> str:
        return ", ".join(f"{cls.words.get(key, key)} {value}" for key, value in {**cls.defaults, **settings}.items())

    @property
    def serves(self) -> set[str]:
        """Names of the workloads that can be asked of it."""
        return set(self.site.workloads)

    def role_of(self, pid: int) -> str:
        """The part of a process of this server: "front", "php" or "other"."""
        return "php" if is_php_process(processes.title(pid)) else "front"

    def start(self, probe: str = "echoes.php") -> None:
        super().start(probe)
        self.settle()

    def settle(self, patience: float = 60.0) -> None:
        """Waits until the processes that are to be there at rest are there: the first one answers before the last one
        has been made."""
        deadline = time.monotonic() + patience
        while measure.n_processes(self.roots) < self.n_at_rest and time.monotonic() < deadline:
            time.sleep(0.05)

    @property
    def n_at_rest(self) -> int:
        return 0

    def url(self, workload: str, transport: str = KEEP_ALIVE) -> str:
        """The address of a workload; or of a path, as the base class asks for its probe."""
        path = WORKLOADS[workload].path if workload in WORKLOADS else f"/{workload}"
        if transport in (TLS, H2):
            return f"https://127.0.0.1:{self.tls_port}{path}"
        return f"http://127.0.0.1:{self.port}{path}"

    def write(self, name: str, text: str) -> Path:
        path = super().write(name, text)
        self.written.append(path)
        return path

    def files(self) -> dict[str, str]:
        """The configuration: each file by its name."""
        paths = [self.setup.php_ini, *self.written] if self.has_php else self.written
        return {path.name: shown(path, self.site.folder) for path in paths}

    @property
    def has_php(self) -> bool:
        return any(WORKLOADS[name].is_php for name in self.serves)


def is_php_process(title: str) -> bool:
    return title.startswith(("php-fpm", "/usr/bin/php", 'corral: "', 'unit: "'))


def as_unprivileged(setup_user: str, setup_group: str) -> list[str]:
    """The beginning of a command that drops root, for servers that do not do so themselves."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={setup_user}", f"--regid={setup_group}", "--init-groups"]
