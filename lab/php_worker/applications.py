"""The served applications: an `echo`, and small applications of three frameworks, those of the tests."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from .. import servers
from ..wrk import Workload
from .sessions import Sessions

APPS = Path(__file__).resolve().parent / "apps"
FIXTURES = servers.REPOSITORY / "crates/testkit/tests/fixtures"
# Where Debian puts the libraries of PHP.
LIBRARIES = Path("/usr/share/php")


@dataclass(frozen=True)
class Application:
    name: str
    source: Path
    workloads: list[Workload]
    # Folders that it writes to.
    writable: tuple[str, ...] = ()
    # The script that stays in memory, and the one that is started for each request; both in `public`.
    worker: str = "worker.php"
    classic: str = "index.php"
    env: dict[str, str] = field(default_factory=dict)
    # A file of its framework, and the package that brings it.
    needs: str = ""
    package: str = ""

    def missing(self) -> str | None:
        return f"{self.package} (scripts/setup bench)" if self.needs and not (LIBRARIES / self.needs).exists() else None

    def copy_to(self, folder: Path, user: str, group: str) -> Path:
        """A copy that the servers' user owns. Returns the folder that is served."""
        shutil.copytree(self.source, folder)
        for name in self.writable:
            (folder / name).mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, user, group)
        return folder / "public"


def _json(path: str) -> Workload:
    return Workload("JSON", path, b'{"greeting":"Hello, Ann"', is_whole=False)


HELLO = Application("hello", APPS / "hello", [Workload("echo", "/", b"Hello, World!")])

LARAVEL = Application(
    "laravel", FIXTURES / "laravel",
    [_json("/api/greeting/Ann"), Sessions("session", "/visits", b'{"visits":1}')],
    writable=("storage/framework/sessions", "storage/framework/views", "storage/logs", "bootstrap/cache",
              "resources/views"),
    needs="Illuminate/autoload.php", package="php-laravel-framework",
)  # fmt: skip

LUMEN = Application(
    "lumen", FIXTURES / "lumen", [_json("/api/greeting/Ann")], writable=("storage/logs",),
    needs="Laravel/Lumen/autoload.php", package="php-laravel-lumen-framework",
)  # fmt: skip

SYMFONY = Application(
    "symfony", FIXTURES / "symfony", [_json("/greeting/Ann")], writable=("var",), worker="index.php",
    # The runner would end the script after 500 requests; the cost of a new start is not asked here.
    env={"APP_RUNTIME": "App\\InMemory", "APP_ENV": "prod", "APP_DEBUG": "0", "FRANKENPHP_LOOP_MAX": "-1"},
    needs="Symfony/Bundle/FrameworkBundle/autoload.php", package="php-symfony-framework-bundle",
)  # fmt: skip

APPLICATIONS = [HELLO, LARAVEL, LUMEN, SYMFONY]
