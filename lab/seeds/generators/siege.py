"""siege: a thread for each client."""

import json
import tempfile
from pathlib import Path

from ...load import LoadFailed
from .generator import CORES, TIMEOUT, Generator, Load, Outcome, search, whole_seconds, without_zeros
from .process import run

SETTINGS = f"""verbose = false
quiet = true
color = off
json_output = true
show-logfile = false
logging = false
protocol = HTTP/1.1
accept-encoding = identity
cache = false
cookies = false
parser = false
follow-location = false
benchmark = true
timeout = {TIMEOUT}
failures = 1000000000
"""


class Siege(Generator):
    """siege cancels its threads at the end of a time, and waits for ever if one of them held a lock of the C library then:
    https://github.com/JoeDog/siege/issues/4"""

    name = "siege"
    patience = TIMEOUT
    attempts = 3
    package = "siege"
    counts = "Counts statuses from 400 on and broken connections, in one number; bodies are not looked at, and no percentiles are told."

    def env(self, folder: Path) -> dict[str, str]:
        """siege writes a template of settings into the home folder."""
        return {"HOME": str(folder)}

    def version(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            told = run(["siege", "--version"], TIMEOUT, self.env(Path(folder)))
        return search(r"^SIEGE (\S+)", told.stdout + told.stderr)[1]

    def cores(self, load: Load) -> int:
        return min(load.clients, CORES)

    def command(self, load: Load, folder: Path) -> list[str]:
        settings = folder / "siege.conf"
        settings.write_text(f"{SETTINGS}connection = {load.transport}\nlimit = {load.clients}\n")
        # siege ends at a whole second of the clock: up to a second before the time that it was given is over.
        return ["siege", "-R", str(settings), "-c", str(load.clients), "-t", f"{whole_seconds(load) + 1}S",
                "-H", f"Host: {load.host}", load.url]  # fmt: skip

    def parse(self, finished, folder: Path) -> Outcome:
        text = finished.stdout
        try:
            found = json.loads(text[text.index("{") :])
        except ValueError as error:
            raise LoadFailed(f"siege gave no report: {finished.last_words}") from error
        # Transactions are those that did not fail.
        good, seconds = int(found["transactions"]), float(found["elapsed_time"])
        if seconds <= 0:
            raise LoadFailed("siege measured no time")
        failures = without_zeros({"status from 400 on, or connection": int(found["failed_transactions"])})
        return Outcome(good, failures, seconds, good / seconds)
