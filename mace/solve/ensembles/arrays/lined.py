"""How near a box comes to the start where linear rules hold: a linear program over what they read, and its proof.

In:  a question with rules such as `worst_radius >= mean_radius`, a box of its axes.
Out: `Lined.nearest`: a lower bound of the distance, exact, with the multipliers that prove it; `near`: a point there.
Promise: no point of the box that obeys the rules is nearer; a checker finds the same of the same multipliers.
Why: where the nearest point of a box breaks such a rule, several features share what has to change. Cuts of the box
come as near to that as they like, and never there.
How: features that no such rule reads count with their least cost. The program is that of a network without layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.cache import Recent
from mace.base.exact import exact, nearest
from mace.problem.distance import Norm
from mace.problem.lines import FINEST, Line, both_ways
from mace.problem.proof import Priced, Prices
from mace.problem.question import Question
from mace.solve.lattice import attainable
from mace.solve.networks.kernels import plain
from mace.solve.networks.model import Array, Axes, Hull, Net, Units, axes_of
from mace.solve.networks.multipliers import rounded
from mace.solve.networks.relax import MOST_PIVOTS, Relaxed, relax
from mace.space.axes import Box, GridAxis, Point, ends

BITS = (20, 53)  # of multipliers: as few as prove enough
LEAST = Fraction(1, 2**107)  # what a multiplier has to be, for a checker to know all of its bits
FEW = 4096
MARGIN = 2.0**-49  # of the values: what rounding to doubles may break


class Held(NamedTuple):
    """What is known of a box. multipliers: of the rows; shares: of the largest change, by axis."""

    bound: Fraction
    multipliers: tuple[Fraction, ...]
    shares: dict[int, Fraction]


class Lined:
    """The linear rules of a question."""

    def __init__(self, question: Question, lines: Sequence[Line]) -> None:
        assert isinstance(question.distance, Norm)
        self.question, self.lines = question, lines
        self.rules = {line.rule for line in lines}
        self.reads = sorted({j for line in lines for j, _ in line.factors})
        place = {j: k for k, j in enumerate(self.reads)}
        own = [line._replace(factors=tuple((place[j], q) for j, q in line.factors)) for line in lines]
        self.axes = [question.axes[j] for j in self.reads]
        self.charges = question.distance.charges
        self.unit = question.distance.unit_in_floats  # in which the program counts
        self.least = nearest(LEAST / max(self.unit, FINEST))
        self.arrays = axes_of(self.axes, [self.charges[j].times(1 / self.unit) for j in self.reads], own)
        self.surely = self.arrays._replace(need=self.arrays.need + self._rounding(own))
        items = len(self.arrays.change)
        none, number = np.zeros((0, 1)), np.zeros(0, np.int64)
        self.net = plain(
            Net(np.zeros((items, 1)), np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros(0, np.bool_), number, none)
        )
        self.units = plain(Units(none, none, np.zeros((0, 1), np.int64)))
        self.most, self.distance = float(question.distance.widest / self.unit) + 1.0, True

    def _rounding(self, own: Sequence[Line]) -> Array:
        """By how much doubles may move what rules make hold, at most: shape (K,)."""
        found = np.zeros(len(own))
        for k, line in enumerate(own):
            for j, factor in line.factors:
                axis = self.axes[j]
                if isinstance(axis, GridAxis) and axis.grid.kind != "step":
                    largest = max(abs(axis.value(axis.lower)), abs(axis.value(axis.upper)))
                    found[k] += nearest(abs(factor) * largest) * MARGIN
        return found

    @staticmethod
    def of(question: Question) -> Lined | None:
        """The linear rules of a question; None where it has none, or they read what may be missing."""
        lines = both_ways(question.rules)
        reads = {j for line in lines for j, _ in line.factors}
        known = all(getattr(question.axes[j], "missing", None) is None for j in reads)
        if not reads or not known or not isinstance(question.distance, Norm):
            return None
        key = (lines, question.axes, question.distance, question.goal.decision)
        return _LINED.get(key, lambda: Lined(question, lines))

    def only(self, question: Question, point: Point) -> bool:
        """Whether a point breaks some of these rules, and nothing else of what a question asks of it."""
        broken = {k for k, rule in enumerate(question.rules) if not rule.holds(question.axes, point)}
        if not broken or not broken <= self.rules:
            return False
        most = question.most_changes
        few = most is None or len(question.changed(point)) <= most
        return few and not any(question.excluded(avoid, point) for avoid in question.avoid)

    def few(self, box: Box) -> bool:
        """Whether a box has so few values of what the rules read that cuts of it soon come down to points."""
        count = 1
        for j in self.reads:
            side = box[j]
            count *= side[1] - side[0] + 1 if isinstance(side, tuple) else side.bit_count()
        return count <= FEW

    def nearest(self, box: Box, point: Point, enough: Fraction | None = None) -> Held:
        """How near the box comes to the start where the rules hold; point: the nearest one of the box without them.

        enough: a bound for which few bits will do.
        """
        solved = self._solved(box, self.arrays)
        held = self._bound(box, point, solved, BITS[0])
        for bits in BITS[1:]:
            if enough is not None and held.bound >= enough:
                break
            held = self._bound(box, point, solved, bits)
        return held

    def near(self, box: Box, point: Point) -> Point:
        """A point of the box near to where its nearest one is that obeys the rules; perhaps it does not."""
        solved, found = self._solved(box, self.surely), list(point)
        for k, (j, axis) in enumerate(zip(self.reads, self.axes, strict=True)):
            side, first = box[j], int(self.arrays.first[k])
            if not isinstance(axis, GridAxis):
                found[j] = int(np.argmax(solved.point[first : first + axis.count]))
            elif solved.point[first] != 0.0 and np.isfinite(solved.point[first]):
                assert isinstance(side, tuple)
                value = axis.start_value + exact(float(solved.point[first])) * axis.scale
                low = axis.grid.floor(value)
                up = axis.grid.value(low + 1) - value < value - axis.grid.value(low)
                found[j] = min(max(low + up, side[0]), side[1])
        return tuple(found)

    def _solved(self, box: Box, axes: Axes) -> Relaxed:
        """The end of the linear program over what the rules read."""
        lo, hi = np.zeros(len(self.axes)), np.zeros(len(self.axes))
        on = np.ones(len(axes.change), np.bool_)
        for k, (j, axis) in enumerate(zip(self.reads, self.axes, strict=True)):
            side = box[j]
            if isinstance(axis, GridAxis):
                assert isinstance(side, tuple)
                lo[k], hi[k] = (nearest((axis.value(end) - axis.start_value) / axis.scale) for end in side)
            else:
                assert isinstance(side, int)
                first = int(axes.first[k])
                on[first : first + axis.count] = [bool(side >> level & 1) for level in range(axis.count)]
        none = np.zeros((0, 1))
        given = (none, np.zeros(0), plain(axes), self.net, plain(Hull(lo, hi, on)), self.units)
        found: Relaxed = relax(self.distance, self.most, MOST_PIVOTS, float(len(self.axes)), *given)
        return found

    def _bound(self, box: Box, point: Point, solved: Relaxed, bits: int) -> Held:
        """What multipliers of so many bits prove, exactly."""
        prices, shares = (np.nan_to_num(rounded(values, bits)) for values in (solved.goal, solved.share))
        prices[prices < self.least] = 0.0
        pulls, total = dict.fromkeys(self.reads, Fraction(0)), Fraction(0)
        found = tuple(Fraction(price) * self.unit for price in prices.tolist())
        for price, line in zip(found, self.lines, strict=True):
            total += price * line.constant
            for j, factor in line.factors:
                pulls[j] += price * factor
        of = _at_most_1(dict(zip(self.reads, map(Fraction, shares.tolist()), strict=True)))
        for j, (axis, charge) in enumerate(zip(self.question.axes, self.charges, strict=True)):
            if j not in pulls:
                total += charge.part(axis.delta(point[j]))
                continue
            side = box[j]
            indices = {*ends(side), point[j]}
            total += min(
                charge.part(delta) + of[j] * charge.top(delta) + pulls[j] * axis.value(k)
                for k in indices
                for delta in (axis.delta(k),)
            )
        total = attainable(self.question.axes, self.question.distance, total, beyond=False)
        return Held(total, found, {j: share for j, share in of.items() if share})

    def proof(self, held: Held, part: int | None) -> Priced:
        """The leaf that closes a box by these multipliers, whatever the model says in it.

        part: of the goal, where the box is asked about that one alone.
        """
        rules = tuple(
            (line.rule, line.part, line.sign * price)
            for price, line in zip(held.multipliers, self.lines, strict=True)
            if price
        )
        decision = self.question.goal.decision
        asked = decision if part is None else decision[part : part + 1]
        nothing = [(Fraction(0),) * len(one) for one in asked]
        return Priced(tuple(Prices(goal, held.shares, Fraction(1), (), rules=rules) for goal in nothing))


def _at_most_1(shares: dict[int, Fraction]) -> dict[int, Fraction]:
    """Shares that together are at most 1: doubles that add up to 1 may exceed it by their last bits."""
    most = max(shares, key=lambda j: shares[j])
    excess = sum(shares.values()) - 1
    return shares if excess <= 0 else {**shares, most: max(shares[most] - excess, Fraction(0))}


_LINED: Recent[Lined] = Recent(4)
