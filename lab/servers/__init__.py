"""The servers: one class each. It writes its configuration into its own folder, starts in the foreground
on a free port, is ready when it answers, and knows its processes.

What all have in common is in `Setup`: the same site, the same php.ini, the same number of PHP workers,
the same user, no access log.
"""

from .apache import Apache, ApacheEventFcgid, ApacheEventFpm, ApachePrefork
from .caddy import Caddy
from .corral import Corral, CorralPhpCgi, Unit, put, put_configuration
from .fpm import FpmPool
from .frankenphp import FrankenPhp
from .nginx import Nginx, NginxFpm
from .php_cgi import PhpCgi
from .server import REPOSITORY, Server, ServerFailed, Setup, first_line, free_port, prepare, unprivileged_user

__all__ = [
    "REPOSITORY",
    "Apache",
    "ApacheEventFcgid",
    "ApacheEventFpm",
    "ApachePrefork",
    "Caddy",
    "Corral",
    "CorralPhpCgi",
    "FpmPool",
    "FrankenPhp",
    "Nginx",
    "NginxFpm",
    "PhpCgi",
    "Server",
    "ServerFailed",
    "Setup",
    "Unit",
    "first_line",
    "free_port",
    "prepare",
    "put",
    "put_configuration",
    "unprivileged_user",
]

REQUIRED: list[type[Server]] = [
    Corral, CorralPhpCgi, ApachePrefork, ApacheEventFpm, ApacheEventFcgid, NginxFpm, Nginx,
]  # fmt: skip
OPTIONAL: list[type[Server]] = [Unit, FrankenPhp]
