"""Colours by family, dashes within it, and a short key for each server, so that no line is told by its colour alone."""

from dataclasses import dataclass

from ..records import Server

# Families by light and dark colour. Keys are text in these colours: their contrast with the ground is at least 4.5.
COLOURS = {
    "corral": ("#bb4800", "#ff9248"),
    "apache": ("#b0487f", "#e692bf"),
    "nginx": ("#00795c", "#2fc79a"),
    "unit": ("#0068a8", "#5fb4ea"),
    "frankenphp": ("#2f3a44", "#d5dbe1"),
    "roadrunner": ("#7a5200", "#e6c34a"),
    "swoole": ("#5546c0", "#a99bff"),
    "caddy": ("#1875a4", "#9ad7ff"),
    "varnish": ("#6e6e00", "#d4d43a"),
    "other": ("#66707a", "#9fabb6"),
}

DASHES = ([], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2], [16, 5], [6, 2, 2, 2, 2, 2], [1, 5], [10, 2], [3, 6])


@dataclass(frozen=True)
class Style:
    key: str
    family: str
    dash: list[int]

    @property
    def css_class(self) -> str:
        return f"family-{self.family}"

    def colour(self, is_dark: bool) -> str:
        return COLOURS[self.family][is_dark]


def styles(servers: dict[str, Server]) -> dict[str, Style]:
    """Keys such as A1, A2, N1: the family's letter and a number."""
    letters: dict[str, str] = {}
    counts: dict[str, int] = {}
    found = {}
    for server in servers.values():
        letter = letters.setdefault(server.family, _letter(server.family, set(letters.values())))
        at = counts[server.family] = counts.get(server.family, 0) + 1
        family = server.family if server.family in COLOURS else "other"
        found[server.server] = Style(f"{letter}{at}", family, DASHES[(at - 1) % len(DASHES)])
    return found


def _letter(family: str, taken: set[str]) -> str:
    wanted = [character for character in family.upper() if "A" <= character <= "Z"]
    free = (letter for letter in (*wanted, *"XYZQWJK") if letter not in taken)
    return next(free, "X")


def css() -> str:
    """The custom property of each family, for the light and the dark page."""
    both = []
    for is_dark in (False, True):
        both.append("".join(f"--{family}:{pair[is_dark]};" for family, pair in COLOURS.items()))
    classes = "".join(f".family-{family}{{--family:var(--{family})}}" for family in COLOURS)
    light, dark = both
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root:not([data-print]){{{dark}}}}}{classes}"
