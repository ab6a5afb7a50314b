"""Progress and the time left, by the pace so far."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

from .plan import words

# Below so many seconds of the plan, its own pace is believed and not the one so far.
ENOUGH = 20.0


class Progress:
    """Steps have the seconds that the plan gives them."""

    def __init__(self, n_steps: int, planned: float, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic):
        self._n_steps = n_steps
        self._left = planned
        self._out = out or sys.stderr
        self._clock = clock
        self._started = clock()
        self._done = 0.0
        self._n_done = 0

    def skip(self, planned: float) -> None:
        """A step that an earlier run has done."""
        self._n_done += 1
        self._left -= planned

    def step(self, name: str, outcome: str, planned: float) -> None:
        self._n_done += 1
        self._done += planned
        self._left -= planned
        self.say(f"[{self._n_done}/{self._n_steps}, {words(self.time_left)} left] {name}  {outcome}")

    def say(self, line: str) -> None:
        print(time.strftime("%H:%M:%S"), line, file=self._out, flush=True)

    @property
    def time_left(self) -> float:
        pace = (self._clock() - self._started) / self._done if self._done > ENOUGH else 1.0
        return max(0.0, self._left) * pace
