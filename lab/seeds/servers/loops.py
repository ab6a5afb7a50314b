"""Servers with loops of their own, in which scripts stay: Swoole and RoadRunner, where variables name them."""

import os
from pathlib import Path
from typing import ClassVar

from ... import php
from ...servers import first_line
from .seed import SeedServer

PHP = f"/usr/bin/php{php.VERSION}"
SCRIPT = Path(__file__).with_name("swoole.php")


class Swoole(SeedServer):
    """The extension that LAB_SWOOLE names. Written from its manual; not tried yet. Frameworks would need adapters."""

    name = "swoole"
    title = "Swoole"
    family = "swoole"
    extension = Path(os.environ.get("LAB_SWOOLE", "/nonexistent"))
    defaults: ClassVar = {"processes": 8}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [{"processes": number} for number in (2, 4, 8, 16, 32)]

    @classmethod
    def missing(cls) -> str | None:
        return None if cls.extension.exists() else "LAB_SWOOLE=/path/to/swoole.so"

    @classmethod
    def version(cls) -> str:
        return first_line([PHP, "-d", f"extension={cls.extension}", "-r", "echo 'Swoole ', SWOOLE_VERSION;"])

    @property
    def serves(self) -> set[str]:
        return super().serves & {"echoes", "sort", "mysql", "mysql-persistent", "file-1k", "file-100k"}

    def role_of(self, pid: int) -> str:
        return "php"

    def launch(self) -> None:
        script = self.write(SCRIPT.name, SCRIPT.read_text())
        setup = self.setup
        self.spawn(PHP, "-c", setup.php_ini, "-d", f"extension={self.extension}", "-d", "opcache.enable_cli=1", script,
                   self.port, setup.php_workers, setup.site, setup.user, setup.group, env=setup.php_env)  # fmt: skip


class RoadRunner(SeedServer):
    """Left out, as its workers speak a protocol of packages that Composer brings."""

    name = "roadrunner"
    title = "RoadRunner"
    family = "roadrunner"

    @classmethod
    def missing(cls) -> str | None:
        named = os.environ.get("LAB_ROADRUNNER")
        reason = "its workers need spiral/roadrunner-http of Composer, and a loop that is not written here"
        return reason if named else f"LAB_ROADRUNNER is not set; besides, {reason}"
