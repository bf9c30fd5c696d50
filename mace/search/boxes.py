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
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import Deadline
from mace.base.exact import nearest
from mace.compilers.enclosures.bounds import over
from mace.compilers.enclosures.ranges import Ball, Floats, Range
from mace.compilers.enclosures.reader import Enclosure, levels_of, off_line
from mace.problem.distance import Norm
from mace.problem.goals import Wanted
from mace.search.box_distances import LOOSE, Extents, Layout, Levels, Nearest, Nearness
from mace.search.box_edges import Edge, edge_of, parts_of, within_limit
from mace.search.box_goals import needs_of
from mace.search.box_sums import Sums
from mace.search.descent import Descent
from mace.search.protocol import Run
from mace.solve.conditions import Closed, broken, close_or_cut, inside
from mace.solve.lattice import attainable, denominator
from mace.solve.protocol import Gap
from mace.space.axes import GridAxis, LevelAxis, Point, Side, whole

BATCH = 64
LARGEST = 4_000_000  # numbers in one array of bounds
MOST = 300_000  # boxes that wait
FIRST_STEP, LEAST_STEP, LARGEST_STEP = 0.5, 0.02, 1.0  # how much farther than known a box is bounded at once
ROUNDED = 1e-13  # relative to a distance: what sums of floats may be off by
FINEST, SURELY = 10**6, 1e-6  # multiples of one over so much are told apart, by what is surely more than the last one
AGAIN = 0.15  # boxes of which nothing is learnt are divided where they were bounded by so little farther than known
PARTS = 128  # of the largest distance: what counts as known at least


class Bounded(NamedTuple):
    """What bounding boxes came to.

    lower: no valid point is nearer; None: there is none at all.    why: what stopped it.
    boxes: how many were looked at.
    """

    point: Point | None
    lower: Fraction | None
    boxes: int
    why: str


def at_once(enclosure: Enclosure, curved: bool = False) -> int:
    """How many boxes are bounded at once; curved: as quadratic functions, with both ways of all pairs of columns."""
    columns = max(1, len(enclosure.columns))
    return max(1, min(BATCH, LARGEST // (columns * max(4 * columns if curved else columns, enclosure.model.width))))


class Waiting(NamedTuple):
    """A box that waits.

    least: no point of it with the goal is nearer.    step: how much farther it is bounded next, relative to that.
    short: a distance within which it was bounded, and nothing was learnt.
    """

    edges: tuple[Edge, ...]
    least: float
    step: float
    short: float = np.inf

    @property
    def single(self) -> bool:
        """Whether it is one point."""
        return all(edge.single for edge in self.edges)


class BoxSearch:
    """The search of one answer."""

    def __init__(self, run: Run, enclosure: Enclosure, wanted: Wanted, gap: Gap) -> None:
        self.run, self.enclosure = run, enclosure
        self.place, self.chart = run.task.place, run.task.chart
        self.axes = self.place.axes
        assert isinstance(self.place.distance, Norm)
        self.norm = self.place.distance
        self.near_enough = nearest(gap.absolute), nearest(gap.relative)
        self.most = len(self.axes) if self.place.most_changes is None else self.place.most_changes
        self.needs = needs_of(enclosure.model, wanted)
        self.nearness = Nearness(self.norm, self._layout(), self.needs)
        sums = Sums(self.nearness, self.chart, enclosure.model.width)
        self.sums = sums if self.needs.additive and sums.fit else None
        self.known: list[dict[Side, Edge]] = [{} for _ in self.axes]
        self.unit = denominator(self.axes, self.norm)
        self.best: Point | None = None
        self.upper: Fraction | None = None
        self.far = np.inf  # the same as a float
        self.number = itertools.count(0, -1)  # of boxes that are as near, the last one first
        self.left = np.inf  # the nearest of the boxes that were put aside
        self.looked = 0
        self.waiting: list[tuple[float, int, Waiting]] = []
        edges = tuple(self._edge(j, side) for j, side in enumerate(whole(self.axes)))
        extents = self._extents([Waiting(edges, 0.0, FIRST_STEP)])
        start = over(self.needs.numbers, extents.columns, extents.at, curved=True)
        self.curved = self.sums is None and start.form is not None
        self.jumps = self.sums is None and not start.slopes.any()  # nothing says how far away a goal is
        # Sums are bounded as well far off as nearby.
        self._push([Waiting(edges, 0.0, FIRST_STEP if self.sums is None else np.inf)])

    @cached_property
    def of_feature(self) -> list[list[int]]:
        """The places of the columns of every feature."""
        columns = self.enclosure.columns
        return [[k for k, column in enumerate(columns) if column.feature == j] for j in range(len(self.axes))]

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Where each column stands, where they stand feature by feature."""
        return np.argsort([k for places in self.of_feature for k in places])

    def _layout(self) -> Layout:
        """What belongs to which feature."""
        columns = self.enclosure.columns
        straight = [
            isinstance(self.axes[column.feature], GridAxis) and column.is_affine and column.rounded_to == "float64"
            for column in columns
        ]
        levels = {}
        for j, axis in enumerate(self.axes):
            if isinstance(axis, LevelAxis):
                own = [levels_of(columns[k], axis) for k in self.of_feature[j]]
                values = np.array(own).reshape(-1, axis.count).T
                levels[j] = Levels(values, np.array([axis.rough_delta(index) for index in range(axis.count)]))
        doubt = [off_line(c, self.axes[c.feature]) if even else 0.0 for c, even in zip(columns, straight, strict=True)]
        feature = np.array([column.feature for column in columns], dtype=np.intp)
        return Layout(feature, np.array(straight), levels, np.array(doubt))

    def bounded(self, deadline: Deadline, most: int | None = None) -> Bounded:
        """Divide the space until the nearest point is known, or a limit is met; may be called again to go on.

        most: how many boxes to look at.
        """
        why, size = "", at_once(self.enclosure, self.curved) if self.sums is None else self.sums.boxes_at_once
        first = self.looked
        while self.waiting:
            why = deadline.why if deadline.over else self.run.task.asked.why
            if len(self.waiting) > MOST:
                why = f"limit of boxes ({MOST})"
            elif most is not None and self.looked >= first + most:
                why = f"limit of boxes ({most})"
            if why:
                break
            batch: list[Waiting] = []
            while self.waiting and len(batch) < size:
                one = heapq.heappop(self.waiting)[2]
                if not self._enough(one.least):
                    batch.append(one)
            if not batch:
                continue
            self.looked += len(batch)
            parts = self._divided(batch)
            if self.run.task.asked.lacking:  # what was not asked about stays open
                self.left = min([self.left, *(one.least for one in batch)])
                why = self.run.task.asked.why
                break
            self._push(parts)
        return Bounded(self.best, self._lower(), self.looked, why)

    def _lower(self) -> Fraction | None:
        """A distance below which there is no valid point; None: there is none at all."""
        least = min([self.left, *(one.least for *_, one in self.waiting)])
        if least == np.inf:
            return self.upper
        lower = attainable(self.axes, self.norm, Fraction(least), beyond=False)
        return lower if self.upper is None else min(lower, self.upper)

    def descend(self, deadline: Deadline) -> None:
        """Look for a nearer point on the way down from the best one, or from a background row."""
        descent = Descent(self.run, self.enclosure, self.needs, self.norm)
        row = descent.first() if self.best is None else self.chart.row(self.best)
        if row is not None:
            self.know(self.chart.point(descent.nearer(row, deadline)))

    def know(self, point: Point) -> None:
        """A point that has the goal, by what the model says."""
        distance = self.place.distance_of(point)
        if self.upper is None or distance < self.upper:
            self.best, self.upper, self.far = point, distance, nearest(distance)

    # ------------------------------------------------------------------------------------------ boxes

    def _edge(self, j: int, side: Side) -> Edge:
        """What is known of a side of a feature."""
        if side not in self.known[j]:
            columns = [self.enclosure.columns[k] for k in self.of_feature[j]]
            self.known[j][side] = edge_of(self.axes[j], columns, side)
        return self.known[j][side]

    def _push(self, boxes: Sequence[Waiting]) -> None:
        """Let boxes wait, but for those of which all is too far."""
        if not boxes:
            return
        deltas = np.array([[edge.changes[0] for edge in one.edges] for one in boxes]).reshape(len(boxes), -1)
        part, top = self.nearness.paid(deltas)
        distances, changed = ((part + top) * (1 - ROUNDED)).tolist(), (deltas > 0).sum(axis=1).tolist()
        for one, distance, count in zip(boxes, distances, changed, strict=True):
            least = max(one.least, self._rounded(distance))
            if count <= self.most and not self._enough(least) and not self._forbidden(one):
                heapq.heappush(self.waiting, (least, next(self.number), one._replace(least=least)))

    def _forbidden(self, one: Waiting) -> bool:
        """Whether a rule or an exclusion closes a box."""
        place, box = self.place, tuple(edge.side for edge in one.edges)
        return any(inside(place, number, box) for number in range(len(place.avoid))) or any(
            broken(place, number, box) for number in range(len(place.rules))
        )

    def _rounded(self, distance: float) -> float:
        """A bound as the least distance that points can have from there on, as far as floats tell."""
        if self.unit is None or self.unit > FINEST:
            return distance
        return max(distance, float(np.ceil(distance * self.unit - SURELY) / self.unit * (1 - ROUNDED)))

    def _enough(self, distance: float) -> bool:
        """Whether nothing as far as that is of use; what only the gap leaves out is kept in mind."""
        # Of weights that differ much the multiples lie closer than floats of their sums can tell.
        told = self.unit is not None and self.unit <= FINEST and self.far * self.unit * 4 * ROUNDED < 1
        if told and distance >= self.far * (1 - 2 * ROUNDED):
            return True
        near = max(self.near_enough[0], self.near_enough[1] * self.far) * (1 - LOOSE)
        if self.far == np.inf or self.far - distance > near:
            return False
        self.left = min(self.left, distance)
        return True

    def _extents(self, boxes: Sequence[Waiting]) -> Extents:
        """Boxes as arrays."""
        columns = np.stack([np.concatenate([edge.columns for edge in one.edges], axis=1) for one in boxes])
        columns = columns[:, :, self.order]
        changes = np.array([[edge.changes for edge in one.edges] for one in boxes])
        changes = changes.reshape(len(boxes), len(self.axes), 3)
        allowed = {j: np.array([one.edges[j].allowed for one in boxes]) for j in self.nearness.layout.levels}
        low, high, at, first, last = (columns[:, k] for k in range(5))
        delta, down, up = (changes[:, :, k] for k in range(3))
        return Extents(Range(low, high), at, first, last, delta, down, up, allowed)

    def _divided(self, boxes: Sequence[Waiting]) -> list[Waiting]:
        """What is left of boxes: themselves, where all that is near was looked at; or their parts."""
        within = self._radii(boxes)
        extents, ball = self.nearness.near(self._extents(boxes), within)
        found = self._nearest(extents, ball, within)
        kept: list[int] = []
        parts: list[Waiting] = []
        for k, one in enumerate(boxes):
            if one.single:
                kept.append(k)
            elif found.distance[k] >= within[k]:
                if within[k] < self.far:
                    least = max(one.least, self._rounded(float(within[k])))
                    parts.append(one._replace(least=least, step=min(2 * one.step, LARGEST_STEP)))
            elif self.jumps and (less := self._less(one, float(within[k]))) is not None:
                parts.append(less)
            elif np.isfinite(found.distance[k]):
                kept.append(k)
        if not kept:
            return parts
        valid = self._ask([boxes[k].edges for k in kept])
        for fine, k in zip(valid, kept, strict=True):
            if fine or boxes[k].single:
                continue  # nothing in the box is nearer than what was asked about
            least = max(boxes[k].least, self._rounded(float(found.distance[k])))
            if not self._enough(least):
                step = max(boxes[k].step / 2, LEAST_STEP)
                parts += [Waiting(part, least, step) for part in self._parts(boxes[k], found, k)]
        return parts

    def _nearest(self, extents: Extents, ball: Ball | None, within: Floats) -> Nearest:
        """What is known of boxes; rows that may have the goal are asked about on the way."""
        if self.sums is None:
            tight = over(
                self.needs.numbers, extents.columns, extents.at, ball, self.nearness.layout.doubt, curved=self.curved
            )
            return self.nearness.of(extents, tight, self.far, within, ball)
        found, rows = self.sums.of(extents, self.far, within)
        self._learn(self.chart.snap(rows))
        return found

    def _learn(self, rows: Floats) -> None:
        """Ask about some rows of the chart."""
        for row in rows[self.run.scores(rows).valid]:
            self.know(self.chart.point(row))

    def _parts(self, one: Waiting, found: Nearest, k: int) -> list[tuple[Edge, ...]]:
        """A box without what is too far, or divided where that is not much."""
        narrow, fewer = self._narrowed(one.edges, found.limit[k])
        if fewer or all(edge.single for edge in narrow):
            return [narrow]
        if not found.distance[k] > one.least and self.place.forbidden(tuple(edge.index for edge in narrow)):
            return self._cut(narrow)
        widths = [0.0 if edge.single else part for edge, part in zip(narrow, found.loose[k].tolist(), strict=True)]
        j = int(np.argmax(widths))
        if not widths[j] > 0:
            j = max((j for j, edge in enumerate(narrow) if not edge.single), key=lambda j: narrow[j].width)
        sides = parts_of(narrow[j], self.axes[j], self.apart)
        return [(*narrow[:j], self._edge(j, side), *narrow[j + 1 :]) for side in sides]

    def _cut(self, edges: tuple[Edge, ...]) -> list[tuple[Edge, ...]]:
        """A box whose nearest point may have the goal and is not allowed, cut where what forbids that ends."""
        found = close_or_cut(self.place, tuple(edge.side for edge in edges), tuple(edge.index for edge in edges))
        if isinstance(found, Closed):
            return []
        j, at = found
        side = edges[j].side
        halves: list[Side] = [side & at, side & ~at] if isinstance(side, int) else [(side[0], at), (at + 1, side[1])]
        return [(*edges[:j], self._edge(j, half), *edges[j + 1 :]) for half in halves]

    def _radii(self, boxes: Sequence[Waiting]) -> Floats:
        """The distances within which boxes are bounded: somewhat more than what is known, and no more than needed."""
        known, step = (np.array([one.least for one in boxes]), np.array([one.step for one in boxes]))
        widest = nearest(self.norm.widest)
        with np.errstate(invalid="ignore"):  # of no distance at all, where sums are bounded as far as they go
            found = known + step * np.maximum(known, widest / PARTS)
        found = np.where((found > 0.95 * self.far) | ~(found < widest), self.far, found)
        return np.asarray(np.minimum(found, (known + np.array([one.short for one in boxes])) / 2))

    def _less(self, one: Waiting, within: float) -> Waiting | None:
        """A box of which nothing was learnt within a distance, to be looked at within less; None: to be divided."""
        widest = nearest(self.norm.widest)
        short = min(within, widest)
        return one._replace(short=short) if short - one.least > AGAIN * max(one.least, widest / PARTS) else None

    @cached_property
    def apart(self) -> bool:
        """Whether all changes of a feature cost the same."""
        return all(charge.slope == charge.peak == 0 for charge in self.norm.charges)

    def _narrowed(self, edges: tuple[Edge, ...], limit: Floats) -> tuple[tuple[Edge, ...], bool]:
        """A box without what is too far, and whether that is much."""
        found, much = list(edges), False
        for j in np.flatnonzero(limit < np.inf).tolist():
            if not edges[j].single:
                side, less = within_limit(self.axes[j], edges[j], float(limit[j]))
                found[j], much = self._edge(j, side), much or less
        return tuple(found), much

    def _ask(self, boxes: Sequence[tuple[Edge, ...]]) -> list[bool]:
        """Ask about the nearest points of boxes; whether each is allowed and has the goal."""
        scores = self.run.scores(np.array([[edge.value for edge in edges] for edges in boxes]))
        found: list[bool] = (scores.valid & np.isfinite(scores.goal)).tolist()
        for edges, fine in zip(boxes, found, strict=True):
            if fine:
                self.know(tuple(edge.index for edge in edges))
        return found
