"""The settings that a sweep has chosen for each server: of this machine, or else those that came with the lab."""

import json
from functools import cache
from pathlib import Path

from ..servers import REPOSITORY

SHIPPED = Path(__file__).with_name("tuning.json")
MEASURED_HERE = REPOSITORY / "lab/results/seeds-tuning.json"


@cache
def all_rows() -> dict[str, list[dict]]:
    """Rows of the sweep by server: settings, what was measured with them, and which ones were chosen."""
    source = next((path for path in (MEASURED_HERE, SHIPPED) if path.exists()), None)
    return json.loads(source.read_text()) if source else {}


def rows(server: str) -> list[dict]:
    return all_rows().get(server, [])


def settings(server: str) -> dict[str, object]:
    """The chosen ones, as changes of the server's defaults."""
    return next((row["settings"] for row in rows(server) if row["chosen"]), {})


def keep(found: dict[str, list[dict]]) -> Path:
    """Keeps a sweep of this machine for later runs; servers that it left out keep their rows."""
    MEASURED_HERE.parent.mkdir(parents=True, exist_ok=True)
    MEASURED_HERE.write_text(json.dumps({**all_rows(), **found}, indent=1) + "\n")
    all_rows.cache_clear()
    return MEASURED_HERE
