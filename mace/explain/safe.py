"""How far the values of a counterfactual may move without the decision being lost: a proved interval, a proved box.

In:  a point with the goal, and which features it changed.
Out: a `Safe`: for each of these features a range of values (of levels, a set) around the new one, and the answer to
     "is there any point in this box without the goal?", which is a proof that there is none.
Promise: every allowed value of the box keeps what was wanted, whatever rules say, with all other features at the
point's own values. The box is `largest` where no side of it can be moved on its own: one more step meets a point at
which the deployed model was asked and had something else.
How: the same refutation, asked of a box about the opposite goal. First the largest cube around the point, then each
side as far as it goes; a side ends right before the nearest value at which the goal is lost. Then the box of most
combinations of values is sought that holds none of the points met on the way (`combinatorics/boxes.py`), and asked
about: what it holds that lacks the goal is one more such point. Where there is no such point it is `most`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from mace.base.exact import farthest_holding
from mace.errors import GoalError
from mace.explain.answer import Answer
from mace.explain.combinatorics.boxes import Largest, size
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.nearest.assemble import answer_of
from mace.explain.nearest.search import Search, Searched
from mace.problem.distance import Norm
from mace.problem.goal_decision import lower
from mace.problem.goals import Between, Classes, Probability, Value, Wanted
from mace.problem.question import Question
from mace.solve.protocol import Limits
from mace.space.axes import Axis, GridAxis, LevelAxis, Point
from mace.tables.table import Label

GUESSES = 200  # boxes that are asked about in search of the one with most combinations of values
Range = tuple[Any, Any] | tuple[Any, ...]


@dataclass(frozen=True)
class Safe:
    """A box of values around a counterfactual in which the decision stays.

    ranges:  feature -> (lowest, highest) of a number, or the levels of any other feature, in the space's own types.
    largest: whether no side of it can be moved any further.
    proved:  the refutations that it rests on, each with its certificate: nothing in the box lacks the goal.
    most:    whether no other box over these features around the same values has more combinations of values: each
             larger one holds a point at which the deployed model was asked and had something else.
    """

    ranges: dict[str, Range]
    largest: bool
    proved: list[Answer]
    most: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "ranges": {name: list(values) for name, values in self.ranges.items()},
            "largest": self.largest,
            "most": self.most,
            "certificates": len(self.proved),
        }


def opposites(wanted: Wanted | None, classes: Sequence[Any]) -> list[Wanted]:
    """Goals of which every point without the given goal has one; raises GoalError where there are no such goals."""
    match wanted:
        case Classes(labels=labels):
            return [Classes(frozenset(label for label in classes if label not in labels))]
        case Value(between=between, name=name):
            return [Value(side, name) for side in _outside(between)]
        case Probability(label=label, between=between):
            sides = [Probability(label, side) for side in _outside(between)]
            return [side for side in sides if not _is_impossible(side.between)]
    raise GoalError(f"of the goal `{wanted}` no goal is the opposite, so that no box is proved to keep it")


def _outside(between: Between) -> list[Between]:
    found = []
    if between.low is not None:
        found.append(Between(high=between.low, high_strict=not between.low_strict))
    if between.high is not None:
        found.append(Between(low=between.high, low_strict=not between.high_strict))
    return found


def _is_impossible(between: Between) -> bool:
    """Whether no probability lies in the interval: it is below 0, or above 1."""
    under = between.high is not None and (between.high < 0 or between.high == 0 and between.high_strict)
    over = between.low is not None and (between.low > 1 or between.low == 1 and between.low_strict)
    return under or over


@dataclass(frozen=True)
class _Grown:
    """The sides of a box.

    certain: whether none of them can be moved any further.
    most:    whether no box around the point has more combinations of values.
    proved:  what refutes that anything in it lacks the goal, where that was asked already.
    """

    sides: dict[int, Axis]
    certain: bool
    most: bool = False
    proved: tuple[Searched, ...] = ()

    @property
    def size(self) -> Fraction:
        """How many combinations of values it has."""
        return math.prod((size(side) for side in self.sides.values()), start=Fraction(1))


class BoxesAround:
    """The questions about boxes around one point with the goal."""

    def __init__(self, question: Question, point: Point, search: Search, limits: Limits) -> None:
        """question: whose goal the point has; its rules and exclusions do not count in a box."""
        self.search, self.limits, self.point = search, limits, point
        table = search.judge.table
        self.features = question.space.features
        self._ranges: dict[int, _Grown] = {}
        self.lost: list[Point] = []  # points near to it that lack the goal
        self.axes = tuple(replace(axis, start=index) for axis, index in zip(question.axes, point, strict=True))
        self.questions = []
        for other in opposites(question.goal.wanted, table.classes):
            goal, moved = lower(other, table)
            self.questions.append(
                replace(question, axes=self.axes, goal=goal, model=moved, rules=(), avoid=(), most_changes=None)
            )

    @cached_property
    def decided(self) -> Label:
        """What the deployed model says of the point: the same for all boxes."""
        return self.search.judge.decide(self.questions[0], self.point)

    def box(self, features: Sequence[int]) -> Safe | None:
        """The box over these features; None if not even its proof ended in time."""
        grown = self._largest(features)
        proved = grown.proved or [self._ask(question, grown.sides, "l1") for question in self.questions]
        if any(one.bracket.status != "infeasible" for one in proved):
            return None
        answers = [self._answer(one) for one in proved]
        ranges = {self.features[j].name: self._values(j, side) for j, side in grown.sides.items()}
        return Safe(ranges, grown.certain, answers, grown.most or len(features) == 1 and grown.certain)

    def _largest(self, features: Sequence[int]) -> _Grown:
        """The box of most combinations of values; where a limit was reached, one whose sides go no further.

        The largest box without the points known to lack the goal is asked about: either nothing in it lacks the goal,
        or there is one more such point.
        """
        if len(features) == 1:
            return self._range(features[0])
        alone = {j: self._range(j) for j in features}
        best = self._grown(self._cube({j: _alone(self.axes[j], self.point[j]) for j in features}), features)
        whole, known = {j: one.sides[j] for j, one in alone.items()}, all(one.certain for one in alone.values())
        for _ in range(GUESSES):
            sought = Largest(whole, self.point, best.size)
            sides = sought.without(self.lost)
            if sides is None:
                return replace(best, most=known and sought.sure)
            if self.limits.deadline.over:
                break
            proved = tuple(self._ask(question, sides, "l1") for question in self.questions)
            if all(one.bracket.status == "infeasible" for one in proved):
                if known and sought.sure:
                    return _Grown(sides, certain=True, most=True, proved=proved)
                best = self._grown(sides, features)
            elif all(one.bracket.point is None for one in proved):
                break
        return best

    def _range(self, j: int) -> _Grown:
        """How far the value of one feature may move with all others as they are."""
        if j not in self._ranges:
            self._ranges[j] = self._grown({j: _alone(self.axes[j], self.point[j])}, [j])
        return self._ranges[j]

    def _grown(self, sides: dict[int, Axis], features: Sequence[int]) -> _Grown:
        """A box with the sides of these features moved outwards, one after the other, as far as they go."""
        sides, certain = dict(sides), True
        for j in features:
            for way in (-1, 1) if isinstance(self.axes[j], GridAxis) else (0,):
                sides[j], sure = self._moved(sides, j, way)
                certain = certain and sure
        return _Grown(sides, certain)

    def _cube(self, sides: dict[int, Axis]) -> dict[int, Axis]:
        """The sides of the largest cube of numbers, in shares of their ranges, that is proved to keep the goal."""
        whole = {j: _present(self.axes[j]) if isinstance(self.axes[j], GridAxis) else sides[j] for j in sides}
        radius: Fraction | None = None
        for question in self.questions:
            found = self._ask(question, whole, "linf").bracket
            if found.status == "infeasible":
                continue
            least = found.lower
            radius = least if radius is None else min(radius, least)
        return {j: _within(axis, self.axes[j].start, radius) for j, axis in whole.items()}

    def _moved(self, sides: dict[int, Axis], j: int, way: int) -> tuple[Axis, bool]:
        """One side of the box moved outwards as far as it goes, and whether it goes no further."""
        axis, side = self.axes[j], sides[j]
        if isinstance(axis, LevelAxis):
            return self._levels(sides, j)
        assert isinstance(axis, GridAxis) and isinstance(side, GridAxis)
        end = axis.lower if way < 0 else axis.last
        if axis.lacks or end == (side.lower if way < 0 else side.upper):
            return side, True
        wide = replace(side, lower=end) if way < 0 else replace(side, upper=end)
        for question in self.questions:
            if wide == side:  # nothing is left beyond it that could lack the goal on the other end
                break
            # Only what lies beyond this side is new.
            beyond = replace(wide, upper=side.lower - 1) if way < 0 else replace(wide, lower=side.upper + 1)
            asked = {**sides, j: replace(beyond, start=beyond.upper if way < 0 else beyond.lower)}
            found = self._ask(question, asked, "l1", along=j).bracket
            if found.status == "infeasible":
                continue
            if found.point is None or found.status != "optimal":
                return side, False
            near = found.point[j] - way
            wide = replace(wide, lower=max(wide.lower, near)) if way < 0 else replace(wide, upper=min(wide.upper, near))
        return wide, True

    def _levels(self, sides: dict[int, Axis], j: int) -> tuple[Axis, bool]:
        """The levels of a feature that can be added one after the other."""
        axis, side = self.axes[j], sides[j]
        assert isinstance(axis, LevelAxis) and isinstance(side, LevelAxis)
        certain = True
        for level in _present(axis).levels():  # type: ignore[union-attr]
            if side.allows(level):
                continue
            alone = {**sides, j: replace(axis, start=level, allowed=1 << level)}
            found = [self._ask(question, alone, "l1").bracket for question in self.questions]
            if all(one.status == "infeasible" for one in found):
                side = replace(side, allowed=side.allowed | 1 << level)
                sides = {**sides, j: side}
            elif all(one.status == "infeasible" or one.point is not None for one in found):
                continue
            else:
                certain = False
        return side, certain

    def _ask(self, question: Question, sides: dict[int, Axis], norm: str, along: int | None = None) -> Searched:
        """The nearest point of a box that lacks the goal; everything outside of the box's features stays."""
        axes = tuple(sides.get(j, _alone(axis, axis.start)) for j, axis in enumerate(self.axes))
        one, zero = Fraction(1), Fraction(0)
        weights = tuple(one if along is None or j == along else zero for j in range(len(axes)))
        shape = Norm(zero, one, zero, weights, "l1") if norm == "l1" else Norm(zero, zero, one, weights, "linf")
        asked = replace(question, axes=axes, distance=shape)
        found = self.search.nearest(asked, Confirmation(self.search.judge), self.limits)
        if found.bracket.point is not None:
            self.lost.append(found.bracket.point)
        return found

    def _answer(self, found: Searched) -> Answer:
        return answer_of(found.question, self.decided, [found], 1, self.search.judge)

    def _values(self, j: int, side: Axis) -> Range:
        feature = self.features[j]
        if isinstance(side, GridAxis):
            return feature.show(side, side.lower), feature.show(side, side.upper)
        return tuple(feature.show(side, level) for level in side.levels())


def _alone(axis: Axis, index: int) -> Axis:
    """An axis that holds one value."""
    if isinstance(axis, GridAxis):
        return replace(axis, lower=index, upper=index)
    return replace(axis, allowed=1 << index)


def _present(axis: Axis) -> Axis:
    """An axis without "missing", which is no value that a range holds."""
    return axis if axis.lacks else axis.present


def _within(axis: Axis, start: int, radius: Fraction | None) -> Axis:
    """The values nearer than a radius to the start; all of them without one."""
    if radius is None or isinstance(axis, LevelAxis):
        return axis
    limit = radius
    low = farthest_holding(lambda index: axis.delta(index) < limit, start, axis.lower)
    high = farthest_holding(lambda index: axis.delta(index) < limit, start, axis.upper)
    return replace(axis, lower=low, upper=high)
