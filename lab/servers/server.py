"""The common part of all servers: the same setup, how they start, stop and show that they are ready."""

import os
import pwd
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from .. import php, processes

# Certificates of a run have no authority.
UNVERIFIED = ssl._create_unverified_context()

REPOSITORY = Path(__file__).resolve().parents[2]


class ServerFailed(Exception):
    """A server that could not be started, with what it said."""


@dataclass(frozen=True)
class Setup:
    """The same for all servers of a run."""

    site: Path
    php_ini: Path
    # Extensions, for every server the same: PHP_INI_SCAN_DIR.
    php_scan_dir: Path
    php_workers: int
    user: str
    group: str
    # Port of the server behind the proxies.
    backend: int = 0

    @property
    def php_env(self) -> dict[str, str]:
        return {"PHP_INI_SCAN_DIR": str(self.php_scan_dir)}


def prepare(folder: Path, site: Path, php_workers: int, extra_ini: list[str]) -> Setup:
    """Writes what the servers share. Workers drop to www-data when the lab runs as root."""
    user = unprivileged_user()
    php_ini = folder / "php.ini"
    php_ini.write_text("\n".join([*PHP_INI, *extra_ini, ""]))
    scan_dir = folder / "conf.d"
    scan_dir.mkdir()
    for source in sorted(Path(f"/etc/php/{php.VERSION}/fpm/conf.d").glob("*.ini")):
        shutil.copyfile(source, scan_dir / source.name)
    return Setup(site, php_ini, scan_dir, php_workers, user, user)


def unprivileged_user() -> str:
    return "www-data" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


# Debian's php.ini-production where it bears on speed, and opcache's defaults said aloud.
PHP_INI = [
    "display_errors = Off",
    "error_reporting = E_ALL & ~E_DEPRECATED & ~E_STRICT",
    "output_buffering = 4096",
    "opcache.enable = 1",
    "opcache.memory_consumption = 128",
    "opcache.validate_timestamps = 1",
    "opcache.revalidate_freq = 2",
    "opcache.jit = off",
]


class Server:
    """Started by `start`, stopped by `stop`; `roots` are the pids whose trees are the server."""

    name = ""
    # The scenario that it is set up for: points of the same scenario are asked of it.
    scenario = "site"
    serves_php = True
    serves_files = False

    def __init__(self, setup: Setup, folder: Path):
        self.setup = setup
        self.folder = folder
        self.port = free_port()
        self.children: list[subprocess.Popen] = []

    @classmethod
    def missing(cls) -> str | None:
        """The programs that have to be installed before this server can run."""
        raise NotImplementedError

    @staticmethod
    def version() -> str:
        raise NotImplementedError

    def launch(self) -> None:
        raise NotImplementedError

    @property
    def roots(self) -> list[int]:
        return [child.pid for child in self.children]

    @property
    def front(self) -> list[int]:
        """The processes, as roots, that stand between the clients and the workers."""
        return []

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.port}/{work}"

    def probe(self, work: str) -> urllib.request.Request:
        """The sign that it is ready."""
        return urllib.request.Request(self.url(work))

    def start(self, probe: str) -> None:
        self.folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.folder, self.setup.user, self.setup.group)
        self.launch()
        self._await_answer(probe)

    def stop(self) -> None:
        for child in reversed(self.children):
            processes.stop(child)
        self.children.clear()

    def spawn(self, *argv: object, env: dict[str, str] | None = None) -> None:
        self.children.append(processes.spawn([str(a) for a in argv], self.log, env))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def _await_answer(self, probe: str, patience: float = 30.0) -> None:
        deadline = time.monotonic() + patience
        last = "no answer"
        while time.monotonic() < deadline:
            if gone := [child for child in self.children if child.poll() is not None]:
                raise ServerFailed(f"{self.name}: exit {gone[0].returncode}: {self.tail()}")
            try:
                with urllib.request.urlopen(self.probe(probe), timeout=5, context=UNVERIFIED) as answer:
                    if answer.status == 200:
                        return
                    last = f"status {answer.status}"
            except (urllib.error.URLError, OSError) as error:
                last = str(error)
            time.sleep(0.02)
        raise ServerFailed(f"{self.name}: not ready after {patience:.0f} s: {last}: {self.tail()}")

    def tail(self) -> str:
        """The ends of the server's logs, for messages."""
        texts = [path.read_text(errors="replace")[-1000:].strip() for path in sorted(self.folder.glob("*log"))]
        return "\n".join(filter(None, texts))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def first_line(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0]
