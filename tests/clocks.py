"""Clocks for deadlines that tests move by hand, so that no test waits or measures."""

from __future__ import annotations

import time


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Ticking(Hand):
    """A clock that goes on by a second whenever it is read."""

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Time:
    """In place of the module `time` in `mace.base.deadline`."""

    def __init__(self, clock: Hand) -> None:
        self.monotonic, self.process_time = clock, time.process_time


class Spent:
    """CPU seconds of this process, asked for every hundredth of a second: asking is slow."""

    def __init__(self) -> None:
        self.asked, self.spent = 0.0, 0.0

    def __call__(self) -> float:
        if (now := time.perf_counter()) - self.asked > 0.01:
            self.asked, self.spent = now, time.process_time()
        return self.spent
