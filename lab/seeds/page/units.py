"""Figures as text, with as many digits as can be believed."""


def figure(value: float | None) -> str:
    """Three digits that count, with commas: 12,345; 123; 12.3; 1.23; 0.0123."""
    if value is None:
        return "–"
    size = abs(value)
    if size >= 100 or value == 0:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


def percent(share: float | None) -> str:
    if share is None:
        return "–"
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %" if value >= 0.1 else f"{value:.2g} %"


def times(ratio: float) -> str:
    return f"{ratio:.2f} times" if ratio < 10 else f"{ratio:.0f} times"


def count(number: int, noun: str) -> str:
    """ "1 cell", "1,200 cells"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Short numbers for the page's data."""
    if value is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short
