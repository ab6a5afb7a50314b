"""FrankenPHP, where LAB_FRANKENPHP names its executable. Written from its manual; not tried yet."""

import os
from pathlib import Path
from typing import ClassVar

from ... import servers
from ..workloads import VirtualHost
from .caddy import handler
from .seed import ALL_TRANSPORTS, SeedServer, as_unprivileged


class FrankenPhp(SeedServer, servers.FrankenPhp):
    """PHP in threads of Caddy, each request anew. Its build brings its own extensions, so that Debian's are left out."""

    name = "frankenphp"
    title = "FrankenPHP"
    family = "frankenphp"
    transports = ALL_TRANSPORTS
    executable = Path(os.environ.get("LAB_FRANKENPHP", "/nonexistent"))
    defaults: ClassVar = {"processes": 8}
    words: ClassVar = {"processes": "PHP threads"}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [{"processes": number} for number in (4, 8, 16, 32)]

    def role_of(self, pid: int) -> str:
        return "php"

    def launch(self) -> None:
        hosts = "\n".join(handler(number, host, self.inside(host)) for number, host in enumerate(self.site.hosts))
        caddyfile = self.write("Caddyfile", f"""{{
admin off
auto_https off
persist_config off
default_sni localhost
log default {{
level ERROR
}}
frankenphp {{
{self.threads()}
}}
}}
http://:{self.port} {{
{hosts}
}}
https://:{self.tls_port} {{
tls {self.site.certificate} {self.site.certificate}
{hosts}
}}
""")
        prefix = as_unprivileged(self.setup.user, self.setup.group)
        self.spawn(*prefix, self.executable, "run", "--config", caddyfile, "--adapter", "caddyfile",
                   env={"PHPRC": str(self.setup.php_ini), "HOME": str(self.folder)})  # fmt: skip

    def inside(self, host: VirtualHost) -> str:
        front = host.front and not host.looks_for_files
        return f"rewrite * /{host.front}\nphp" if front else "php_server"


class FrankenPhpWorker(FrankenPhp):
    """The worker scripts that Corral runs, in as many threads for each; one more serves what no worker does."""

    name = "frankenphp-worker"
    title = "FrankenPHP in worker mode"

    @property
    def serves(self) -> set[str]:
        # The experiment with WordPress in memory is for Corral's worker alone.
        return super().serves - {"wordpress", "wordpress-rest"}

    def threads(self) -> str:
        number = self.setup.php_workers
        hosts = [host for host in self.site.hosts if host.name != "blog"]
        workers = "\n".join(f"worker {{\nfile {host.root}/{host.worker}\nnum {number}\n}}" for host in hosts)
        return f"num_threads {number * len(hosts) + 1}\n{workers}"

    def inside(self, host: VirtualHost) -> str:
        if host.front:
            return f"rewrite * /{host.worker}\nphp"
        return f"@script path *.php\nroute @script {{\nrewrite * /{host.worker}\nphp\n}}\nfile_server"
