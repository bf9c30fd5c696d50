"""What dual multipliers prove, in integers: by this every leaf is verified before a proof is written.

In:  a box, bounds and phases of the hidden units, multipliers.   Out: a rational that no point with the goal is below.
Promise: every rounding is downwards. Weights are integers on their own common scale, coefficients of hidden units are
rounded to 2^-V where that can only lower the bound (a ReLU's output is >= 0, and so is z - l), and each feature is
minimised exactly. proofs/FORMAT.md, "Rule dual", is the definition; `proofs/check.py` shares no code with it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import compress
from operator import mul
from typing import NamedTuple

import numpy as np

from mace.base.bits import members
from mace.base.cache import Recent
from mace.base.exact import exact
from mace.problem.lines import both_ways
from mace.problem.proof import Multipliers
from mace.problem.question import Question
from mace.solve.networks.model import Array, Numbers, numbers
from mace.solve.networks.values import FeatureValues
from mace.space.axes import Box, Point, Side
from mace.tables.margins import in_integers
from mace.tables.table import Compare, Network

V = 200  # bits below the point in coefficients
ROOM = 64  # bits below the point in bounds of hidden units and in their slopes


class AxisMultipliers(NamedTuple):
    """What multipliers add for an axis, beside its distance and its columns.

    share: the part of the linf cost that is charged to this axis, per delta; None for none.
    push:  the multiplier of the limit on changes: what any change costs.
    pull:  the multipliers of linear rules: a factor of the axis's value.
    """

    share: Fraction | None
    push: Fraction
    pull: Fraction


class Weighed(NamedTuple):
    """A linear function: integer coefficients, whose power of two the caller knows, and a constant."""

    z: list[int]
    constant: Fraction


class Exact(FeatureValues):
    """The exact side of one question: its values, and what multipliers prove."""

    def __init__(self, question: Question, numbers: Numbers) -> None:
        assert isinstance(question.model, Network)
        super().__init__(question, numbers.forms)
        self.parts, self.layers = numbers.parts, question.model.layers
        self.most = len(question.axes) if question.most_changes is None else question.most_changes
        self.lines = {(line.rule, line.part): line for line in numbers.lines if line.sign > 0}
        self.bits, self.integers = in_integers(question.model)
        # More than the scores may be off from the deployed model's.
        self.doubt = [float(max(part.slack, default=0)) * 4 for part in self.parts]

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
        """The lower bound that multipliers prove on the distance of points of a box with one part of the goal.

        phase:        (H, N) for H hidden layers of up to N units: 1 or -1 where the phase of a ReLU is fixed, else 0.
        lower, upper: (H, N) bounds of the inputs of the hidden units.
        q:            radius of the ball that the box is cut to. None: the distance does not count, and a bound above 0
                      says that the box has no such point.
        Returns None if nothing of the box is in the ball.
        Source: proofs/FORMAT.md, "Rule dual": weak duality, layer by layer from the scores back to the features.
        """
        inside = self.cut(box, q) if q is not None else box
        if inside is None:
            return None
        z, constant = self._of_scores(part, multipliers)
        scale = V  # z are integers times 2^-scale
        for layer in range(len(self.layers) - 1, 0, -1):
            v, offset = self._through(layer, z, scale)
            constant += offset
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
        gathered, offset = self._through(0, z, scale)
        ruled, pulls = self._ruled(multipliers)
        constant += offset + ruled - multipliers.changes * self.most
        least = 0  # times 2^-(scale + bits + ROOM)
        for j, side in enumerate(inside):
            share = multipliers.largest.get(j)
            mine = [gathered[place] for place, _ in self.columns[j]]
            peak = None if share is None else share * self.charges[j].peak
            costs = AxisMultipliers(peak, multipliers.changes, pulls.get(j, Fraction(0)))
            top, bottom = self._axis(j, side, mine, scale + self.bits, costs, q is not None)
            least += (top << ROOM) // bottom
        return constant + Fraction(least, 1 << (scale + self.bits + ROOM))

    def _of_scores(self, part: int, multipliers: Multipliers) -> Weighed:
        """What the multipliers of the goal's comparisons make of the scores; coefficients times 2^-V."""
        z, constant = [0] * len(self.layers[-1].bias), Fraction(0)
        compares, slacks = self.question.goal.decision[part], self.parts[part].slack
        for value, compare, slack in zip(multipliers.goal, compares, slacks, strict=True):
            constant += value * (exact(compare.than) - slack)
            scaled = _scaled(value)
            if compare.plus is not None:
                z[compare.plus] -= scaled
            if compare.minus is not None:
                z[compare.minus] += scaled
        return Weighed(z, constant)

    def _through(self, layer: int, z: list[int], scale: int) -> Weighed:
        """Coefficients of a layer's outputs (times 2^-scale) as those of its inputs (times 2^-(scale + bits))."""
        weights, offsets = self.integers[layer]
        constant = Fraction(sum(map(mul, offsets, z)), 1 << (scale + self.bits))
        factors = [value for value in z if value]  # many are 0
        return Weighed([sum(map(mul, compress(row, z), factors)) for row in weights], constant)

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
        self, j: int, side: Side, coefficients: list[int], bits: int, beside: AxisMultipliers, distance: bool
    ) -> tuple[int, int]:  # fmt: skip
        """The least of cost + coefficients * columns over one side of the box, times 2^bits: numerator, denominator."""
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
            candidates = members(side)
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
    """A question in doubles, and in exact numbers."""

    numbers: Numbers
    exact: Exact


_LAST: Recent[Prepared] = Recent(1)


def prepared(question: Question) -> Prepared:
    """A question both ways, whatever it excludes: made once for its search and for its certificate."""

    def make() -> Prepared:
        made = numbers(question)
        return Prepared(made, Exact(question, made))

    key = (
        question.model, question.axes, question.columns, question.goal.decision, question.distance,
        question.most_changes, both_ways(question.rules),
    )  # fmt: skip
    return _LAST.get(key, make)


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
            up = abs(x) * abs(t.numerator) // t.denominator  # the multiplier of a >= z, or, below 0, of a >= 0
            z[i] = up if t >= 0 else 0
            over = up - x if t >= 0 else up + max(-x, 0)  # the multiplier of a <= chord(z)
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
