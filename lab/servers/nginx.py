"""nginx, alone and in front of php-fpm."""

import os
from pathlib import Path

from .fpm import FpmPool
from .server import Server, first_line


class Nginx(Server):
    """For files: as its documentation tunes it."""

    name = "nginx"
    serves_php = False
    serves_files = True
    executable = "/usr/sbin/nginx"
    worker_processes: int | str = "auto"

    @classmethod
    def missing(cls) -> str | None:
        return None if Path(cls.executable).exists() else "nginx (scripts/setup bench)"

    @classmethod
    def version(cls) -> str:
        return first_line([cls.executable, "-v"])

    def launch(self) -> None:
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c", self.configuration(""))

    def configuration(self, inside_server: str, inside_http: str = "", *, is_plain: bool = True) -> Path:
        """A server without TLS, unless its port is for another one."""
        plain = f"server {{ listen 127.0.0.1:{self.port} backlog=4096; root {self.setup.site}; {inside_server} }}"
        as_user = f"user {self.setup.user} {self.setup.group};" if os.geteuid() == 0 else ""
        bodies = "\n".join(
            f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return self.write(
            "nginx.conf",
            f"""daemon off;
{as_user}
pid {self.folder}/nginx.pid;
worker_processes {self.worker_processes};
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
{plain if is_plain else ""}
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
        return super().missing() or FpmPool.missing()

    def launch(self) -> None:
        self.launch_nginx(f"unix:{FpmPool.launch(self)}")

    def launch_nginx(self, pool: str) -> None:
        location = self.location(pool)
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c",
                   self.configuration(location))  # fmt: skip

    def location(self, pool: str) -> str:
        return f"location ~ \\.php$ {{ include /etc/nginx/fastcgi.conf; fastcgi_pass {pool}; }}"

    @property
    def front(self) -> list[int]:
        """nginx, which is started after php-fpm."""
        return self.roots[-1:]
