"""The daemon, with an application for each set of settings and each mode. Which one is asked is said by the address."""

import http.client
import os
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .. import processes
from ..servers.corral import put_configuration
from ..servers.server import REPOSITORY
from . import reference
from .phpt import Request
from .reply import FAILED, Reply

CLASSIC, WORKER = "classic", "worker"
MODES = (CLASSIC, WORKER)

LOOP = Path(__file__).with_name("loop.php")

PATIENCE = 30


def executable() -> Path:
    folder = os.environ.get("CORRAL_BIN_DIR", REPOSITORY / "target/release")
    return Path(os.environ.get("LAB_CORRAL", Path(folder) / "corral"))


@dataclass(frozen=True)
class Settings:
    """The parts that are told apart: an application's php.ini and its environment."""

    ini: Path
    environment: tuple[tuple[str, str], ...]


@dataclass
class Corral:
    root: Path
    port: int = 0
    _folder: tempfile.TemporaryDirectory = field(default_factory=lambda: tempfile.TemporaryDirectory(prefix="corral-lab-"))

    def __enter__(self) -> "Corral":
        folder = Path(self._folder.name)
        folder.chmod(0o755)
        for name in ("state", "tmp"):
            (folder / name).mkdir()
            (folder / name).chmod(0o777)
        with socket.create_server(("", 0)) as free:
            self.port = free.getsockname()[1]
        self._process = processes.spawn(
            [
                str(executable()), "daemon", "--no-daemon", "--control", f"unix:{folder}/control",
                "--statedir", f"{folder}/state", "--tmpdir", f"{folder}/tmp", "--pid", f"{folder}/pid",
                "--log", f"{folder}/log",
            ],
            folder / "output",
            reference.ENVIRONMENT,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        processes.stop(self._process)
        if keep := os.environ.get("LAB_KEEP_LOG"):
            with Path(keep).open("a") as log:
                log.write(self.log)
        self._folder.cleanup()

    @property
    def log(self) -> str:
        return (Path(self._folder.name) / "log").read_text(errors="replace")

    def configure(self, sets: list[Settings]) -> None:
        """Has an application of each mode for each set."""
        steps, applications = [], {}
        for idx, settings in enumerate(sets):
            for mode in MODES:
                name = f"{mode}{idx}"
                applications[name] = self._application(mode, settings)
                steps.append(
                    {"match": {"destination": address(mode, idx)}, "action": {"pass": f"applications/{name}"}}
                )
        put_configuration(
            Path(self._folder.name) / "control",
            {"listeners": {f"*:{self.port}": {"pass": "routes"}}, "routes": steps, "applications": applications},
        )

    def _application(self, mode: str, settings: Settings) -> dict:
        environment = reference.ENVIRONMENT | dict(settings.environment)
        who = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
        common = {
            "type": "php", "root": str(self.root), "environment": environment,
            "processes": {"max": 1, "spare": 0}, "limits": {"kill_after": PATIENCE},
            "options": {"file": str(settings.ini), "sapi_name": "cgi-fcgi"}, **who,
        }  # fmt: skip
        if mode == CLASSIC:
            return common
        # Functions and classes of one test are in the way of the next one.
        common["limits"] |= {"requests": 1}
        return common | {"worker": {"script": str(self.root / LOOP.name), "env": dict(settings.environment)}}

    def asked(self, mode: str, idx: int, request: Request) -> Reply:
        try:
            with socket.create_connection((address(mode, idx), self.port), timeout=PATIENCE) as connection:
                connection.sendall(_written(request))
                response = http.client.HTTPResponse(connection, method=request.method)
                response.begin()
                return Reply(response.status, tuple(response.getheaders()), _body(response))
        except (OSError, http.client.HTTPException) as error:
            return Reply(FAILED.status, (), repr(error).encode())



def address(mode: str, idx: int) -> str:
    return f"127.{MODES.index(mode) + 1}.0.{idx + 1}"


def _written(request: Request) -> bytes:
    fields = [("Host", b"localhost"), ("X-Script", os.fsencode(request.path)), ("Connection", b"close"), *request.fields]
    if request.body is not None:
        fields.append(("Content-Length", str(len(request.body)).encode()))
    head = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in fields)
    line = f"{request.method} {request.target} HTTP/1.1\r\n"
    return os.fsencode(line) + head + b"\r\n" + (request.body or b"")


def _body(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read()
    except http.client.IncompleteRead as cut:
        return cut.partial + b"[cut]"
