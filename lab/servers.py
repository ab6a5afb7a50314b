"""The servers: one class each. It writes its configuration into its own folder, starts in the foreground
on a free port, is ready when it answers, and knows its processes.

What all have in common is in `Setup`: the same site, the same php.ini, the same number of PHP workers,
the same user, no access log.
"""

import json
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

from . import processes

# Certificates of a run are signed by nobody.
UNVERIFIED = ssl._create_unverified_context()

REPOSITORY = Path(__file__).resolve().parent.parent


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
    for source in sorted(Path("/etc/php/8.2/fpm/conf.d").glob("*.ini")):
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
    # What it is set up for: points of the same scenario are asked of it.
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
        """What has to be installed before this server can run."""
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
    def log(self) -> Path:
        return self.folder / "log"

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.port}/{work}"

    def probe(self, work: str) -> urllib.request.Request:
        """What shows that it is ready."""
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


class Corral(Server):
    name = "corral"
    serves_files = True
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
        }


class Unit(Corral):
    """NGINX Unit or FreeUnit, where LAB_UNITD names its executable."""

    name = "unit"
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
        put_configuration(control, self.configuration())


class FpmPool:
    """php-fpm with one static pool on a Unix socket, the back end of two servers."""

    executable = "/usr/sbin/php-fpm8.2"

    @staticmethod
    def launch(server: Server) -> Path:
        socket_path = server.folder / "fpm.sock"
        setup = server.setup
        as_user = f"user = {setup.user}\ngroup = {setup.group}\nlisten.owner = {setup.user}\n" if os.geteuid() == 0 else ""
        conf = server.write(
            "fpm.conf",
            f"""[global]
error_log = {server.folder}/fpm.log
daemonize = no
[www]
{as_user}listen = {socket_path}
listen.backlog = 4096
pm = static
pm.max_children = {setup.php_workers}
""",
        )
        as_root = ["--allow-to-run-as-root"] if os.geteuid() == 0 else []
        server.spawn(FpmPool.executable, "--nodaemonize", *as_root, "--fpm-config", conf, "-c", setup.php_ini,
                     env=setup.php_env)  # fmt: skip
        return socket_path


class Nginx(Server):
    """For files: as its documentation tunes it."""

    name = "nginx"
    serves_php = False
    serves_files = True
    executable = "/usr/sbin/nginx"

    @classmethod
    def missing(cls) -> str | None:
        return None if Path(cls.executable).exists() else "nginx (scripts/setup bench)"

    @classmethod
    def version(cls) -> str:
        return first_line([cls.executable, "-v"])

    def launch(self) -> None:
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c", self.configuration(""))

    def configuration(self, inside_server: str, inside_http: str = "") -> Path:
        as_user = f"user {self.setup.user} {self.setup.group};" if os.geteuid() == 0 else ""
        bodies = "\n".join(
            f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return self.write(
            "nginx.conf",
            f"""daemon off;
{as_user}
pid {self.folder}/nginx.pid;
worker_processes auto;
worker_rlimit_nofile 65536;
events {{ worker_connections 16384; multi_accept on; }}
http {{
include /etc/nginx/mime.types;
access_log off;
sendfile on;
tcp_nopush on;
open_file_cache max=1000 inactive=60s;
open_file_cache_valid 60s;
keepalive_requests 1000000000;
keepalive_timeout 300s;
{bodies}
server {{
listen 127.0.0.1:{self.port} backlog=4096;
root {self.setup.site};
{inside_server}
}}
{inside_http}
}}
""",
        )


class NginxFpm(Nginx):
    name = "nginx+fpm"
    serves_php = True
    serves_files = False

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or (
            None if Path(FpmPool.executable).exists() else "php8.2-fpm (scripts/setup bench)"
        )

    def launch(self) -> None:
        socket_path = FpmPool.launch(self)
        location = f"location ~ \\.php$ {{ include /etc/nginx/fastcgi.conf; fastcgi_pass unix:{socket_path}; }}"
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c",
                   self.configuration(location))  # fmt: skip


class Apache(Server):
    """What both Apaches share."""

    executable = "/usr/sbin/apache2"
    modules_dir = Path("/usr/lib/apache2/modules")
    modules: tuple[str, ...] = ()

    @classmethod
    def missing(cls) -> str | None:
        needed = [Path(cls.executable), *(cls.modules_dir / f"{name}.so" for name in cls.modules)]
        absent = [str(path) for path in needed if not path.exists()]
        return f"{', '.join(absent)} (scripts/setup bench)" if absent else None

    @classmethod
    def version(cls) -> str:
        return first_line([cls.executable, "-v"])

    def configuration(self, tuning: str) -> Path:
        names = {"libphp8.2": "php_module"}
        loads = "\n".join(
            f"LoadModule {names.get(name, name.removeprefix('mod_') + '_module')} {self.modules_dir}/{name}.so"
            for name in self.modules
        )
        as_user = f"User {self.setup.user}\nGroup {self.setup.group}" if os.geteuid() == 0 else ""
        return self.write(
            "apache.conf",
            f"""{loads}
ServerRoot {self.folder}
ServerName 127.0.0.1
Listen 127.0.0.1:{self.port}
ListenBacklog 4096
PidFile {self.folder}/apache.pid
DefaultRuntimeDir {self.folder}
TypesConfig /etc/mime.types
ErrorLog {self.folder}/error.log
Mutex pthread
{as_user}
Timeout 60
KeepAlive On
KeepAliveTimeout 5
MaxKeepAliveRequests 0
HostnameLookups Off
DocumentRoot {self.setup.site}
<Directory {self.setup.site}>
AllowOverride None
Require all granted
</Directory>
{tuning}
""",
        )

    def launch_apache(self, tuning: str) -> None:
        self.spawn(self.executable, "-D", "FOREGROUND", "-f", self.configuration(tuning), env=self.setup.php_env)


class ApachePrefork(Apache):
    """A process for each connection is its nature, so the number of PHP workers does not apply to it.

    All are there from the start: it forks them too slowly for a short run, and a connection that waits
    for a process would be missing in the percentiles.
    """

    name = "apache+mod_php"
    modules = ("mod_mpm_prefork", "mod_authz_core", "mod_mime", "libphp8.2")

    def launch(self) -> None:
        self.launch_mod_php(
            """StartServers 256
MinSpareServers 8
MaxSpareServers 256
MaxConnectionsPerChild 0"""
        )

    def launch_mod_php(self, tuning: str) -> None:
        self.launch_apache(
            f"""PHPIniDir {self.setup.php_ini.parent}
<FilesMatch "\\.php$">
SetHandler application/x-httpd-php
</FilesMatch>
ServerLimit 256
MaxRequestWorkers 256
{tuning}"""
        )


class ApacheEventFpm(Apache):
    name = "apache+fpm"
    modules = ("mod_mpm_event", "mod_authz_core", "mod_mime", "mod_proxy", "mod_proxy_fcgi")

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or (
            None if Path(FpmPool.executable).exists() else "php8.2-fpm (scripts/setup bench)"
        )

    def launch(self) -> None:
        socket_path = FpmPool.launch(self)
        self.launch_apache(
            f"""<FilesMatch "\\.php$">
SetHandler "proxy:unix:{socket_path}|fcgi://localhost/"
</FilesMatch>
StartServers 2
ThreadsPerChild 64
ServerLimit 8
MaxRequestWorkers 512
MinSpareThreads 64
MaxSpareThreads 512"""
        )


class FrankenPhp(Server):
    """FrankenPHP, where LAB_FRANKENPHP names its executable."""

    name = "frankenphp"
    serves_files = True
    executable = Path(os.environ.get("LAB_FRANKENPHP", "/nonexistent"))

    @classmethod
    def missing(cls) -> str | None:
        return None if cls.executable.exists() else "LAB_FRANKENPHP=/path/to/frankenphp"

    @classmethod
    def version(cls) -> str:
        return first_line([str(cls.executable), "version"])

    def launch(self) -> None:
        caddyfile = self.write(
            "Caddyfile",
            f"""{{
admin off
auto_https off
persist_config off
frankenphp {{
num_threads {self.setup.php_workers}
}}
}}
http://127.0.0.1:{self.port} {{
root {self.setup.site}
php_server
}}
""",
        )
        self.spawn(self.executable, "run", "--config", caddyfile, "--adapter", "caddyfile",
                   env={**self.setup.php_env, "PHPRC": str(self.setup.php_ini), "HOME": str(self.folder)})  # fmt: skip


REQUIRED: list[type[Server]] = [Corral, ApachePrefork, ApacheEventFpm, NginxFpm, Nginx]
OPTIONAL: list[type[Server]] = [Unit, FrankenPhp]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def first_line(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0]


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
