"""Apache before php-fpm by mod_proxy_fcgi, and before php-cgi by mod_fcgid."""

from typing import ClassVar

from ...servers import FpmPool, PhpCgi
from .apache import Apache, Prefork, Threaded
from .seed import ALL_TRANSPORTS, HTTPS, MAX_BODY


class _ProxyFcgi(Apache):
    """php-fpm at a socket; connections to it are kept where `reuse` says so, at most as many as it has processes."""

    handler_modules = ("mod_proxy", "mod_proxy_fcgi")

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or FpmPool.missing()

    def launch(self) -> None:
        self.pool = FpmPool.launch(self)
        super().launch()

    def handler(self) -> str:
        return f'<FilesMatch "\\.php$">\nSetHandler "proxy:unix:{self.pool}|fcgi://php/"\n</FilesMatch>'

    def global_php(self) -> str:
        if not self.settings_in_force["reuse"]:
            return ""
        share = max(1, self.setup.php_workers // self.n_processes)
        return f'<Proxy "fcgi://php/">\nProxySet enablereuse=on max={share}\n</Proxy>'

    @property
    def n_processes(self) -> int:
        return self.settings_in_force["workers"] // self.settings_in_force["threads"]


THREADED = [{"threads": threads, "processes": processes, "reuse": reuse}
            for threads, processes, reuse in ((64, 4, False), (64, 8, False), (64, 16, False), (256, 8, False),
                                              (1024, 8, False), (1024, 8, True), (1024, 16, True))]  # fmt: skip


# A process whose threads are all busy closes connections that clients are about to use again, so that few large processes
# fail less than many small ones.
class EventFpm(Threaded, _ProxyFcgi):
    name = "apache-event-fpm"
    title = "Apache event, php-fpm"
    transports = ALL_TRANSPORTS
    defaults: ClassVar = {"workers": 1024, "threads": 1024, "keep_alive": 5, "requests": 0, "processes": 16, "reuse": True}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return THREADED


class WorkerFpm(EventFpm):
    name = "apache-worker-fpm"
    title = "Apache worker, php-fpm"
    mpm = "worker"

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return THREADED[::2]


class PreforkFpm(Prefork, _ProxyFcgi):
    name = "apache-prefork-fpm"
    title = "Apache prefork, php-fpm"
    transports = HTTPS
    defaults: ClassVar = {"workers": 1024, "threads": 1, "keep_alive": 5, "requests": 0, "processes": 8, "reuse": False}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        few = {"workers": 256, "requests": 100}
        return [{**few, "processes": 8}, *({"processes": number} for number in (4, 8, 16, 32))]


class PreforkFcgid(Prefork):
    """Processes of php-cgi never end; they are started when they are needed."""

    name = "apache-prefork-fcgid"
    title = "Apache prefork, mod_fcgid"
    transports = HTTPS
    handler_modules = ("mod_fcgid",)
    options = " ExecCGI"
    defaults: ClassVar = {"workers": 1024, "keep_alive": 5, "requests": 0, "processes": 8}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        few = {"workers": 256, "requests": 100}
        return [{**few, "processes": 8}, *({"processes": number} for number in (2, 4, 8, 16, 32))]

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or PhpCgi.missing()

    def launch(self) -> None:
        script = f"#!/bin/sh\nexec {PhpCgi.executable} -c {self.setup.php_ini}\n"
        self.wrapper = self.write("php-cgi", script)
        self.wrapper.chmod(0o755)
        super().launch()

    def global_php(self) -> str:
        processes = self.setup.php_workers
        environment = {**PhpCgi.environment, **self.setup.php_env}
        variables = "\n".join(f"FcgidInitialEnv {name} {value}" for name, value in environment.items())
        return f"""FcgidIPCDir {self.folder}
FcgidProcessTableFile {self.folder}/fcgid_shm
FcgidMaxProcesses {processes}
FcgidMaxProcessesPerClass {processes}
FcgidMinProcessesPerClass {processes}
FcgidMaxRequestsPerProcess 0
FcgidSpawnScoreUpLimit 1000
FcgidOutputBufferSize 65536
FcgidMaxRequestLen {MAX_BODY}
{variables}"""

    def handler(self) -> str:
        return f"AddHandler fcgid-script .php\nFcgidWrapper {self.wrapper} .php"
