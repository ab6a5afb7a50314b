"""Visitors with a session each, which come again and again."""

from http.cookies import SimpleCookie
from pathlib import Path

from .. import wrk

SCRIPT = Path(__file__).with_name("sessions.lua")


class Sessions(wrk.Workload):
    """A page that counts the visits of a session: as many sessions as connections, opened before a run."""

    def command(self, port: int, seconds: float, connections: int) -> list[str]:
        cookies = [self._open(port) for _ in range(connections)]
        return wrk.command(port, self.path, seconds, connections, "--", *cookies, script=SCRIPT)

    def verify(self, port: int) -> None:
        """A second visit is counted as such."""
        again = wrk.Workload(self.name, self.path, b'{"visits":2}')
        again.ask(port, {"Cookie": self._open(port)})

    def _open(self, port: int) -> str:
        """A first visit. Returns what the visitor's browser would send with the next one."""
        fields = self.ask(port).get_all("Set-Cookie", [])
        cookies = [morsel for field in fields for morsel in SimpleCookie(field).values()]
        if not cookies:
            raise wrk.WrongAnswer(f"{self.path}: no session was begun")
        return "; ".join(f"{morsel.key}={morsel.coded_value}" for morsel in cookies)
