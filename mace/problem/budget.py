"""A norm that must not exceed a number: what an earlier objective leaves to the later ones, as a condition on points.

In:  a Norm, a bound, whether the bound itself is too much, and the points from which changes are counted.
Out: `Budget`, which stands among the rules of a question: whether a point, or any point of a box, keeps to it.
Promise: exact on a point. On a box it closes what a checker closes that evaluates the same sum by intervals
(`mace.certify.budgets` writes it): exact on grids, and on levels that all lie on one side of the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from mace.base.bits import members
from mace.problem.distance import Norm
from mace.problem.rows import least_change, least_to, least_to_box
from mace.space.axes import Axis, Box, LevelAxis, Point, Side, started


@dataclass(frozen=True)
class Budget:
    """norm <= most, or norm < most if `strict`; `reads` maps the name of each feature that counts to its index.

    starts: changes count from the nearest of these points; where there are none, from the start of the axes.
    each:   a change that costs nothing counts, too: a missing value that may be given for nothing.
    """

    norm: Norm
    most: Fraction
    reads: dict[str, int]
    strict: bool = False
    starts: tuple[Point, ...] = ()
    each: bool = False

    @classmethod
    def of(
        cls, norm: Norm, axes: Sequence[Axis], most: Fraction, *,
        strict: bool = False, starts: tuple[Point, ...] = (), each: bool = False,
    ) -> Budget:  # fmt: skip
        """The budget of a norm over some axes."""
        return cls(norm, most, {axis.name: j for j, axis in enumerate(axes) if norm.weights[j]}, strict, starts, each)

    @property
    def source(self) -> str:
        """The budget as a text, for messages."""
        return f"{self.norm.name} {'<' if self.strict else '<='} {float(self.most):.6g}"

    def allows(self, distance: Fraction) -> bool:
        """Whether a value of the norm is within the budget."""
        return distance < self.most if self.strict else distance <= self.most

    def counted(self, axes: Sequence[Axis]) -> list[Sequence[Axis]]:
        """The axes from which changes are counted, once for each start."""
        axes = self._priced(axes)
        return [started(axes, start) for start in self.starts] or [axes]

    def _priced(self, axes: Sequence[Axis]) -> Sequence[Axis]:
        """The axes on which what counts costs something."""
        if not self.each or all(axis.missing is None or axis.missing_cost for axis in axes):
            return axes
        return [axis if axis.missing_cost else replace(axis, missing_cost=Fraction(1)) for axis in axes]

    def _counted_from(self, axes: Sequence[Axis]) -> tuple[Point, ...]:
        return self.starts or (tuple(axis.start for axis in axes),)

    def holds(self, axes: Sequence[Axis], point: Point) -> bool:
        """Whether a point is within the budget."""
        return self.allows(least_to(self.norm, self._priced(axes), self._counted_from(axes), point))

    def can_hold(self, axes: Sequence[Axis], box: Box) -> bool:
        """False only if no point of a box, of which no side is empty, is within the budget."""
        return self.allows(least_to_box(self.norm, self._priced(axes), self._counted_from(axes), box, _least))


def _least(axis: Axis, side: Side) -> Fraction:
    """A lower bound of the change of every index of a side; 0 where its levels lie on both sides of the start."""
    if not isinstance(side, tuple):
        assert isinstance(axis, LevelAxis)
        levels = members(side)
        if len(levels) > 1 and (axis.missing in levels or levels[0] <= axis.start <= levels[-1]):
            return Fraction(0)
    return least_change(axis, side)
