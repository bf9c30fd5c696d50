"""How good a point is: five levels, compared in order, 0 being perfect.

goal:        how far the goal is missed, 0 where it is met; infinite for a point that is not allowed.
constrained: how many features changed that had better not.
doubts:      how many outputs have a confidence below their threshold.
distance:    how far the point is, to nine digits.
changes:     how many features changed.

The first three are what makes an answer valid. Source: "Counterfactuals with Constraint Solvers", three hard and two
soft levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Score(NamedTuple):
    """The levels of one point; tuples compare in their order."""

    goal: float
    constrained: float
    doubts: float
    distance: float
    changes: float

    @property
    def valid(self) -> bool:
        """Whether nothing is left to wish for but to be nearer."""
        return not (self.goal or self.constrained or self.doubts)


class Scores(NamedTuple):
    """The levels of several points, each of shape (points,)."""

    goal: Floats
    constrained: Floats
    doubts: Floats
    distance: Floats
    changes: Floats

    def order(self) -> NDArray[np.intp]:
        """The places of the points, the best first; equal ones as they stand."""
        return np.lexsort(tuple(reversed(self)))

    def at(self, place: int) -> Score:
        """The levels of one point."""
        return Score(*(float(level[place]) for level in self))

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which points are valid."""
        return np.asarray((self.goal == 0) & (self.constrained == 0) & (self.doubts == 0))


WORST = Score(float("inf"), float("inf"), float("inf"), float("inf"), float("inf"))
