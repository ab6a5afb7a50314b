"""A run that never took place, with records of all kinds: what the page is developed and tested with."""

import random
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from .. import records
from ..records import (
    Absent,
    Cell,
    Done,
    Generator,
    Histogram,
    Idle,
    Ramp,
    Record,
    Run,
    Sample,
    Server,
    Sites,
    Slow,
    Workload,
)

# Name, title, family, how fast.
SERVERS = (
    ("corral-php", "Corral, PHP in its own workers", "corral", 1.7),
    ("corral-worker", "Corral, worker mode", "corral", 2.4),
    ("corral-fpm", "Corral before php-fpm", "corral", 1.15),
    ("corral-php-cgi", "Corral before php-cgi", "corral", 1.05),
    ("apache-prefork-mod_php", "Apache prefork, mod_php", "apache", 1.1),
    ("apache-worker-fpm", "Apache worker, php-fpm", "apache", 0.8),
    ("apache-event-fpm", "Apache event, php-fpm", "apache", 0.85),
    ("apache-itk", "Apache mpm-itk, mod_php", "apache", 0.2),
    ("apache-prefork-fcgid", "Apache prefork, mod_fcgid", "apache", 0.6),
    ("apache-prefork-proxy_fcgi", "Apache prefork, mod_proxy_fcgi", "apache", 0.65),
    ("nginx-fpm-socket", "nginx, php-fpm at a socket", "nginx", 1.0),
    ("nginx-fpm-port", "nginx, php-fpm at a port", "nginx", 0.85),
    ("nginx-fpm-dynamic", "nginx, php-fpm, dynamic pool", "nginx", 0.95),
    ("nginx-fpm-ondemand", "nginx, php-fpm, pool on demand", "nginx", 0.9),
    ("nginx-apache", "nginx before Apache prefork", "nginx", 0.75),
    ("unit", "NGINX Unit", "unit", 1.45),
    ("frankenphp", "FrankenPHP, worker mode", "frankenphp", 1.2),
    ("roadrunner", "RoadRunner", "roadrunner", 1.25),
    ("swoole", "Swoole", "swoole", 1.75),
    ("caddy-fpm", "Caddy, php-fpm", "caddy", 0.7),
)

# Name, title, answers a second of a server that is as fast as 1, clients.
WORKLOADS = (
    ("phpinfo", "phpinfo()", 2600, (10, 50, 100, 200, 500, 1000)),
    ("echoes", "1,000 echoes", 8800, (10, 50, 100, 200, 500, 1000)),
    ("sort", "arrays and sorting", 900, (100,)),
    ("mysql", "a page with MySQL", 1800, (10, 50, 100, 200, 500, 1000)),
    ("mysql-persistent", "a page with MySQL, persistent", 3100, (100,)),
    ("laravel", "a route of Laravel", 310, (100,)),
    ("lumen", "a route of Lumen", 1400, (100,)),
    ("wordpress", "WordPress, front page", 62, (50,)),
    ("wordpress-rest", "WordPress, REST", 70, (50,)),
    ("file-1k", "a file of 1 KB", 90000, (100, 1000)),
    ("file-100k", "a file of 100 KB", 21000, (100,)),
    ("upload-64k", "an upload of 64 KB", 5200, (100,)),
    ("upload-60m", "an upload of 60 MB", 9, (10,)),
)

PERCENTILES = {"50": 0.85, "75": 1.2, "90": 1.8, "95": 2.3, "99": 3.9, "99.9": 8.0, "100": 17.0}

TOOLS = {"tank": 1e9, "wrk": 1e9, "ab": 14000, "siege": 5200}


class Invented:
    def __init__(self, servers: int = len(SERVERS), rounds: int = 5, seed: int = 1):
        self.servers = SERVERS[:servers]
        self.rounds = rounds
        self.dice = random.Random(seed)

    def records(self) -> Iterator[Record]:
        yield Run(
            "2026-11-27T12:00:00Z",
            "full",
            self.rounds,
            3.0,
            {"cpu": "Invented CPU at 2.80 GHz", "cores": 2, "kernel": "6.1.0", "memory_mb": 24576, "os": "Debian 12"},
            {"spread": 0.031, "stolen": 0.004},
            {"version": "0.0.0", "commit": "0123abcd"},
        )
        for name, title, family, _ in self.servers:
            yield Server(
                name, title, family, "1.2.3", {"server.conf": f"# {title}\n" + "MaxClients 150\n" * 40}, self._tuning()
            )
        yield Absent("varnish", "Varnish before nginx", "no varnishd; LAB_VARNISHD may name one")
        for tool in TOOLS:
            yield Generator(
                tool, "1.0", "failed requests by status and by body" if tool == "tank" else "statuses alone"
            )
        for name, title, _, _ in WORKLOADS:
            yield Workload(name, title, f"<?php // {title}\necho 'x';\n")
        yield from self._samples()
        yield from self._ramps()
        for name, _, _, speed in self.servers:
            yield Idle(name, 10000, self._near(2 / speed), self._near(1.1), self._near(3 / speed))
            yield Slow(
                name,
                500,
                150 if "prefork" in name else 500,
                None if "itk" in name else self._near(40 / speed),
                self._near(4),
            )
            yield Sites(name, 50, self._near(9000 * speed), self._near(300 / speed))
        yield Done(8100.0)

    def _near(self, value: float, by: float = 0.06) -> float:
        return value * self.dice.gauss(1, by)

    def _tuning(self) -> list[dict]:
        sizes = (2, 4, 8, 16, 32)
        return [
            {"setting": f"processes {n}", "per_second": self._near(4000), "cpu_us": self._near(200), "chosen": n == 8}
            for n in sizes
        ]

    def _cells(self) -> Iterator[tuple[Cell, float, float]]:
        for work, _, base, levels in WORKLOADS:
            for name, _, _, speed in self.servers:
                for clients in levels:
                    yield Cell(name, work, "keep-alive", "tank", clients), base, speed
                if work.startswith("file"):
                    for transport in ("close", "tls", "h2"):
                        yield Cell(name, work, transport, "tank", 100), base * 0.5, speed
                if work in ("phpinfo", "echoes"):
                    for tool in ("ab", "siege", "wrk"):
                        yield Cell(name, work, "close" if tool == "ab" else "keep-alive", tool, 100), base, speed

    def _samples(self) -> Iterator[Record]:
        at = 0.0
        for cell, base, speed in self._cells():
            is_close_race = cell.workload.startswith("file") or cell.workload == "sort"
            rate = min(base * (speed**0.15 if is_close_race else speed), TOOLS[cell.tool]) * self.dice.uniform(
                0.85, 1.15
            )
            rate *= 1 - 0.1 * (cell.clients / 1000) * self.dice.random()
            for number in range(self.rounds):
                at += 1.4
                yield self._sample(cell, number, at, self._near(rate), speed)
            if cell.tool == "tank":
                yield Histogram(
                    cell.server,
                    cell.workload,
                    cell.transport,
                    cell.tool,
                    cell.clients,
                    self._counts(cell.clients / rate),
                )

    def _sample(self, cell: Cell, number: int, at: float, rate: float, speed: float) -> Sample:
        good = int(rate * 3)
        failures = {}
        if "apache" in cell.server and cell.clients >= 500:
            failures = {
                "timeout": int(good * self.dice.uniform(0, 0.01)),
                "connection refused": self.dice.randrange(30),
            }
        mean_us = cell.clients / rate * 1e6
        front, php = 14 / speed, 1.6e6 / rate
        roles = {"php": front + php} if "mod_php" in cell.server else {"front": front, "php": php}
        if cell.workload.startswith("mysql"):
            roles["database"] = self._near(90)
        memory = 60 + cell.clients * (1.1 if "prefork" in cell.server else 0.05)
        return Sample(
            cell.server,
            cell.workload,
            cell.transport,
            cell.tool,
            cell.clients,
            number,
            at,
            3.0,
            good,
            failures,
            good / 3,
            None if cell.tool == "siege" else {q: mean_us * f for q, f in PERCENTILES.items()},
            {role: self._near(used) for role, used in roles.items()},
            {"voluntary": self._near(1.8), "involuntary": self._near(0.3)},
            [[t * 0.25, self._near(memory * (0.7 + 0.3 * t / 11), 0.01)] for t in range(12)],
            generator_cpu=0.97 if cell.tool in ("ab", "siege") else 0.3,
            stolen=0.004,
            others=0.13 if self.dice.random() < 0.004 else 0.02,
            void="generator saturated" if rate > TOOLS[cell.tool] * 0.85 else None,
        )

    def _counts(self, mean_seconds: float) -> list[list[float]]:
        times = sorted(self.dice.lognormvariate(0, 0.6) * mean_seconds * 1e6 for _ in range(1000))
        bounds = [times[0] * (times[-1] / times[0]) ** (step / 118) for step in range(120)]
        below = [0, *(bisect_right(times, bound * 1.0001) for bound in bounds)]
        return [
            [bound, n - before] for bound, before, n in zip(bounds, below[:-1], below[1:], strict=True) if n > before
        ]

    def _ramps(self) -> Iterator[Record]:
        for work, base in (("laravel", 310), ("mysql", 1800)):
            for name, _, _, speed in self.servers:
                for profile in ("standard", "stress"):
                    yield self._ramp(name, work, profile, base * speed)

    def _ramp(self, name: str, work: str, profile: str, most: float) -> Ramp:
        standard = [min(5000, 1 + 62 * t) for t in range(95)]
        stress = [100] * 10 + [5000] * 15 + [100] * 25
        rows, backlog, holds, first = [], 0.0, None, None
        for t, planned in enumerate(standard if profile == "standard" else stress):
            queued = backlog + planned
            good = min(queued, most) * self.dice.uniform(0.97, 1.0)
            backlog = min(queued - good, most * 4)
            failed = max(0, planned - good) if backlog >= most * 3 else 0
            wait_us = (0.004 + backlog / most) * 1e6
            rows.append([t, planned, planned - failed, good, failed, wait_us * 0.7, wait_us * 1.4])
            holds = planned if failed == 0 and backlog < most and first is None else holds
            first = planned if failed and first is None else first
        return Ramp(
            name,
            work,
            profile,
            "line(1,5000,90s)",
            rows,
            {"timeout": 900, "status 503": 61},
            holds,
            first,
            self.dice.uniform(1, 14) if profile == "stress" else None,
        )


def write(path: Path, **options: int) -> Path:
    path.write_text("".join(map(records.line, Invented(**options).records())))
    return path
