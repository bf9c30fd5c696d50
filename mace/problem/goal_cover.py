"""Pieces of a goal of a mean that leave out what a search has refuted, so that its proof is one about comparisons.

In:  conditions as sums of rising functions, one of each member's score (`mace.problem.goal_rises`), boxes of scores
     that do not meet them (`Refuted`), and all scores that matter.
Out: `cover`, parts of a goal for `mace.problem.goal_means.stated`, of which each leaves out each of these boxes, by an
     end of its piece or by a half-space; or why there are none: so many pieces do not suffice, the time is over, or a
     box is as near to the goal as scores are rounded.
How: a piece is cut down to the scores with which the most of the other members suffices for a condition; that leaves
most boxes out, by the ends of the piece, which are comparisons of single scores. Half-spaces leave out others: they
touch the least concave functions above the members' at the corner of a box that should not be held. Where that does
not do, the piece is cut at the corner. Lines are no wider than pieces, so this ends.
Ends of pieces that leave no box out are not told: a checker looks at every comparison in every box.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.base.exact import UNIT_ROUNDOFF
from mace.base.kept import Kept, Recent
from mace.problem.goal_means import Condition, Half, Part, Piece, whole_of
from mace.problem.goal_rises import Rise, rise_of
from mace.tables.table import Bools, Compare, Ensemble, Floats

_ROOM = 1e-9  # for the rounding of comparisons in a certificate
_TIGHT = 1e-12
_ROUGH = 1e-7  # by how much the concave functions, where they are only looked at, shall miss a condition
_FEW, _MANY = 48, 512  # places at which they are looked at in a piece, and anywhere


class Refuted(NamedTuple):
    """Boxes of scores, shape (boxes, scores) each; ends that nobody knows are infinite."""

    low: Floats
    high: Floats


class Cover(NamedTuple):
    """Parts of a goal, or None and why there are none."""

    parts: list[Part] | None
    why: str = ""


class _Boxes(NamedTuple):
    """The same, and of each the condition that it misses most; corner: where it does, turned as that is."""

    low: Floats
    high: Floats
    side: Floats
    corner: Floats

    def some(self, which: Bools) -> _Boxes:
        """A part of them."""
        return _Boxes(*(one[which] for one in self))


class Corners(NamedTuple):
    """A function that is linear between points."""

    x: list[float]
    y: list[float]


class Member:
    """What one member says at most, as a rising function of its turned score: linear between places, with jumps.

    ends: at a place, no less than on either side of it; most: no less than anywhere below it.
    x, y: the points at which it bends; some of them, where it bends everywhere (`smooth`).
    """

    def __init__(self, at: Floats, left: Floats, right: Floats) -> None:
        self.at, self.ends = at, np.maximum(left, np.concatenate([left[:1], right[:-1]]))
        # Single numbers of arrays of numpy are slow.
        self.places, self.left, self.right, self.most = (
            array("d", one.tobytes()) for one in (at, left, right, np.maximum.accumulate(self.ends))
        )
        slopes = np.diff(self.ends) / np.diff(at)
        bends = np.flatnonzero(np.abs(np.diff(slopes)) > 1e-9 * (1.0 + np.abs(slopes[1:]))) + 1
        self.smooth = len(bends) > _MANY
        kept = np.unique([0, *bends[:: max(1, len(bends) // _MANY)], len(at) - 1])
        self.x, self.y = at[kept].tolist(), self.ends[kept].tolist()
        self._above: Recent[Corners] = Recent(256)  # pieces share most of their ends

    def up_to(self, score: float) -> float:
        """The most at a score or below it."""
        i = bisect_right(self.places, score) - 1
        if i < 0 or i == len(self.places) - 1:
            return self.most[0] if i < 0 else max(self.most[i], self.right[i])
        left, place = self.left[i], self.places[i]
        share = (score - place) / (self.places[i + 1] - place)
        return max(self.most[i], left + share * (self.right[i] - left))

    def least(self, said: float, low: float) -> float:
        """A score, `low` or a place above it, below which it says less than this."""
        i = bisect_left(self.most, said) - 1
        return low if i < 0 else max(low, self.places[i])

    def line(self, slope: float, low: float, high: float) -> float:
        """The least constant with which a line of this slope lies above it between two scores."""
        first, last = bisect_right(self.places, low), bisect_left(self.places, high)
        between = self.ends[first:last] - slope * self.at[first:last]
        return max(self.up_to(low) - slope * low, self.up_to(high) - slope * high, float(between.max(initial=-np.inf)))

    def above(self, low: float, high: float) -> Corners:
        """About the least concave function above it between two scores."""
        return self._above.get((low, high), lambda: self._corners(low, high))

    def _corners(self, low: float, high: float) -> Corners:
        first, last = bisect_right(self.x, low), bisect_left(self.x, high)
        some = slice(first, last, max(1, (last - first) // _FEW) if self.smooth else 1)
        x, y = [low], [self.up_to(low)]
        for a, b in [*zip(self.x[some], self.y[some], strict=True), (high, self.up_to(high))]:
            while len(x) > 1 and (y[-1] - y[-2]) * (a - x[-2]) <= (b - y[-2]) * (x[-1] - x[-2]):
                x.pop()
                y.pop()
            if a > low:
                x.append(a)
                y.append(b)
        return Corners(x, y)


class Side:
    """One condition: which way scores are turned, the members' functions, and what their sum must be at least."""

    def __init__(self, rise: Rise) -> None:
        self.turn, self.need, self.rising = rise.turn, rise.need, (rise.turn > 0).tolist()
        self.members = [
            Member(rise.at[k, :count], rise.left[k, :count], rise.right[k, :count])
            for k, count in enumerate(rise.places.tolist())
        ]

    def corners(self, boxes: Refuted | _Boxes) -> Floats:
        """The turned scores of boxes with which the members say most, shape (boxes, scores)."""
        return np.where(self.turn > 0, boxes.high, -boxes.low)

    def ends(self, piece: Piece) -> list[tuple[float, float]]:
        """The ends of a piece, turned."""
        return [(a, b) if up else (-b, -a) for a, b, up in zip(piece.low, piece.high, self.rising, strict=True)]


_SIDES: Kept[list[Side]] = Kept(4)


def sides_of(table: Ensemble, conditions: Sequence[Condition]) -> list[Side]:
    """The conditions on what a table says."""
    whole = whole_of(table)
    return _SIDES.get(table, tuple(conditions), lambda: [Side(rise_of(table, one, whole)) for one in conditions])


class _Lines(NamedTuple):
    """What the concave functions of a piece say at most, about: their corners, and their sum less what is needed."""

    above: list[Corners]
    over: Floats


def cover(sides: Sequence[Side], refuted: Refuted, whole: Piece, most: int, deadline: Deadline = NEVER) -> Cover:
    """See the module's docstring; most: pieces."""
    done: list[Part] = []
    boxes = _largest(_boxes(sides, refuted))
    todo = [(whole, boxes)]
    # Invariant: the parts and pieces hold together all of `whole` that meets the conditions, and of the boxes a piece
    # has those that its ends do not leave out.
    while todo:
        if deadline.over:
            return Cover(None, f"{deadline.why}, reached before it was written")
        if len(done) + len(todo) > most:
            return Cover(None, f"it would tell the goal by more than {most} pieces")
        piece, inside = todo.pop()
        tight = _tightened(sides, piece)
        if tight is None:
            continue
        inside = inside.some(~_outside(tight, whole, inside))
        if not len(inside.low):
            done.append(_part(tight, whole, [], boxes))
            continue
        lines = [_lines(side, tight, inside) for side in sides]
        halves, number = _halves(sides, tight, inside, lines)
        if number < 0:
            done.append(_part(tight, whole, halves, boxes))
            continue
        parts = _parts(sides, tight, inside, lines, number)
        if parts is None:
            return Cover(None, "some refuted scores of its members are as near to the goal as these are rounded")
        todo += [(part, inside) for part in parts]
    return Cover(done)


def _boxes(sides: Sequence[Side], refuted: Refuted) -> _Boxes:
    """Boxes, and the corners of the conditions that they miss most."""
    corners = np.array([side.corners(refuted) for side in sides])
    missing = [
        sum(np.interp(corners[c, :, k], one.x, one.y) for k, one in enumerate(side.members)) - side.need
        for c, side in enumerate(sides)
    ]
    most, every = np.argmin(missing, axis=0), np.arange(len(refuted.low))
    return _Boxes(refuted.low, refuted.high, most, corners[most, every])


def _largest(boxes: _Boxes) -> _Boxes:
    """Those that lie in no other: what leaves these out leaves out all."""
    size = np.where(np.isfinite(boxes.low), boxes.high - boxes.low, boxes.high).sum(axis=1)
    order = np.argsort(-size, kind="stable")
    low, high = boxes.low[order], boxes.high[order]
    left = np.ones(len(order), np.bool_)
    for number in range(len(order)):
        if left[number]:
            rest = slice(number + 1, None)
            left[rest] &= ~((low[number] <= low[rest]) & (high[rest] <= high[number])).all(axis=1)
    return boxes.some(np.sort(order[left]))


def _tightened(sides: Sequence[Side], piece: Piece) -> Piece | None:
    """The part of a piece that holds what in it meets the conditions: what each member must say at least, if the others
    say the most, it says from some score on. None where nothing meets them."""
    for side in sides:
        ends = side.ends(piece)
        tops = [one.up_to(high) for one, (_, high) in zip(side.members, ends, strict=True)]
        spare = sum(tops) - side.need + _TIGHT
        if spare < 0:
            return None
        for k, (low, high) in enumerate(ends):
            ends[k] = min(side.members[k].least(tops[k] - spare, low), high), high
        ends = [(a, b) if up else (-b, -a) for (a, b), up in zip(ends, side.rising, strict=True)]
        piece = Piece(tuple(a for a, _ in ends), tuple(b for _, b in ends), piece.at)
    return piece


def _outside(piece: Piece, whole: Piece, boxes: _Boxes) -> Bools:
    """The boxes that a piece leaves out by its ends."""
    return np.asarray((_below(piece, whole, boxes) | _beyond(piece, whole, boxes)).any(axis=1))


def _below(piece: Piece, whole: Piece, boxes: _Boxes) -> Bools:
    """Which boxes end below the lower end of a piece, shape (boxes, scores)."""
    low = np.array(piece.low)
    return np.asarray((boxes.high < low - 0.5 * _ROOM * (1 + np.abs(low))) & (low > np.array(whole.low)))


def _beyond(piece: Piece, whole: Piece, boxes: _Boxes) -> Bools:
    """Which boxes begin above its upper end."""
    high = np.array(piece.high)
    return np.asarray((boxes.low > high + 0.5 * _ROOM * (1 + np.abs(high))) & (high < np.array(whole.high)))


def _lines(side: Side, piece: Piece, boxes: _Boxes) -> _Lines:
    """The concave functions of a piece, at the corners of boxes."""
    above = [one.above(*ends) for one, ends in zip(side.members, side.ends(piece), strict=True)]
    corners = side.corners(boxes)
    said = [np.interp(corners[:, k], *one) for k, one in enumerate(above)]
    return _Lines(above, np.sum(said, axis=0) - side.need)


def _halves(sides: Sequence[Side], piece: Piece, boxes: _Boxes, lines: Sequence[_Lines]) -> tuple[list[Half], int]:
    """Half-spaces that leave boxes out, and -1; or some of them, and the box that none leaves out and that reaches
    farthest beyond what the concave functions do."""
    over = np.min([one.over for one in lines], axis=0)
    stays, found = np.ones(len(over), np.bool_), list[Half]()
    while stays.any():
        number = int(np.where(stays, over, -np.inf).argmax())
        if over[number] > -_ROUGH:
            return found, number
        c = int(np.argmin([one.over[number] for one in lines]))
        half = _touching(sides[c], piece, boxes.corner[number], lines[c])
        held = np.ones(len(over), np.bool_) if half is None else _held(half, boxes) > -_ROOM
        if half is None or held[number]:
            return found, number
        found.append(half)
        stays &= held
    return found, -1


def _touching(side: Side, piece: Piece, corner: Floats, lines: _Lines) -> Half | None:
    """The half-space of a piece whose lines touch the concave functions at a corner; None where it says nothing.

    Of a member that reaches beyond the piece a half-space had better say nothing: it would let the box in by that.
    """
    slopes, constant = np.zeros(len(corner)), -side.need
    for k, (one, (x, y), (low, high)) in enumerate(zip(side.members, lines.above, side.ends(piece), strict=True)):
        if corner[k] < high and len(x) > 1:
            i = min(max(bisect_right(x, corner[k]), 1), len(x) - 1)
            slopes[k] = max(0.0, (y[i] - y[i - 1]) / (x[i] - x[i - 1]))
        constant += one.line(float(slopes[k]), low, high)
    size = float(slopes.sum())
    ends = np.maximum(np.abs(piece.low), np.abs(piece.high))
    if size * max(1.0, float(ends.max())) < 1e-9:  # lines that are nearly flat have huge constants
        return None
    constant /= size
    constant += 32 * float(UNIT_ROUNDOFF) * (abs(constant) + float(ends.sum()))
    return Half(slopes / size * side.turn, constant)


def _held(half: Half, boxes: _Boxes) -> Floats:
    """How far boxes reach into a half-space, shape (boxes,)."""
    ends = np.where(half.weights > 0, boxes.high, np.where(half.weights < 0, boxes.low, 0.0))
    return np.asarray(ends @ half.weights + half.constant)


def _part(piece: Piece, whole: Piece, halves: list[Half], boxes: _Boxes) -> Part:
    """The half-spaces of a piece, and of its ends as many as leave out the boxes that these do not."""
    stays = np.ones(len(boxes.low), np.bool_)
    for half in halves:
        stays &= _held(half, boxes) > -_ROOM
    left = boxes.some(stays)
    out = np.hstack([_below(piece, whole, left), _beyond(piece, whole, left)])
    ends: list[Compare] = []
    while out.any():  # the end that leaves out most first
        k = int(out.sum(axis=0).argmax())
        score = k % len(piece.low)
        ends.append(Compare(score, None, piece.low[score]) if k == score else Compare(None, score, -piece.high[score]))
        out = out[~out[:, k]]
    return Part(ends, halves)


def _parts(
    sides: Sequence[Side], piece: Piece, boxes: _Boxes, lines: Sequence[_Lines], number: int
) -> tuple[Piece, Piece] | None:
    """The halves of a piece, cut where a box ends: along a member whose concave function is far above it there, so that
    both halves, cut down, leave out many boxes. None where the box ends nowhere inside."""
    c = int(boxes.side[number])
    side, above = sides[c], lines[c].above
    corners = boxes.corner[np.min([one.over for one in lines], axis=0) > -_ROUGH]
    ends, box = side.ends(piece), boxes.corner[number].tolist()
    tops = [one.up_to(high) for one, (_, high) in zip(side.members, ends, strict=True)]
    spare, found = sum(tops) - side.need, list[tuple[float, float, int, float]]()
    for k, (one, corner, (low, high)) in enumerate(zip(side.members, box, ends, strict=True)):
        place = corner + _ROOM * (1 + abs(corner))
        if low < place < high:
            said = one.up_to(place)
            less = spare - tops[k] + said  # what the others may say less than the most, where this one is below
            least = [one.least(top - less, -np.inf) for one, top in zip(side.members, tops, strict=True)]
            least[k] = -np.inf
            stays = float((corners >= least).all(axis=1).mean()) if less >= 0 and len(corners) else 0.0
            stays += float((corners[:, k] >= place).mean()) if len(corners) else 0.0
            found.append((stays, float(np.interp(corner, *above[k])) - said, k, place))
    if not found:
        return None
    widest = max(max(gap for _, gap, _, _ in found), _TIGHT)
    _, _, k, place = min(found, key=lambda one: one[0] - one[1] / widest)
    return piece.split(k, place if side.rising[k] else -place, piece.at)
