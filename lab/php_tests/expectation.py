"""The output that a test file expects: text, a pattern of PHP's own kind, or a regular expression."""

import re

from .phpt import Test

# As run-tests.php has them.
PLACEHOLDERS = {
    b"%e": rb"/",
    b"%s": rb"[^\r\n]+",
    b"%S": rb"[^\r\n]*",
    b"%a": rb".+",
    b"%A": rb".*",
    b"%w": rb"\s*",
    b"%i": rb"[+-]?\d+",
    b"%d": rb"\d+",
    b"%x": rb"[0-9a-fA-F]+",
    b"%f": rb"[+-]?(?:\d+|(?=\.\d))(?:\.\d+)?(?:[Ee][+-]?\d+)?",
    b"%c": rb".",
    b"%0": rb"\x00",
}


def is_met(test: Test, body: bytes) -> bool:
    """Whether the test would pass."""
    body = _plain(body)
    if "EXPECT" in test.sections:
        return body == _plain(test.sections["EXPECT"])
    for section, pattern in (("EXPECTF", _of_placeholders), ("EXPECTREGEX", bytes)):
        if section in test.sections:
            try:
                return re.fullmatch(pattern(_plain(test.sections[section])), body, re.DOTALL) is not None
            except (re.error, RecursionError):
                return False
    return False


def _plain(text: bytes) -> bytes:
    return text.strip().replace(b"\r\n", b"\n")


def _of_placeholders(text: bytes) -> bytes:
    """`%r` encloses what is a regular expression already."""
    parts = text.split(b"%r")
    return b"".join(part if idx % 2 else _quoted(part) for idx, part in enumerate(parts))


def _quoted(text: bytes) -> bytes:
    pieces = re.split(rb"(%[esSaAwidxfc0])", text)
    return b"".join(PLACEHOLDERS.get(piece) or re.escape(piece) for piece in pieces)
