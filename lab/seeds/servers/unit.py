"""NGINX Unit or FreeUnit, whose configuration Corral's is modelled on. Written from its manual; not tried yet."""

import os
from pathlib import Path

from ... import servers
from .corral import CorralPhp


class Unit(CorralPhp):
    """Where LAB_UNITD (and LAB_UNIT_MODULES) name it. Unit does not speak HTTP/2."""

    name = "unit-php"
    title = "NGINX Unit, PHP in its workers"
    family = "unit"
    transports = CorralPhp.transports - {"h2"}
    settings = {"http": {}}
    executable = Path(os.environ.get("LAB_UNITD", "/nonexistent"))

    @classmethod
    def missing(cls) -> str | None:
        return servers.Unit.missing()

    @classmethod
    def candidates(cls) -> list[dict[str, object]]:
        return [settings for settings in super().candidates() if settings["processes"] != "auto"]

    def launch(self) -> None:
        servers.Unit.launch(self)

    def configuration(self) -> dict:
        document = super().configuration()
        document.pop("upstreams")
        return document
