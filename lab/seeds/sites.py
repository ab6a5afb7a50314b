"""Fifty sites of fifty users on one server: how fast they are together, and the memory that they take."""

from pathlib import Path

from .. import measure, owners
from ..load import LoadFailed
from ..servers import Server, ServerFailed, Setup
from ..workloads import N_SITES, site_host
from .generators.process import run
from .generators.tank import Tank, read_report
from .records import Sites

KINDS: dict[str, type[Server]] = {
    "corral-php": owners.CorralOwners,
    "nginx-fpm-socket": owners.FpmOwners,
    "apache-itk-mod_php": owners.ApacheItk,
}
SCRIPT = "echoes.php"
CLIENTS, SECONDS = 50, 4


def measure_sites(tank: Tank, name: str, setup: Setup, folder: Path) -> Sites:
    """The users exist once `owners.add_users` was called. Any site is asked, by turns."""
    server = KINDS[name](setup, folder / f"sites-{name}")
    try:
        server.start(SCRIPT)
        per_second = _load(tank, server, folder)
        return Sites(name, N_SITES, per_second, measure.memory(server.roots).pss / 1e6)
    except (ServerFailed, LoadFailed, OSError) as error:
        return Sites(name, N_SITES, error=str(error))
    finally:
        server.stop()


def _load(tank: Tank, server: Server, folder: Path) -> float:
    ammo = folder / "sites.ammo"
    ammo.write_text("".join(f"[Host: {site_host(number)}]\n/{SCRIPT}\n" for number in range(N_SITES)))
    command = [tank.executable, "--json", str(folder / "tank.json"), "--threads", str(tank.threads),
               "--expect-status", "200", "--expect-body", "Hello, World! 999 ", "--ammo", str(ammo),
               "--connections", str(CLIENTS), "--duration", f"{SECONDS}s", f"http://127.0.0.1:{server.port}"]  # fmt: skip
    finished = run(command, SECONDS + 60)
    if finished.status != 0:
        raise LoadFailed(f"tank gave up: {finished.last_words}")
    found = read_report(folder)
    if found["failed"]:
        raise LoadFailed(f"{found['failed']} of {found['sent']} requests failed: {found['statuses']}")
    return found["per_second"]["answered"]
