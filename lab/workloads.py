"""What is asked of the servers: the site's files, and the points that are measured."""

from dataclasses import dataclass
from pathlib import Path

KEEP_ALIVE = "keep-alive"
CLOSE = "close"

SCRIPTS = {
    "hello.php": "<?php\necho 'Hello, World!';\n",
    "loop.php": '<?php\nfor ($i = 0; $i < 1000; ++$i) { echo "Hello, World! $i "; }\n',
    "phpinfo.php": "<?php\nphpinfo();\n",
}
FILES = {"1k.txt": 1024, "100k.txt": 100 * 1024}

LOOP_LENGTH = sum(len(f"Hello, World! {i} ") for i in range(1000))


@dataclass(frozen=True)
class Point:
    """One cell of the comparison: a file, a number of connections, and how they are used."""

    work: str
    connections: int
    mode: str

    @property
    def name(self) -> str:
        return f"{self.work}/{self.connections}/{self.mode}"

    @property
    def is_php(self) -> bool:
        return self.work.endswith(".php")


def all_points() -> list[Point]:
    return [
        Point(work, connections, mode)
        for work in (*SCRIPTS, *FILES)
        for mode in (KEEP_ALIVE, CLOSE)
        for connections in (10, 100, 200)
    ]


def quick_points() -> list[Point]:
    """Enough to judge every bar."""
    loop = [p for p in all_points() if p.work == "loop.php"]
    return [Point("hello.php", 100, KEEP_ALIVE), *loop] + [
        Point(work, 100, KEEP_ALIVE) for work in ("phpinfo.php", *FILES)
    ]


def write_site(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text)
    for name, size in FILES.items():
        (folder / name).write_bytes((b"0123456789abcdef" * (size // 16 + 1))[:size])
