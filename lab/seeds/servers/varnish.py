"""Varnish before nginx and php-fpm: files come from its memory, and so would scripts that permit it."""

import os
import shutil
from pathlib import Path
from typing import ClassVar

from ... import processes
from ...servers import first_line, free_port
from .nginx import NginxFpm
from .seed import HTTP

# As Varnish's own rules say, without its two minutes for answers that do not say how long they may be kept: those of
# scripts are made anew for each request, and stand for pages that no cache may keep.
VCL = """vcl 4.1;

backend nginx {{
    .host = "127.0.0.1";
    .port = "{port}";
}}

sub vcl_backend_response {{
    if (!beresp.http.Cache-Control && !beresp.http.Expires && bereq.url !~ "\\.txt$") {{
        set beresp.uncacheable = true;
        set beresp.ttl = 1h;
    }}
}}
"""


class VarnishNginx(NginxFpm):
    name = "varnish-nginx-fpm"
    title = "Varnish before nginx, php-fpm at a socket"
    family = "varnish"
    # Varnish itself speaks no TLS.
    transports = HTTP
    defaults: ClassVar = {**NginxFpm.defaults, "pools": 2}
    executable_of_cache = Path(os.environ.get("LAB_VARNISHD") or shutil.which("varnishd") or "/usr/sbin/varnishd")

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [*({"processes": number, "keep": 0} for number in (4, 8, 16, 32)), {}, {"pools": 1}]

    @classmethod
    def missing(cls) -> str | None:
        if not cls.executable_of_cache.exists():
            return f"{cls.executable_of_cache} (scripts/setup bench, or LAB_VARNISHD=/path/to/varnishd)"
        return super().missing()

    @classmethod
    def version(cls) -> str:
        return f"{first_line([str(cls.executable_of_cache), '-V'])}, {super().version()}"

    def launch(self) -> None:
        """nginx listens at a port of its own."""
        outside, inside = self.port, free_port()
        self.port = inside
        super().launch()
        self.port = outside
        vcl = self.write("varnish.vcl", VCL.format(port=inside))
        work = self.folder / "varnish"
        work.mkdir()
        work.chmod(0o777)
        pools = self.settings_in_force["pools"]
        self.spawn(
            self.executable_of_cache, "-F", "-n", work, "-a", f"127.0.0.1:{self.port}", "-f", vcl,
            "-s", "malloc,256m", "-p", f"thread_pools={pools}", "-p", "thread_pool_min=500",
            "-p", "thread_pool_max=2500", "-p", "listen_depth=4096", "-p", "timeout_idle=60",
            # No log in shared memory is read here, but none can be left out: a small one.
            "-l", "8m", *self.jail(),
        )  # fmt: skip

    def jail(self) -> list[str]:
        return ["-j", f"unix,user={self.setup.user},workuser={self.setup.user}"] if os.geteuid() == 0 else ["-j", "none"]

    def role_of(self, pid: int) -> str:
        return "php" if processes.title(pid).startswith("php-fpm") else "front"
