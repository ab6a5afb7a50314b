"""Configurations as they are published: with blocks indented, and without the place of the run's folder."""

from pathlib import Path

INDENT = "    "
# Files in which a line opens or closes one block at most.
INDENTED = {"apache.conf", "nginx.conf", "Caddyfile"}
SHOWN_FOLDER = "/lab"


def shown(path: Path, folder: Path) -> str:
    text = path.read_text().replace(str(folder), SHOWN_FOLDER)
    return indented(text) if path.name in INDENTED else text


def indented(text: str) -> str:
    depth, lines = 0, []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith(("}", "</")):
            depth = max(0, depth - 1)
        lines.append(INDENT * depth + line)
        is_block = line.endswith("{") or (line.startswith("<") and not line.startswith("</"))
        depth += is_block
    return "\n".join(lines) + "\n"
