"""Corral as a server of each language."""

from dataclasses import dataclass
from pathlib import Path

from .. import servers


@dataclass(frozen=True)
class Setup:
    """The same for all servers of a run."""

    # The applications of this run, readable by every user.
    apps: Path
    workers: int
    threads: int
    user: str
    group: str

    @property
    def site(self) -> Path:
        """Where a server that serves files would find them."""
        return self.apps


class Corral(servers.Corral):
    """With one application, which `app` says."""

    scenario = "languages"
    runtime = ""

    @classmethod
    def missing(cls) -> str | None:
        host = cls.executable.with_name(f"corral-{cls.runtime}")
        return super().missing() or (f"{host} (make build)" if cls.runtime and not host.exists() else None)

    def environment(self) -> dict[str, str]:
        return {}

    def app(self) -> dict:
        raise NotImplementedError

    def configuration(self) -> dict:
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "applications/app"}},
            "applications": {"app": {"processes": self.setup.workers, **self.app()}},
        }


class CorralWsgi(Corral):
    runtime = "python"

    def app(self) -> dict:
        return {"type": "python", "path": str(self.setup.apps), "module": "wsgi", "threads": self.setup.threads}


class CorralAsgi(Corral):
    runtime = "python"

    def app(self) -> dict:
        return {"type": "python", "path": str(self.setup.apps), "module": "asgi", "protocol": "asgi"}


class CorralRuby(Corral):
    runtime = "ruby"

    def app(self) -> dict:
        return {"type": "ruby", "script": str(self.setup.apps / "config.ru"), "threads": self.setup.threads}


class CorralPerl(Corral):
    runtime = "perl"

    def app(self) -> dict:
        return {"type": "perl", "script": str(self.setup.apps / "app.psgi")}
