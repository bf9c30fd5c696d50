"""The values of features in exact numbers: what each costs, what the model's columns are there, which lie in a ball.

In:  a question about a linear model or a network.    Out: `FeatureValues`.
Promise: all numbers are exact, but for the ends of `_shortened`, which leave a few doubles more in the ball. Integers
over a common denominator are several times as fast as fractions, in the innermost loop of every exact bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import NamedTuple

from mace.base.bits import members
from mace.base.exact import above as outward
from mace.base.exact import exact, float_to_rank, moderate, nearest, rank_to_float
from mace.problem.distance import Charge, Norm
from mace.problem.question import Question
from mace.solve.networks.model import Affine
from mace.space.axes import Box, GridAxis, LevelAxis, Side

WIDER = 1 + 2.0**-49  # more than the seven roundings of `_far`
BUDGETS = 1000  # whose ends on the axes are kept


class Worth(NamedTuple):
    """What one value of a feature costs, and what its columns are: exact, and made once for each value.

    All numbers are numerators over the denominator `below`.
    part_above:  the l0 and l1 cost.    peak_above: the linf cost, where this is the largest change.
    delta_above: the scaled change.     columns:    the model's columns of this feature.
    """

    below: int
    part_above: int
    peak_above: int
    delta_above: int
    columns: tuple[int, ...]

    @property
    def part(self) -> Fraction:
        """The l0 and l1 cost."""
        return Fraction(self.part_above, self.below)

    @property
    def peak(self) -> Fraction:
        """The cost where it is the largest change."""
        return Fraction(self.peak_above, self.below)

    @property
    def reach(self) -> Fraction:
        """What a point with this value costs at least: both."""
        return Fraction(self.part_above + self.peak_above, self.below)


class Scale(NamedTuple):
    """An axis of doubles, in integers.

    start / unit:  the start.    above / under: the scale of the axis.
    once, slope, peak: what a change costs (see `Charge`), over `below`.
    """

    start: int
    unit: int
    above: int
    under: int
    once: int
    slope: int
    peak: int
    below: int

    def worth(self, value: float, columns: int) -> Worth:
        """What one value costs; so many columns are the value itself."""
        above, unit = value.as_integer_ratio()
        common = max(unit, self.unit)  # both are powers of two
        above *= common // unit
        moved = abs(above - self.start * (common // self.unit)) * self.under
        below = common * self.above
        return Worth(
            below * self.below,
            self.once * below + self.slope * moved if moved else 0,
            self.peak * moved,
            moved * self.below,
            (above * self.above * self.below,) * columns,
        )


class FeatureValues:
    """The values of the features of one question.

    forms: of each column that is an affine function of its feature, that function; None for the others.
    """

    def __init__(self, question: Question, forms: Sequence[Affine | None]) -> None:
        assert isinstance(question.distance, Norm)
        self.question, self.charges, self.forms = question, question.distance.charges, forms
        self.columns: list[list[tuple[int, tuple[float, ...] | None]]] = [[] for _ in question.axes]
        for place, column in enumerate(question.columns):
            self.columns[column.feature].append((place, column.values))
        # Whether a column is its feature as it is.
        self.plain = [form is not None and form.plain for form in self.forms]
        self._ends: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
        self._last_cut: tuple[Box, Fraction, Box | None] | None = None
        # Of axes of doubles that the model is given as they are.
        self._scales = [
            _scale(axis, charge)
            if isinstance(axis, GridAxis)
            and axis.grid.kind == "float64"
            and all(self.plain[place] for place, _ in mine)
            else None
            for axis, charge, mine in zip(question.axes, self.charges, self.columns, strict=True)
        ]
        self._worths: list[dict[int, Worth]] = [{} for _ in question.axes]
        for j, axis in enumerate(question.axes):
            if isinstance(axis, LevelAxis):
                self._worths[j] = _of_levels(axis, self.charges[j], tuple(values for _, values in self.columns[j]))

    def worth(self, j: int, index: int) -> Worth:
        """What one value of a feature costs, and its columns."""
        found = self._worths[j].get(index)
        if found is None:
            found = self._worths[j][index] = self._worth(j, index)
        return found

    def _worth(self, j: int, index: int) -> Worth:
        scale = self._scales[j]
        if scale is not None:
            return scale.worth(rank_to_float(index), len(self.columns[j]))
        axis, columns = self.question.axes[j], []
        for place, values in self.columns[j]:
            form = self.forms[place]
            if form is not None:
                value = axis.value(index)
                columns.append(value if self.plain[place] else form.factor * value + form.shift)
            else:
                columns.append(_column(values, index))
        return _worth(self.charges[j], axis.delta(index), columns)

    def least_index(self, j: int, side: Side) -> int | None:
        """The value of a box's side that is nearest to the start; None if the side is empty."""
        axis = self.question.axes[j]
        if isinstance(side, tuple):
            low, high = side
            return None if low > high else min(max(axis.start, low), high)
        assert isinstance(axis, LevelAxis)
        return min(members(side), key=axis.nearness, default=None)

    def least_distance(self, box: Box) -> Fraction | None:
        """The distance of the box's nearest point; None if it has none."""
        total = largest = Fraction(0)
        for j, side in enumerate(box):
            index = self.least_index(j, side)
            if index is None:
                return None
            if index == self.question.axes[j].start:
                continue
            worth = self.worth(j, index)
            if worth.part_above or worth.peak_above:
                total, largest = total + worth.part, max(largest, worth.peak)
        return total + largest

    def cut(self, box: Box, q: Fraction) -> Box | None:
        """The box cut to the ball as FORMAT.md says; None if an axis keeps nothing."""
        last = self._last_cut
        if last is None or last[:2] != (box, q):  # one leaf is cut several times in a row
            last = self._last_cut = (box, q, self._cut(box, q))
        return last[2]

    def _cut(self, box: Box, q: Fraction) -> Box | None:
        least: list[int] = []
        for j, side in enumerate(box):
            index = self.least_index(j, side)
            if index is None:
                return None
            least.append(index)
        axes = self.question.axes
        costs = [self.worth(j, index).part if index != axes[j].start else None for j, index in enumerate(least)]
        rest = q - sum(filter(None, costs), Fraction(0))
        at_rest = self._ends_at(rest)  # most axes keep their start
        cut: list[Side] = []
        for j, (axis, side, index) in enumerate(zip(axes, box, least, strict=True)):
            cost = costs[j]
            budget = rest + cost if cost else rest

            def close(index: int, j: int = j, start: int = axis.start, budget: Fraction = budget) -> bool:
                return self.worth(j, index).reach < budget if index != start else budget.numerator > 0

            if not close(index):
                return None
            if not isinstance(side, tuple):
                cut.append(sum(1 << level for level in members(side) if close(level)))
            else:
                assert isinstance(axis, GridAxis)
                if axis.grid.kind == "step" and (self.charges[j].slope or self.charges[j].peak):
                    ends = self._ends_at(budget) if cost else at_rest
                    if j not in ends:
                        ends[j] = self._shortened(axis, self.charges[j], (axis.lower, axis.upper), axis.start, budget)
                    first, last = ends[j]
                    cut.append((max(side[0], min(index, first)), min(side[1], max(index, last))))
                else:
                    cut.append(self._shortened(axis, self.charges[j], side, index, budget))
        return tuple(cut)

    def _ends_at(self, budget: Fraction) -> dict[int, tuple[int, int]]:
        """For grids of steps the ends of what costs less than a budget, as far as known: most boxes ask for a few."""
        if len(self._ends) > BUDGETS:
            self._ends.clear()
        return self._ends.setdefault((budget.numerator, budget.denominator), {})

    @staticmethod
    def _shortened(
        axis: GridAxis, charge: Charge, side: tuple[int, int], index: int, budget: Fraction
    ) -> tuple[int, int]:
        """The part of a grid's side, with an index of it, that costs less than the budget; a few doubles more."""
        low, high = side
        if not charge.slope and not charge.peak:
            if charge.once >= budget:  # any change is too much
                return max(low, min(index, axis.start)), min(high, max(index, axis.start))
            return side
        room = max(budget - charge.once, Fraction(0)) if charge.once else budget
        if axis.grid.kind == "float64":
            far, start = _far(axis, charge, room), nearest(axis.start_value)
            if math.isfinite(far):
                high = min(high, max(index, float_to_rank(start + far) + 1))
                low = max(low, min(index, float_to_rank(start - far) - 1))
            return low, high
        reach = axis.scale * room / (charge.slope + charge.peak)
        high = min(high, max(index, axis.grid.ceil(axis.start_value + reach) - 1))
        low = max(low, min(index, axis.grid.floor(axis.start_value - reach) + 1))
        return low, high


def _scale(axis: GridAxis, charge: Charge) -> Scale:
    below = lcm(*(share.denominator for share in charge))
    once, slope, peak = (share.numerator * (below // share.denominator) for share in charge)
    return Scale(*axis.start_value.as_integer_ratio(), *axis.scale.as_integer_ratio(), once, slope, peak, below)


def _worth(charge: Charge, delta: Fraction, columns: Sequence[Fraction]) -> Worth:
    numbers = (charge.part(delta), charge.top(delta), delta, *columns)
    below = lcm(*(number.denominator for number in numbers))
    above = [number.numerator * (below // number.denominator) for number in numbers]
    return Worth(below, above[0], above[1], above[2], tuple(above[3:]))


def _column(values: tuple[float, ...] | None, level: int) -> Fraction:
    """A column of a feature with levels."""
    return exact(values[level]) if values is not None else Fraction(0)


@lru_cache(maxsize=1024)  # axes start from few levels, and all rows ask about all of them
def _of_levels(axis: LevelAxis, charge: Charge, columns: tuple[tuple[float, ...] | None, ...]) -> dict[int, Worth]:
    """All levels of a feature, not to be changed."""
    # A column a level, of 0 and 1: as many numbers as levels squared, and two of them differ.
    known = {value: exact(value) for value in set[float]().union(*filter(None, columns))}
    none = Fraction(0)
    return {
        level: _worth(charge, axis.delta(level), [none if one is None else known[one[level]] for one in columns])
        for level in range(axis.count)
    }


def _far(axis: GridAxis, charge: Charge, room: Fraction) -> float:
    """At least how far a value of an axis may lie from its start for such a cost of the change's size."""
    given = (nearest(room), nearest(axis.scale), nearest(charge.slope) + nearest(charge.peak))
    if all(map(moderate, given)):  # where no rounding is more than a share of its result
        return given[0] * given[1] / given[2] * WIDER
    return outward(axis.scale * room / (charge.slope + charge.peak))
