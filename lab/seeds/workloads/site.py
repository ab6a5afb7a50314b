"""The sites on disk, the same for all servers: plain scripts and files, two frameworks, WordPress, and a database."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ... import servers
from ...php_worker.applications import FIXTURES, LARAVEL, LUMEN, Application
from . import wordpress
from .catalogue import (
    BLOG_HOST,
    BOUNDARY,
    END_OF_FILE,
    FILES,
    LARAVEL_HOST,
    LUMEN_HOST,
    PLAIN_HOST,
    SCRIPTS,
    SIZES,
    WORKLOADS,
    Workload,
)
from .mariadb import MariaDb


@dataclass(frozen=True)
class VirtualHost:
    """A folder that is served to requests for one host."""

    name: str
    host: str
    root: Path
    # The script that answers what is not a script or file, if there is one.
    front: str = ""
    # Files and scripts are looked for before the front script is asked.
    looks_for_files: bool = True
    # The script of worker mode.
    worker: str = "worker.php"


@dataclass(frozen=True)
class Site:
    """All that a server needs to be set up."""

    folder: Path
    # Names of workloads that cannot be run here, with the reason.
    missing: dict[str, str]
    setup: servers.Setup
    # The first one answers requests for any other host as well.
    hosts: list[VirtualHost]
    # A certificate and its key in one file.
    certificate: Path
    database: MariaDb | None

    @property
    def workloads(self) -> dict[str, Workload]:
        """The workloads that can be run here."""
        return {name: workload for name, workload in WORKLOADS.items() if name not in self.missing}


@dataclass
class _Found:
    """The parts that could be prepared."""

    hosts: list[VirtualHost] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def prepare(folder: Path) -> Iterator[Site]:
    """Writes the sites and starts the database, which ends with the context."""
    folder.chmod(0o755)
    setup = _settings(folder)
    _write_bodies()
    found = _Found([_plain(folder)])
    with contextlib.ExitStack() as stack:
        database = _database(stack, folder, found)
        _framework(LARAVEL, LARAVEL_HOST, folder, setup, found)
        _framework(LUMEN, LUMEN_HOST, folder, setup, found)
        if database:
            _wordpress(folder, setup, found)
        yield Site(folder, found.missing, setup, found.hosts, _certificate(folder, found.hosts), database)


def _settings(folder: Path) -> servers.Setup:
    uploads = folder / "uploads"
    uploads.mkdir()
    uploads.chmod(0o1777)
    return servers.prepare(folder, folder / "site", 8, [
        "include_path = .:/usr/share/php",
        "post_max_size = 64M",
        "upload_max_filesize = 64M",
        f"upload_tmp_dir = {uploads}",
        f"mysqli.default_socket = {folder}/mariadb/socket",
        f"pdo_mysql.default_socket = {folder}/mariadb/socket",
    ])  # fmt: skip


def _plain(folder: Path) -> VirtualHost:
    root = folder / "site"
    shutil.copytree(SCRIPTS, root)
    for name, size in FILES.items():
        text = b"0123456789abcdef" * (size // 16 + 1)
        (root / name).write_bytes(text[: size - len(END_OF_FILE)] + END_OF_FILE)
    return VirtualHost("scripts", PLAIN_HOST, root)


def _database(stack: contextlib.ExitStack, folder: Path, found: _Found) -> MariaDb | None:
    reason = MariaDb.missing()
    if reason:
        found.missing |= dict.fromkeys(("mysql", "mysql-persistent", "wordpress", "wordpress-rest"), reason)
        return None
    database = MariaDb(folder / "mariadb")
    stack.callback(database.stop)
    database.start()
    return database


def _framework(application: Application, host: str, folder: Path, setup: servers.Setup, found: _Found) -> None:
    if reason := application.missing():
        found.missing[application.name] = reason
        return
    root = application.copy_to(folder / application.name, setup.user, setup.group)
    found.hosts.append(VirtualHost(application.name, host, root, "index.php", looks_for_files=False))


def _wordpress(folder: Path, setup: servers.Setup, found: _Found) -> None:
    if reason := wordpress.missing():
        found.missing |= dict.fromkeys(("wordpress", "wordpress-rest"), reason)
        return
    root = folder / "wordpress"
    wordpress.install(root, BLOG_HOST, setup)
    shutil.copyfile(FIXTURES / "wordpress-worker.php", root / "worker.php")
    found.hosts.append(VirtualHost("blog", BLOG_HOST, root, "index.php"))


def _write_bodies() -> None:
    """Forms with one file each, as browsers send them."""
    head = (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="file.bin"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n").encode()  # fmt: skip
    tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    for name, size in SIZES.items():
        path = WORKLOADS[name].body
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.stat().st_size != len(head) + size + len(tail):
            path.write_bytes(head + os.urandom(1024) * (size // 1024) + tail)


def _certificate(folder: Path, hosts: list[VirtualHost]) -> Path:
    """Signed by itself, for all hosts and the address."""
    bundle, key = folder / "certificate.pem", folder / "certificate.key"
    names = ",".join(["IP:127.0.0.1", "DNS:localhost", *(f"DNS:{host.host}" for host in hosts)])
    command = ["openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-batch", "-newkey", "ec",
               "-pkeyopt", "ec_paramgen_curve:prime256v1", "-addext", f"subjectAltName={names}",
               "-addext", "basicConstraints=critical,CA:FALSE",
               "-keyout", str(key), "-out", str(bundle)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise servers.ServerFailed(f"openssl: {done.stderr.strip()[-300:]}")
    bundle.write_text(bundle.read_text() + key.read_text())
    return bundle
