"""Axes of plots that are drawn here: from figures to places, with ticks at round numbers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    least: float
    most: float
    # The places of least and most.
    start: float
    end: float
    is_log: bool = False

    def place(self, value: float) -> float:
        share = self._along(value) / self._along(self.most) if self._along(self.most) else 0
        return self.start + share * (self.end - self.start)

    def _along(self, value: float) -> float:
        return math.log(value / self.least) if self.is_log else value - self.least

    def ticks(self) -> list[float]:
        return list(self._decades() if self.is_log else self._steps())

    def _decades(self) -> Iterator[float]:
        factors = (1, 2, 5) if self.most / self.least < 1000 else (1,)
        for power in range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1):
            yield from (tick for factor in factors if self.least <= (tick := factor * 10.0**power) <= self.most)

    def _steps(self) -> Iterator[float]:
        """Four to ten steps of 1, 2, 2.5 or 5."""
        rough = (self.most - self.least) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = min((power * factor for factor in (1, 2, 2.5, 5, 10)), key=lambda step: abs(step - rough))
        for number in range(math.ceil(self.least / step), math.floor(self.most / step) + 1):
            yield number * step
