"""The floor under `hello`: PHP's own loop around its handler, without any server."""

import subprocess
from pathlib import Path

from .. import php, servers
from .applications import APPS

PHP = f"/usr/bin/php{php.VERSION}"
CALLS = 5_000_000


def missing() -> str | None:
    return None if Path(PHP).exists() else f"{PHP} (scripts/setup bench)"


def measure(setup: servers.Setup) -> float:
    """Microseconds of processor time for one call of the handler, with its output thrown away."""
    command = [PHP, "-c", str(setup.php_ini), "-d", "opcache.enable_cli=1", str(APPS / "floor.php"), str(CALLS)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env={"PATH": "/usr/bin:/bin", **setup.php_env})  # fmt: skip
    try:
        return float(done.stderr)
    except ValueError:
        raise servers.ServerFailed(f"{PHP}: exit {done.returncode}: {done.stderr.strip()[-300:]}") from None
