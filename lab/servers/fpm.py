"""php-fpm."""

import os
from pathlib import Path

from .. import php
from .server import Server


class FpmPool:
    """php-fpm with one pool, the back end of other servers."""

    executable = f"/usr/sbin/php-fpm{php.VERSION}"

    @staticmethod
    def missing() -> str | None:
        return None if Path(FpmPool.executable).exists() else f"php{php.VERSION}-fpm (scripts/setup bench)"

    @staticmethod
    def launch(server: Server, port: int | None = None, manager: str | None = None) -> Path:
        """The path of its Unix socket, unless it is to be reached at a port. The pool is static, unless `manager` says
        how processes come and go."""
        socket_path = server.folder / "fpm.sock"
        setup = server.setup
        as_user = f"user = {setup.user}\ngroup = {setup.group}\nlisten.owner = {setup.user}\n" if os.geteuid() == 0 else ""
        static = f"pm = static\npm.max_children = {setup.php_workers}"
        conf = server.write(
            "fpm.conf",
            f"""[global]
error_log = {server.folder}/fpm.log
daemonize = no
[www]
{as_user}listen = {f"127.0.0.1:{port}" if port else socket_path}
listen.backlog = 4096
{manager or static}
""",
        )
        as_root = ["--allow-to-run-as-root"] if os.geteuid() == 0 else []
        server.spawn(FpmPool.executable, "--nodaemonize", *as_root, "--fpm-config", conf, "-c", setup.php_ini,
                     env=setup.php_env)  # fmt: skip
        return socket_path
