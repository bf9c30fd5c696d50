"""The box of most values around a point that holds none of some other points.

In:  a side for each feature, around the point's own value, and points to be left out.
Out: the sides of a box with as many combinations of values as any has, if that is more than a given number.
Promise: the box is exact for the points given; where too many choices would have to be looked at, that is said.
How: branch and bound. A point inside is left out by moving one side in front of it: as many choices as it has values
that differ. Of the points inside the one is taken whose best choice leaves least.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from mace.space.axes import Axis, GridAxis, LevelAxis, Point

CHOICES = 20_000


@dataclass
class Largest:
    """The search for one box.

    sides:  feature -> the values that the box may have at most.
    at:     the point that it lies around.
    least:  boxes with no more combinations than this are of no interest.
    sure:   whether all choices were looked at.
    """

    sides: Mapping[int, Axis]
    at: Point
    least: Fraction
    found: dict[int, Axis] | None = None
    sure: bool = True
    left: int = CHOICES

    def without(self, points: Sequence[Point]) -> dict[int, Axis] | None:
        """The largest box that holds none of these points; None where none is large enough."""
        sides = dict(self.sides)
        sizes = {j: size(side) for j, side in sides.items()}
        there = [p for p in points if all(p[j] == at for j, at in enumerate(self.at) if j not in sides)]
        self._visit(sides, sizes, [p for p in there if _holds(sides, p)])
        return self.found

    def _visit(self, sides: dict[int, Axis], sizes: dict[int, Fraction], inside: list[Point]) -> None:
        """Look at a box, of which these points have still to be left out."""
        self.left -= 1
        if self.left < 0:
            self.sure = False
            return
        total = math.prod(sizes.values(), start=Fraction(1))
        if total <= self.least:
            return
        if not inside:
            self.found, self.least = sides, total
            return
        choices: list[tuple[Fraction, int, Axis]] | None = None
        for point in inside:
            here = []
            for j, side in sides.items():
                if point[j] != self.at[j]:
                    cut = _before(side, self.at[j], point[j])
                    here.append((total / sizes[j] * size(cut), j, cut))
            here = sorted((one for one in here if one[0] > self.least), key=lambda one: -one[0])
            if choices is None or (here[0][0] if here else 0) < choices[0][0]:
                choices = here
            if not here:
                return
        for _, j, cut in choices or ():
            narrow = {**sides, j: cut}
            self._visit(narrow, {**sizes, j: size(cut)}, [p for p in inside if _holds(narrow, p)])


def size(side: Axis) -> Fraction:
    """How many values a side has; of a number without steps, how many thousandths of its range, and one."""
    if isinstance(side, LevelAxis):
        return Fraction(len(list(side.levels())))
    if side.grid.kind == "step" or side.lower == side.upper:
        return Fraction(side.upper - side.lower + 1)
    return 1 + 1000 * (side.value(side.upper) - side.value(side.lower)) / side.scale


def _holds(sides: Mapping[int, Axis], point: Point) -> bool:
    """Whether a box has a point."""
    return all(
        side.lower <= point[j] <= side.upper if isinstance(side, GridAxis) else side.allows(point[j])
        for j, side in sides.items()
    )


def _before(side: Axis, at: int, value: int) -> Axis:
    """A side that ends before a value, or lacks a level."""
    if isinstance(side, LevelAxis):
        return replace(side, allowed=side.allowed & ~(1 << value))
    return replace(side, upper=value - 1) if value > at else replace(side, lower=value + 1)
