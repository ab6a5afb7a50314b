"""The servers of the contest, each with all sites: `SERVERS`."""

from .apache_fcgi import EventFpm, PreforkFcgid, PreforkFpm, WorkerFpm
from .apache_mod_php import ModPhp, ModPhpItk
from .caddy import CaddyFpm
from .corral import CorralFpm, CorralPhp, CorralPhpCgi, CorralWorker
from .frankenphp import FrankenPhp, FrankenPhpWorker
from .loops import RoadRunner, Swoole
from .nginx import NginxApache, NginxFpm, NginxFpmDynamic, NginxFpmOnDemand, NginxFpmPort
from .seed import ALL_TRANSPORTS, CLOSE, H2, KEEP_ALIVE, TLS, SeedServer
from .unit import Unit
from .varnish import VarnishNginx

__all__ = ["ALL_TRANSPORTS", "BY_NAME", "CLOSE", "H2", "KEEP_ALIVE", "SERVERS", "TLS", "SeedServer"]

SERVERS: list[type[SeedServer]] = [
    CorralPhp, CorralWorker, CorralFpm, CorralPhpCgi,
    ModPhp, ModPhpItk, PreforkFcgid, PreforkFpm, WorkerFpm, EventFpm,
    NginxFpm, NginxFpmPort, NginxFpmDynamic, NginxFpmOnDemand, NginxApache,
    CaddyFpm, VarnishNginx, Unit, FrankenPhp, FrankenPhpWorker, Swoole, RoadRunner,
]  # fmt: skip

BY_NAME = {kind.name: kind for kind in SERVERS}
