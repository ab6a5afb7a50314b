"""The servers of a run: each is started when it is needed first, and again after its death."""

import time
from collections.abc import Callable
from pathlib import Path

from ..servers import ServerFailed
from .observe import Subject
from .servers import SeedServer
from .workloads import Site

# Seconds until a server that could not be started is tried again.
PAUSE = 120.0


class Fleet:
    """A context: all servers are stopped at its end. `on_start` hears of each start."""

    def __init__(self, site: Site, kinds: dict[str, type[SeedServer]], on_start: Callable[[SeedServer], None]):
        self._site = site
        self._kinds = kinds
        self._on_start = on_start
        self._running: dict[str, SeedServer] = {}
        # When, and why, a server could not be started.
        self._failed: dict[str, tuple[float, str]] = {}
        self._n_started = 0

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_) -> None:
        for name in list(self._running):
            self.stop(name)

    def get(self, name: str) -> SeedServer:
        """The running server. Fails at once if it could not be started a moment ago."""
        server = self._running.get(name)
        if server and not death(server):
            return server
        self.stop(name)
        at, reason = self._failed.get(name, (0.0, ""))
        if reason and time.monotonic() - at < PAUSE:
            raise ServerFailed(reason)
        return self._start(name)

    def _start(self, name: str) -> SeedServer:
        self._n_started += 1
        server = self._kinds[name](self._site, self._folder(name))
        # A server that is interrupted while it starts has to be stopped as well.
        self._running[name] = server
        try:
            server.start()
        except (ServerFailed, OSError) as error:
            self.stop(name)
            self._failed[name] = (time.monotonic(), str(error))
            raise ServerFailed(str(error)) from error
        self._failed.pop(name, None)
        self._on_start(server)
        return server

    def _folder(self, name: str) -> Path:
        return self._site.folder / f"server-{name}-{self._n_started}"

    def stop(self, name: str) -> None:
        if server := self._running.pop(name, None):
            server.stop()

    def subject(self, server: SeedServer) -> Subject:
        databases = self._site.database.roots if self._site.database else []
        return Subject(server.roots, server.role_of, databases)


def death(server: SeedServer) -> str | None:
    """The end of a process that should have gone on, in words."""
    ended = [child for child in server.children if child.poll() is not None]
    if not ended:
        return None
    status = ended[0].returncode
    how = f"signal {-status}" if status < 0 else f"exit {status}"
    return f"{how}: {server.tail()[-300:]}".strip().removesuffix(":")
