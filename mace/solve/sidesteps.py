"""A first answer close to known ones: a few steps out of the boxes that are excluded.

In:  a question, points that have the goal, and what says whether a point has it.
Out: `beside`: an allowed point with the goal, or None.
Promise: the point is allowed and accepted; whether it is the nearest is for an oracle to say. The next answer of a set
is often the last one with a little more: a search that knows it need not look at what is farther away.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

from mace.base.exact import nearest
from mace.problem.distance import Norm
from mace.problem.exclusions import AvoidBox
from mace.problem.question import Question
from mace.space.axes import Axis, Box, GridAxis, Point, holds

MOST_STEPS = 512  # points that are looked at, the nearest first
MOST_ASKED = 32  # of them, about how many the model is asked
MOST_ALIKE = (
    3  # of them, how many take the same back of what the same known point changes, after which none has the goal
)
ROUNDING = 1e-9  # of a distance, in floats

_Back: TypeAlias = tuple[Point, tuple[int, ...]]  # a known point, and the axes on which a step led back to the start


def beside(
    question: Question, known: Iterable[Point], accepts: Callable[[Point], bool], least: Fraction = Fraction(0)
) -> Point | None:
    """An allowed point with the goal, the nearest among those known and what lies a few steps from them.

    known: points with the goal, allowed or not. accepts: whether a point that is allowed has the goal.
    least: no point that is nearer has it, so that the model need not be asked. None without a point.
    """
    given, seen = set(known), set[Point]()
    boxes = [avoid.box for avoid in question.avoid if isinstance(avoid, AvoidBox)]
    far, asked, hopeless = _Far(question), 0, nearest(least) * (1 - ROUNDING)
    waiting: list[tuple[float, Point, _Back]] = []
    in_vain: Counter[_Back] = Counter()

    def put(point: Point, back: _Back) -> None:
        if point not in seen:
            seen.add(point)
            heapq.heappush(waiting, (far(point), point, back))

    for point in sorted(given):
        allowed = tuple(_into(axis, index) for axis, index in zip(question.axes, point, strict=True))
        put(allowed, (allowed, ()))
    for _ in range(MOST_STEPS):
        if not waiting or asked == MOST_ASKED:
            return None
        distance, point, back = heapq.heappop(waiting)
        around = next((box for box in boxes if all(map(holds, box, point))), None)
        if around is not None:
            for j, other in _out_of(question, around, point):
                nearer = far(other) < distance
                put(other, (back[0], tuple(sorted({*back[1], j}))) if nearer else back)
        elif distance >= hopeless and in_vain[back] < MOST_ALIKE and question.obeys(point):
            if point in given or accepts(point):
                return point
            asked += 1
            in_vain[back] += bool(back[1])
    return None


class _Far:
    """About how far points are, in floats: of a norm each change is worked out once."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.costs: list[dict[int, tuple[float, float]]] = [{} for _ in question.axes]

    def __call__(self, point: Point) -> float:
        if not isinstance(self.question.distance, Norm):
            return nearest(self.question.distance_of(point))
        total = top = 0.0
        for j, index in enumerate(point):
            costs = self.costs[j]
            if index not in costs:
                charge, delta = self.question.distance.charges[j], self.question.axes[j].delta(index)
                costs[index] = nearest(charge.part(delta)), nearest(charge.top(delta))
            total, top = total + costs[index][0], max(top, costs[index][1])
        return total + top


def _into(axis: Axis, index: int) -> int:
    """The allowed index that is nearest to one, about."""
    if axis.allows(index):
        return index
    if isinstance(axis, GridAxis):
        return min(max(index, axis.lower), axis.upper)
    return min(axis.levels(), key=lambda level: (abs(level - index), level))


def _out_of(question: Question, box: Box, point: Point) -> Iterator[tuple[int, Point]]:
    """The points next to a box, each along one axis, which is said, from a point in it."""
    for j, (axis, side) in enumerate(zip(question.axes, box, strict=True)):
        if isinstance(side, tuple):
            indices = [index for index in (side[0] - 1, side[1] + 1) if axis.allows(index)]
        else:
            assert not isinstance(axis, GridAxis)
            indices = [level for level in axis.levels() if not holds(side, level)]
        for index in indices:
            yield j, (*point[:j], index, *point[j + 1 :])
