"""What multipliers prove, in integers: the last word on every leaf before a proof is written.

In:  a box, bounds and phases of the hidden units, multipliers.   Out: a rational that no point with the goal is below.
Promise: every rounding is downwards. Weights are integers on their own common scale, coefficients of hidden units are
rounded to 2^-V where that can only lower the bound (a ReLU's output is >= 0, and so is z - l), and each feature is
minimised exactly. proofs/FORMAT.md, "Rule dual", is the definition; `proofs/check.py` shares no code with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import compress
from math import lcm
from operator import mul
from typing import NamedTuple

import numpy as np

from mace.base.exact import above as outward
from mace.base.exact import exact, float_to_rank, moderate, nearest, rank_to_float
from mace.base.kept import Recent
from mace.problem.distance import Charge, Norm
from mace.problem.lines import both_ways
from mace.problem.proof import Multipliers
from mace.problem.question import Question
from mace.solve.networks.model import Array, Numbers, numbers
from mace.space.axes import Box, GridAxis, LevelAxis, Point, Side
from mace.tables.margins import in_integers
from mace.tables.table import Compare, Network

V = 200  # bits below the point in coefficients
WIDER = 1 + 2.0**-49  # more than the seven roundings of `_far`
BUDGETS = 1000  # whose ends on the axes are kept
ROOM = 64  # bits below the point in bounds of hidden units and in their slopes


def box_of(question: Question) -> Box:
    """The box of all allowed points."""
    return tuple((a.lower, a.upper) if isinstance(a, GridAxis) else a.allowed for a in question.axes)


class Worth(NamedTuple):
    """What one value of a feature costs and what its columns are: exact, and made once a value.

    All numbers are integers over `below`. part: its l0 and l1 cost. peak: its cost where it is the largest change.
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
        """Both."""
        return Fraction(self.part_above + self.peak_above, self.below)


class Scale(NamedTuple):
    """An axis of doubles in integers: the start, over `unit`; the scale; what a change costs, over `below`."""

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
    return {
        level: _worth(charge, axis.delta(level), [_column(values, level) for values in columns])
        for level in range(axis.count)
    }


class Beside(NamedTuple):
    """What an axis adds to a sum beside its distance and its columns.

    share: of its cost where it is the largest change, or None. push: what any change costs. pull: times its value.
    """

    share: Fraction | None
    push: Fraction
    pull: Fraction


class Exact:
    """The exact side of one question."""

    def __init__(self, question: Question, numbers: Numbers) -> None:
        assert isinstance(question.model, Network) and isinstance(question.distance, Norm)
        self.question, self.charges, self.parts = question, question.distance.charges, numbers.parts
        self.layers = question.model.layers
        self.most = len(question.axes) if question.most_changes is None else question.most_changes
        self.columns: list[list[tuple[int, tuple[float, ...] | None]]] = [[] for _ in question.axes]
        for place, column in enumerate(question.columns):
            self.columns[column.feature].append((place, column.values))
        self.forms = numbers.forms
        self.lines = {(line.rule, line.part): line for line in numbers.lines if line.sign > 0}
        # Whether a column is its feature as it is.
        self.plain = [form is not None and form.plain for form in self.forms]
        self.bits, self.integers = in_integers(question.model)
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
        # More than the scores may be off from the deployed model's.
        self.doubt = [float(max(part.slack, default=0)) * 4 for part in self.parts]
        self._worths: list[dict[int, Worth]] = [{} for _ in question.axes]
        for j, axis in enumerate(question.axes):
            if isinstance(axis, LevelAxis):
                self._worths[j] = _of_levels(axis, self.charges[j], tuple(values for _, values in self.columns[j]))

    def accepts(self, point: Point) -> bool | None:
        """Whether the deployed model gives the goal at a point whatever its order of summation; None if that decides.

        False also where a glance at its floats says so.
        """
        return self.near(point) and self.question.has_goal(point)

    def near(self, point: Point) -> bool:
        """Whether a point may have the goal, by a glance at its floats; most are refused here."""
        decision = self.question.goal.decision
        rough = self.question.scores(point)
        more = 1e-9 * (1 + float(np.abs(rough).max()))
        return any(
            all(_margin(c, rough) >= -e - more for c in part) for part, e in zip(decision, self.doubt, strict=True)
        )

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
        levels = [level for level in range(side.bit_length()) if side >> level & 1]
        return min(levels, key=axis.delta, default=None)

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
                cut.append(sum(1 << level for level in range(side.bit_length()) if side >> level & 1 and close(level)))
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

    def bound(
        self,
        part: int,
        multipliers: Multipliers,
        box: Box,
        phase: Array,
        lower: Array,
        upper: Array,
        q: Fraction | None,
    ) -> Fraction | None:
        """What the multipliers prove about a box (q None: without distance); None if nothing of it is in the ball."""
        inside = self.cut(box, q) if q is not None else box
        if inside is None:
            return None
        compares, slacks = self.question.goal.decision[part], self.parts[part].slack
        push = multipliers.changes
        ruled, pulls = self._ruled(multipliers)
        constant = ruled - push * self.most
        z = [0] * len(self.layers[-1].bias)
        for value, compare, slack in zip(multipliers.goal, compares, slacks, strict=True):
            constant += value * (exact(compare.than) - slack)
            scaled = _scaled(value)
            if compare.plus is not None:
                z[compare.plus] -= scaled
            if compare.minus is not None:
                z[compare.minus] += scaled
        scale = V  # z are integers times 2^-scale
        for layer in range(len(self.layers) - 1, 0, -1):
            weights, offsets = self.integers[layer]
            constant += Fraction(sum(map(mul, offsets, z)), 1 << (scale + self.bits))
            factors = [value for value in z if value]
            v = [sum(map(mul, compress(row, z), factors)) for row in weights]
            below = layer - 1
            if self.layers[below].activation != "relu":
                z, scale = v, scale + self.bits
                continue
            # Rounded down to V bits: sound, because a ReLU's output is >= 0.
            extra = scale + self.bits - V
            v = [x >> extra for x in v]
            scale = V
            bounds = (lower[below].tolist(), upper[below].tolist())
            z, moved = _below_relus(below, v, multipliers, phase, *bounds)
            constant += Fraction(moved, 1 << (V + ROOM))
        weights, offsets = self.integers[0]
        constant += Fraction(sum(map(mul, offsets, z)), 1 << (scale + self.bits))
        factors = [value for value in z if value]  # many are 0
        gathered = [sum(map(mul, compress(row, z), factors)) for row in weights]
        least = 0  # times 2^-(scale + bits + ROOM)
        for j, side in enumerate(inside):
            share = multipliers.largest.get(j)
            mine = [gathered[place] for place, _ in self.columns[j]]
            peak = None if share is None else share * self.charges[j].peak
            costs = Beside(peak, push, pulls.get(j, Fraction(0)))
            top, bottom = self._axis(j, side, mine, scale + self.bits, costs, q is not None)
            least += (top << ROOM) // bottom
        return constant + Fraction(least, 1 << (scale + self.bits + ROOM))

    def _ruled(self, multipliers: Multipliers) -> tuple[Fraction, dict[int, Fraction]]:
        """What the multipliers of linear rules add up to: the constant, and a factor for each feature."""
        constant = Fraction(0)
        pulls: dict[int, Fraction] = {}
        for k, place, price in multipliers.rules:
            line = self.lines[k, place]
            constant += price * line.constant
            for j, factor in line.factors:
                pulls[j] = pulls.get(j, Fraction(0)) + price * factor
        return constant, pulls

    def _axis(
        self, j: int, side: Side, coefficients: list[int], bits: int, beside: Beside, distance: bool
    ) -> tuple[int, int]:  # fmt: skip
        """The least of cost plus coefficients times columns over one side of the box, times 2^bits: above, below."""
        axis, (share, push, pull) = self.question.axes[j], beside
        if isinstance(side, tuple):
            low, high = side
            candidates = [low, high]
            if low <= axis.start <= high:
                candidates = [low, high, axis.start]
                if not pull and len(coefficients) == 1 and self.plain[self.columns[j][0][0]]:
                    # What costs more than the start and adds no less is not the least.
                    candidates = [axis.start, high if coefficients[0] < 0 else low][: 1 + bool(coefficients[0])]
        else:
            candidates = [level for level in range(side.bit_length()) if side >> level & 1]
        best, least = 0, 0  # a fraction; 0 below: none yet
        for index in candidates:
            worth = self.worth(j, index)
            above, below = sum(map(mul, coefficients, worth.columns)), worth.below
            if distance and index != axis.start:
                above += worth.part_above << bits
                if share:
                    above = above * share.denominator + (share.numerator * worth.delta_above << bits)
                    below *= share.denominator
            if push and index != axis.start:
                above = above * push.denominator + (push.numerator * below << bits)
                below *= push.denominator
            if pull:
                value = pull * axis.value(index)
                above = above * value.denominator + (value.numerator * below << bits)
                below *= value.denominator
            if not least or above * least < best * below:
                best, least = above, below
        assert least
        return best, least


class Prepared(NamedTuple):
    """Both sides of a question: in doubles and exact."""

    numbers: Numbers
    exact: Exact


_LAST: Recent[Prepared] = Recent(1)


def prepared(question: Question) -> Prepared:
    """Both sides of a question, whatever is excluded from it: made once for its search and for its certificate."""

    def make() -> Prepared:
        made = numbers(question)
        return Prepared(made, Exact(question, made))

    key = (
        question.model, question.axes, question.columns, question.goal.decision, question.distance,
        question.most_changes, both_ways(question.rules),
    )  # fmt: skip
    return _LAST.get(key, make)


def _far(axis: GridAxis, charge: Charge, room: Fraction) -> float:
    """At least how far a value of an axis may lie from its start for such a cost of the change's size."""
    given = (nearest(room), nearest(axis.scale), nearest(charge.slope) + nearest(charge.peak))
    if all(map(moderate, given)):  # where no rounding is more than a share of its result
        return given[0] * given[1] / given[2] * WIDER
    return outward(axis.scale * room / (charge.slope + charge.peak))


class Passed(NamedTuple):
    """Coefficients below a layer of ReLUs, times 2^-V, and what their bounds add, times 2^-(V + ROOM)."""

    z: list[int]
    moved: int


def _below_relus(
    layer: int, v: list[int], multipliers: Multipliers, phase: Array, low: list[float], high: list[float]
) -> Passed:
    """Coefficients v of a layer's outputs as coefficients of its inputs, whose bounds are low and high."""
    z, moved = [0] * len(v), 0
    for i, x in enumerate(v):
        if high[i] <= 0:
            pass
        elif low[i] >= 0 and (x < 0 or (layer, i) not in multipliers.slopes):
            z[i] = x
        elif x or (layer, i) in multipliers.slopes:
            t = multipliers.slopes.get((layer, i), Fraction(0))
            up = abs(x) * t.numerator // t.denominator  # the multiplier of a >= z
            z[i] = up
            over = up - x  # the multiplier of a <= chord(z)
            if over > 0 and low[i] >= 0:  # the chord is the line itself
                z[i] -= over
            elif x < 0 or over > 0:
                bottom, top = _down(low[i]), -_down(-high[i])
                # Rounded up: sound, because z >= l.
                steep = -(-over * top // (top - bottom))
                z[i] -= steep
                moved += steep * bottom
        if phase[layer, i]:
            mu = multipliers.phases.get((layer, i))
            if mu is not None:
                z[i] -= int(phase[layer, i]) * _scaled(mu)
    return Passed(z, moved)


def _margin(compare: Compare, scores: Array) -> float:
    """By how much float scores satisfy a comparison, roughly."""
    plus = float(scores[compare.plus]) if compare.plus is not None else 0.0
    minus = float(scores[compare.minus]) if compare.minus is not None else 0.0
    return plus - minus - compare.than


def _scaled(value: Fraction) -> int:
    """A multiplier as an integer times 2^-V; multipliers are chosen so that this is exact."""
    top, rest = divmod(value.numerator << V, value.denominator)
    assert rest == 0
    return top


def _down(value: float) -> int:
    """A bound of a hidden unit as an integer times 2^-ROOM, rounded down."""
    top, bottom = value.as_integer_ratio()
    return (top << ROOM) // bottom


def single(side: Side) -> bool:
    """Whether a side has one value."""
    return side[0] == side[1] if isinstance(side, tuple) else side.bit_count() == 1
