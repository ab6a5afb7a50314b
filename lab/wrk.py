"""One request, over and over, on kept connections: how `wrk` makes it, and what a right answer is."""

import http.client
from dataclasses import dataclass
from pathlib import Path

POST = Path(__file__).with_name("post.lua")


class WrongAnswer(Exception):
    """A server that is not to be measured, because it does something else than the others."""


@dataclass(frozen=True)
class Workload:
    name: str
    path: str
    # The body, or its beginning.
    answer: bytes
    body: bytes = b""
    is_whole: bool = True

    def command(self, port: int, seconds: float, connections: int) -> list[str]:
        return command(port, self.path, seconds, connections, script=POST if self.body else None)

    def verify(self, port: int) -> None:
        self.ask(port)

    def ask(self, port: int, headers: dict[str, str] | None = None) -> http.client.HTTPMessage:
        """Asks once, and looks at the answer. Returns its fields."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("POST" if self.body else "GET", self.path, self.body or None, headers or {})
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        compared = body if self.is_whole else body[: len(self.answer)]
        if (response.status, compared) != (200, self.answer):
            raise WrongAnswer(f"{self.path}: {response.status} with {len(body)} bytes: {body[:60]!r}")
        return response.headers


def command(port: int, path: str, seconds: float, connections: int, *arguments: str, script: Path | None = None) -> list[str]:
    options = ["-s", str(script)] if script else []
    threads = min(2, connections)
    return ["wrk", f"-t{threads}", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "--latency",
            *options, f"http://127.0.0.1:{port}{path}", *arguments]
