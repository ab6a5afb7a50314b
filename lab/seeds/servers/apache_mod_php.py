"""Apache with PHP in its own processes: prefork, and mpm-itk with a user for each site."""

import os
from typing import ClassVar

from ...servers.apache import MOD_PHP
from .apache import Prefork
from .seed import HTTPS


# A connection that may be kept for ever needs as many processes as there are clients.
PREFORK = [{"workers": workers, "keep_alive": seconds, "requests": requests}
           for workers, seconds, requests in ((150, 5, 100), (256, 5, 100), (256, 1, 100), (512, 1, 100),
                                              (1024, 5, 100), (1024, 5, 0))]  # fmt: skip


class ModPhp(Prefork):
    name = "apache-prefork-mod_php"
    title = "Apache prefork, mod_php"
    transports = HTTPS
    handler_modules = (MOD_PHP,)
    defaults: ClassVar = {"workers": 1024, "keep_alive": 5, "requests": 0}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return PREFORK

    def role_of(self, pid: int) -> str:
        return "php"

    def global_php(self) -> str:
        return f"PHPIniDir {self.setup.php_ini.parent}"

    def handler(self) -> str:
        return '<FilesMatch "\\.php$">\nSetHandler application/x-httpd-php\n</FilesMatch>'


class ModPhpItk(ModPhp):
    """A process takes the site's user with its first request, and ends with the connection."""

    name = "apache-itk-mod_php"
    title = "Apache mpm-itk, mod_php"
    mpm = "itk"
    defaults: ClassVar = {"workers": 1024, "keep_alive": 5, "requests": 0, "spare": 128}

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [{"spare": spare} for spare in (32, 64, 128, 256)]

    @classmethod
    def missing(cls) -> str | None:
        return super().missing() or (None if os.geteuid() == 0 else "root, to run as other users")

    def processes(self) -> str:
        workers, spare = self.settings_in_force["workers"], self.settings_in_force["spare"]
        return f"""ServerLimit {workers}
MaxRequestWorkers {workers}
StartServers {spare}
MinSpareServers {spare}
MaxSpareServers {2 * spare}"""

    @property
    def n_at_rest(self) -> int:
        return self.settings_in_force["spare"]

    def in_host(self) -> list[str]:
        return [f"AssignUserID {self.setup.user} {self.setup.group}"]
