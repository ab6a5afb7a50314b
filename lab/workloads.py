"""The requests to the servers: the site's files, and the points that are measured."""

from dataclasses import dataclass
from pathlib import Path

KEEP_ALIVE = "keep-alive"
CLOSE = "close"
# A connection for each request over TLS: with a handshake of its own, or with a session that is resumed.
HANDSHAKE = "handshake"
RESUMED = "resumed"
# Requests at a time on each connection of HTTP/2; and the same number of requests at a time over HTTP/1.
STREAMS = {f"m={number}": number for number in (1, 10, 100)}
HTTP_1 = "HTTP/1"
# The suffix of a folder where no session can be resumed.
FULL = "-full"

SCRIPTS = {
    "hello.php": "<?php\necho 'Hello, World!';\n",
    "loop.php": '<?php\nfor ($i = 0; $i < 1000; ++$i) { echo "Hello, World! $i "; }\n',
    "phpinfo.php": "<?php\nphpinfo();\n",
}
FILES = {"1k.txt": 1024, "100k.txt": 100 * 1024}

# Steps or locations that a routed request may have to pass, and the hosts that they are for.
N_ROUTES, N_HOSTS = 1000, 10

# Sites that belong to as many users.
N_SITES = 50

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

    @property
    def scenario(self) -> str:
        """Which servers can do it: `site`, `routes`, `tls`, `h2`, `proxy`, `pool`, `pool-tcp`, `owners` or `one`."""
        folder, slash, _ = self.work.partition("/")
        if folder == "pool-tcp":
            return folder
        return folder.partition("-")[0] if slash else "site"


def all_points() -> list[Point]:
    return site_points() + routing_points() + tls_points() + h2_points() + proxy_points() + pool_points() + owners_points()


def site_points() -> list[Point]:
    return [
        Point(work, connections, mode)
        for work in (*SCRIPTS, *FILES)
        for mode in (KEEP_ALIVE, CLOSE)
        for connections in (10, 100, 200)
    ]


def routing_points() -> list[Point]:
    """The last of many routes, and any of them; with wildcards, and with the regular expressions of the peer."""
    works = ("routes/last", "routes/random", "routes-regex/last")
    return [Point(work, 100, KEEP_ALIVE) for work in works]


def tls_points() -> list[Point]:
    modes = {KEEP_ALIVE: "", HANDSHAKE: FULL, RESUMED: ""}
    return [
        Point(f"tls-{key}{suffix}/1k.txt", 100, mode) for key in ("ecdsa", "rsa") for mode, suffix in modes.items()
    ]


def h2_points() -> list[Point]:
    """HTTP/2 over TLS; a script also over HTTP/1, with as many requests at a time as with ten streams on each connection."""
    works = ("h2/1k.txt", "h2/hello.php", "h2/100k.txt", "h2/proxied/1k.txt")
    return [Point(work, 10, mode) for work in works for mode in STREAMS] + [Point("h2/hello.php", 100, HTTP_1)]


def proxy_points() -> list[Point]:
    return [Point(f"proxy/{work}", 100, KEEP_ALIVE) for work in FILES]


def pool_points() -> list[Point]:
    """php-fpm at a Unix socket and at a port."""
    works = [f"{folder}/{script}" for folder in ("pool", "pool-tcp") for script in ("hello.php", "loop.php")]
    return [Point(work, connections, KEEP_ALIVE) for work in works for connections in (10, 100, 1000)]


def owners_points() -> list[Point]:
    """Any of the sites of many owners, and one site with as many workers."""
    modes = [("one", KEEP_ALIVE), ("owners", KEEP_ALIVE), ("owners", CLOSE)]
    return [Point(f"{folder}/hello.php", 100, mode) for folder, mode in modes]


def site_host(number: int) -> str:
    return f"site-{number}.example.com"


def route(number: int) -> tuple[str, str]:
    """Host and path of a request that only this route answers."""
    return f"site-{number % N_HOSTS}.example.com", f"/section-{number}/page"


def quick_points() -> list[Point]:
    """Enough to judge every bar."""
    beyond = [*routing_points()[:2], *tls_points(), *h2_points(), *proxy_points(), *pool_points(), *owners_points()]
    loop = [p for p in all_points() if p.work == "loop.php"]
    return [Point("hello.php", 100, KEEP_ALIVE), *loop] + [
        Point(work, 100, KEEP_ALIVE) for work in ("phpinfo.php", *FILES)
    ] + beyond


def write_site(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text)
    for name, size in FILES.items():
        (folder / name).write_bytes((b"0123456789abcdef" * (size // 16 + 1))[:size])
