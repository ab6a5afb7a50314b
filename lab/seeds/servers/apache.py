"""Apache's configuration for all sites, whatever runs PHP: virtual hosts, TLS, and as many processes as settings say."""

from typing import ClassVar

from ... import servers
from ..workloads import VirtualHost
from .seed import H2, MAX_BODY, SeedServer

COMMON = ("mod_authz_core", "mod_dir", "mod_mime", "mod_rewrite", "mod_socache_shmcb", "mod_ssl")


class Apache(SeedServer, servers.Apache):
    """The manual's page on performance: no look for .htaccess or owners of links, sendfile, no status per request."""

    family = "apache"
    words: ClassVar = {"workers": "MaxRequestWorkers", "threads": "ThreadsPerChild", "keep_alive": "KeepAliveTimeout",
                       "requests": "MaxKeepAliveRequests", "processes": "PHP processes", "reuse": "enablereuse",
                       "spare": "MinSpareServers"}  # fmt: skip
    # The multi-processing module, and what else it needs beside the common ones.
    mpm = "event"
    handler_modules: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        http2 = ("mod_http2",) if H2 in cls.transports else ()
        mpms = ("mod_mpm_prefork", "mpm_itk") if cls.mpm == "itk" else (f"mod_mpm_{cls.mpm}",)
        cls.modules = (*mpms, *COMMON, *cls.handler_modules, *http2)

    def launch(self) -> None:
        self.launch_apache(self.tuning())

    def tuning(self) -> str:
        hosts = "\n".join(self.virtual_host(host, is_tls) for is_tls in (False, True) for host in self.site.hosts)
        roots = "\n".join(self.directory(host) for host in self.site.hosts)
        return f"""Listen 127.0.0.1:{self.tls_port}
EnableSendfile On
KeepAliveTimeout {self.settings_in_force["keep_alive"]}
MaxKeepAliveRequests {self.settings_in_force["requests"]}
LimitRequestBody {MAX_BODY}
SSLSessionCache shmcb:{self.folder}/ssl(512000)
SSLCertificateFile {self.site.certificate}
{self.processes()}
{self.global_php()}
{roots}
{hosts}
"""

    def processes(self) -> str:
        """Directives of the multi-processing module."""
        raise NotImplementedError

    def global_php(self) -> str:
        return ""

    def handler(self) -> str:
        """Directives that make scripts run, in each folder with scripts."""
        raise NotImplementedError

    def directory(self, host: VirtualHost) -> str:
        return f"""<Directory {host.root}>
Options FollowSymLinks{self.options}
AllowOverride None
Require all granted
{self.handler()}
</Directory>"""

    # Options of folders with scripts, beside those of all.
    options = ""

    def virtual_host(self, host: VirtualHost, is_tls: bool) -> str:
        port = self.tls_port if is_tls else self.port
        tls = ["SSLEngine On", *(["Protocols h2 http/1.1"] if H2 in self.transports else [])] if is_tls else []
        directives = "\n".join([*tls, *self.front(host), *self.in_host()])
        return f"""<VirtualHost 127.0.0.1:{port}>
ServerName {host.host}
DocumentRoot {host.root}
{directives}
</VirtualHost>"""

    def in_host(self) -> list[str]:
        return []

    @staticmethod
    def front(host: VirtualHost) -> list[str]:
        """The way to the script that answers everything, with or without a look for files."""
        if not host.front:
            return []
        if host.looks_for_files:
            return [f"DirectoryIndex {host.front}", f"FallbackResource /{host.front}"]
        return ["RewriteEngine On", f"RewriteRule ^ {host.root}/{host.front} [END]"]


class Prefork(Apache):
    """A process for each connection. All are there from the start: they are forked too slowly for short runs."""

    mpm = "prefork"

    def processes(self) -> str:
        workers = self.settings_in_force["workers"]
        return f"""ServerLimit {workers}
MaxRequestWorkers {workers}
StartServers {workers}
MinSpareServers {min(8, workers)}
MaxSpareServers {workers}
MaxConnectionsPerChild 0"""

    @property
    def n_at_rest(self) -> int:
        return self.settings_in_force["workers"]


class Threaded(Apache):
    """Threads in processes; `event` also keeps idle connections without a thread."""

    def processes(self) -> str:
        threads, workers = self.settings_in_force["threads"], self.settings_in_force["workers"]
        asynchronous = "AsyncRequestWorkerFactor 16" if self.mpm == "event" else ""
        return f"""ThreadLimit {threads}
ThreadsPerChild {threads}
ServerLimit {workers // threads}
StartServers {workers // threads}
MaxRequestWorkers {workers}
MinSpareThreads {min(64, threads)}
MaxSpareThreads {workers}
MaxConnectionsPerChild 0
{asynchronous}"""

