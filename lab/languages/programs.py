"""Programs that serve HTTP themselves: behind Corral, behind nginx, and alone. One process of each."""

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .. import servers
from .own import Corral


@dataclass(frozen=True)
class Program:
    """How a program is run; `APPS` in its arguments is the folder of the applications."""

    executable: str
    arguments: tuple[str, ...]
    # Whether it can serve on a Unix socket, as it is told.
    serves_unix: bool = True
    # The command that makes it from its source there.
    compiler: tuple[str, ...] = ()

    def argv(self, apps: Path) -> list[str]:
        return [word.replace("APPS", str(apps)) for word in (self.executable, *self.arguments)]

    def missing(self) -> str | None:
        needed = [self.compiler[0] if self.compiler else self.executable]
        absent = [name for name in needed if not shutil.which(name)]
        return f"{absent[0]} (scripts/setup test)" if absent else None

    def build(self, apps: Path) -> None:
        if self.compiler and not self.missing():
            subprocess.run(self.compiler, cwd=apps, check=True)


NODE = Program("node", ("APPS/server.js",))
GO = Program("APPS/server-go", (), compiler=("go", "build", "-o", "server-go", "server.go"))
JAVA = Program("java", ("-Dsun.net.httpserver.nodelay=true", "-cp", "APPS", "Server"), serves_unix=False, compiler=("javac", "Server.java"))
PROGRAMS = [NODE, GO, JAVA]


class _WithProgram:
    """A check whether the program can be run."""

    program: Program

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or cls.program.missing()


class CorralProgram(_WithProgram, Corral):
    def app(self) -> dict:
        executable, *arguments = self.program.argv(self.setup.apps)
        socket = "inherited" if self.program.serves_unix else "port"
        return {"type": "http", "executable": executable, "arguments": arguments, "socket": socket, "processes": 1}


class NginxProgram(_WithProgram, servers.Nginx):
    """nginx with kept connections to the program, by a Unix socket where that can be."""

    name = "nginx"
    scenario = "languages"

    def launch(self) -> None:
        if self.program.serves_unix:
            place = self.folder / "program.sock"
            variables, server = {"SOCKET_PATH": str(place)}, f"unix:{place}"
        else:
            port = servers.free_port()
            variables, server = {"PORT": str(port)}, f"127.0.0.1:{port}"
        self.spawn(*self.program.argv(self.setup.apps), env=variables)
        if self.program.serves_unix:
            open_to_all(place)
        location = ("location / { proxy_pass http://program; proxy_http_version 1.1; client_body_buffer_size 128k; "
                    "client_max_body_size 10m; proxy_set_header Host $host; proxy_set_header Connection \"\"; "
                    "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; "
                    "proxy_set_header X-Forwarded-Proto $scheme; }")  # fmt: skip
        upstream = f"upstream program {{ server {server}; keepalive 128; keepalive_requests 1000000000; }}"
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c",
                   self.configuration(location, upstream))  # fmt: skip


def open_to_all(place: Path, patience: float = 10) -> None:
    """nginx drops its privileges; the program has none to drop here, and made the socket its own."""
    deadline = time.monotonic() + patience
    while not place.exists():
        if time.monotonic() > deadline:
            raise servers.ServerFailed(f"the program does not make {place}")
        time.sleep(0.01)
    place.chmod(0o666)


class Alone(_WithProgram, servers.Server):
    """The program by itself: what it could do at best, and no peer."""

    name = "alone"
    scenario = "languages"

    @classmethod
    def missing(cls) -> str | None:
        return cls.program.missing()

    @classmethod
    def version(cls) -> str:
        executable = cls.program.compiler[0] if cls.program.compiler else cls.program.executable
        return servers.first_line([executable, "version" if executable == "go" else "--version"])

    def launch(self) -> None:
        self.spawn(*self.program.argv(self.setup.apps), env={"PORT": str(self.port)})


def classes(program: Program) -> list[type[servers.Server]]:
    """Corral, its peer, and the program alone."""
    return [type(base.__name__, (base,), {"program": program}) for base in (CorralProgram, NginxProgram, Alone)]
