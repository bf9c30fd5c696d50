"""A point just short of the goal, moved on in its direction until it has it.

In:  a question, a point, and what says whether a point has the goal.
Out: a nearby point that is allowed and has it, or None.
Promise: only a way to points: whether the model has the goal there is for the caller's `accepts` to say.

Bounds enclose some goals (the softmax of several scores), so that the nearest point of what they enclose may lack the
goal by a little. A step on along the way from the start then costs as little more.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from mace.base.deadline import Deadline
from mace.problem.question import Question
from mace.space.axes import GridAxis, Point

STEPS = (*(Fraction(1, 2**k) for k in (32, 28, 24, 20, 16, 13, 10, 8, 6, 5, 4, 3, 2, 1, 0)), Fraction(3), Fraction(15))
"""By how much longer the way may become, for its own length: the shortest first."""
HALVINGS = 6


def onward(
    question: Question, point: Point, accepts: Callable[[Point], bool], within: Fraction | None, deadline: Deadline
) -> Point | None:
    """The nearest point found on the way from the start through a point and beyond that has the goal.

    accepts: whether an allowed point has it.    within: the distance that it must stay below; None for any.
    """

    def tried(longer: Fraction) -> Point | None:
        other = longer_way(question, point, 1 + longer)
        if deadline.over or other == point or within is not None and question.distance_of(other) >= within:
            return None
        return other if question.obeys(other) and accepts(other) else None

    short = Fraction(0)
    for step in STEPS:
        found = tried(step)
        if found is None:
            short = step
            continue
        # Invariant: the way is long enough with `step`, and was not with `short`.
        for _ in range(HALVINGS):
            middle = (short + step) / 2
            nearer = tried(middle)
            found, short, step = (found, middle, step) if nearer is None else (nearer, short, middle)
        return found
    return None


def longer_way(question: Question, point: Point, times: Fraction) -> Point:
    """The point so many times (one and more) as far from the start on every ordered axis, or at the axis's end.

    Where that lies between two values it is the nearer one: a step of a whole number may cost more than the whole way.
    """
    return tuple(
        _farther(axis, index, times) if isinstance(axis, GridAxis) else index
        for axis, index in zip(question.axes, point, strict=True)
    )


def _farther(axis: GridAxis, index: int, times: Fraction) -> int:
    if index == axis.start or axis.missing in (index, axis.start):
        return index
    value = axis.start_value + (axis.value(index) - axis.start_value) * times
    if index > axis.start:
        return axis.last if value >= axis.value(axis.last) else max(index, axis.grid.floor(value))
    return axis.lower if value <= axis.value(axis.lower) else min(index, axis.grid.ceil(value))
