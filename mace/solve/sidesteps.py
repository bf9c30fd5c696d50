"""A first answer close to known ones: a few steps out of the boxes that are excluded.

In:  a question, points that have the goal, and what says whether a point has it.
Out: `beside`: an allowed point with the goal, or None.
Promise: the point is allowed and accepted; whether it is the nearest is for an oracle to say. The next answer of a set
is often the last one with a little more: a search that knows it need not look at what is farther away.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from mace.problem.exclusions import AvoidBox
from mace.problem.question import Question
from mace.space.axes import Axis, Box, GridAxis, Point, holds

MOST_STEPS = 256  # points that are looked at, the nearest first
MOST_ASKED = 48  # of them, about how many the model is asked


def beside(question: Question, known: Iterable[Point], accepts: Callable[[Point], bool]) -> Point | None:
    """The nearest allowed point with the goal among those known and what lies a few steps from them; None without one.

    known: points with the goal, allowed or not. accepts: whether a point that is allowed has the goal.
    """
    given = set(known)
    boxes = [avoid.box for avoid in question.avoid if isinstance(avoid, AvoidBox)]
    waiting: list[tuple[Fraction, Point]] = []
    seen: set[Point] = set()

    def put(point: Point) -> None:
        if point not in seen:
            seen.add(point)
            heapq.heappush(waiting, (question.distance_of(point), point))

    for point in given:
        put(tuple(_into(axis, index) for axis, index in zip(question.axes, point, strict=True)))
    asked = 0
    for _ in range(MOST_STEPS):
        if not waiting or asked == MOST_ASKED:
            return None
        _, point = heapq.heappop(waiting)
        around = next((box for box in boxes if all(map(holds, box, point))), None)
        if around is not None:
            for other in _out_of(question, around, point):
                put(other)
        elif question.obeys(point):
            if point in given or accepts(point):
                return point
            asked += 1
    return None


def _into(axis: Axis, index: int) -> int:
    """The allowed index that is nearest to one, about."""
    if axis.allows(index):
        return index
    if isinstance(axis, GridAxis):
        return min(max(index, axis.lower), axis.upper)
    return min(axis.levels(), key=lambda level: (abs(level - index), level))


def _out_of(question: Question, box: Box, point: Point) -> Iterator[Point]:
    """The points next to a box, each along one axis from a point in it."""
    for j, (axis, side) in enumerate(zip(question.axes, box, strict=True)):
        if isinstance(side, tuple):
            indices = [index for index in (side[0] - 1, side[1] + 1) if axis.allows(index)]
        else:
            assert not isinstance(axis, GridAxis)
            indices = [level for level in axis.levels() if not holds(side, level)]
        for index in indices:
            yield (*point[:j], index, *point[j + 1 :])
