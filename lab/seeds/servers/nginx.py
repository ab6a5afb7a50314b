"""nginx before php-fpm (at a socket and at a port, with the three kinds of pools), and before Apache."""

from typing import ClassVar

from ... import processes, servers
from ...servers import FpmPool, free_port
from ..workloads import VirtualHost
from .apache_mod_php import ModPhp
from .seed import ALL_TRANSPORTS, MAX_BODY, SeedServer


class _Nginx(SeedServer, servers.Nginx):
    """Files by nginx itself; scripts by what `script` says."""

    family = "nginx"
    words: ClassVar = {"processes": "PHP processes", "keep": "connections kept to PHP", "workers": "MaxRequestWorkers",
                       "keep_alive": "KeepAliveTimeout", "pools": "thread_pools"}  # fmt: skip
    transports = ALL_TRANSPORTS

    @property
    def worker_processes(self) -> int:
        return self.settings_in_force["worker_processes"]

    def launch_nginx(self) -> None:
        hosts = "\n".join(self.server_block(host, is_first=number == 0) for number, host in enumerate(self.site.hosts))
        configuration = self.configuration("", f"""client_max_body_size {MAX_BODY};
client_body_buffer_size 128k;
ssl_certificate {self.site.certificate};
ssl_certificate_key {self.site.certificate};
ssl_protocols TLSv1.2 TLSv1.3;
ssl_session_cache shared:tls:10m;
{self.upstream()}
{hosts}""", is_plain=False)
        self.spawn(self.executable, "-p", self.folder, "-e", self.folder / "error.log", "-c", configuration)

    def upstream(self) -> str:
        raise NotImplementedError

    def script(self) -> str:
        """Directives that hand a script on."""
        raise NotImplementedError

    def server_block(self, host: VirtualHost, is_first: bool) -> str:
        reuseport = " reuseport" if self.settings_in_force["reuseport"] else ""
        options = f" default_server backlog=4096{reuseport}" if is_first else ""
        return f"""server {{
listen 127.0.0.1:{self.port}{options};
listen 127.0.0.1:{self.tls_port} ssl http2{options};
server_name {host.host};
root {host.root};
{self.locations(host)}
}}"""

    def locations(self, host: VirtualHost) -> str:
        if not host.front:
            return f"location ~ \\.php$ {{ {self.script()} }}"
        if not host.looks_for_files:
            return f"location / {{ rewrite ^ /{host.front} break; {self.script()} }}"
        return f"""index {host.front};
location / {{ try_files $uri $uri/ /{host.front}?$args; }}
location ~ \\.php$ {{ {self.script()} }}"""


class NginxFpm(_Nginx):
    name = "nginx-fpm-socket"
    title = "nginx, php-fpm at a socket, static pool"
    defaults: ClassVar = {"worker_processes": 2, "processes": 16, "keep": 4, "reuseport": False}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        plain = [{"worker_processes": 2, "processes": processes, "keep": 0} for processes in (2, 4, 8, 16, 32)]
        kept = [{"worker_processes": workers, "processes": processes, "keep": keep} for workers, processes, keep in
                ((1, 8, 0), (1, 8, 4), (2, 8, 2), (2, 16, 4))]  # fmt: skip
        return [*plain, *kept, {"reuseport": True}]

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or FpmPool.missing()

    def launch(self) -> None:
        self.pool = f"unix:{FpmPool.launch(self, manager=self.manager())}"
        self.launch_nginx()

    def manager(self) -> str | None:
        """How processes come and go; static without any."""
        return None

    def upstream(self) -> str:
        """A kept connection holds a process of the pool, also for the other processes of nginx: all together may hold a
        part of the pool only, or else a new connection would wait for ever."""
        keep = self.settings_in_force["keep"]
        kept = f"keepalive {keep}; keepalive_requests 1000000000;" if keep else ""
        return f"upstream php {{ server {self.pool}; {kept} }}\nfastcgi_buffers 16 32k;\nfastcgi_buffer_size 32k;"

    def script(self) -> str:
        keep = "fastcgi_keep_conn on; " if self.settings_in_force["keep"] else ""
        return f"include /etc/nginx/fastcgi.conf; {keep}fastcgi_pass php;"


class NginxFpmPort(NginxFpm):
    name = "nginx-fpm-port"
    title = "nginx, php-fpm at a port, static pool"

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [*({"processes": number, "keep": 0} for number in (4, 8, 16)), {"processes": 16, "keep": 4}]

    def launch(self) -> None:
        port = free_port()
        FpmPool.launch(self, port)
        self.pool = f"127.0.0.1:{port}"
        self.launch_nginx()


class _Managed(NginxFpm):
    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [*({"processes": number, "keep": 0} for number in (4, 8, 16, 32)), {"processes": 16, "keep": 4}]


class NginxFpmDynamic(_Managed):
    name = "nginx-fpm-dynamic"
    title = "nginx, php-fpm at a socket, dynamic pool"

    def manager(self) -> str:
        most = self.setup.php_workers
        return f"""pm = dynamic
pm.max_children = {most}
pm.start_servers = {max(1, most // 2)}
pm.min_spare_servers = {max(1, most // 4)}
pm.max_spare_servers = {most}"""


class NginxFpmOnDemand(_Managed):
    name = "nginx-fpm-ondemand"
    title = "nginx, php-fpm at a socket, pool on demand"

    def manager(self) -> str:
        return f"pm = ondemand\npm.max_children = {self.setup.php_workers}\npm.process_idle_timeout = 10s"


class _BehindNginx(ModPhp):
    """The Apache that nginx hands scripts to: it needs no TLS and few processes, as nginx holds the clients."""

    name = "apache-behind-nginx"


class NginxApache(_Nginx):
    """Files by nginx, scripts by Apache prefork with mod_php behind it."""

    name = "nginx-apache"
    title = "nginx before Apache prefork, mod_php"
    defaults: ClassVar = {"worker_processes": 2, "reuseport": False, "workers": 32, "keep_alive": 2, "requests": 0,
                          "keep": 8}  # fmt: skip

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [{"workers": workers, "keep": keep} for workers, keep in
                ((8, 0), (16, 0), (32, 0), (64, 0), (32, 8), (64, 16), (128, 32))]  # fmt: skip

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or _BehindNginx.missing()

    def launch(self) -> None:
        settings = {key: self.settings_in_force[key] for key in ("workers", "keep_alive", "requests")}
        self.behind = _BehindNginx(self.site, self.folder / "apache", settings)
        # Both are stopped together, also if one of them does not start.
        self.behind.children, self.behind.written = self.children, self.written
        self.behind.start()
        self.launch_nginx()

    def role_of(self, pid: int) -> str:
        return "front" if processes.title(pid).startswith("nginx") else "php"

    def tail(self) -> str:
        return "\n".join([super().tail(), self.behind.tail()])

    def upstream(self) -> str:
        keep = self.settings_in_force["keep"]
        kept = f"keepalive {keep}; keepalive_requests 1000000000; keepalive_timeout 1s;" if keep else ""
        backend = f"127.0.0.1:{self.behind.port}"
        return f"upstream php {{ server {backend}; {kept} }}\nproxy_buffers 16 32k;\nproxy_buffer_size 32k;"

    def script(self) -> str:
        connection = 'proxy_http_version 1.1; proxy_set_header Connection ""; ' if self.settings_in_force["keep"] else ""
        return f"proxy_set_header Host $host; {connection}proxy_pass http://php;"

    def locations(self, host: VirtualHost) -> str:
        """Apache finds the way to the front script by itself."""
        if host.front and not host.looks_for_files:
            return f"location / {{ {self.script()} }}"
        if host.front:
            return f"""location / {{ try_files $uri @php; }}
location ~ \\.php$ {{ {self.script()} }}
location @php {{ {self.script()} }}"""
        return super().locations(host)
