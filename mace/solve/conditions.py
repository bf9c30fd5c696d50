"""Rules and exclusions over boxes: which of them close a box, and where to cut one whose nearest point breaks them.

In:  a question, a box of its axes.
Out: `inside`, `broken`: whether every point of a box is excluded, or breaks a rule; `close_or_cut` for a box with a
     nearest point that is not allowed.
Promise: what closes here closes for a checker by the same rule of proofs/FORMAT.md (`avoid`, `rule`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from mace.base.exact import first_holding
from mace.problem.around import Around
from mace.problem.budget import Budget
from mace.problem.distance import Norm
from mace.problem.exclusions import AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.programs import Rule
from mace.space.axes import Axis, Box, GridAxis, Point, Side, ends, holds

Sliced: TypeAlias = Callable[[int, Side], bool]  # whether a box is closed with this side of a feature


class Closed(NamedTuple):
    """A box that one exclusion or one rule closes."""

    by: Literal["avoid", "rule"]
    number: int


class Cut(NamedTuple):
    """Where to split a box, as `mace.problem.proof.Split`."""

    axis: int
    at: int


def inside(question: Around, number: int, box: Box) -> bool:
    """Whether a box that is not empty lies in an excluded region."""
    match question.avoid[number]:
        case AvoidPoint(point=point):
            return all(set(ends(side)) == {index} for side, index in zip(box, point, strict=True))
        case AvoidChanges(features=features):
            return not any(holds(box[j], question.axes[j].start) for j in features)
        case AvoidNear() as ball:
            return Farthest(question, ball, box).near()
        case AvoidBox(box=avoided):
            return all(_border(side, mine) is None for side, mine in zip(avoided, box, strict=True))


def broken(question: Around, number: int, box: Box) -> bool:
    """Whether no point of a box that is not empty obeys a rule, by interval evaluation."""
    rule = question.rules[number]
    if isinstance(rule, Budget):
        return not rule.can_hold(question.axes, box)
    sides = tuple(box[j] for j in rule.reads.values())
    return rule.known(question.axes).broken.get(sides, lambda: _broken(rule, question.axes, sides))


def _broken(rule: Rule, axes: Sequence[Axis], sides: Sequence[Side]) -> bool:
    """The same, of a rule that is a program, by the sides of the features that it reads."""
    values: dict[str, tuple[Fraction, Fraction] | frozenset[int]] = {}
    for (name, j), side in zip(rule.reads.items(), sides, strict=True):
        axis = axes[j]
        if isinstance(side, tuple):
            values[name] = (axis.value(side[0]), axis.value(side[1]))
        else:
            values[name] = frozenset(ends(side))
    return not rule.can_hold(values)


def close_or_cut(question: Around, box: Box, point: Point, *, edges: bool = False) -> Closed | Cut:
    """What to do with a box whose nearest point, `point`, breaks a rule or is excluded.

    edges: whether the point may lie anywhere in the box. Then a box of which no slice is closed is cut where the rule
           changes its mind: between the point and what obeys the rule beside it.
    """
    for number, avoid in enumerate(question.avoid):
        if question.excluded(avoid, point):
            if inside(question, number, box):
                return Closed("avoid", number)
            if isinstance(avoid, AvoidBox):
                return border(avoid.box, box)
            one_by_one = range(len(box))
            if isinstance(avoid, AvoidNear):
                return _slice(question, box, point, one_by_one, Farthest(question, avoid, box).near_on)
            return _slice(question, box, point, one_by_one, _on(box, partial(inside, question, number)))
    for number, rule in enumerate(question.rules):
        if not rule.holds(question.axes, point):
            if broken(question, number, box):
                return Closed("rule", number)
            axes, closed = sorted(set(rule.reads.values())), partial(broken, question, number)
            return _slice(question, box, point, axes, _on(box, closed), closed if edges else None)
    raise AssertionError("a box whose nearest point is allowed, or changes too much, was handed out as forbidden")


def around(question: Around, box: Box, point: Point) -> list[Cut]:
    """All cuts of a box beside a point that breaks a rule, where the rule would change its mind along one feature."""
    for number, rule in enumerate(question.rules):
        if not rule.holds(question.axes, point):
            axes = sorted(set(rule.reads.values()))
            return [cut for _, cut in _edges(question, box, point, axes, partial(broken, question, number))]
    return []


class RuledOut(NamedTuple):
    """What a rule closes: a half of the box after a cut, or all of it (without a cut)."""

    number: int
    cut: Cut | None
    half: int


def ruled_out(question: Around, box: Box) -> RuledOut | None:
    """What some rule says of the whole box, or of an end of a feature or some of its levels; None if none does."""
    for number, rule in enumerate(question.rules):
        if broken(question, number, box):
            return RuledOut(number, None, 0)
        closed = _on(box, partial(broken, question, number))
        for j in sorted(set(rule.reads.values())):
            side, axis = box[j], question.axes[j]
            if isinstance(side, int):
                levels = ends(side)
                mask = sum(1 << k for k in levels if len(levels) > 1 and closed(j, 1 << k))
                if mask:
                    # Of several levels at once less may be known than of each.
                    whole = mask != side and closed(j, mask)
                    return RuledOut(number, Cut(j, mask if whole else mask & -mask), 0)
                continue
            first, last = side
            if first == last or isinstance(axis, GridAxis) and axis.may_lack:
                continue
            if closed(j, (first, first)):
                return RuledOut(number, Cut(j, _beyond(j, first, last, closed) - 1), 0)
            if closed(j, (last, last)):
                return RuledOut(number, Cut(j, _beyond(j, last, first, closed)), 1)
    return None


class Farthest:
    """How far the points of a box are at most from the middle of an excluded ball.

    Each change is largest at an end of the side, and the norm grows with every change. What each feature adds is kept,
    so that another side of one feature takes no longer than that feature.
    """

    def __init__(self, question: Around, ball: AvoidNear, box: Box) -> None:
        assert isinstance(question.distance, Norm)
        self.question, self.ball, self.norm = question, ball, question.distance
        deltas = [self._delta(j, side) for j, side in enumerate(box)]
        pairs = list(zip(self.norm.charges, deltas, strict=True))
        self.parts, self.tops = [one.part(delta) for one, delta in pairs], [one.top(delta) for one, delta in pairs]
        self.total = sum(self.parts, Fraction(0))
        self.largest = sorted([Fraction(0), *self.tops])[-2:]  # so that one can be taken away

    def _delta(self, j: int, side: Side) -> Fraction:
        """The largest change of a feature."""
        at = self.ball.point[j]
        return max(between(self.question, j, at, index) for index in extremes(self.question.axes[j], side))

    def near(self) -> bool:
        """Whether all of the box is in the ball."""
        return self.total + self.largest[-1] < self.ball.radius

    def near_on(self, j: int, side: Side) -> bool:
        """Whether all of it is, with this side of a feature in the place of its own."""
        total, others = self.total - self.parts[j], self.largest[-1]
        if self.tops[j] == others:
            others = self.largest[0]
        if total + others >= self.ball.radius:
            return False
        charge, delta = self.norm.charges[j], self._delta(j, side)
        return total + charge.part(delta) + max(others, charge.top(delta)) < self.ball.radius


def border(avoided: Box, box: Box) -> Cut:
    """Where to cut a box that reaches beyond an excluded one."""
    borders = (_border(side, mine) for side, mine in zip(avoided, box, strict=True))
    return next(Cut(axis, at) for axis, at in enumerate(borders) if at is not None)


def extremes(axis: Axis, side: Side) -> Sequence[int]:
    """Indices of a side, among which is the farthest one from any other index."""
    return axis.ends(*side) if isinstance(side, tuple) and isinstance(axis, GridAxis) else ends(side)


def between(question: Around, axis: int, one: int, other: int) -> Fraction:
    """The scaled change between two indices of an axis."""
    return replace(question.axes[axis], start=one).delta(other)


def _border(avoided: Side, side: Side) -> int | None:
    """Where to cut a side that reaches beyond an excluded one; None if it does not."""
    if isinstance(avoided, int) or isinstance(side, int):
        assert isinstance(avoided, int) and isinstance(side, int)
        return avoided if side & ~avoided else None
    if side[0] < avoided[0]:
        return avoided[0] - 1
    return avoided[1] if side[1] > avoided[1] else None


def put(box: Box, axis: int, side: Side) -> Box:
    """The box with another side of an axis."""
    return (*box[:axis], side, *box[axis + 1 :])


def _on(box: Box, closed: Callable[[Box], bool]) -> Sliced:
    """Whether a box is closed with another side of one feature."""
    return lambda j, side: closed(put(box, j, side))


def _slice(
    question: Around, box: Box, point: Point, axes: Sequence[int], closed: Sliced,
    edges: Callable[[Box], bool] | None = None,
) -> Cut:  # fmt: skip
    """The cut that takes away the largest slice around a box's nearest point that `closed` accepts.

    If there is no such slice along any single axis, the widest axis is halved; with `edges`, which says of boxes
    whether they are closed, the box is cut where that changes.
    """
    best: tuple[Fraction, int, int] | None = None
    for j in axes:
        axis, side, one = question.axes[j], box[j], point[j]
        if isinstance(side, int):
            levels = ends(side)
            if len(levels) == 1:
                continue
            mask = sum(1 << k for k in levels if closed(j, 1 << k))
            if mask >> one & 1 and mask != side:
                gain = min(axis.delta(k) for k in levels if not mask >> k & 1)
                best = max(best or (Fraction(-1), 0, 0), (gain, j, mask))
            continue
        first, last = side
        # Where the start lies inside the side, the axis is cut there first: see `_halves`.
        if first == last or first < one < last or not closed(j, (one, one)):
            continue
        beyond = _beyond(j, one, last if one == first else first, closed)
        best = max(best or (Fraction(-1), 0, 0), (axis.delta(beyond), j, beyond - 1 if one == first else beyond))
    if best is None and edges is not None:
        return _edge(question, box, point, axes, edges) or _halves(question, box, point, axes)
    return Cut(best[1], best[2]) if best is not None else _halves(question, box, point, axes)


def _edge(question: Around, box: Box, point: Point, axes: Sequence[int], closed: Callable[[Box], bool]) -> Cut | None:
    """The nearest of the cuts between a point and what `closed` leaves open beside it."""
    found = _edges(question, box, point, axes, closed)
    return min(found)[1] if found else None


def _edges(
    question: Around, box: Box, point: Point, axes: Sequence[int], closed: Callable[[Box], bool]
) -> list[tuple[Fraction, Cut]]:
    """The cuts between a point and what `closed` leaves open beside it, as long as the other axes stay at the point.

    Each with the change from the point to what lies beyond it.
    """
    alone, found = box, list[tuple[Fraction, Cut]]()
    for j in axes:
        alone = put(alone, j, 1 << point[j] if isinstance(box[j], int) else (point[j], point[j]))
    if not closed(alone):
        return found
    for j in axes:
        side, one = box[j], point[j]
        if isinstance(side, int):
            levels = ends(side)
            mask = sum(1 << k for k in levels if closed(put(alone, j, 1 << k)))
            if mask != side:
                near = min(between(question, j, one, k) for k in levels if not mask >> k & 1)
                found.append((near, Cut(j, mask)))
            continue
        for end, cut in ((side[0], 0), (side[1], -1)):
            if not closed(put(alone, j, (min(one, end), max(one, end)))):
                beyond = _beyond(j, one, end, _on(alone, closed))
                found.append((between(question, j, one, beyond), Cut(j, beyond + cut)))
    return found


def _beyond(j: int, one: int, end: int, closed: Sliced) -> int:
    """The index nearest to `one`, towards an end, that no closed slice around `one` reaches."""
    way = 1 if end > one else -1

    def opens(steps: int) -> bool:
        to = one + way * steps
        return not closed(j, (min(one, to), max(one, to)))

    return one + way * first_holding(opens, 0, abs(end - one))


def _halves(question: Around, box: Box, point: Point, axes: Sequence[int]) -> Cut:
    """The widest of some axes and its middle, by value; an axis with the start inside is cut there first."""
    widest, chosen = Fraction(-1), Cut(-1, 0)
    for j in axes:
        axis, side, one = question.axes[j], box[j], point[j]
        indices = extremes(axis, side)
        if len(set(indices)) == 1:
            continue
        width = max(between(question, j, one, index) for index in indices)
        if width <= widest:
            continue
        widest = width
        if isinstance(side, int):
            chosen = Cut(j, 1 << one)
            continue
        assert isinstance(axis, GridAxis)
        first, last = side
        if last == axis.missing:
            at = axis.last
        else:
            at = one if first < one < last else axis.grid.floor((axis.value(first) + axis.value(last)) / 2)
        chosen = Cut(j, min(max(at, first), last - 1))
    assert chosen.axis >= 0, "a single point was not closed by what forbids it"
    return chosen
