"""The PHP of this machine, as Debian names its files."""

import subprocess
from pathlib import Path


def _version() -> str:
    """The PHP that Corral's host is built for, or else the newest: such as 8.4."""
    try:
        told = subprocess.run(["php-config", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        installed = [path.name for path in Path("/etc/php").glob("[0-9]*.[0-9]*")]
        told = max(installed, key=lambda name: [int(part) for part in name.split(".")], default="")
    return ".".join(told.strip().split(".")[:2])


VERSION = _version()
