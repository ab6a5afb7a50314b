"""Histograms of answer times, merged over rounds and coarse enough to be kept: buckets of equal ratio."""

import math
from collections.abc import Iterable

MOST_POINTS = 120

# Buckets of a decade, halved until there are few enough of them: each coarser bucket is made of whole finer ones.
FINEST = 128
# A bucket's end is written with few digits, and is still the end of the same bucket.
TOLERANCE = 1e-2


def merged(before: list[list[float]], nanoseconds: Iterable[list[int]]) -> list[list[float]]:
    """Pairs of microseconds and a number of answers, with those of another round."""
    pairs = [*before, *([time / 1000, number] for time, number in nanoseconds)]
    per_decade = FINEST
    while len(found := _bucketed(pairs, per_decade)) > MOST_POINTS:
        per_decade //= 2
    return found


def _bucketed(pairs: list[list[float]], per_decade: int) -> list[list[float]]:
    counts: dict[int, int] = {}
    for microseconds, number in pairs:
        bucket = math.ceil(math.log10(max(microseconds, 1e-3)) * per_decade - TOLERANCE)
        counts[bucket] = counts.get(bucket, 0) + int(number)
    return [[float(f"{10 ** (bucket / per_decade):.5g}"), counts[bucket]] for bucket in sorted(counts)]
