"""A test file of PHP's (`.phpt`): its sections, and the request that they describe."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SECTION = re.compile(rb"^--([_A-Z]+)--[ \t]*\r?$")

# Sections that make a test one about the web.
WEB = {
    "GET", "POST", "POST_RAW", "PUT", "COOKIE", "CGI", "EXPECTHEADERS", "GZIP_POST", "DEFLATE_POST",
}  # fmt: skip

# The body's section, and what the body is unless its first line says it.
BODIES = {
    "POST": b"application/x-www-form-urlencoded",
    "GZIP_POST": b"application/x-www-form-urlencoded",
    "DEFLATE_POST": b"application/x-www-form-urlencoded",
    "POST_RAW": b"",
    "PUT": b"",
}

CONTENT_TYPE = re.compile(rb"^Content-Type:(.*)$", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    """The request, whatever sends it. `path` ends with the script and what comes behind it."""

    method: str
    path: str
    path_info: str = ""
    query: str = ""
    fields: tuple[tuple[str, bytes], ...] = ()
    body: bytes | None = None

    @property
    def target(self) -> str:
        return self.path + self.path_info + ("?" + self.query if self.query else "")


@dataclass
class Test:
    """`name` is its path below the sources, without `.phpt`."""

    name: str
    folder: Path
    sections: dict[str, bytes] = field(repr=False)

    @cached_property
    def is_web(self) -> bool:
        return not WEB.isdisjoint(self.sections)

    def lines(self, section: str) -> list[str]:
        return [line.strip() for line in self.text(section).splitlines() if line.strip()]

    def text(self, section: str) -> str:
        return self.sections.get(section, b"").decode("utf-8", "surrogateescape")

    @property
    def code(self) -> bytes:
        """The script, without the line's end that the file has before the next section."""
        if "FILE_EXTERNAL" in self.sections:
            return (self.folder / self.text("FILE_EXTERNAL").strip().replace("..", "")).read_bytes()
        if "FILEEOF" in self.sections:
            return self.sections["FILEEOF"].rstrip(b"\r\n")
        return self.sections["FILE"]

    @property
    def settings(self) -> list[str]:
        """Lines of php.ini; `{PWD}` stands for the folder."""
        return [line.replace("{PWD}", str(self.folder)).replace("{TMP}", "/tmp") for line in self.lines("INI")]

    @property
    def environment(self) -> dict[str, str]:
        """Variables, less those that a web server makes of the request."""
        pairs = (line.partition("=")[::2] for line in self.lines("ENV") if "=" in line)
        of_server = ("SCRIPT_NAME", "REQUEST_URI", "PATH_INFO", "QUERY_STRING", "REQUEST_METHOD")
        return {name: value for name, value in pairs if name not in of_server and not name.startswith("HTTP_")}

    @property
    def request(self) -> Request:
        said = dict(line.partition("=")[::2] for line in self.lines("ENV"))
        section = next((name for name in BODIES if name in self.sections), None)
        fields, body = self._body(section) if section else ((), None)
        fields += tuple(
            (name[5:].replace("_", "-").title(), value.encode()) for name, value in said.items() if name.startswith("HTTP_")
        )
        if "COOKIE" in self.sections:
            # A field is one line.
            fields += (("Cookie", b" ".join(self.sections["COOKIE"].split(b"\n")).strip()),)
        method = "GET" if section is None else "PUT" if section == "PUT" else "POST"
        query = self.text("GET").strip() or said.get("QUERY_STRING", "")
        return Request(method, f"/{self.name}.php", said.get("PATH_INFO", ""), query, fields, body)

    def _body(self, section: str) -> tuple[tuple[tuple[str, bytes], ...], bytes]:
        kind, lines = BODIES[section], self.sections[section].strip().split(b"\n")
        if section in ("POST_RAW", "PUT"):
            for idx, line in enumerate(lines):
                if said := CONTENT_TYPE.match(line.strip(b"\r")):
                    kind = said[1].strip()
                    del lines[idx]
                    break
        return ((("Content-Type", kind),) if kind else ()), b"\n".join(lines)


def read(path: Path, name: str) -> Test:
    sections: dict[str, list[bytes]] = {}
    lines: list[bytes] = []
    for line in path.read_bytes().splitlines(keepends=True):
        if found := SECTION.match(line.rstrip(b"\n")):
            lines = sections.setdefault(found[1].decode(), [])
        else:
            lines.append(line)
    return Test(name, path.parent, {title: b"".join(found) for title, found in sections.items()})
