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

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mace.base.cache import Kept
from mace.base.deadline import NEVER, Deadline
from mace.problem.goal_means import Condition, Half, Part, Piece, whole_of
from mace.problem.goal_rises import Rise, rise_of
from mace.solve.ensembles.arrays.cuts import Array
from mace.tables.table import Bools, Compare, Ensemble, Floats

if TYPE_CHECKING:
    from mace.solve.ensembles.means import pieces
    from mace.solve.ensembles.means.functions import Functions
    from mace.solve.ensembles.means.pieces import PieceFindings, ScoreBoxes

_MANY = 512  # places at which functions that bend everywhere are looked at


class Refuted(NamedTuple):
    """Boxes of scores, shape (boxes, scores) each; ends that nobody knows are infinite."""

    low: Floats
    high: Floats


class Cover(NamedTuple):
    """Parts of a goal, or None and why there are none."""

    parts: list[Part] | None
    why: str = ""


_FUNCTIONS: Kept[Functions] = Kept(4)


def functions_of(table: Ensemble, conditions: Sequence[Condition]) -> Functions:
    """The conditions on what a table says."""
    whole = whole_of(table)
    return _FUNCTIONS.get(
        table, tuple(conditions), lambda: functions_from([rise_of(table, one, whole) for one in conditions])
    )


def functions_from(rises: Sequence[Rise]) -> Functions:
    """Conditions as sums of rising functions, one of each member's score."""
    from mace.solve.ensembles.means.functions import Functions

    turn, count, at, left, right = _stacked(
        [(one.turn, one.places.astype(np.int64), one.at, one.left, one.right) for one in rises]
    )
    ends = np.maximum(left, np.concatenate([left[..., :1], right[..., :-1]], axis=-1))
    points = [
        [_points(at[c, k, :many], ends[c, k, :many]) for k, many in enumerate(row)] for c, row in enumerate(count)
    ]
    most = max(len(found) for row in points for found, _ in row)
    places = np.array([[np.pad(found, (0, most - len(found)), mode="edge") for found, _ in row] for row in points])
    return Functions(
        turn, np.array([one.need for one in rises]), count, at, left, right, ends,
        np.maximum.accumulate(ends, axis=-1), np.array([[len(found) for found, _ in row] for row in points]),
        np.take_along_axis(at, places, axis=-1), np.take_along_axis(ends, places, axis=-1),
        np.array([[smooth for _, smooth in row] for row in points]),
    )  # fmt: skip


def _stacked(rows: Sequence[tuple[Array, ...]]) -> list[Array]:
    """Arrays of the same kind, padded to the longest, on top of each other."""
    found = []
    for group in zip(*rows, strict=True):
        most = max(one.shape[-1] for one in group)
        padded = [np.pad(one, [(0, 0)] * (one.ndim - 1) + [(0, most - one.shape[-1])], mode="edge") for one in group]
        found.append(np.array(padded))
    return found


def _points(at: Floats, ends: Floats) -> tuple[Floats, bool]:
    """Where a function bends, some of these places where it bends everywhere, and whether it does."""
    slopes = np.diff(ends) / np.diff(at)
    bends = np.flatnonzero(np.abs(np.diff(slopes)) > 1e-9 * (1.0 + np.abs(slopes[1:]))) + 1
    return np.unique([0, *bends[:: max(1, len(bends) // _MANY)], len(at) - 1]), len(bends) > _MANY


def cover(functions: Functions, refuted: Refuted, whole: Piece, most: int, deadline: Deadline = NEVER) -> Cover:
    """See the module's docstring; most: pieces."""
    from mace.solve.ensembles.means import pieces

    done: list[Part] = []
    boxes = _boxes(functions, refuted)
    found, all_ = _room(functions, boxes), pieces.Piece(np.array(whole.low), np.array(whole.high))
    todo = [(pieces.Piece(all_.low.copy(), all_.high.copy()), np.ones(len(boxes.side), np.bool_))]
    # Invariant: the parts and pieces hold together all of `whole` that meets the conditions, and of the boxes a piece
    # has those that its ends do not leave out.
    while todo:
        if deadline.over:
            return Cover(None, f"{deadline.why}, reached before it was written")
        if len(done) + len(todo) > most:
            return Cover(None, f"it would tell the goal by more than {most} pieces")
        piece, inside = todo.pop()
        ended = pieces.look(functions, boxes, piece, all_, inside, found)
        if ended == pieces.TOLD:
            done.append(_part(piece, found))
        elif ended == pieces.CUT:
            todo += _halves(piece, inside, int(found.told[pieces.MEMBER]), float(found.place[0]))
        elif ended == pieces.STUCK:
            return Cover(None, "some refuted scores of its members are as near to the goal as these are rounded")
    return Cover(done)


def _boxes(functions: Functions, refuted: Refuted) -> ScoreBoxes:
    """Boxes of which none lies in another, what leaves these out leaves out all; and where they are nearest to the
    conditions."""
    from mace.solve.ensembles.means.pieces import ScoreBoxes, outermost

    low, high = refuted.low.T, refuted.high.T
    order = np.argsort(-np.where(np.isfinite(low), high - low, high).sum(axis=0), kind="stable")
    kept = np.sort(order[outermost(np.ascontiguousarray(low[:, order]), np.ascontiguousarray(high[:, order]))])
    low, high = np.ascontiguousarray(low[:, kept]), np.ascontiguousarray(high[:, kept])
    corners = np.where(functions.turn[:, :, None] > 0, high, -low)
    x, y = functions.x, functions.y
    missing = np.array([
        sum(np.interp(own[k], x[c, k, :count], y[c, k, :count]) for k, count in enumerate(functions.points[c]))
        - functions.need[c]
        for c, own in enumerate(corners)
    ])  # fmt: skip
    side = missing.argmin(axis=0)
    corner = np.ascontiguousarray(corners[side, :, np.arange(len(kept))].T)
    return ScoreBoxes(low, high, side, corner, corners)


def _room(functions: Functions, boxes: ScoreBoxes) -> PieceFindings:
    from mace.solve.ensembles.means.pieces import PieceFindings

    conditions, members, points = functions.x.shape
    count = len(boxes.side)
    x, y = (np.zeros((conditions, members, points + 2)) for _ in range(2))
    return PieceFindings(
        np.zeros(3, np.int64), np.zeros(1), np.zeros((count, members)), np.zeros(count),
        np.zeros(2 * members, np.int64), x, y, np.zeros((conditions, members), np.int64), np.zeros((conditions, count)),
    )  # fmt: skip


def _part(piece: pieces.Piece, found: PieceFindings) -> Part:
    """What is told of a piece: half-spaces, and as many of its ends as leave out the boxes that these do not."""
    from mace.solve.ensembles.means.pieces import ENDS, HALVES

    members, halves = len(piece.low), int(found.told[HALVES])
    ends = [
        Compare(end, None, float(piece.low[end]))
        if end < members
        else Compare(None, end - members, -float(piece.high[end - members]))
        for end in found.ends[: found.told[ENDS]].tolist()
    ]
    told = zip(found.weights[:halves].copy(), found.constant[:halves].tolist(), strict=True)
    return Part(ends, [Half(weights, constant) for weights, constant in told])


def _halves(piece: pieces.Piece, inside: Bools, member: int, place: float) -> list[tuple[pieces.Piece, Bools]]:
    """The two halves of a piece, each with the boxes of both."""
    below, above = (piece._replace(low=piece.low.copy(), high=piece.high.copy()) for _ in range(2))
    below.high[member] = above.low[member] = place
    return [(below, inside), (above, inside.copy())]
