"""Caddy before php-fpm."""

import os
from pathlib import Path
from typing import ClassVar

from ... import processes, servers
from ...servers import FpmPool
from ..workloads import VirtualHost
from .seed import ALL_TRANSPORTS, SeedServer, as_unprivileged


def handler(number: int, host: VirtualHost, inside: str) -> str:
    """The block of a site in a Caddyfile. The first site is for all other hosts; Caddy asks it last."""
    matcher = f"@{host.name}" if number else ""
    condition = f"@{host.name} host {host.host}\n" if matcher else ""
    return f"{condition}handle {matcher} {{\nroot * {host.root}\n{inside}\n}}"


class CaddyFpm(SeedServer, servers.Caddy):
    """Debian's, or the one that LAB_CADDY names. Its FastCGI client opens a connection for each request."""

    name = "caddy-fpm"
    title = "Caddy, php-fpm at a socket"
    family = "caddy"
    transports = ALL_TRANSPORTS
    executable = Path(os.environ.get("LAB_CADDY", "/usr/bin/caddy"))
    defaults: ClassVar = {"processes": 8}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [{"processes": number} for number in (4, 8, 16, 32)]

    @classmethod
    def missing(cls) -> str | None:
        if not cls.executable.exists():
            return f"{cls.executable} (scripts/setup bench, or LAB_CADDY=/path/to/caddy)"
        return FpmPool.missing()

    def role_of(self, pid: int) -> str:
        return "php" if processes.title(pid).startswith("php-fpm") else "front"

    def launch(self) -> None:
        self.pool = f"unix/{FpmPool.launch(self)}"
        handlers = "\n".join(handler(number, host, self.inside(host)) for number, host in enumerate(self.site.hosts))
        addresses = f"http://:{self.port}", f"https://:{self.tls_port}"
        tls = f"tls {self.site.certificate} {self.site.certificate}"
        plain, secure = (f"{address} {{\n{extra}\n{handlers}\n}}" for address, extra in zip(addresses, ("", tls)))
        self.run(f"{plain}\n{secure}")

    def inside(self, host: VirtualHost) -> str:
        if host.front and not host.looks_for_files:
            return f"rewrite * /{host.front}\nreverse_proxy {self.pool} {{\ntransport fastcgi {{\nsplit .php\n}}\n}}"
        # A site without a front script has no other path that leads to one.
        return f"php_fastcgi {self.pool}\nfile_server"

    def spawn(self, *argv: object, env: dict[str, str] | None = None) -> None:
        """Caddy does not drop root by itself."""
        prefix = as_unprivileged(self.setup.user, self.setup.group) if argv[0] == self.executable else []
        super().spawn(*prefix, *argv, env=env)
