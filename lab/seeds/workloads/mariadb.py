"""A MariaDB server of the lab's own: in its own folder, at a Unix socket only, ended with the run."""

import os
import subprocess
import time
from pathlib import Path

from ... import processes
from ...servers import ServerFailed

SERVER = Path("/usr/sbin/mariadbd")

ARTICLES = 1000

TABLES = f"""
CREATE DATABASE lab CHARACTER SET utf8mb4;
CREATE DATABASE wordpress CHARACTER SET utf8mb4;
CREATE USER lab@localhost;
GRANT ALL ON lab.* TO lab@localhost;
GRANT ALL ON wordpress.* TO lab@localhost;
USE lab;
CREATE TABLE articles (id INT PRIMARY KEY, title VARCHAR(100) NOT NULL, text TEXT NOT NULL);
CREATE TABLE visits (article INT PRIMARY KEY, times BIGINT NOT NULL);
INSERT INTO articles SELECT seq, CONCAT('Article ', seq), REPEAT('All work and no play. ', 10) FROM seq_1_to_{ARTICLES};
INSERT INTO visits SELECT seq, 0 FROM seq_1_to_{ARTICLES};
"""


class MariaDb:
    """Tuned modestly; `roots` are the pids whose trees are the server."""

    OPTIONS = (
        "--skip-networking",
        "--skip-log-bin",
        "--innodb-buffer-pool-size=256M",
        "--innodb-flush-log-at-trx-commit=2",
        "--max-connections=2000",
        "--thread-cache-size=256",
        "--back-log=2000",
    )

    def __init__(self, folder: Path):
        self.folder = folder
        self.child: subprocess.Popen | None = None

    @staticmethod
    def missing() -> str | None:
        return None if SERVER.exists() else f"{SERVER} (scripts/setup bench)"

    @staticmethod
    def version() -> str:
        return subprocess.run([SERVER, "--version"], capture_output=True, text=True, check=False).stdout.strip()

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def roots(self) -> list[int]:
        return [self.child.pid] if self.child else []

    def start(self) -> None:
        data = self.folder / "data"
        for path in (self.folder, data):
            path.mkdir()
            # The server drops root, and its own user writes here.
            path.chmod(0o777)
        self._run(["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db",
                   f"--datadir={data}", *as_user()], env={**os.environ, "TMPDIR": str(self.folder)})  # fmt: skip
        command = [str(SERVER), "--no-defaults", f"--datadir={data}", f"--socket={self.socket}",
                   f"--pid-file={self.folder}/pid", f"--tmpdir={self.folder}", *self.OPTIONS, *as_user()]  # fmt: skip
        self.child = processes.spawn(command, self.folder / "log")
        self._await_ready()
        self.execute(TABLES)

    def stop(self) -> None:
        if self.child:
            processes.stop(self.child)
            self.child = None

    def execute(self, sql: str) -> None:
        """Runs statements as the administrator."""
        self._run([*self._client, "-e", sql])

    @property
    def _client(self) -> list[str]:
        return ["mariadb", "--no-defaults", "--user=root", f"--socket={self.socket}"]

    def _await_ready(self, patience: float = 30.0) -> None:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and self.child.poll() is None:
            if subprocess.run([*self._client, "-e", "SELECT 1"], capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.1)
        log = (self.folder / "log").read_text(errors="replace")[-1000:]
        raise ServerFailed(f"MariaDB is not ready: {log}")

    @staticmethod
    def _run(command: list[str], env: dict[str, str] | None = None) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        if done.returncode != 0:
            raise ServerFailed(f"{command[0]}: {(done.stderr or done.stdout).strip()[-500:]}")


def as_user() -> list[str]:
    return ["--user=mysql"] if os.geteuid() == 0 else []
