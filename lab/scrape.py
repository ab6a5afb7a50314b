"""The cost of reading the metrics of many applications, and the speed of requests beside that."""

import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from . import measure
from .processes import title, tree
from .servers import Corral, ServerFailed, Setup

N_APPLICATIONS = 500
# The processes are not started: figures are by application, however many processes it has.
N_PROCESSES = 64
N_SCRAPES = 50
N_REQUESTS = 3000
ROUNDS = 5
PATIENCE = 30.0


class CorralCrowd(Corral):
    """As many applications, each behind a step of its own."""

    serves_php = False

    def configuration(self) -> dict:
        application = {
            "type": "http", "executable": "/bin/false", "processes": {"max": N_PROCESSES, "spare": 0},
        }  # fmt: skip
        steps = [
            {"match": {"host": f"app-{n}.example.com"}, "action": {"pass": f"applications/app-{n}"}}
            for n in range(N_APPLICATIONS)
        ]
        return {
            "listeners": {f"127.0.0.1:{self.port}": {"pass": "routes"}},
            "routes": [*steps, {"action": {"share": f"{self.setup.site}$uri"}}],
            "applications": {f"app-{n}": application for n in range(N_APPLICATIONS)},
            "settings": self.settings,
        }


def measure_scrapes(setup: Setup, folder: Path) -> dict:
    """Processor time and wall time of a scrape; the slowest of a hundred requests with a scrape each second and
    without, in turns."""
    server = CorralCrowd(setup, folder)
    row: dict = {"applications": N_APPLICATIONS, "processes": N_PROCESSES}
    try:
        with ExitStack() as stack:
            stack.callback(server.stop)
            server.start("1k.txt")
            control, own = folder / "control.sock", _own_processes(server)
            size = len(_scrape(control))
            cpu, started = measure.cpu_seconds_of(own), time.perf_counter()
            for _ in range(N_SCRAPES):
                _scrape(control)
            row |= {
                "bytes": size,
                "cpu_ms": 1000 * (measure.cpu_seconds_of(own) - cpu) / N_SCRAPES,
                "wall_ms": 1000 * (time.perf_counter() - started) / N_SCRAPES,
            }
            rounds = [(_p99_ms(server.port), _p99_beside_scrapes(server.port, control)) for _ in range(ROUNDS)]
            row |= {"p99_without_ms": min(alone for alone, _ in rounds), "p99_with_ms": min(beside for _, beside in rounds)}
    except (ServerFailed, OSError) as error:
        return row | {"error": str(error)}
    return row


def _own_processes(server: Corral) -> list[int]:
    """The daemon without its applications."""
    names = ("main", "router", "controller")
    everything = [pid for root in server.roots for pid in tree(root)]
    return [pid for pid in everything if any(title(pid).startswith(f"corral: {name}") for name in names)]


def _scrape(control: Path) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(control))
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    if not answer.startswith(b"HTTP/1.1 200") or not answer.endswith(b"# EOF\n"):
        raise ServerFailed(f"a scrape was answered with {answer[:200]!r}")
    return answer


def _p99_beside_scrapes(port: int, control: Path) -> float:
    done = threading.Event()

    def scrape() -> None:
        while not done.is_set():
            _scrape(control)
            done.wait(1)

    collector = threading.Thread(target=scrape, daemon=True)
    collector.start()
    try:
        return _p99_ms(port)
    finally:
        done.set()
        collector.join()


def _p99_ms(port: int) -> float:
    times = []
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        for _ in range(N_REQUESTS):
            started = time.perf_counter()
            connection.sendall(b"GET /1k.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            answer = b""
            while len(answer) < 1024:
                piece = connection.recv(65536)
                if not piece:
                    raise ServerFailed("a connection was closed in the middle of an answer")
                answer += piece
            times.append(time.perf_counter() - started)
            # Requests of about two seconds, so that scrapes fall among them.
            time.sleep(0.0006)
    return 1000 * sorted(times)[len(times) * 99 // 100]
