"""Models that are only asked, but bounded over boxes: no point of a box has the goal where its bounds say so.

In:  a task of a norm, without missing values; an `Enclosure` of its model; what is wanted.
Out: `Bounded`: the nearest valid point that was asked about, and a distance below which there is none.
Promise: `lower` holds if the bounds of the enclosure do; a point is proposed only if the model itself has said so, and
a box of one point is asked about, never bounded. Boxes are worked on in order of their distance from the start.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mace.base.bits import members
from mace.base.deadline import Deadline
from mace.base.exact import nearest
from mace.compilers.enclosures.bounds import Floats, Range
from mace.compilers.enclosures.enclosed import numbers, possible, probabilities
from mace.compilers.enclosures.reader import Enclosure, Ends, ends_of
from mace.problem.distance import Norm
from mace.problem.goals import MARGIN_UNIT, Classes, Margin, Probability, Value, Wanted
from mace.search.protocol import Run
from mace.solve.protocol import Gap
from mace.space.axes import Axis, Box, GridAxis, Point, Side, is_single, whole
from mace.tables.table import Bools

BATCH = 64
LARGEST = 4_000_000  # numbers in one array of bounds
MOST = 300_000  # boxes that wait


class Bounded(NamedTuple):
    """What bounding boxes came to.

    lower: no valid point is nearer; None: there is none at all.    why: what stopped it.
    boxes: how many were looked at.
    """

    point: Point | None
    lower: Fraction | None
    boxes: int
    why: str


class May(NamedTuple):
    """Which boxes may have a row with the goal, and what each column may move there; see `Tight`."""

    goal: Bools
    share: Floats | None


def may_have(enclosure: Enclosure, wanted: Wanted, columns: Range) -> May:
    """What is not excluded over boxes of columns; raises GoalError for a goal that cannot be bounded."""
    model = enclosure.model
    match wanted:
        case Classes(labels=labels):
            classes, share = possible(model, columns)
            places = [k for k, label in enumerate(model.classes) if label in labels]
            return May(np.asarray(classes[:, places].any(axis=1), dtype=np.bool_), share)
        case Value(between=between):
            said, share = numbers(model, columns)
            low, high = said.low[:, 0], said.high[:, 0]
        case Probability(label=label, between=between):
            said, share = probabilities(model, columns)
            low, high = (side[:, model.classes.index(label)] for side in said)
        case Margin(label=label, by=by):
            said, share = probabilities(model, columns)
            place = model.classes.index(label)
            lead = said.high[:, place] - np.delete(said.low, place, axis=1).max(axis=1)
            return May(~(lead < by - 8 * MARGIN_UNIT * max(1.0, by)), share)
    goal = np.ones(len(low), dtype=np.bool_)
    if between.low is not None:
        goal &= ~(high < between.low)
    if between.high is not None:
        goal &= ~(low > between.high)
    return May(goal, share)


def at_once(enclosure: Enclosure) -> int:
    """How many boxes are bounded at once."""
    return max(1, min(BATCH, LARGEST // max(1, len(enclosure.columns) * enclosure.model.width)))


@dataclass(frozen=True, slots=True)
class _Near:
    """Of a side: the index that is nearest to the start, its exact change, the columns' ends, and their middle's."""

    index: int
    delta: Fraction
    ends: tuple[Ends, ...]
    middle: int


class BoxSearch:
    """The search of one answer."""

    def __init__(self, run: Run, enclosure: Enclosure, wanted: Wanted, gap: Gap, deadline: Deadline) -> None:
        self.run, self.enclosure, self.wanted, self.gap, self.deadline = run, enclosure, wanted, gap, deadline
        self.place, self.chart = run.task.place, run.task.chart
        self.axes = self.place.axes
        assert isinstance(self.place.distance, Norm)
        self.norm = self.place.distance
        self.most = len(self.axes) if self.place.most_changes is None else self.place.most_changes
        self.known: list[dict[Side, _Near]] = [{} for _ in self.axes]
        self.best: Point | None = None
        self.upper: Fraction | None = None
        self.number = itertools.count(0, -1)  # of boxes that are as near, the last one first
        self.left: Fraction | None = None  # the nearest of the boxes that were put aside

    @cached_property
    def of_feature(self) -> list[list[int]]:
        """The places of the columns of every feature."""
        columns = self.enclosure.columns
        return [[k for k, column in enumerate(columns) if column.feature == j] for j in range(len(self.axes))]

    def bounded(self) -> Bounded:
        """Divide the space until the nearest point is known, or a limit is met."""
        waiting: list[tuple[float, int, Box, Fraction]] = []
        self._push(waiting, whole(self.axes))
        looked, why = 0, ""
        size = at_once(self.enclosure)
        while waiting:
            why = self.deadline.why if self.deadline.over else self.run.task.asked.why
            if len(waiting) > MOST:
                why = f"limit of boxes ({MOST})"
            if why:
                break
            batch: list[tuple[Box, Fraction]] = []
            while waiting and len(batch) < size:
                _, _, box, distance = heapq.heappop(waiting)
                if not self._enough(distance):
                    batch.append((box, distance))
            if not batch:
                continue
            looked += len(batch)
            parts = self._divided([box for box, _ in batch])
            if self.run.task.asked.lacking:  # what was not asked about stays open
                self.left = min([distance for _, distance in batch] + ([] if self.left is None else [self.left]))
                why = self.run.task.asked.why
                break
            for box in parts:
                self._push(waiting, box)
        ends = [distance for *_, distance in waiting] + ([] if self.left is None else [self.left])
        lower = min(ends, default=None)
        if self.upper is not None and (lower is None or lower > self.upper):
            lower = self.upper
        return Bounded(self.best, lower, looked, why)

    # ------------------------------------------------------------------------------------------ boxes

    def _near(self, j: int, side: Side) -> _Near:
        """What is known of a side of a feature."""
        if side not in self.known[j]:
            axis = self.axes[j]
            if isinstance(side, int):
                levels = members(side)
                index = min(levels, key=axis.delta)
                middle = index
            else:
                assert isinstance(axis, GridAxis)
                index, middle = axis.nearest(*side), _middle(axis, side)
            ends = tuple(ends_of(self.enclosure.columns[k], axis, side) for k in self.of_feature[j])
            self.known[j][side] = _Near(index, axis.delta(index), ends, middle)
        return self.known[j][side]

    def _push(self, waiting: list[tuple[float, int, Box, Fraction]], box: Box) -> None:
        """Let a box wait, unless all of it is too far."""
        near = [self._near(j, side) for j, side in enumerate(box)]
        if sum(one.delta > 0 for one in near) > self.most:
            return
        distance = self.norm.of([one.delta for one in near])
        if not self._enough(distance):
            heapq.heappush(waiting, (nearest(distance), next(self.number), box, distance))

    def _enough(self, distance: Fraction) -> bool:
        """Whether nothing as far as that is of use; what only the gap leaves out is kept in mind."""
        if self.upper is None or not self.gap.met(min(distance, self.upper), self.upper):
            return False
        if distance < self.upper:
            self.left = distance if self.left is None else min(self.left, distance)
        return True

    def _columns(self, boxes: Sequence[Box]) -> Range:
        """Bounds on the columns of boxes."""
        low = np.empty((len(boxes), len(self.enclosure.columns)))
        high = np.empty(low.shape)
        for row, box in enumerate(boxes):
            for j, side in enumerate(box):
                for k, ends in zip(self.of_feature[j], self._near(j, side).ends, strict=True):
                    low[row, k], high[row, k] = ends
        return Range(low, high)

    def _divided(self, boxes: Sequence[Box]) -> list[Box]:
        """The parts of boxes in which a nearer point may be."""
        columns = self._columns(boxes)
        goal, share = may_have(self.enclosure, self.wanted, columns)
        goal = goal | np.array([all(map(is_single, box)) for box in boxes])
        kept = np.flatnonzero(goal).tolist()
        if not kept:
            return []
        near = [tuple(self._near(j, side).index for j, side in enumerate(boxes[k])) for k in kept]
        middle = [tuple(self._near(j, side).middle for j, side in enumerate(boxes[k])) for k in kept]
        valid = self._ask([*near, *middle])
        found: list[Box] = []
        for place, k in enumerate(kept):
            if valid[place] or all(map(is_single, boxes[k])):
                continue  # nothing in the box is nearer than what was asked about
            widths = self._shares(boxes[k], k, share)
            found += _parts(boxes[k], int(np.argmax(widths)), self.axes)
        return found

    def _ask(self, points: Sequence[Point]) -> list[bool]:
        """Ask about points; whether each is allowed and has the goal."""
        scores = self.run.scores(np.array([self.chart.row(point) for point in points]))
        found: list[bool] = (scores.valid & np.isfinite(scores.goal)).tolist()
        for point in (point for point, fine in zip(points, found, strict=True) if fine):
            distance = self.place.distance_of(point)
            if self.upper is None or distance < self.upper:
                self.best, self.upper = point, distance
        return found

    def _shares(self, box: Box, row: int, share: Floats | None) -> Floats:
        """How much of what is open each feature brings; 0 for those that have one value left."""
        found = np.zeros(len(box))
        for j, side in enumerate(box):
            if is_single(side):
                continue
            axis = self.axes[j]
            found[j] = 1e-9 * _relative(axis, side)
            places = self.of_feature[j]
            if share is not None and len(places):
                part = float(share[row, places].sum())
                found[j] += part if np.isfinite(part) else _relative(axis, side)
            elif len(places):
                found[j] += _relative(axis, side)
        return found


def _middle(axis: GridAxis, side: tuple[int, int]) -> int:
    """An index in the middle of a side."""
    low, high = side
    if low == high:
        return low
    if axis.grid.kind == "step":
        return low + (high - low) // 2
    found = axis.grid.floor((axis.value(low) + axis.value(high)) / 2)
    return min(max(found, low), high - 1)


def _relative(axis: Axis, side: Side) -> float:
    """How much of its feature's range a side has."""
    if isinstance(side, int):
        return 1.0
    assert isinstance(axis, GridAxis)
    return nearest((axis.value(side[1]) - axis.value(side[0])) / axis.scale)


def _parts(box: Box, j: int, axes: Sequence[Axis]) -> list[Box]:
    """A box divided along one feature."""
    side, axis = box[j], axes[j]
    if isinstance(side, int):
        levels = members(side)
        first = [axis.start] if axis.start in levels else levels[: len(levels) // 2]
        one = sum(1 << k for k in first)
        sides: list[Side] = [one, side & ~one]
    else:
        assert isinstance(axis, GridAxis)
        middle = _middle(axis, side)
        sides = [(side[0], middle), (middle + 1, side[1])]
    return [(*box[:j], part, *box[j + 1 :]) for part in sides]
