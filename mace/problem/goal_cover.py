"""Pieces of a goal of a mean that leave out what a search has refuted, so that its proof is one about comparisons.

In:  a link that is a mean, conditions, boxes of scores that do not meet them (`Refuted`), and all scores that matter.
Out: `cover`, parts of a goal for `mace.problem.goal_means.stated`, of which each leaves out each of these boxes, by an
     end of its piece or by a half-space; or why there are none: so many pieces do not suffice, the time is over, or a
     box is as near to the goal as scores are rounded.
How: where the half-spaces of a piece hold the corner of a box that they should not, one more touches the members'
functions there; where that does not do, the piece is cut at the corner. Lines are no wider than pieces, so this ends.
Ends of pieces that leave no box out are not told: a checker looks at every comparison in every box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.problem.goal_means import Condition, Half, Part, Piece, half_spaces, is_rising, most_of, over
from mace.tables.table import Bools, Compare, Floats, Link

_ROOM = 1e-9  # for the rounding of half-spaces in a certificate
_TIGHT = 1e-12


class Refuted(NamedTuple):
    """Boxes of scores, shape (boxes, scores) each; ends that nobody knows are infinite."""

    low: Floats
    high: Floats


class _Boxes(NamedTuple):
    """The same, and of each the corner at which it misses a condition; turn: 1 where that is the upper end, else -1."""

    low: Floats
    high: Floats
    corner: Floats
    turn: Floats

    def some(self, which: Bools) -> _Boxes:
        """A part of them."""
        return _Boxes(*(one[which] for one in self))


def _boxes(link: Link, conditions: Sequence[Condition], refuted: Refuted) -> _Boxes:
    """Boxes, and the corners of the conditions that they miss most."""
    turns, corners, missing = [], [], []
    for sign, bound in conditions:
        turn = np.array([1.0 if is_rising(part) == (sign > 0) else -1.0 for part in link.parts])
        corner = np.where(turn > 0, refuted.high, refuted.low)
        said = np.array([most_of(part, sign, corner[:, k]) for k, part in enumerate(link.parts)])
        missing.append(said.sum(axis=0) - len(link.parts) * bound)
        corners.append(corner)
        turns.append(np.tile(turn, (len(corner), 1)))
    most, every = np.argmin(missing, axis=0), np.arange(len(refuted.low))
    return _Boxes(refuted.low, refuted.high, np.array(corners)[most, every], np.array(turns)[most, every])


class Cover(NamedTuple):
    """Parts of a goal, or None and why there are none."""

    parts: list[Part] | None
    why: str = ""


def cover(
    link: Link, conditions: Sequence[Condition], refuted: Refuted, whole: Piece, most: int, deadline: Deadline = NEVER
) -> Cover:
    """See the module's docstring; most: pieces."""
    done: list[Part] = []
    todo = [(whole, _largest(_boxes(link, conditions, refuted)))]
    # Invariant: the parts and pieces hold together all of `whole` that meets the conditions.
    while todo:
        if deadline.over:
            return Cover(None, f"{deadline.why}, reached before it was written")
        if len(done) + len(todo) > most:
            return Cover(None, f"it would tell the goal by more than {most} pieces")
        piece, boxes = todo.pop()
        touched = _touched(link, conditions, piece, boxes.some(~_outside(piece, whole, boxes)))
        if touched is None:
            continue
        if not len(touched.left.low):
            done.append(_part(piece, whole, touched.halves, boxes))
            continue
        parts = _parts(link, conditions, piece._replace(at=touched.at), touched.left, touched.worst)
        if parts is None:
            return Cover(None, "some refuted scores of its members are as near to the goal as these are rounded")
        todo += [(part, boxes) for part in parts]
    return Cover(done)


def _largest(boxes: _Boxes) -> _Boxes:
    """Those that lie in no other: what leaves these out leaves out all."""
    size = np.where(np.isfinite(boxes.low), boxes.high - boxes.low, boxes.high).sum(axis=1)
    kept: list[int] = []
    for number in np.argsort(-size, kind="stable").tolist():
        inside = (boxes.low[kept] <= boxes.low[number]) & (boxes.high[number] <= boxes.high[kept])
        if not inside.all(axis=1).any():
            kept.append(number)
    which = np.zeros(len(size), np.bool_)
    which[kept] = True
    return boxes.some(which)


class _Touched(NamedTuple):
    """Half-spaces of a piece, each of which leaves some box out; the boxes that none does, and of these the one that
    reaches farthest into the half-space that touches the members at a place."""

    halves: list[Half]
    left: _Boxes
    at: tuple[float, ...]
    worst: int


def _touched(link: Link, conditions: Sequence[Condition], piece: Piece, boxes: _Boxes) -> _Touched | None:
    """Half-spaces that touch the members at the corners of boxes, as long as they leave these out; None where nothing
    in the piece meets the conditions."""
    kept: list[Half] = []
    worst = -1
    while True:
        halves = half_spaces(link, conditions, piece)
        if halves is None:
            return None
        held = _held(halves, boxes)
        stays = held > -_ROOM
        if not stays.all():
            kept += [half for half in halves if (_held([half], boxes) <= -_ROOM).any()]
        elif worst >= 0 or not len(held):
            return _Touched(kept or halves, boxes, piece.at, worst)
        if worst >= 0 and stays[worst]:
            return _Touched(kept, boxes.some(stays), piece.at, int(stays[:worst].sum()))
        boxes = boxes.some(stays)
        if not len(boxes.low):
            return _Touched(kept, boxes, piece.at, -1)
        worst = int(held[stays].argmax())
        piece = piece._replace(at=_corner(boxes, worst, piece))


def _part(piece: Piece, whole: Piece, halves: list[Half], boxes: _Boxes) -> Part:
    """The half-spaces of a piece, and of its ends as many as leave out the boxes that these do not."""
    left = boxes.some(_held(halves, boxes) > -_ROOM)
    ends: list[Compare] = []
    for k, (low, high) in enumerate(zip(piece.low, piece.high, strict=True)):
        for end, out in (
            (Compare(k, None, low), (left.high[:, k] < low) & (low > whole.low[k])),
            (Compare(None, k, -high), (left.low[:, k] > high) & (high < whole.high[k])),
        ):
            if out.any():
                ends.append(end)
    return Part(ends, halves)


def _outside(piece: Piece, whole: Piece, boxes: _Boxes) -> Bools:
    """The boxes that a piece leaves out by its ends."""
    low, high = np.array(piece.low), np.array(piece.high)
    above = (boxes.high < low) & (low > np.array(whole.low))
    below = (boxes.low > high) & (high < np.array(whole.high))
    return np.asarray((above | below).any(axis=1))


def _held(halves: Sequence[Half], boxes: _Boxes) -> Floats:
    """How far boxes reach into what half-spaces hold together, shape (boxes,)."""
    found = np.full(len(boxes.low), np.inf)
    for half in halves:
        ends = np.where(half.weights > 0, boxes.high, np.where(half.weights < 0, boxes.low, 0.0))
        found = np.minimum(found, ends @ half.weights + half.constant)
    return found


def _corner(boxes: _Boxes, number: int, piece: Piece) -> tuple[float, ...]:
    """The place in a piece that is nearest to the corner of a box.

    Of a member that reaches beyond the piece a half-space had better say nothing: it would let the box in by that.
    """
    corner, turn = boxes.corner[number], boxes.turn[number]
    beyond = np.where(turn > 0, corner > piece.high, corner < piece.low)
    return tuple(np.where(beyond, np.inf, np.clip(corner, piece.low, piece.high)).tolist())


def _parts(
    link: Link, conditions: Sequence[Condition], piece: Piece, boxes: _Boxes, number: int
) -> tuple[Piece, Piece] | None:
    """The halves of a piece, cut where a box ends along the member whose line is farthest above it there."""
    at, gaps, places = _corner(boxes, number, piece), [], []
    for k, part in enumerate(link.parts):
        corner = float(boxes.corner[number, k])
        place = corner + float(boxes.turn[number, k]) * _ROOM * (1 + abs(corner))
        inside = piece.low[k] < place < piece.high[k]
        gaps.append(max(over(part, one, piece, at, k) for one in conditions) if inside else 0.0)
        places.append(place)
    worst = int(np.argmax(gaps))
    return piece.split(worst, places[worst], at) if gaps[worst] > _TIGHT else None
