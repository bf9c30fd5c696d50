"""Whether some input of a box has outputs that reach given levels: branch and bound on the inputs.

In:  a `Chain`, a box, what is wanted of the outputs: all rows of one part reach their levels, for some part.
Out: `Settled`: a point that the deployed model confirmed, or that there is none, or how far the search came.
Promise: "none" means that in every box of a cover of the whole one, each part has a row whose bound is below its level,
for the deployed model and for the exact one (see `chain`). A box that is too narrow to be split leaves it open, and so
does a point that rounding alone may bring to the levels; from then on boxes are searched as if nothing was rounded.
How: boxes are bounded in batches (`bounds`), cut to where the linear bounds allow a part, and split along the input
that moves the bounds most, or, of many inputs, into the two phases of the hidden unit that loses most; points that the
bounds lead to are climbed from, and given to the deployed model. So are others (`attempts`), at first and again and
again: the search goes deep, and may come late to the boxes that hold one.
Source: Bunel et al. 2018, A Unified View of Piecewise Linear Neural Network Verification (which phase to split).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import Deadline, TimeOverError
from mace.solve.splitting.attempts import CONFIRMED, Attempts, Confirm
from mace.solve.splitting.bounds import UNIT, BoundedUnits, back, bounded, rows_at_once, steepest
from mace.solve.splitting.chain import Chain, Interval
from mace.solve.splitting.climb import Wanted, best_points, climbed, scores
from mace.solve.splitting.rows import Full
from mace.solve.splitting.tuned import tuned
from mace.tables.table import Floats

BATCH = 128  # boxes
NARROWEST = 2.0**-27  # of an input's size: nothing lies between two neighbouring float32 numbers
CUTS = 3  # of a box, by the same linear bounds
LAST = 1000  # batches once the question is left open: only a point can still settle it
# Units and boxes bounded for each point that is climbed from anew, and how many units take as long as a box does for
# itself: with these, climbing takes a tenth of the time on networks of ACAS Xu's shape.
AGAIN, BOX = 600, 10
MANY = 32  # inputs: beyond that, phases of units are split
QUICK = 2**12  # units of a network of which one box is bounded in less time than points are climbed from
CELLS = 2**24  # numbers of an array with a row of columns for each box and inequality


class Settled(NamedTuple):
    """How a search ended.

    boxes: how many were bounded. root: how far the bounds of the first were above each row's level; below 0: refuted.
    """

    status: Literal["found", "none", "open", "time"]
    boxes: int
    root: Floats


@dataclass(eq=False)
class Block:
    """Open boxes: ends (boxes, columns), which parts are possible in each, what is known of its units."""

    box: Interval
    live: NDArray[np.bool_]
    known: list[Interval] | None = field(default=None)

    def __len__(self) -> int:
        return len(self.live)

    def take(self, which: NDArray[np.int64] | slice) -> Block:
        """Some of the boxes."""
        known = None if self.known is None else [_of(units, which) for units in self.known]
        return Block(_of(self.box, which), self.live[which], known)


def search(chain: Chain, box: Interval, wanted: Wanted, confirm: Confirm, deadline: Deadline) -> Settled:
    """Look for a point of the box, shape (columns,), for which some part's rows all reach their levels.

    confirm: asked about values that the first stage is given; true ends the search.
    """
    entered = chain.enter(box)
    root = Block(Interval(entered.lower[None, :], entered.upper[None, :]), np.ones((1, len(wanted.parts)), np.bool_))
    small = max(float(np.abs(ends).max(initial=0.0)) for ends in (*box, *entered)) < chain.largest
    stack, boxes, left, first, last = [root], 0, not small, np.zeros(0), LAST
    most, attempts, work = _batch(chain, wanted), Attempts(chain, entered, wanted, confirm), 0
    ahead: _Step | None = None  # the first box, bounded before points are tried
    try:
        if small and wanted.forms.size and sum(len(stage.bias) for stage in chain.stages) <= QUICK:
            ahead = _step(chain, root, wanted, left, deadline)
            if not (len(ahead.rest) or ahead.left):  # most of many boxes: points of them would take the time
                return Settled("none", 1, ahead.slack[0])
        if small and attempts.anywhere(deadline):
            return Settled("found", 0, first)
        if not wanted.forms.size:
            return Settled("open", 0, first)
        # Invariant: outside of the boxes on the stack no part is possible, unless some box was given up.
        while stack and small and last:
            deadline.look("boxes were bounded")
            block = _popped(stack, most)
            step, ahead = ahead or _step(chain, block, wanted, left, deadline), None
            first = step.slack[0] if not boxes else first
            boxes += len(block)
            left = left or step.left
            last -= left
            if len(step.rest):
                if _confirmed(chain, step, wanted, confirm, deadline):
                    return Settled("found", boxes, first)
                stack.append(_split(step))
            work += step.work
            if stack and work >= AGAIN * attempts.starts:
                work = 0
                if attempts.among((block.box for block in stack), deadline):
                    return Settled("found", boxes, first)
    except TimeOverError:
        return Settled("time", boxes, first)
    return Settled("open" if left else "none", boxes, first)


def _batch(chain: Chain, wanted: Wanted) -> int:
    """How many boxes are bounded at once: fewer where many inequalities or a wide network make each of them long."""
    rows, columns = max(len(wanted.forms), 1), chain.stages[0].inputs
    units = sum(len(stage.bias) for stage in chain.stages) if columns > MANY else 1  # what `tuned` holds of each form
    return max(1, min(BATCH, rows_at_once(chain) * 8 // rows, CELLS // (rows * max(columns, 2 * units))))


def _of(interval: Interval, which: NDArray[np.int64] | slice) -> Interval:
    return Interval(interval.lower[which], interval.upper[which])


def _popped(stack: list[Block], most: int) -> Block:
    """A batch of at most so many boxes from the top of the stack, of several blocks where one is small."""
    taken: list[Block] = []
    count = 0
    while stack and count < most and (not taken or (stack[-1].known is None) == (taken[0].known is None)):
        block = stack.pop()
        room = most - count
        if len(block) > room:
            stack.append(block.take(slice(0, len(block) - room)))
            block = block.take(slice(len(block) - room, len(block)))
        taken.append(block)
        count += len(block)
    return _joined(taken)


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]

    def both(intervals: list[Interval]) -> Interval:
        return Interval(
            np.concatenate([one.lower for one in intervals]), np.concatenate([one.upper for one in intervals])
        )

    known = [one.known for one in blocks if one.known is not None]
    return Block(
        both([one.box for one in blocks]),
        np.concatenate([one.live for one in blocks]),
        [both(list(units)) for units in zip(*known, strict=True)] if known else None,
    )


class _Step(NamedTuple):
    """A batch after its bounds.

    rest: the boxes that are still open, cut. pull: (boxes, columns) how much splitting each input promises; lost:
    (boxes, units) the same of the phases of hidden units, of all stages in a row; empty where inputs are split. toward:
    (boxes, columns) the sign of the way to what is wanted. slack: (boxes, rows), of all boxes, see `Settled`. left:
    whether some box is narrow, or has a point that no bound refutes for its rounding. work: in bounded units.
    """

    rest: Block
    pull: Floats
    lost: Floats
    toward: Floats
    slack: Floats
    left: bool
    work: int


class _Rows(NamedTuple):
    """The forms of a batch, each in its box: slope (boxes, rows, columns), the rest (boxes, rows).

    over: the constant, beyond the level; size: of the numbers that were added for it, at least.
    """

    slope: Floats
    over: Floats
    size: Floats

    def slack(self, box: Interval) -> Floats:
        """How far each form may be above its level in a box, rounded up; infinite where that is unknown."""
        up = np.maximum(self.slope, 0.0)
        lower, upper = box.lower[:, None, :], box.upper[:, None, :]
        reach = (up * upper + (self.slope - up) * lower).sum(axis=2)
        size = (np.abs(self.slope) * np.maximum(np.abs(lower), np.abs(upper))).sum(axis=2) + self.size
        found = self.over + reach + 4 * (self.slope.shape[2] + 16) * UNIT * size
        return np.where(np.isnan(found), np.inf, found)


class _Given(NamedTuple):
    """The forms of a batch, and of the rows alone: (boxes, rows) rounding, (boxes, rows, columns) `steepest`.

    lost: (boxes, units) what hidden units add to the forms of a box together; no units where inputs are split.
    """

    rows: _Rows
    rounding: Floats
    steep: Floats
    lost: Floats


def _given(
    chain: Chain, found: BoundedUnits, boxes: Interval, asked: NDArray[np.bool_], wanted: Wanted, deadline: Deadline
) -> _Given:
    """The forms of the rows that are asked for, and infinite ones in place of the others."""
    box, row = np.nonzero(asked)
    lost = np.zeros((len(asked), 0))
    if chain.stages[0].inputs > MANY:
        forms, added = tuned(chain, found, boxes, wanted.forms[row], box, wanted.least[row], deadline)
        lost = np.zeros((len(asked), added.shape[1]))
        np.add.at(lost, box, np.nan_to_num(added))
    else:
        forms = back(chain, found.lines, Full(wanted.forms[row], box))
    columns = forms.slope.shape[1]
    slope, steep = np.zeros((*asked.shape, columns)), np.zeros((*asked.shape, columns))
    over, rounding, size = np.full(asked.shape, np.inf), np.zeros(asked.shape), np.zeros(asked.shape)
    slope[box, row], rounding[box, row] = np.nan_to_num(forms.slope), forms.rounding
    # A slope that overflowed bounds nothing: where inputs are tiny, the form may be finite and far above its level.
    over[box, row] = np.where(np.isfinite(forms.slope).all(axis=1), forms.constant - wanted.least[row], np.inf)
    size[box, row] = np.abs(forms.constant) + np.abs(wanted.least[row])
    steep[box, row] = steepest(chain, found.lines, wanted.forms[row], box)
    over[~found.sound] = np.inf
    return _Given(_Rows(slope, over, size), rounding, steep, lost)


def _step(chain: Chain, block: Block, wanted: Wanted, left: bool, deadline: Deadline) -> _Step:
    """Bound a batch of boxes, drop what is settled, and cut the rest.

    left: whether the question is open in any case; then the rounding of sums counts for nothing.
    """
    found = bounded(chain, block.box, block.known, deadline)
    given = _given(chain, found, block.box, block.live @ wanted.parts, wanted, deadline)
    if left:
        given = given._replace(rows=given.rows._replace(over=given.rows.over - given.rounding))
    rows, parts = given.rows, wanted.parts
    box, live = block.box, block.live
    first = rows.slack(box)
    live = live & ~_impossible(found)[:, None]
    for _ in range(CUTS):
        slack = rows.slack(box)
        live = live & ~((slack < 0)[:, None, :] & parts[None, :, :]).any(axis=2)
        box = _cut(box, live, parts, rows.slope, slack)
        live = live & np.all(box.lower <= box.upper, axis=1, keepdims=True)
    asked = live @ parts
    width = box.upper - box.lower
    # The row that is nearest to being refuted says where the others are of use.
    weakest = np.argmin(np.where(asked, slack, np.inf), axis=1)
    toward = np.sign(rows.slope[np.arange(len(asked)), weakest])
    size = np.maximum(np.maximum(np.abs(box.lower), np.abs(box.upper)), 1e-30)
    wide = width > NARROWEST * size
    pull = np.where(wide, _pull(given, asked, width) + 1e-9 * width / size, 0.0)
    still = np.asarray(live.any(axis=1), dtype=np.bool_)
    narrow = still & ~wide.any(axis=1)
    left = bool(narrow.any()) or not left and bool(_rounded(chain, box, live, given, wanted).any())
    still = still & ~narrow
    rest = Block(box, live, found.units).take(np.flatnonzero(still))
    work = found.asked + BOX * len(block)
    return _Step(rest, pull[still], given.lost[still], toward[still], first, left, work)


def _impossible(found: BoundedUnits) -> NDArray[np.bool_]:
    """Which boxes have a unit whose sum can be nothing: in the phase that was chosen it has no room."""
    none = np.zeros(len(found.sound), dtype=np.bool_)
    for units in found.units:
        none |= (units.lower > units.upper).any(axis=1)
    return none & found.sound


def _rounded(chain: Chain, box: Interval, live: NDArray[np.bool_], given: _Given, wanted: Wanted) -> NDArray[np.bool_]:
    """Which boxes have a middle that no bound can refute: rounding may bring all rows of a part to their levels there.

    Only where some row varies in the box by no more than its rounding: before that, splits are of use.
    """
    asked = live @ wanted.parts
    varies = (given.steep * (box.upper - box.lower)[:, None, :]).sum(axis=2) / 2
    found: NDArray[np.bool_] = np.asarray((asked & (varies <= given.rounding)).any(axis=1), dtype=np.bool_)
    some = np.flatnonzero(found)
    if len(some):
        over = chain.outputs((box.lower[some] + box.upper[some]) / 2) @ wanted.forms.T - wanted.least
        reached = over + given.rounding[some] >= 0
        found[some] = (live[some] & (reached[:, None, :] | ~wanted.parts).all(axis=2)).any(axis=1)
    return found


def _pull(given: _Given, asked: NDArray[np.bool_], width: Floats) -> Floats:
    """How much splitting each input promises: by the slopes of the bounds, and by the slopes that may occur."""
    pull = np.zeros_like(width)
    for slopes in (np.abs(given.rows.slope), given.steep):
        moved = np.nan_to_num((slopes * asked[:, :, None]).sum(axis=1)) * width
        pull += moved / np.maximum(moved.max(axis=1, keepdims=True), 1e-300)
    return pull


def _cut(box: Interval, live: NDArray[np.bool_], parts: NDArray[np.bool_], slope: Floats, slack: Floats) -> Interval:
    """Boxes cut to where the bounds of all rows of their one possible part reach the levels.

    A row's form is at most `slack` above its level in the box: an input may move away from where the form is greatest
    only as far as that is used up.
    """
    lower, upper = box
    single = live.sum(axis=1) == 1
    used = (live @ parts) & single[:, None] & np.isfinite(slack)
    rate = np.where(used[:, :, None], slope, 0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        reach = np.where(rate != 0, np.maximum(slack, 0.0)[:, :, None] / np.abs(rate), np.inf)
    size = np.maximum(np.abs(lower), np.abs(upper))[:, None, :]
    reach = reach + 8 * UNIT * (size + reach) + 1e-300
    reach = np.where(np.isnan(reach), np.inf, reach)
    low = np.where(rate > 0, upper[:, None, :] - reach, -np.inf).max(axis=1, initial=-np.inf)
    high = np.where(rate < 0, lower[:, None, :] + reach, np.inf).min(axis=1, initial=np.inf)
    return Interval(np.maximum(lower, low), np.minimum(upper, high))


def _confirmed(chain: Chain, step: _Step, wanted: Wanted, confirm: Confirm, deadline: Deadline) -> bool:
    """Whether the deployed model confirms one of the points that the bounds of a batch lead to."""
    lower, upper = step.rest.box
    middle = (lower + upper) / 2
    corner = np.where(step.toward > 0, upper, np.where(step.toward < 0, lower, middle))
    points = np.concatenate([middle, corner])
    chosen = best_points(scores(chain, points, wanted), CONFIRMED)
    both = np.concatenate([np.arange(len(middle)), np.arange(len(middle))])[chosen]
    points = climbed(chain, points[chosen], _of(step.rest.box, both), wanted, 5, deadline)
    reached = scores(chain, points, wanted)
    return any(confirm(points[place]) for place in np.flatnonzero(reached > -wanted.near))


def _split(step: _Step) -> Block:
    """Both halves of every box, the likeliest boxes last."""
    if not step.lost.size:
        return _halves(step.rest, step.pull)
    phases = step.lost.max(axis=1) > 0
    parts = [_phases(step.rest.take(np.flatnonzero(phases)), step.lost[phases])] if phases.any() else []
    if not phases.all():
        parts.append(_halves(step.rest.take(np.flatnonzero(~phases)), step.pull[~phases]))
    return _joined(parts)


def _phases(rest: Block, lost: Floats) -> Block:
    """Both phases of the unit that adds most to the forms of a box: its sum is at most 0, or at least 0."""
    assert rest.known is not None
    unit, rows = lost.argmax(axis=1), np.arange(len(rest))
    off, on = list[Interval](), list[Interval]()
    for lower, upper in rest.known:
        here = (unit >= 0) & (unit < lower.shape[1])
        least, most = lower.copy(), upper.copy()
        most[rows[here], unit[here]] = np.minimum(most[rows[here], unit[here]], 0.0)
        least[rows[here], unit[here]] = np.maximum(least[rows[here], unit[here]], 0.0)
        off.append(Interval(lower, most))
        on.append(Interval(least, upper))
        unit = unit - lower.shape[1]
    return _joined([Block(rest.box, rest.live, off), Block(rest.box, rest.live, on)])


def _halves(rest: Block, pull: Floats) -> Block:
    """Both halves of boxes along the input that moves their bounds most."""
    rows = np.arange(len(rest))
    axis = np.argmax(pull, axis=1)
    lower, upper = rest.box
    middle = (lower[rows, axis] + upper[rows, axis]) / 2
    left, right = upper.copy(), lower.copy()
    left[rows, axis] = middle
    right[rows, axis] = middle
    return _joined(
        [Block(Interval(lower, left), rest.live, rest.known), Block(Interval(right, upper), rest.live, rest.known)]
    )


__all__ = ["Settled", "search"]
