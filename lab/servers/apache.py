"""Apache, with PHP in its processes, in front of php-fpm, and with php-cgi by mod_fcgid."""

import os
from pathlib import Path

from .. import php
from .fpm import FpmPool
from .php_cgi import PhpCgi
from .server import Server, first_line


MOD_PHP = f"libphp{php.VERSION}"


class Apache(Server):
    """The common part of both Apaches."""

    executable = "/usr/sbin/apache2"
    modules_dir = Path("/usr/lib/apache2/modules")
    modules: tuple[str, ...] = ()

    @classmethod
    def missing(cls) -> str | None:
        needed = [Path(cls.executable), *(cls.modules_dir / f"{name}.so" for name in cls.modules)]
        absent = [str(path) for path in needed if not path.exists()]
        return f"{', '.join(absent)} (scripts/setup bench)" if absent else None

    @classmethod
    def version(cls) -> str:
        return first_line([cls.executable, "-v"])

    def configuration(self, tuning: str) -> Path:
        names = {MOD_PHP: "php_module"}
        loads = "\n".join(
            f"LoadModule {names.get(name, name.removeprefix('mod_') + '_module')} {self.modules_dir}/{name}.so"
            for name in self.modules
        )
        as_user = f"User {self.setup.user}\nGroup {self.setup.group}" if os.geteuid() == 0 else ""
        return self.write(
            "apache.conf",
            f"""{loads}
ServerRoot {self.folder}
ServerName 127.0.0.1
Listen 127.0.0.1:{self.port}
ListenBacklog 4096
PidFile {self.folder}/apache.pid
DefaultRuntimeDir {self.folder}
TypesConfig /etc/mime.types
ErrorLog {self.folder}/error.log
Mutex pthread
{as_user}
Timeout 60
KeepAlive On
KeepAliveTimeout 5
MaxKeepAliveRequests 0
HostnameLookups Off
DocumentRoot {self.setup.site}
<Directory {self.setup.site}>
AllowOverride None
Require all granted
</Directory>
{tuning}
""",
        )

    def launch_apache(self, tuning: str) -> None:
        self.spawn(self.executable, "-D", "FOREGROUND", "-f", self.configuration(tuning), env=self.setup.php_env)


class ApachePrefork(Apache):
    """A process for each connection is its nature, so the number of PHP workers does not apply to it.

    All are there from the start: it forks them too slowly for a short run, and a connection that waits
    for a process would be missing in the percentiles.
    """

    name = "apache+mod_php"
    modules = ("mod_mpm_prefork", "mod_authz_core", "mod_mime", MOD_PHP)

    def launch(self) -> None:
        self.launch_mod_php(
            """StartServers 256
MinSpareServers 8
MaxSpareServers 256
MaxConnectionsPerChild 0"""
        )

    def launch_mod_php(self, tuning: str) -> None:
        self.launch_apache(
            f"""PHPIniDir {self.setup.php_ini.parent}
<FilesMatch "\\.php$">
SetHandler application/x-httpd-php
</FilesMatch>
ServerLimit 256
MaxRequestWorkers 256
{tuning}"""
        )


class ApacheEventFpm(Apache):
    name = "apache+fpm"
    modules = ("mod_mpm_event", "mod_authz_core", "mod_mime", "mod_proxy", "mod_proxy_fcgi")

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or FpmPool.missing()

    def launch(self) -> None:
        self.launch_event(f"unix:{FpmPool.launch(self)}|fcgi://localhost/")

    def launch_event(self, pool: str) -> None:
        """In front of a pool, as `SetHandler` names it."""
        self.launch_apache(
            f"""<FilesMatch "\\.php$">
SetHandler "proxy:{pool}"
</FilesMatch>
StartServers 2
ThreadsPerChild 64
ServerLimit 16
MaxRequestWorkers 1024
MinSpareThreads 64
MaxSpareThreads 1024"""
        )


class ApacheEventFcgid(Apache):
    """As many processes as the other servers have, which never end. mod_fcgid starts them when they are needed."""

    name = "apache+fcgid"
    modules = ("mod_mpm_event", "mod_authz_core", "mod_mime", "mod_fcgid")

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or PhpCgi.missing()

    def launch(self) -> None:
        wrapper = self.write("php-cgi", f"#!/bin/sh\nexec {PhpCgi.executable} -c {self.setup.php_ini}\n")
        wrapper.chmod(0o755)
        variables = "\n".join(f"FcgidInitialEnv {name} {value}" for name, value in PhpCgi.environment.items())
        self.launch_apache(
            f"""FcgidIPCDir {self.folder}
FcgidProcessTableFile {self.folder}/fcgid_shm
FcgidMaxProcesses {self.setup.php_workers}
FcgidMaxProcessesPerClass {self.setup.php_workers}
FcgidMinProcessesPerClass {self.setup.php_workers}
FcgidMaxRequestsPerProcess 0
FcgidSpawnScoreUpLimit 1000
FcgidOutputBufferSize 65536
{variables}
<Directory {self.setup.site}>
Options +ExecCGI
AddHandler fcgid-script .php
FcgidWrapper {wrapper} .php
</Directory>
StartServers 2
ThreadsPerChild 64
ServerLimit 8
MaxRequestWorkers 512
MinSpareThreads 64
MaxSpareThreads 512"""
        )
