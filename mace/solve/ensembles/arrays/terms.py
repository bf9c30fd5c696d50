"""What a search over trees starts from: a bound, a point with the goal if one is known, and what it may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from mace.base.deadline import Deadline
from mace.solve.ensembles.arrays.cells import NO_LIMIT
from mace.solve.protocol import Gap
from mace.space.axes import Point


@dataclass(frozen=True, slots=True)
class Bound:
    """Points at a distance >= `distance` (> if `inclusive`) are of no interest; none such if `distance` is None."""

    distance: Fraction | None = None
    inclusive: bool = False

    def excludes(self, distance: Fraction) -> bool:
        if self.distance is None:
            return False
        return distance > self.distance if self.inclusive else distance >= self.distance

    def scaled(self, scale: int | Fraction) -> int:
        """The smallest key that is excluded for certain."""
        if self.distance is None:
            return NO_LIMIT
        key = math.floor(self.distance * scale) + 1 if self.inclusive else math.ceil(self.distance * scale)
        return min(key, NO_LIMIT)


def nearest_of(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    """The smaller of two distances, of which None says that there is none; 0 is one."""
    return min((distance for distance in (one, other) if distance is not None), default=None)


class Terms(NamedTuple):
    """What a search starts from, and what it may spend.

    bound, point: distances from which on nothing is of interest, and a known point with the goal, which is a bound too.
    gap:          how far lower and upper bound may stay apart. deadline, room: the time, and bytes for its nodes.
    jobs:         threads that it may use where the relaxation goes on.
    """

    bound: Bound
    point: Point | None
    gap: Gap
    deadline: Deadline
    room: int
    jobs: int = 1
