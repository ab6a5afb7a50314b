"""php-cgi, which servers start themselves."""

from pathlib import Path
from typing import ClassVar


class PhpCgi:
    """What those who start it have in common."""

    executable = "/usr/bin/php-cgi8.2"

    # It would end itself after 500 requests, and no server is measured by how it starts processes.
    environment: ClassVar = {"PHP_FCGI_MAX_REQUESTS": "0"}

    @staticmethod
    def missing() -> str | None:
        return None if Path(PhpCgi.executable).exists() else "php8.2-cgi (scripts/setup bench)"
