"""Corral: PHP in its own workers, in worker mode, before php-fpm, and before php-cgi."""

import json
from pathlib import Path
from typing import ClassVar

from ... import processes, servers
from ...servers import FpmPool, PhpCgi, put
from ..workloads import VirtualHost
from .seed import ALL_TRANSPORTS, MAX_BODY, SeedServer


class _Corral(SeedServer, servers.Corral):
    """One application with a target for each site, so that all share its processes as they share a pool of php-fpm."""

    family = "corral"
    transports = ALL_TRANSPORTS
    defaults: ClassVar = {"processes": 8, "threads": 2}
    words: ClassVar = {"processes": "PHP processes", "threads": "listen_threads"}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [{"processes": number} for number in (4, 8, 16, 32)] + [{"processes": 8, "threads": 1}]

    def role_of(self, pid: int) -> str:
        title = processes.title(pid)
        if title == "corral: router":
            return "front"
        # The main process and the controller; applications have their names in quotes.
        return "other" if title.startswith("corral: ") and not title.startswith('corral: "') else "php"

    def configure(self, control: Path) -> None:
        put(control, "/certificates/lab", self.site.certificate.read_bytes())
        super().configure(control)

    def configuration(self) -> dict:
        tls = {"certificate": "lab"}
        document = {
            "listeners": {
                f"127.0.0.1:{self.port}": {"pass": "routes"},
                f"127.0.0.1:{self.tls_port}": {"pass": "routes", "tls": tls},
            },
            # The site for any other host is the last one, as the first step that matches is taken.
            "routes": [step for host in reversed(self.site.hosts) for step in self.steps(host)],
            "applications": self.applications(),
            "upstreams": self.upstreams(),
            "settings": {
                "listen_threads": self.settings_in_force["threads"],
                "http": {"max_body_size": MAX_BODY, **self.settings["http"]},
            },
        }
        self.write(f"{self.family}.json", json.dumps(document, indent=2))
        return document

    def steps(self, host: VirtualHost) -> list[dict]:
        condition = {"host": host.host} if host is not self.site.hosts[0] else {}
        if host.front and not host.looks_for_files:
            return [{"match": condition, "action": self.front(host)}]
        share = {"share": f"{host.root}$uri", "types": ["!application/x-httpd-php"]}
        if host.front:
            share["fallback"] = self.front(host)
        rest = {"match": condition, "action": share} if condition else {"action": share}
        return [{"match": {**condition, "uri": "*.php"}, "action": self.script(host)}, rest]

    def script(self, host: VirtualHost) -> dict:
        """The action that runs the script which the path names."""
        return {"pass": f"applications/php/{host.name}"}

    def front(self, host: VirtualHost) -> dict:
        """The action that runs the site's front script."""
        return {"pass": f"applications/php/{host.name}-front"}

    def applications(self) -> dict:
        return {"php": self.application()}

    def upstreams(self) -> dict:
        return {}

    def application(self) -> dict:
        return {"type": "php", "options": {"file": str(self.setup.php_ini)}, **self.targets()}

    def targets(self) -> dict:
        targets = {}
        for host in self.site.hosts:
            if not host.front or host.looks_for_files:
                targets[host.name] = {"root": str(host.root)}
            if host.front:
                targets[f"{host.name}-front"] = {"root": str(host.root), "script": host.front}
        return {"processes": self.settings_in_force["processes"], "targets": targets}


class CorralPhp(_Corral):
    name = "corral-php"
    title = "Corral, PHP in its own workers"
    defaults: ClassVar = {"processes": 16, "threads": 2}

    @classmethod
    def missing(cls) -> str | None:
        host = cls.executable.with_name("corral-php")
        return super().missing() or (None if host.exists() else f"{host} (make build)")

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [{"processes": 2}, *super().candidates(), {"processes": "auto"}]


class CorralWorker(CorralPhp):
    """Each site has processes of its own, which keep it in memory. WordPress is the experiment of the tests."""

    name = "corral-worker"
    title = "Corral, PHP in worker mode"

    @property
    def serves(self) -> set[str]:
        # WordPress ends its script after a REST request, which makes no sense in memory.
        return super().serves - {"wordpress-rest"}

    def script(self, host: VirtualHost) -> dict:
        return {"pass": f"applications/php/{host.name}"} if not host.front else {"pass": "applications/direct"}

    def front(self, host: VirtualHost) -> dict:
        return {"pass": f"applications/php/{host.name}"}

    def applications(self) -> dict:
        applications = super().applications()
        blogs = [host for host in self.site.hosts if host.front and host.looks_for_files]
        if blogs:
            direct = {"type": "php", "root": str(blogs[0].root), "processes": {"max": 2, "spare": 0}}
            applications["direct"] = {**direct, "options": {"file": str(self.setup.php_ini)}}
        return applications

    def targets(self) -> dict:
        targets = {
            host.name: {"root": str(host.root), "worker": {"script": host.worker}} for host in self.site.hosts
        }
        return {"processes": self.settings_in_force["processes"], "targets": targets}


class CorralPhpCgi(_Corral):
    name = "corral-php-cgi"
    title = "Corral, php-cgi as its application"

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or PhpCgi.missing()

    def application(self) -> dict:
        return {
            "type": "fastcgi",
            "executable": PhpCgi.executable,
            "arguments": ["-c", str(self.setup.php_ini)],
            "environment": PhpCgi.environment,
            **self.targets(),
        }


class CorralFpm(_Corral):
    name = "corral-fpm"
    title = "Corral before php-fpm at a socket"

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or FpmPool.missing()

    def launch(self) -> None:
        self.pool = f"unix:{FpmPool.launch(self)}"
        super().launch()

    def script(self, host: VirtualHost) -> dict:
        return {"fastcgi": "upstreams/php", "root": str(host.root)}

    def front(self, host: VirtualHost) -> dict:
        return {**self.script(host), "script": host.front}

    def applications(self) -> dict:
        return {}

    def upstreams(self) -> dict:
        servers_of_pool = {self.pool: {}}
        return {"php": {"protocol": "fastcgi", "processes": self.setup.php_workers, "servers": servers_of_pool}}
