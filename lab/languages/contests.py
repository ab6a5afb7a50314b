"""Who runs against whom, and what Corral promises."""

from dataclasses import dataclass

from .. import servers
from . import peers, programs, wasm
from .own import CorralAsgi, CorralPerl, CorralRuby, CorralWsgi

RATE = "requests/s"
PER_CPU = "requests per CPU second"


@dataclass(frozen=True)
class Contest:
    """One language: Corral first, then its peers; who is called `alone` is quoted and not judged."""

    name: str
    servers: list[type[servers.Server]]
    measure: str
    bar: float
    # Whether one more worker is one more process of the server.
    has_workers: bool = True

    @property
    def peers(self) -> list[type[servers.Server]]:
        return self.servers[1:]


CONTESTS = [
    Contest("python-wsgi", [CorralWsgi, peers.GunicornSync, peers.GunicornThreads, peers.GranianWsgi, peers.Uwsgi],
            RATE, 1.3),
    Contest("python-asgi", [CorralAsgi, peers.Uvicorn, peers.GranianAsgi, peers.Hypercorn], RATE, 1.1),
    Contest("ruby", [CorralRuby, peers.Puma, peers.Unicorn], RATE, 1.3),
    Contest("perl", [CorralPerl, peers.Starman], RATE, 2.0),
    Contest("node", programs.classes(programs.NODE), PER_CPU, 1.2, has_workers=False),
    Contest("go", programs.classes(programs.GO), PER_CPU, 1.2, has_workers=False),
    Contest("java", programs.classes(programs.JAVA), PER_CPU, 1.2, has_workers=False),
    Contest("wasm", [wasm.CorralWasm, wasm.WasmtimeServe], RATE, 1.0, has_workers=False),
]  # fmt: skip


def chosen(texts: list[str]) -> list[Contest]:
    """Those whose name contains one of the texts; all without any."""
    return [contest for contest in CONTESTS if not texts or any(text in contest.name for text in texts)]
