"""Pieces of a goal of a mean that leave out what a search has refuted, so that its proof is one about comparisons.

In:  a link that is a mean, conditions, boxes of scores that do not meet them (`Refuted`), and all scores that matter.
Out: `cover`, pieces for `mace.problem.goal_means.covered`, of which each leaves out each of these boxes, by its own
     ends or by its half-space; None where so many pieces do not suffice, or the time is over.
How: where the half-space of a piece holds the corner of a box that it should not, it is moved to touch the members'
functions there; where that does not do, the piece is cut at the corner. Lines are no wider than pieces, so this ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.problem.goal_means import Condition, Half, Piece, half_spaces, is_rising, most_of, over
from mace.tables.table import Bools, Floats, Link

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


def cover(
    link: Link, conditions: Sequence[Condition], refuted: Refuted, whole: Piece, most: int, deadline: Deadline = NEVER
) -> list[Piece] | None:
    """See the module's docstring; most: pieces."""
    done: list[Piece] = []
    todo = [(whole, _boxes(link, conditions, refuted))]
    # Invariant: the pieces hold together all of `whole` that meets the conditions.
    while todo:
        if len(done) + len(todo) > most or deadline.over:
            return None
        piece, boxes = todo.pop()
        boxes = boxes.some(~_outside(piece, whole, boxes))
        halves = half_spaces(link, conditions, piece)
        if halves is None:
            continue
        held = _held(halves, boxes)
        if (held > -_ROOM).any():
            worst = int(held.argmax())
            piece = piece._replace(at=_corner(boxes, worst, piece))
            halves = half_spaces(link, conditions, piece)
            if halves is None:
                continue
            held = _held(halves, boxes)
        if not (held > -_ROOM).any():
            done.append(piece)
            continue
        parts = _parts(link, conditions, piece, boxes, int(held.argmax()))
        if parts is None:
            return None
        todo += [(part, boxes) for part in parts]
    return done


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
    """The place in a piece that is nearest to the corner of a box."""
    return tuple(np.clip(boxes.corner[number], piece.low, piece.high).tolist())


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
