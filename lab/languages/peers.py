"""The servers of each language, with the settings that their manuals recommend, and without access logs."""

import shutil
from pathlib import Path

from .. import servers

TOOLS = servers.REPOSITORY / "lab/tools"


class Peer(servers.Server):
    scenario = "languages"
    executable = ""
    package = "scripts/setup bench"
    version_option = "--version"

    @classmethod
    def found(cls) -> str | None:
        installed = TOOLS / "python/bin" / cls.executable
        return str(installed) if installed.exists() else shutil.which(cls.executable)

    @classmethod
    def missing(cls) -> str | None:
        return None if cls.found() else f"{cls.executable} ({cls.package})"

    @classmethod
    def version(cls) -> str:
        return servers.first_line([cls.found() or cls.executable, cls.version_option])

    def argv(self) -> list[object]:
        raise NotImplementedError

    def launch(self) -> None:
        self.spawn(self.found(), *self.argv(), env=self.environment())

    def environment(self) -> dict[str, str]:
        # Where a server looks for modules, and a variable that tells frameworks and servers that this is production.
        return {"PYTHONPATH": str(self.setup.apps), "RACK_ENV": "production", "PLACK_ENV": "deployment"}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


class GunicornSync(Peer):
    name, executable = "gunicorn sync", "gunicorn"

    def argv(self) -> list[object]:
        return ["-w", self.setup.workers, "-b", self.address, "--log-level", "error", "wsgi:application"]


class GunicornThreads(Peer):
    name, executable = "gunicorn gthread", "gunicorn"

    def argv(self) -> list[object]:
        return ["-w", self.setup.workers, "-k", "gthread", "--threads", self.setup.threads, "-b", self.address,
                "--keep-alive", 75, "--log-level", "error", "wsgi:application"]  # fmt: skip


class GranianWsgi(Peer):
    name, executable = "granian", "granian"

    def argv(self) -> list[object]:
        return ["--interface", "wsgi", "--workers", self.setup.workers, "--blocking-threads", self.setup.threads,
                "--host", "127.0.0.1", "--port", self.port, "--backlog", 4096, "--log-level", "error",
                "wsgi:application"]  # fmt: skip


class Uwsgi(Peer):
    """The server's workers hold a connection until it ends; in front of them, its own router keeps the clients'."""

    name, executable = "uwsgi", "uwsgi"

    def argv(self) -> list[object]:
        threads = ["--enable-threads", "--threads", self.setup.threads] if self.setup.threads > 1 else []
        return ["--http", self.address, "--http-keepalive", "--master", "--processes", self.setup.workers, *threads,
                "--listen", listen_backlog(), "--module", "wsgi:application", "--disable-logging", "--die-on-term",
                "--add-header", "Connection: Keep-Alive"]  # fmt: skip


def listen_backlog() -> int:
    return min(1024, int(Path("/proc/sys/net/core/somaxconn").read_text()))


class Uvicorn(Peer):
    name, executable = "uvicorn", "uvicorn"

    def argv(self) -> list[object]:
        return ["--workers", self.setup.workers, "--loop", "uvloop", "--http", "httptools", "--host", "127.0.0.1",
                "--port", self.port, "--no-access-log", "--log-level", "error", "asgi:application"]  # fmt: skip


class GranianAsgi(Peer):
    name, executable = "granian", "granian"

    def argv(self) -> list[object]:
        return ["--interface", "asgi", "--workers", self.setup.workers, "--loop", "uvloop", "--host", "127.0.0.1",
                "--port", self.port, "--backlog", 4096, "--log-level", "error", "asgi:application"]  # fmt: skip


class Hypercorn(Peer):
    name, executable = "hypercorn", "hypercorn"

    def argv(self) -> list[object]:
        return ["--workers", self.setup.workers, "-k", "uvloop", "-b", self.address, "--log-level", "error",
                "--keep-alive", 75, "asgi:application"]  # fmt: skip

    @classmethod
    def version(cls) -> str:
        return "hypercorn " + servers.first_line([str(TOOLS / "python/bin/python"), "-c",
                                                  "from importlib.metadata import version; print(version('hypercorn'))"])


class Puma(Peer):
    name, executable = "puma", "puma"

    def argv(self) -> list[object]:
        threads = self.setup.threads
        return ["-w", self.setup.workers, "-t", f"{threads}:{threads}", "-b", f"tcp://{self.address}", "-e",
                "production", "--quiet", self.setup.apps / "config.ru"]  # fmt: skip


class Unicorn(Peer):
    """Serves one request on each connection."""

    name, executable = "unicorn", "unicorn"

    def argv(self) -> list[object]:
        settings = f"worker_processes {self.setup.workers}\nlogger Logger.new(nil)\n"
        path = self.write("unicorn.rb", f"require 'logger'\n{settings}")
        return ["-c", path, "-E", "none", "-l", self.address, self.setup.apps / "config.ru"]


class Starman(Peer):
    """A worker of it has one connection until that ends, and would let 96 of 100 wait; so each has one request."""

    name, executable = "starman", "starman"
    package = "starman (scripts/setup bench)"

    def argv(self) -> list[object]:
        return ["--workers", self.setup.workers, "--listen", self.address, "--max-requests", 1_000_000_000,
                "--disable-keepalive", "--backlog", listen_backlog(), self.setup.apps / "app.psgi"]  # fmt: skip

    @classmethod
    def version(cls) -> str:
        return servers.first_line(["perl", "-MStarman", "-e", "print \"Starman $Starman::VERSION\""])
