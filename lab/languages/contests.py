"""The contests between servers, and the bars that Corral promises."""

from dataclasses import dataclass

from .. import contest
from . import peers, programs, wasm
from .own import CorralAsgi, CorralPerl, CorralRuby, CorralWsgi
from .workloads import WORKLOADS

RATE = "requests/s"
PER_CPU = "requests per CPU second"


@dataclass(frozen=True, kw_only=True)
class Contest(contest.Contest):
    """One language: the server that is called `alone` is quoted and not judged."""

    measure: str
    bar: float
    # Whether one more worker is one more process of the server.
    has_workers: bool = True


def _language(name: str, servers: list, measure: str, bar: float, **more: bool) -> Contest:
    return Contest(name, servers, WORKLOADS, measure=measure, bar=bar, **more)


CONTESTS = [
    _language("python-wsgi", [CorralWsgi, peers.GunicornSync, peers.GunicornThreads, peers.GranianWsgi, peers.Uwsgi],
            RATE, 1.3),
    _language("python-asgi", [CorralAsgi, peers.Uvicorn, peers.GranianAsgi, peers.Hypercorn], RATE, 1.1),
    _language("ruby", [CorralRuby, peers.Puma, peers.Unicorn], RATE, 1.3),
    _language("perl", [CorralPerl, peers.Starman], RATE, 2.0),
    _language("node", programs.classes(programs.NODE), PER_CPU, 1.2, has_workers=False),
    _language("go", programs.classes(programs.GO), PER_CPU, 1.2, has_workers=False),
    _language("java", programs.classes(programs.JAVA), PER_CPU, 1.2, has_workers=False),
    _language("wasm", [wasm.CorralWasm, wasm.WasmtimeServe], RATE, 1.0, has_workers=False),
]  # fmt: skip


def chosen(texts: list[str]) -> list[Contest]:
    """Contests whose name contains one of the texts; all without any."""
    return [found for found in CONTESTS if not texts or any(text in found.name for text in texts)]
