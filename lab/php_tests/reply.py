"""Replies, and in what they differ when the servers' own affairs are left out."""

import re
from dataclasses import dataclass

from . import expectation
from .phpt import Test

# Headers that a server adds, and its changes of a body.
OF_SERVERS = {"connection", "content-length", "date", "keep-alive", "server", "status", "transfer-encoding"}

# The calls by which a worker's script comes to the test, at the end of a trace.
LOOP = re.compile(
    rb"^#(\d+) (?=\S*/loop\.php|\[internal)(?:\S*/loop\.php\(\d+\): (?:require|\{closure\})\([^\n]*\n#\d+ )*"
    rb"\[internal function\]: \{closure\}\(\)\n#\d+ \S*/loop\.php\(\d+\): corral_handle_request\([^\n]*\n(#\d+ (?=\{main\}))?",
    re.MULTILINE,
)  # fmt: skip
# Destructors are called there, for which PHP names no place at the end of a script.
FROM_LOOP = re.compile(rb"^(#\d+ )\S*/loop\.php\(\d+\)(?=: )", re.MULTILINE)
STARTUP = re.compile(rb"\n(Warning|Deprecated|Fatal error|Notice): (PHP Startup: |Directive ')[^\n]*\n")
OBJECTS = re.compile(rb"([\w)]|\bResource id )#\d+( \(|)|\bresource\(\d+\)")
FATAL = re.compile(rb"(Fatal|Parse) error(</b>)?: ")

NUMBER = re.compile(rb"/php[A-Za-z0-9]{6}\b|0x[0-9a-f]+|[0-9a-f]{8,}|\d+(\.\d+)?")


@dataclass(frozen=True)
class Reply:
    status: int
    fields: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def own_fields(self) -> list[tuple[str, str]]:
        named = ((name.lower(), value.strip()) for name, value in self.fields)
        return sorted((name, value) for name, value in named if name not in OF_SERVERS)


FAILED = Reply(0, (), b"no reply")


def of_cgi(output: bytes) -> Reply:
    head, found, body = output.partition(b"\r\n\r\n")
    if not found:
        return Reply(0, (), output)
    lines = head.decode("latin-1").split("\r\n")
    fields = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    status = next((value for name, value in fields if name.lower() == "status"), None)
    # CGI says nothing of the status of a redirection.
    usual = "302" if any(name.lower() == "location" for name, _ in fields) else "200"
    return Reply(int((status or usual)[:3]), fields, body)


def differences(test: Test, one: Reply, other: Reply) -> list[str]:
    """The parts in which they differ: `status`, `failure` (the status alone says that the script has failed), `fields`, `body`."""
    found = [] if one.status == other.status else ["failure"] if _is_failure(one, other) else ["status"]
    if _masked_fields(one) != _masked_fields(other):
        found.append("fields")
    if not is_same_body(test, one.body, other.body):
        found.append("body")
    return found


def _is_failure(one: Reply, other: Reply) -> bool:
    return {one.status, other.status} == {200, 500} and all(FATAL.search(body) for body in (one.body, other.body))


def is_same_body(test: Test, one: bytes, other: bytes) -> bool:
    """Or both are what the test expects."""
    one, other = _plain(one), _plain(other)
    if OBJECTS.sub(rb"\1#N\2", one) == OBJECTS.sub(rb"\1#N\2", other):
        return True
    return expectation.is_met(test, one) and expectation.is_met(test, other)


def is_same_but_for_chance(one: bytes, other: bytes) -> bool:
    return masked(_plain(one)) == masked(_plain(other))


def _plain(body: bytes) -> bytes:
    """Without what php-cgi says of its own start, which is in the log here, and without a worker's own calls."""
    body = LOOP.sub(lambda found: b"#" + found[1] + b" " if found[2] else b"", STARTUP.sub(b"", body))
    return FROM_LOOP.sub(rb"\1[internal function]", body)


def masked(body: bytes) -> bytes:
    """Without what changes from run to run: numbers, addresses, identifiers."""
    return NUMBER.sub(b"N", body)


def _masked_fields(reply: Reply) -> list[tuple[str, str]]:
    """Values that differ in times and identifiers alone are the same."""
    return [(name, masked(value.encode()).decode()) for name, value in reply.own_fields]
