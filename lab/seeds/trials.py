"""The common part of tests that measure: a small server that misbehaves as its workload says, set up as any other."""

import sys
from pathlib import Path

from .. import servers
from .servers import SeedServer
from .workloads import Site, Workload

GREETING = b"Hello, World!"


class SmallServer(SeedServer):
    name = "small"
    title = "A small server"
    family = "other"

    @classmethod
    def missing(cls) -> str | None:
        return None

    @staticmethod
    def version() -> str:
        return "small 1"

    @property
    def serves(self) -> set[str]:
        return set()

    def role_of(self, pid: int) -> str:
        return "php"

    def files(self) -> dict[str, str]:
        return {"small.conf": "nothing\n"}

    def url(self, workload: str, transport: str = "keep-alive") -> str:
        """Workloads of tests are named by their query."""
        return f"http://127.0.0.1:{self.port}/?{workload}"

    def launch(self) -> None:
        self.spawn(sys.executable, "-m", "lab.seeds.misbehaving", self.port, env={"PYTHONPATH": str(servers.REPOSITORY)})


def workload(query: str) -> Workload:
    return Workload(query, query, f"/?{query}", "small.example.com", expected=GREETING)


def site(folder: Path) -> Site:
    user = servers.unprivileged_user()
    folder.chmod(0o755)
    return Site(folder, {}, servers.Setup(folder, folder, folder, 1, user, user), [], folder, None)
