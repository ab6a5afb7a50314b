"""php-cgi, which servers start themselves."""

from pathlib import Path
from typing import ClassVar

from .. import php


class PhpCgi:
    """The common part of the servers that start it."""

    executable = f"/usr/bin/php-cgi{php.VERSION}"

    # The program would end itself after 500 requests, and no server is measured by how it starts processes.
    environment: ClassVar = {"PHP_FCGI_MAX_REQUESTS": "0"}

    @staticmethod
    def missing() -> str | None:
        return None if Path(PhpCgi.executable).exists() else f"php{php.VERSION}-cgi (scripts/setup bench)"
