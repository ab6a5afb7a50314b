"""The workloads: each with its request, and the answer that is expected."""

from dataclasses import dataclass
from pathlib import Path

from ...servers import REPOSITORY

SCRIPTS = Path(__file__).with_name("scripts")
# Request bodies are the same in each run, and large: they are kept beside the results.
BODIES = REPOSITORY / "lab/results/bodies"

BOUNDARY = "corral-lab-boundary"
SIZES = {"upload-64k": 64 << 10, "upload-60m": 60 << 20}
FILES = {"1k.txt": 1 << 10, "100k.txt": 100 << 10}
# The end of each file, as its beginning would also be in one that was cut off.
END_OF_FILE = b"the end of the file"

PLAIN_HOST = "scripts.example.com"
LARAVEL_HOST = "laravel.example.com"
LUMEN_HOST = "lumen.example.com"
BLOG_HOST = "blog.example.com"


@dataclass(frozen=True)
class Workload:
    name: str
    # Words for readers of the page.
    title: str
    path: str
    host: str
    method: str = "GET"
    # A file that is sent; `prepare` writes it.
    body: Path | None = None
    body_type: str = ""
    # A text that every right answer contains.
    expected: bytes = b""
    # The code that runs, for the page.
    source: str = ""

    @property
    def is_php(self) -> bool:
        return not self.name.startswith("file-")


def _script(name: str, title: str, expected: bytes) -> Workload:
    source = (SCRIPTS / f"{name}.php").read_text()
    return Workload(name, title, f"/{name}.php", PLAIN_HOST, expected=expected, source=source)


def _file(name: str, title: str) -> Workload:
    return Workload(f"file-{name}", title, f"/{name}.txt", PLAIN_HOST, expected=END_OF_FILE)


def _upload(name: str, title: str) -> Workload:
    return Workload(
        name, title, "/upload.php", PLAIN_HOST, "POST", BODIES / name,
        f"multipart/form-data; boundary={BOUNDARY}", f"received {SIZES[name]} bytes".encode(),
        (SCRIPTS / "upload.php").read_text(),
    )  # fmt: skip


def _site(name: str, title: str, path: str, host: str, expected: bytes, source: str) -> Workload:
    return Workload(name, title, path, host, expected=expected, source=source)


GREETING = b'{"greeting":"Hello, Ann"'
LARAVEL_ROUTE = """Route::get('/greeting/{name}', fn (Request $request, string $name) => ['greeting' => "Hello, $name", …]);
"""
LUMEN_ROUTE = """$router->get('/api/greeting/{name}', fn (Request $request, string $name) => response()->json([…]));
"""
WORDPRESS = "WordPress with its newest theme in Debian, one post, no plug-ins, no cache but opcache"

_ALL = [
    _script("phpinfo", "phpinfo()", b"PHP License"),
    _script("echoes", "1,000 echoes", b"Hello, World! 999 "),
    _script("sort", "Arrays and sorting", b"sum of all: 1798687493"),
    _script("mysql", "A page from MariaDB, connecting each time", b"10 articles"),
    _script("mysql-persistent", "A page from MariaDB, persistent connections", b"10 articles"),
    _site("laravel", "A route of Laravel", "/api/greeting/Ann", LARAVEL_HOST, GREETING, LARAVEL_ROUTE),
    _site("lumen", "A route of Lumen", "/api/greeting/Ann", LUMEN_HOST, GREETING, LUMEN_ROUTE),
    _site("wordpress", "WordPress, front page", "/", BLOG_HOST, b"Greetings from the corral</a>", WORDPRESS),
    _site("wordpress-rest", "WordPress, posts by REST", "/wp-json/wp/v2/posts", BLOG_HOST,
          b'"rendered":"Greetings from the corral"', WORDPRESS),
    _file("1k", "A file of 1 KB"),
    _file("100k", "A file of 100 KB"),
    _upload("upload-64k", "An upload of 64 KB"),
    _upload("upload-60m", "An upload of 60 MB"),
]  # fmt: skip

WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in _ALL}
