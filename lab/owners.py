"""Fifty sites of fifty owners on one machine, each under a user of its own: how fast they are, and what they take while
idle."""

import ctypes
import os
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from . import measure
from .servers import ApachePrefork, Corral, FpmPool, NginxFpm, Server, ServerFailed, Setup
from .workloads import N_SITES, site_host

FIRST_UID = 64_000

# Workers that are started for a request leave after so many idle seconds.
IDLE_TIMEOUT = 1


def add_users(folder: Path) -> None:
    """Makes users for the sites that this process and its children alone know: in a mount namespace, with another
    /etc/passwd."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = range(N_SITES)
    for name, line in (("passwd", "{0}:x:{1}:{1}::/nonexistent:/usr/sbin/nologin"), ("group", "{0}:x:{1}:")):
        path = folder / name
        entries = [line.format(user(number), FIRST_UID + number) for number in numbers]
        path.write_text(Path(f"/etc/{name}").read_text() + "\n".join(entries) + "\n")
    # unshare(2), mount(2): CLONE_NEWNS; MS_REC | MS_PRIVATE; MS_BIND.
    mounts = [(b"none", b"/", 0x4000 | 0x40000), *[(str(folder / n).encode(), b"/etc/" + n.encode(), 0x1000)
                                                    for n in ("passwd", "group")]]  # fmt: skip
    failed = libc.unshare(0x20000) or any(libc.mount(what, where, None, flags, None) for what, where, flags in mounts)
    if failed:
        raise ServerFailed(f"users for the sites: {os.strerror(ctypes.get_errno())}")


def user(number: int) -> str:
    return f"lab-owner-{number}"


class _Owners(Server):
    """Sites are told by the host that is asked for; all have the same files."""

    scenario = "owners"

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or (None if os.geteuid() == 0 else "root, to run as other users")

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.port}/{work.rpartition('/')[2]}"

    def probe(self, work: str) -> urllib.request.Request:
        return self.ask(N_SITES - 1, work)

    def ask(self, number: int, work: str) -> urllib.request.Request:
        return urllib.request.Request(self.url(work), headers={"Host": site_host(number)})


class CorralOwners(_Owners, Corral):
    """An application with one worker for each site."""

    processes: object = 1
    serves_files = False

    def configuration(self) -> dict:
        application = super().configuration()["applications"]["php"] | {"processes": self.processes}
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "routes"}},
            "routes": [
                {"match": {"host": site_host(number)}, "action": {"pass": f"applications/site-{number}"}}
                for number in range(N_SITES)
            ],
            "applications": {
                f"site-{number}": application | {"user": user(number), "group": user(number)}
                for number in range(N_SITES)
            },
        }


class CorralOne(Corral):
    """One site with as many workers as all of those have together."""

    scenario = "one"
    serves_files = False

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.port}/{work.rpartition('/')[2]}"

    def configuration(self) -> dict:
        configuration = super().configuration()
        configuration["applications"]["php"]["processes"] = N_SITES
        return configuration


class ApacheItk(_Owners, ApachePrefork):
    """A process for each connection, which takes the site's user with its first request and can be no other's."""

    name = "apache+itk"
    modules = (*ApachePrefork.modules, "mpm_itk")

    @classmethod
    def missing(cls) -> str | None:
        itk = cls.modules_dir / "mpm_itk.so"
        return super().missing() or (None if itk.exists() else f"{itk} (scripts/setup bench)")

    def launch(self) -> None:
        hosts = "\n".join(
            f"<VirtualHost *:*>\nServerName {site_host(number)}\nAssignUserID {user(number)} {user(number)}\n</VirtualHost>"
            for number in range(N_SITES)
        )
        self.launch_mod_php(
            f"""StartServers 64
MinSpareServers 64
MaxSpareServers 256
KeepAlive Off
{hosts}"""
        )


class CorralOnDemand(CorralOwners):
    processes = {"max": 1, "spare": 0, "idle_timeout": IDLE_TIMEOUT}


class FpmOwners(_Owners, NginxFpm):
    """nginx and php-fpm with a pool of one process for each site."""

    name = "nginx+fpm"
    manager = "pm = static\npm.max_children = 1"

    def launch(self) -> None:
        pools = "\n".join(
            f"""[site-{number}]
user = {user(number)}
group = {user(number)}
listen = {self.folder}/{number}.sock
listen.owner = {self.setup.user}
{self.manager}"""
            for number in range(N_SITES)
        )
        conf = self.write("fpm.conf", f"[global]\nerror_log = {self.folder}/fpm.log\ndaemonize = no\n{pools}\n")
        self.spawn(FpmPool.executable, "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", conf,
                   "-c", self.setup.php_ini, env=self.setup.php_env)  # fmt: skip
        sites = "\n".join(
            f"server {{ listen 127.0.0.1:{self.port}; server_name {site_host(number)}; root {self.setup.site}; "
            f"location ~ \\.php$ {{ include /etc/nginx/fastcgi.conf; fastcgi_pass unix:{self.folder}/{number}.sock; }} }}"
            for number in range(N_SITES)
        )
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c",
                   self.configuration("", sites))  # fmt: skip


class FpmOnDemand(FpmOwners):
    manager = f"pm = ondemand\npm.max_children = 1\npm.process_idle_timeout = {IDLE_TIMEOUT}s"


OWNERS: list[type[Server]] = [CorralOwners, CorralOne, ApacheItk]

# The processes of an idle site: its worker, or as little as can be.
KEPT, ON_DEMAND = "a worker each", "started on demand"
IDLE_KINDS = [(KEPT, CorralOwners), (ON_DEMAND, CorralOnDemand), (KEPT, FpmOwners), (ON_DEMAND, FpmOnDemand)]


def measure_idle_sites(setup: Setup, folder: Path) -> list[dict]:
    """Memory of all sites after each was asked once and has been left alone."""
    rows = []
    for position, (how, kind) in enumerate(IDLE_KINDS):
        row = {"server": kind.name, "how": how, "sites": N_SITES}
        try:
            with ExitStack() as stack:
                server = kind(setup, folder / f"idle-sites-{position}")
                stack.callback(server.stop)
                server.start("hello.php")
                for number in range(N_SITES):
                    urllib.request.urlopen(server.ask(number, "hello.php"), timeout=30).read()
                if how == ON_DEMAND:
                    _await_idle(server)
                row["pss"] = measure.memory(server.roots).pss
        except (ServerFailed, OSError) as error:
            row["error"] = str(error)
        rows.append(row)
    return rows


def _await_idle(server: Server) -> None:
    """Until the number of processes has not changed for longer than anybody waits before ending one."""
    deadline, steady, before = time.monotonic() + 60, 0, 0
    while steady < 15 * IDLE_TIMEOUT and time.monotonic() < deadline:
        time.sleep(1)
        now = measure.n_processes(server.roots)
        steady, before = (steady + 1 if now == before else 0), now
