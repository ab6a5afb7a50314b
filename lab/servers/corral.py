"""Corral, and NGINX Unit, which is configured the same way."""

import json
import os
import socket
import time
from pathlib import Path
from typing import ClassVar

from .. import processes
from .php_cgi import PhpCgi
from .server import REPOSITORY, Server, ServerFailed, first_line


class Corral(Server):
    name = "corral"
    serves_files = True
    # nginx is told to trust open files for as long.
    settings: ClassVar = {"http": {"static": {"cache_valid": 60}}}
    executable = Path(os.environ.get("LAB_CORRAL", REPOSITORY / "target/release/corral"))

    @classmethod
    def missing(cls) -> str | None:
        if not cls.executable.exists():
            return f"{cls.executable} (make build)"
        return None

    @classmethod
    def version(cls) -> str:
        return first_line([str(cls.executable), "--version"])

    def launch(self) -> None:
        control = self.folder / "control.sock"
        for name in ("state", "tmp"):
            (self.folder / name).mkdir(mode=0o777)
            (self.folder / name).chmod(0o777)
        self.spawn(
            self.executable, "daemon", "--no-daemon", "--control", f"unix:{control}",
            "--statedir", self.folder / "state", "--tmpdir", self.folder / "tmp",
            "--pid", self.folder / "pid", "--log", self.folder / "server.log",
            "--user", self.setup.user, "--group", self.setup.group,
            env=self.environment(),
        )  # fmt: skip
        self.configure(control)

    @property
    def front(self) -> list[int]:
        return [pid for root in self.roots for pid in processes.tree(root) if processes.title(pid) == "corral: router"]

    def environment(self) -> dict[str, str]:
        return self.setup.php_env

    def configure(self, control: Path) -> None:
        put_configuration(control, self.configuration())

    def configuration(self) -> dict:
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "routes"}},
            "routes": [
                {"match": {"uri": "*.php"}, "action": {"pass": "applications/php"}},
                {"action": {"share": f"{self.setup.site}$uri"}},
            ],
            "applications": {
                "php": {
                    "type": "php",
                    "processes": self.setup.php_workers,
                    "root": str(self.setup.site),
                    "options": {"file": str(self.setup.php_ini)},
                }
            },
            "settings": self.settings,
        }


class CorralPhpCgi(Corral):
    """With php-cgi as an application of FastCGI."""

    name = "corral+php-cgi"
    serves_files = False

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or PhpCgi.missing()

    def configuration(self) -> dict:
        app = {
            "type": "fastcgi",
            "executable": PhpCgi.executable,
            "arguments": ["-c", str(self.setup.php_ini)],
            "root": str(self.setup.site),
            "processes": self.setup.php_workers,
            "environment": PhpCgi.environment,
        }
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "routes"}},
            "routes": [{"match": {"uri": "*.php"}, "action": {"pass": "applications/app"}}],
            "applications": {"app": app},
            "settings": self.settings,
        }


class Unit(Corral):
    """NGINX Unit or FreeUnit, where LAB_UNITD names its executable."""

    name = "unit"
    settings: ClassVar = {}
    executable = Path(os.environ.get("LAB_UNITD", "/nonexistent"))

    @classmethod
    def missing(cls) -> str | None:
        return None if cls.executable.exists() else "LAB_UNITD=/path/to/unitd"

    def launch(self) -> None:
        control = self.folder / "control.sock"
        for name in ("state", "tmp"):
            (self.folder / name).mkdir()
        modules = os.environ.get("LAB_UNIT_MODULES")
        self.spawn(
            self.executable, "--no-daemon", "--control", f"unix:{control}",
            "--statedir", self.folder / "state", "--tmpdir", self.folder / "tmp",
            "--pid", self.folder / "pid", "--log", self.folder / "server.log",
            "--user", self.setup.user, "--group", self.setup.group,
            *(["--modulesdir", modules] if modules else []),
            env=self.setup.php_env,
        )  # fmt: skip
        self.configure(control)


def put_configuration(control: Path, configuration: dict) -> None:
    put(control, "/config", json.dumps(configuration).encode())


def put(control: Path, path: str, body: bytes, patience: float = 15.0) -> None:
    """PUT over the control socket; waits for the socket to appear."""
    head = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    deadline = time.monotonic() + patience
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(30)
                connection.connect(str(control))
                connection.sendall(head.encode() + body)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise ServerFailed(f"control socket {control}: {error}") from error
            time.sleep(0.02)
    if b" 200 " not in answer.partition(b"\r\n")[0]:
        raise ServerFailed(f"{path} refused: {answer.decode(errors='replace')[-800:]}")
