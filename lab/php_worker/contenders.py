"""The servers, each with one of the applications: Corral in both modes, and those that others use."""

from dataclasses import dataclass, field
from pathlib import Path

from .. import servers
from ..contest import Contest
from ..languages.own import Corral
from .applications import APPLICATIONS, HELLO, LARAVEL, Application

CONNECTIONS = (1, 16, 100)


@dataclass(frozen=True)
class Setup(servers.Setup):
    """The same for all servers of a contest; `site` is the application's public folder."""

    application: Application = field(kw_only=True)

    @property
    def workers(self) -> int:
        return self.php_workers


class CorralWorker(Corral):
    name = "corral worker"
    runtime = "php"
    guard = "report"

    def environment(self) -> dict[str, str]:
        return self.setup.php_env

    def app(self) -> dict:
        return {
            "type": "php",
            "root": str(self.setup.site),
            "options": {"file": str(self.setup.php_ini)},
            **self.mode(self.setup.application),
        }

    def mode(self, application: Application) -> dict:
        return {"worker": {"script": application.worker, "env": application.env, "guard": self.guard}}


class CorralUnguarded(CorralWorker):
    """To tell what the guard costs."""

    name = "corral worker, guard off"
    guard = "off"


class CorralClassic(CorralWorker):
    name = "corral classic"

    def mode(self, application: Application) -> dict:
        return {"script": application.classic, "environment": application.env}


class NginxFpm(servers.NginxFpm):
    """All requests go to the front controller."""

    def location(self, socket_path: Path) -> str:
        application = self.setup.application
        env = " ".join(f'fastcgi_param {name} "{escaped(value)}";' for name, value in application.env.items())
        return (f"location / {{ rewrite ^ /{application.classic} break; include /etc/nginx/fastcgi.conf; {env} "
                f"fastcgi_pass unix:{socket_path}; }}")  # fmt: skip


class FrankenPhpWorker(servers.FrankenPhp):
    """FrankenPHP runs the same scripts, in as many threads; one more serves what no worker does."""

    name = "frankenphp worker"

    def threads(self) -> str:
        application = self.setup.application
        env = "\n".join(f'env {name} "{escaped(value)}"' for name, value in application.env.items())
        return f"""num_threads {self.setup.workers + 1}
worker {{
file {self.setup.site}/{application.worker}
num {self.setup.workers}
{env}
}}"""

    def directives(self) -> str:
        return f"route {{\nrewrite * /{self.setup.application.worker}\nphp\n}}"


def escaped(value: str) -> str:
    """As nginx and Caddy read it between quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"')


def contest_of(application: Application) -> Contest:
    unguarded = [CorralUnguarded] if application in (HELLO, LARAVEL) else []
    peers = [NginxFpm, FrankenPhpWorker]
    return Contest(application.name, [CorralWorker, *unguarded, CorralClassic, *peers], application.workloads, CONNECTIONS)


def chosen(texts: list[str]) -> list[Application]:
    """Contenders whose name contains one of the texts; all without any."""
    return [found for found in APPLICATIONS if not texts or any(text in found.name for text in texts)]
