"""Work of Corral and nginx beside serving a site: choosing among many routes, TLS, HTTP/2 (Caddy as well), proxying, and
standing before php-fpm (Apache as well).
Each scenario has a server of its own, so that nothing of one costs the other."""

import dataclasses
import subprocess
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from .servers import (
    ApacheEventFpm,
    Caddy,
    Corral,
    FpmPool,
    Nginx,
    NginxFpm,
    Server,
    ServerFailed,
    Setup,
    free_port,
    put,
)
from .workloads import FULL, N_HOSTS, N_ROUTES, route

# Curve or length of the key, as `openssl req` wants it.
KEYS = {
    "ecdsa": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    "rsa": ["-newkey", "rsa:2048"],
}


class _Routes(Server):
    scenario = "routes"

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.port}"

    def probe(self, work: str) -> urllib.request.Request:
        host, path = route(N_ROUTES - 1)
        return urllib.request.Request(self.url(work) + path, headers={"Host": host})


class CorralRoutes(_Routes, Corral):
    """A condition on host and path in each step; `routes-regex` has its paths as regular expressions."""

    serves_php = False

    def __init__(self, setup: Setup, folder: Path):
        super().__init__(setup, folder)
        self.regex_port = free_port()

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.regex_port if work.startswith('routes-regex/') else self.port}"

    def configuration(self) -> dict:
        return {
            "listeners": {
                f"127.0.0.1:{self.port}": {"pass": "routes/wildcards"},
                f"127.0.0.1:{self.regex_port}": {"pass": "routes/expressions"},
            },
            "routes": {
                "wildcards": [self._step(number, "/section-{}/*") for number in range(N_ROUTES)],
                "expressions": [self._step(number, "~^/section-{}/") for number in range(N_ROUTES)],
            },
        }

    @staticmethod
    def _step(number: int, uri: str) -> dict:
        host = f"site-{number % N_HOSTS}.example.com"
        return {"match": {"host": host, "uri": uri.format(number)}, "action": {"return": 200}}


class NginxRoutes(_Routes, Nginx):
    """As many locations, all of them for any host."""

    def launch(self) -> None:
        locations = "\n".join(f"location ~ ^/section-{number}/ {{ return 200; }}" for number in range(N_ROUTES))
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c", self.configuration(locations))


class _Tls(Server):
    """Two ports for each kind of certificate: with sessions that can be resumed, and without, because `wrk` resumes
    them wherever it can."""

    scenario = "tls"

    def __init__(self, setup: Setup, folder: Path):
        super().__init__(setup, folder)
        self.ports = {kind: free_port() for kind in KEYS}
        self.full_ports = {kind: free_port() for kind in KEYS}

    def url(self, work: str) -> str:
        folder, _, file = work.rpartition("/")
        kind = folder.removeprefix("tls-") or next(iter(KEYS))
        is_full = kind.endswith(FULL)
        ports = self.full_ports if is_full else self.ports
        return f"https://127.0.0.1:{ports[kind.removesuffix(FULL)]}/{file}"


class CorralTls(_Tls, Corral):
    serves_php = False

    def configure(self, control: Path) -> None:
        for kind in KEYS:
            put(control, f"/certificates/{kind}", _bundle(self.folder, kind).read_bytes())
        super().configure(control)

    def configuration(self) -> dict:
        def listeners(ports: dict[str, int], has_tickets: bool) -> dict:
            session = {"tickets": has_tickets}
            return {
                f"127.0.0.1:{port}": {"pass": "routes", "tls": {"certificate": kind, "session": session}}
                for kind, port in ports.items()
            }

        return {
            "listeners": listeners(self.ports, True) | listeners(self.full_ports, False),
            "routes": [{"action": {"share": f"{self.setup.site}$uri"}}],
            "settings": self.settings,
        }


class NginxTls(_Tls, Nginx):
    def launch(self) -> None:
        blocks = "\n".join(
            [self._server(kind, port, f"ssl_session_cache shared:{kind}:10m;") for kind, port in self.ports.items()]
            + [self._server(kind, port, "ssl_session_tickets off;") for kind, port in self.full_ports.items()]
        )
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c", self.configuration("", blocks))

    def _server(self, kind: str, port: int, session: str) -> str:
        bundle = _bundle(self.folder, kind)
        return f"""server {{
listen 127.0.0.1:{port} ssl backlog=4096;
root {self.setup.site};
ssl_certificate {bundle};
ssl_certificate_key {bundle};
ssl_protocols TLSv1.2 TLSv1.3;
{session}
}}"""


class _Http2(Server):
    """One port with TLS: files, a folder that a server behind it has, and with Corral the scripts."""

    scenario = "h2"

    def url(self, work: str) -> str:
        return f"https://127.0.0.1:{self.port}/{work.removeprefix('h2/')}"


class CorralHttp2(_Http2, Corral):
    def configure(self, control: Path) -> None:
        put(control, "/certificates/ecdsa", _bundle(self.folder, "ecdsa").read_bytes())
        super().configure(control)

    def configuration(self) -> dict:
        configuration = super().configuration()
        configuration["listeners"] = {f"127.0.0.1:{self.port}": {"pass": "routes", "tls": {"certificate": "ecdsa"}}}
        proxied = {"match": {"uri": "/proxied/*"}, "action": {"rewrite": "/1k.txt", "pass": "upstreams/backend"}}
        configuration["routes"].insert(0, proxied)
        configuration["upstreams"] = {
            "backend": {"servers": {f"127.0.0.1:{self.setup.backend}": {}}, "keepalive": {"connections": 64}}
        }
        return configuration


class NginxHttp2(_Http2, Nginx):
    def launch(self) -> None:
        bundle = _bundle(self.folder, "ecdsa")
        upstream = (
            f"upstream backend {{ server 127.0.0.1:{self.setup.backend}; keepalive 64; keepalive_requests 1000000000; }}"
        )
        location = (
            "location /proxied/ { proxy_pass http://backend/; proxy_http_version 1.1; "
            'proxy_set_header Connection ""; }'
        )
        server = f"""server {{
listen 127.0.0.1:{self.port} ssl http2 backlog=4096;
root {self.setup.site};
ssl_certificate {bundle};
ssl_certificate_key {bundle};
ssl_protocols TLSv1.3;
http2_max_concurrent_streams 128;
{location}
}}"""
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c",
                   self.configuration("", upstream + server, is_plain=False))  # fmt: skip


class CaddyHttp2(_Http2, Caddy):
    def launch(self) -> None:
        bundle = _bundle(self.folder, "ecdsa")
        self.run(f"""https://:{self.port} {{
tls {bundle} {bundle} {{
protocols tls1.3
}}
handle_path /proxied/* {{
reverse_proxy 127.0.0.1:{self.setup.backend} {{
transport http {{
keepalive_idle_conns_per_host 64
}}
}}
}}
handle {{
root {self.setup.site}
file_server
}}
}}""")


class _Proxy(Server):
    scenario = "proxy"

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.port}/{work.removeprefix('proxy/')}"


class CorralProxy(_Proxy, Corral):
    serves_php = False

    def configuration(self) -> dict:
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "upstreams/backend"}},
            "upstreams": {
                "backend": {"servers": {f"127.0.0.1:{self.setup.backend}": {}}, "keepalive": {"connections": 64}}
            },
        }


class NginxProxy(_Proxy, Nginx):
    def launch(self) -> None:
        location = 'location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; }'
        upstream = (
            f"upstream backend {{ server 127.0.0.1:{self.setup.backend}; keepalive 64; "
            "keepalive_requests 1000000000; }"
        )
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c",
                   self.configuration(location, upstream))  # fmt: skip


class _Pool(Server):
    scenario = "pool"
    serves_files = False

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or FpmPool.missing()

    def url(self, work: str) -> str:
        return f"http://127.0.0.1:{self.port}/{work.rpartition('/')[2]}"

    def launch(self) -> None:
        self.launch_before(f"unix:{FpmPool.launch(self)}")

    def launch_before(self, pool: str) -> None:
        raise NotImplementedError


class _PoolAtPort(_Pool):
    scenario = "pool-tcp"

    def launch(self) -> None:
        port = free_port()
        FpmPool.launch(self, port)
        self.launch_before(f"127.0.0.1:{port}")


class CorralPool(_Pool, Corral):
    def launch_before(self, pool: str) -> None:
        self.pool = pool
        Corral.launch(self)

    def configuration(self) -> dict:
        action = {"fastcgi": self.pool, "root": str(self.setup.site)}
        action["keep_alive"] = {"processes": self.setup.php_workers}
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "routes"}},
            "routes": [{"match": {"uri": "*.php"}, "action": action}],
            "settings": self.settings,
        }


class CorralPoolAtPort(_PoolAtPort, CorralPool):
    pass


class NginxPool(_Pool, NginxFpm):
    name = "nginx"

    def launch_before(self, pool: str) -> None:
        self.launch_nginx(pool)


class NginxPoolAtPort(_PoolAtPort, NginxPool):
    pass


class ApachePool(_Pool, ApacheEventFpm):
    name = "apache"

    def launch_before(self, pool: str) -> None:
        is_unix = pool.startswith("unix:")
        self.launch_event(f"{pool}|fcgi://localhost/" if is_unix else f"fcgi://{pool}")


class ApachePoolAtPort(_PoolAtPort, ApachePool):
    pass


PAIRS: list[type[Server]] = [
    CorralRoutes, NginxRoutes, CorralTls, NginxTls, CorralHttp2, NginxHttp2, CorralProxy, NginxProxy,
    CorralPool, NginxPool, ApachePool, CorralPoolAtPort, NginxPoolAtPort, ApachePoolAtPort,
]  # fmt: skip


# Where their executables are named.
OPTIONAL: list[type[Server]] = [CaddyHttp2]


def with_backend(stack: ExitStack, setup: Setup, folder: Path) -> Setup:
    """Starts the server behind the proxies, which belongs to neither."""
    backend = Nginx(setup, folder / "backend")
    stack.callback(backend.stop)
    backend.start("1k.txt")
    return dataclasses.replace(setup, backend=backend.port)


def _bundle(folder: Path, kind: str) -> Path:
    """A certificate that is signed by itself, and its key, in one file."""
    bundle, key = folder / f"{kind}.pem", folder / f"{kind}.key"
    command = ["openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-batch", *KEYS[kind],
               "-keyout", str(key), "-out", str(bundle)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerFailed(f"openssl: {done.stderr.strip()[-300:]}")
    bundle.write_text(bundle.read_text() + key.read_text())
    return bundle
