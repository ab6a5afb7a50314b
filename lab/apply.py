"""How long it takes to put a large configuration in force when no process has to be started for it."""

import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from .servers import Corral, ServerFailed, Setup, put_configuration

N_ROUTES = 2000
# Applications that run already; routes share them, so that only the configuration is large.
N_APPLICATIONS = 4


class CorralLarge(Corral):
    """Routes for as many applications, each with its host and its paths."""

    serves_php = False
    change = 0

    def configuration(self) -> dict:
        routes = {
            f"app-{number}": [
                {"match": {"uri": ["/assets/*", "~\\.(?:css|js)$"]}, "action": {"share": f"{self.setup.site}$uri"}},
                {"action": {"pass": f"applications/app-{number % N_APPLICATIONS}"}},
            ]
            for number in range(N_ROUTES)
        }
        hosts = [
            {"match": {"host": [f"app-{n}.example.com", f"*.app-{n}.example.com"]}, "action": {"pass": f"routes/app-{n}"}}
            for n in range(N_ROUTES)
        ]
        # A part that differs from one change to the next, so that none is the one in force.
        hosts.append({"action": {"share": f"{self.setup.site}$uri", "index": f"index-{self.change}.html"}})
        application = {"type": "php", "root": str(self.setup.site), "processes": {"max": 1, "spare": 0}}
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "routes/main"}},
            "routes": {"main": hosts, **routes},
            "applications": {f"app-{number}": application for number in range(N_APPLICATIONS)},
        }


def measure_apply(setup: Setup, folder: Path, n_changes: int) -> dict:
    """Wall time of PUT /config, from connecting to the answer."""
    server = CorralLarge(setup, folder)
    times = []
    try:
        with ExitStack() as stack:
            stack.callback(server.stop)
            server.start("1k.txt")
            for server.change in range(1, n_changes + 1):
                configuration = server.configuration()
                started = time.perf_counter()
                put_configuration(folder / "control.sock", configuration)
                times.append(1000 * (time.perf_counter() - started))
    except ServerFailed as error:
        return {"routes": N_ROUTES, "error": str(error)}
    return {"routes": N_ROUTES, "changes": n_changes, "median_ms": median(times), "slowest_ms": max(times)}
