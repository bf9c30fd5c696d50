"""Regions of the space that are bounded one by one, and the least sum of K points in regions that go together.

In:  boxes with a bound each, and the conditions on any two answers of a set.
Out: whether points of two boxes may meet the conditions (`may_meet`), and a set of regions with the least sum of
     bounds (`cheapest`); boxes in which no two points do, around a point (`around`), and smaller ones (`closer`).
Promise: `may_meet` is false only where no two points of the boxes meet the conditions, and exact for single points; so
the least sum of bounds over regions that go together bounds every set of answers. proofs/kernel/sets.py repeats both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import NamedTuple

from mace.base.bits import members
from mace.base.deadline import Deadline
from mace.base.exact import farthest_holding
from mace.problem.distance import Charge, Norm
from mace.problem.diversity import Diversity
from mace.problem.question import Question
from mace.solve.conditions import between, extremes
from mace.space.axes import Axis, Box, GridAxis, Point, Side, ends, holds, index_alone, is_single, whole

MOST_SIDES = 16  # boxes of one set of changed features that are bounded at once: grids go up or down
_LOOK = 4096  # steps of a choice between two looks at the clock


class Region(NamedTuple):
    """A box, without what is in the regions before it: nothing in it is nearer than `lower`, and `point` is at `upper`.

    lower: None where it has no point with the goal.
    point: one with the goal in it, outside the regions before it; None if none is known.
    """

    box: Box
    lower: Fraction | None
    point: Point | None


def single(box: Box) -> bool:
    """Whether a box is one point."""
    return all(map(is_single, box))


def only(point: Point, axes: Sequence[Axis]) -> Box:
    """The box of one point."""
    return tuple(index_alone(axis, index) for axis, index in zip(axes, point, strict=True))


# --- pairs -----------------------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """What all points of a box have in common.

    changed: for each axis whether they change it; None where they are not at one about that.
    values:  (axis, index) of every change that all of them make.
    """

    changed: tuple[bool, ...] | None
    values: frozenset[tuple[int, int]]


def held(axes: Sequence[Axis], box: Box) -> Held:
    """What all points of a box have in common."""
    changed = [_moved(axis, side) for axis, side in zip(axes, box, strict=True)]
    values = frozenset((j, ends(box[j])[0]) for j, moved in enumerate(changed) if moved and single((box[j],)))
    return Held(None if None in changed else tuple(map(bool, changed)), values)


def may_meet(
    question: Question, diversity: Diversity, one: Box, other: Box, common: tuple[Held, Held] | None = None
) -> bool:
    """Whether some point of one box and some point of another may stand in one set.

    common: what `held` says of the two, where it is known.
    """
    if one == other and single(one):
        return False
    if diversity.features or diversity.values:
        first, second = common or (held(question.axes, one), held(question.axes, other))
        if diversity.features and first.changed is not None and first.changed == second.changed:
            return False
        if diversity.values and first.values & second.values:
            return False
    if diversity.apart is None:
        return True
    farthest = farthest_apart(question, one, other)
    return farthest is None or farthest >= diversity.apart


def most_worth(question: Question, diversity: Diversity, one: Box, other: Box) -> Fraction:
    """What the differences of a point of one box and of a point of another are worth at most; exact for two points."""
    total = Fraction(0)
    for axis, a, b in zip(question.axes, one, other, strict=True):
        stays, moves = (holds(a, axis.start), holds(b, axis.start)), (_moved(axis, a), _moved(axis, b))
        may = [moved is not False for moved in moves]
        worth = Fraction(0)
        if stays[0] and may[1] or stays[1] and may[0]:
            worth = diversity.by_features + diversity.by_values
        if all(may) and (a != b or not single((_without(axis, a),))):
            worth = max(worth, 2 * diversity.by_values)
        total += worth
    return total


def _without(axis: Axis, side: Side) -> Side:
    """A side without the start where that is at its end; as it is where the start is not in it, or well inside."""
    if isinstance(side, int):
        return side & ~(1 << axis.start)
    low, high = side
    return (low + (low == axis.start), high) if low == axis.start else (low, high - (high == axis.start))


def farthest_apart(question: Question, one: Box, other: Box) -> Fraction | None:
    """The largest distance between a point of one box and a point of another; None where nothing bounds it."""
    if not isinstance(question.distance, Norm):
        if single(one) and single(other):
            points = (tuple(ends(side)[0] for side in box) for box in (one, other))
            return question.distance_between(*points)
        return None
    deltas = [
        max(between(question, j, i, k) for i in extremes(axis, a) for k in extremes(axis, b))
        for j, (axis, a, b) in enumerate(zip(question.axes, one, other, strict=True))
    ]
    return question.distance.of(deltas)


def apart_beyond(question: Question, apart: Fraction, point: Point) -> Box:
    """A box outside of which every point is so far from a point: one axis alone makes it so."""
    assert isinstance(question.distance, Norm)
    sides: list[Side] = []
    for j, (axis, index) in enumerate(zip(question.axes, point, strict=True)):
        charge = question.distance.charges[j]

        def near(i: int, j: int = j, index: int = index, charge: Charge = charge) -> bool:
            return charge.least(between(question, j, index, i)) < apart

        if isinstance(axis, GridAxis):
            low, high = axis.lower, axis.upper
            sides.append((farthest_holding(near, index, low), farthest_holding(near, index, high)))
        else:
            sides.append(sum(1 << level for level in range(axis.count) if near(level)))
    return tuple(sides)


def _moved(axis: Axis, side: Side) -> bool | None:
    """Whether all of a side is a change, or nothing of it; None if it has both."""
    if not holds(side, axis.start):
        return True
    return False if single((side,)) else None


# --- boxes around a point --------------------------------------------------------------------------------------------


def around(question: Question, diversity: Diversity, point: Point) -> list[Box]:
    """Boxes that are worth a bound of their own, once a point was found; the first one holds it.

    Where differences are worth something: as where sets of changed features must differ.
    Where values must differ: all points with the point's value on the axis whose next value costs the most. Where sets
    of changed features must: all points that change the same ones, one box for each way that grids can go, if these
    are not too many. Where distance alone counts: a box with no two such points.
    """
    changed = question.changed(point)
    if diversity.values and changed and not diversity.soft:
        wide = whole(question.axes)
        return [fixed(question, wide, j, point[j]) for j in [dearest(question, changed, point)]]
    if diversity.features or diversity.values or diversity.soft:
        sides = [list(_sides(axis, index)) for axis, index in zip(question.axes, point, strict=True)]
        ways = 1
        for choice in sides:
            ways *= len(choice)
        if ways > MOST_SIDES:
            sides = [choice[:1] for choice in sides]
        return list(product(*sides))
    box = only(point, question.axes)
    if diversity.apart is None:
        return [box]
    wide = whole(question.axes)
    return [closer(question, diversity, wide, point, wide, point)[0]]


def dearest(question: Question, axes: Iterable[int], point: Point) -> int:
    """Of axes that a point changes the one whose next value costs the most more: without its value a region is bounded
    best."""
    return max(axes, key=lambda j: (_step(question, j, point[j]), -j))


def _step(question: Question, j: int, index: int) -> Fraction:
    """How much more the next value of an axis costs, about; of levels, and at the end of a grid, more than any step."""
    axis = question.axes[j]
    beyond = index + (1 if index > axis.start else -1)
    if not isinstance(axis, GridAxis) or not axis.allows(beyond):
        return Fraction(2)
    delta, norm = between(question, j, index, beyond), question.distance
    return norm.charges[j].least(delta) if isinstance(norm, Norm) else delta


def _sides(axis: Axis, index: int) -> Iterator[Side]:
    """What an axis may take where it changes as at an index, the part with the index first."""
    if index == axis.start:
        yield index_alone(axis, index)
    elif isinstance(axis, GridAxis):
        parts = [(axis.lower, min(axis.start - 1, axis.upper)), (max(axis.start + 1, axis.lower), axis.upper)]
        yield from sorted((p for p in parts if p[0] <= p[1]), key=lambda part: not holds(part, index))
    else:
        yield axis.allowed & ~(1 << axis.start)


def closer(
    question: Question, diversity: Diversity, one: Box, point: Point, other: Box, second: Point
) -> tuple[Box, Box]:
    """Parts of two boxes (or twice of one) around a point of each, as large as halving finds them, that do not meet."""
    way = 2
    while True:
        part = _part(question.axes, one, point, way)
        beside = part if one == other and point == second else _part(question.axes, other, second, way)
        if single(part) and single(beside) or not may_meet(question, diversity, part, beside):
            return part, beside
        way *= 2


def _part(axes: Sequence[Axis], box: Box, point: Point, parts: int) -> Box:
    return tuple(_shrunk(axis, side, index, parts) for axis, side, index in zip(axes, box, point, strict=True))


def fixed(question: Question, box: Box, axis: int, index: int) -> Box:
    """The part of a box with one index on an axis."""
    return (*box[:axis], index_alone(question.axes[axis], index), *box[axis + 1 :])


def changing_alike(question: Question, box: Box, point: Point) -> Box:
    """The part of a box that changes the same features as a point in it, grids in the same direction."""
    return tuple(
        _both(side, next(_sides(axis, index))) for axis, side, index in zip(question.axes, box, point, strict=True)
    )


def _both(one: Side, other: Side) -> Side:
    """What two sides of an axis have in common."""
    if isinstance(one, int) or isinstance(other, int):
        assert isinstance(one, int) and isinstance(other, int)
        return one & other
    return max(one[0], other[0]), min(one[1], other[1])


def _shrunk(axis: Axis, side: Side, index: int, parts: int) -> Side:
    """A part of a side around an index: one in so many of a grid's indices, of levels that index alone."""
    if isinstance(side, int) or not isinstance(axis, GridAxis) or axis.missing == index:
        return index_alone(axis, index)
    last = min(side[1], axis.last)
    return index - (index - side[0]) // parts, index + (last - index) // parts


# --- the choice ------------------------------------------------------------------------------------------------------


def cheapest(
    bounds: Sequence[Fraction],
    goes: Sequence[int],
    count: int,
    below: Fraction | None,
    deadline: Deadline,
    worth: Sequence[Sequence[Fraction]] | None = None,
) -> list[int] | None:
    """`count` numbers of bounds, in order, with the least sum; None if no sum that is allowed is less than `below`.

    goes:  for every number a mask of those that it goes with; itself among them where it may be taken more than once.
    worth: what is taken off the sum for every two that are taken.
    Raises TimeOverError.
    """
    order, cost, mask, limit, off = _whole(bounds, goes, below, worth)
    most = max((max(row) for row in off), default=0) if off else 0
    best: list[int] | None = None
    steps = 0

    def extend(chosen: list[int], left: int, total: int) -> None:
        nonlocal best, limit, steps
        need = count - len(chosen)
        if not need:
            if limit is None or total < limit:
                best, limit = chosen, total
            return
        spare = most * (need * (need - 1) // 2 + need * len(chosen))
        while left:
            n = (left & -left).bit_length() - 1
            if limit is not None and total + need * cost[n] - spare >= limit:
                return
            steps += 1
            if steps % _LOOK == 0:
                deadline.look("choosing a set")
            gain = 0 if off is None else sum(off[n][m] for m in chosen)
            extend([*chosen, n], left & mask[n], total + cost[n] - gain)
            left &= left - 1  # from here on without it: a set is chosen in order, once

    extend([], (1 << len(order)) - 1, 0)
    return None if best is None else [order[n] for n in best]


class _Whole(NamedTuple):
    """A choice in whole numbers, the cheapest first: which number each was, and what `cheapest` is given."""

    order: list[int]
    cost: list[int]
    mask: list[int]
    limit: int | None
    off: list[list[int]] | None


def _whole(
    bounds: Sequence[Fraction], goes: Sequence[int], below: Fraction | None, worth: Sequence[Sequence[Fraction]] | None
) -> _Whole:
    """A choice in whole numbers, in units of which all that is given are multiples."""
    numbers = [*bounds, *([] if below is None else [below]), *(w for row in worth or () for w in row)]
    common = lcm(*(number.denominator for number in numbers))
    order = sorted(range(len(bounds)), key=lambda k: bounds[k])
    place = {k: n for n, k in enumerate(order)}
    return _Whole(
        order,
        [int(bounds[k] * common) for k in order],
        [sum(1 << place[j] for j in members(goes[k])) for k in order],
        None if below is None else int(below * common),
        None if worth is None else [[int(worth[k][j] * common) for j in order] for k in order],
    )
