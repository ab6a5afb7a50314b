"""What is asked of every server, and what a right answer is."""

import http.client
from dataclasses import dataclass
from pathlib import Path

POST = Path(__file__).with_name("post.lua")
CONNECTIONS = 100


class WrongAnswer(Exception):
    """A server that is not to be measured, because it does something else than the others."""


@dataclass(frozen=True)
class Workload:
    """One request, over and over, on kept connections."""

    name: str
    path: str
    answer: bytes
    body: bytes = b""

    def command(self, port: int, seconds: float) -> list[str]:
        options = ["-s", str(POST)] if self.body else []
        return ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "--latency",
                *options, f"http://127.0.0.1:{port}{self.path}"]

    def verify(self, port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("POST" if self.body else "GET", self.path, self.body or None)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        if (response.status, body) != (200, self.answer):
            raise WrongAnswer(f"{self.path}: {response.status} with {len(body)} bytes: {body[:60]!r}")


WORKLOADS = [
    Workload("hello", "/hello", b"Hello, World!"),
    Workload("16 KB JSON", "/json", b'{"text":"' + b"x" * (16384 - 11) + b'"}'),
    Workload("64 KB POST", "/length", b"65536", b"x" * 65536),
]
