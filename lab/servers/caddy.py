"""Caddy."""

import os
from pathlib import Path

from .server import Server, first_line


class Caddy(Server):
    """Caddy, where LAB_CADDY names its executable."""

    name = "caddy"
    serves_php = False
    serves_files = True
    executable = Path(os.environ.get("LAB_CADDY", "/nonexistent"))

    @classmethod
    def missing(cls) -> str | None:
        return None if cls.executable.exists() else "LAB_CADDY=/path/to/caddy"

    @classmethod
    def version(cls) -> str:
        return first_line([str(cls.executable), "version"])

    def run(self, site: str) -> None:
        """Serves one site. Clients that ask for an address get the certificate for `localhost`."""
        caddyfile = self.write(
            "Caddyfile",
            f"""{{
admin off
auto_https off
default_sni localhost
log default {{
level ERROR
}}
}}
{site}
""",
        )
        self.spawn(self.executable, "run", "--config", caddyfile, "--adapter", "caddyfile",
                   env={"HOME": str(self.folder)})  # fmt: skip
