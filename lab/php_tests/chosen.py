"""Which of the tests are asked for by the web."""

import fnmatch
import re
import zlib
from pathlib import Path

from .phpt import Test, read

# Folders whose tests are about what a request may do. All tests with a section of the web are taken besides, wherever they are.
FOLDERS = [
    "tests/*", "Zend/tests/*", "ext/standard/tests/*", "ext/session/tests/*", "ext/filter/tests/*",
    "ext/mbstring/tests/*", "ext/zlib/tests/*", "ext/date/tests/*", "ext/json/tests/*", "ext/libxml/tests/*",
    "ext/dom/tests/*", "ext/simplexml/tests/*", "ext/spl/tests/*", "ext/iconv/tests/*", "ext/ctype/tests/*",
    "ext/random/tests/*", "ext/reflection/tests/*", "ext/hash/tests/*", "ext/pcre/tests/*", "ext/xml*/tests/*",
    "ext/tokenizer/tests/*", "ext/gettext/tests/*", "ext/posix/tests/*",
]  # fmt: skip

# About other interfaces, the network, or the runner of tests.
LEFT_OUT = ["sapi/*", "tests/run-test/*", "*-win", "*-win32", "*_win", "*/network/*", "ext/standard/tests/http/*", "tests/security/magic_quotes*"]

# Sections that no request can have, and tests that are known to fail.
NOT_OF_THE_WEB = {"ARGS", "STDIN", "PHPDBG", "REDIRECTTEST", "CAPTURE_STDIO", "XFAIL", "FLAKY"}

# Tests that start processes: php-cgi takes the environment that it inherits for its request and starts the test again.
STARTS = re.compile(
    rb"PHP_BINARY|TEST_PHP_|server\.inc|cli_server|proc_open|popen|\w*exec\s*\(|passthru|\bsystem\s*\(|pcntl_\w*fork|\bmail\s*\(|`[$\w/]"
)

# One of so many tests without a section of the web.
SHARE = 150


def tests(sources: Path, takes_all: bool, only: list[str]) -> list[Test]:
    """All with a section of the web, and others: a share of them, the same each time."""
    found = []
    for path in sorted(sources.rglob("*.phpt")):
        name = str(path.relative_to(sources).with_suffix(""))
        if _is_left_out(name) or (only and not _matches(name, only)):
            continue
        test = read(path, name)
        if _fits(test) and (test.is_web or (_matches(name, FOLDERS) and (takes_all or only or _is_drawn(name)))):
            found.append(test)
    return found


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _is_left_out(name: str) -> bool:
    return _matches(name, LEFT_OUT)


def _fits(test: Test) -> bool:
    has_code = not {"FILE", "FILEEOF", "FILE_EXTERNAL"}.isdisjoint(test.sections)
    return has_code and NOT_OF_THE_WEB.isdisjoint(test.sections) and not STARTS.search(test.sections.get("FILE", b""))


def _is_drawn(name: str) -> bool:
    return zlib.crc32(name.encode()) % SHARE == 0
