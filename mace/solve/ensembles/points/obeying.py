"""A point with the goal that the rules allow, from cells with the goal whose nearest point breaks one of them.

In:  a question with rules, its arrays, cells with the goal.    Out: an allowed point with the goal, or none.
Promise: nothing but a good guess, as of `greedy`; the caller checks the point by the model's own sums.
How: the box is cut where the broken rule changes its mind, beside the point; of the two sides the one without the point
is gone on with. The point is moved into it, climbs to the goal again and is pulled back, until no rule is broken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mace.base.deadline import Deadline
from mace.problem.distance import Norm
from mace.problem.lines import lines_of
from mace.problem.question import Question
from mace.solve.conditions import Cut, around, close_or_cut
from mace.solve.ensembles.arrays.cells import NO_LIMIT, Grounded, with_cut
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.points.greedy import allowed, from_near
from mace.solve.ensembles.points.repair import Repairs
from mace.space.axes import Box, Point, Side, holds

CUTS = 12  # of one dive, after which it is given up
DIVES = 15  # from one place; of the first each cut is the nearest one, of the others any
POLISHED = 10  # repairs within the last box of a dive
POWER = 0.6  # of the cost against the gain, as in `greedy`


def obeying(
    question: Question, grounded: Grounded, cells: Array, rng: np.random.Generator, deadline: Deadline
) -> Point | None:
    """The first allowed point with the goal of some dives from these cells; None where none finds one."""
    for number in range(DIVES):
        found = Dive(question, grounded, cells, deadline).run(rng if number else None)
        if found is not None or deadline.over:
            return found
    return None


def within(grounded: Grounded, cells: Array) -> bool:
    """Whether cells lie in the box of all allowed points."""
    return all(allowed(grounded.ground, axis, cell) for axis, cell in enumerate(cells.tolist()))


@dataclass
class Dive:
    """One dive: the arrays for the box that is left, with its cuts, and the cells in it."""

    question: Question
    grounded: Grounded
    cells: Array
    deadline: Deadline

    def run(self, rng: np.random.Generator | None) -> Point | None:
        """An allowed point with the goal; None where the goal or the rules are lost.

        rng: chooses the cuts; without it the nearest ones are taken.
        """
        for _ in range(CUTS):
            if not within(self.grounded, self.cells):
                return None  # a row may lie outside of what is allowed
            point = self.grounded.point(self.cells)
            if self.question.obeys(point):
                return self.polished(point)
            if (near := self._beside(point)) is not None:
                return near
            cut = self._cut(point, rng)
            if cut is None or self.deadline.over:
                return None
            self._leave(point, cut)
            if not self._reached():
                return None
        return None

    def _beside(self, point: Point) -> Point | None:
        """A point of the same cells that linear rules allow, where nothing but these forbids this one."""
        if not lines_of(self.question.rules):
            return None
        from mace.solve.ensembles.arrays.lined import Lined

        lined = Lined.of(self.question)
        if lined is None or not lined.only(self.question, point):
            return None
        low = np.where(self.grounded.ground.grid, self.cells, np.left_shift(1, np.maximum(self.cells, 0)))
        near = lined.near(self.grounded.sides(low, low), point)
        return near if self.question.obeys(near) else None

    def polished(self, point: Point) -> Point:
        """The nearest allowed point of some repairs in the box that is left."""
        question, grounded = self.question, self.grounded
        most = -1 if question.most_changes is None else question.most_changes
        repairs = Repairs(grounded, most, self.cells, np.random.default_rng(0))
        for _ in range(POLISHED):
            cells = repairs.repaired(self.deadline)
            if cells is not None and question.obeys(nearer := grounded.point(cells)):
                repairs.take(cells)
                point = nearer
        return point

    def _box(self) -> Box:
        """The box that is left, in indices of the axes."""
        return self.grounded.sides(self.grounded.ground.low, self.grounded.ground.high)

    def _cut(self, point: Point, rng: np.random.Generator | None) -> Cut | None:
        """Where to cut the box beside a point that breaks a rule or is excluded; None where it has nothing else."""
        question, box = self.question, self._box()
        if not question.forbidden(point):
            return None  # it changes too many features
        if rng is not None:
            cuts = around(self.question, box, point)
            if cuts:
                return cuts[int(rng.integers(len(cuts)))]
        found = close_or_cut(self.question, box, point, edges=True)
        return found if isinstance(found, Cut) else None

    def _leave(self, point: Point, cut: Cut) -> None:
        """Go on with the side of a cut that does not hold the point, from the cells there that are nearest to it."""
        j, at = cut
        grounded, norm = self.grounded, self.question.distance
        assert isinstance(norm, Norm)
        low, high = grounded.ground.low.copy(), grounded.ground.high.copy()
        side: Side = self._box()[j]
        if isinstance(side, int):
            low[j] = side & ~at if at >> point[j] & 1 else side & at
            inside = grounded.inside(low, high)
            if not holds(int(low[j]), point[j]):
                level = next(k for k in inside.ground.order[j].tolist() if int(low[j]) >> k & 1)
                point = (*point[:j], level, *point[j + 1 :])
        else:
            if at not in grounded.cuts(j):
                grounded, _ = with_cut(grounded, norm, j, at)
                low, high = grounded.ground.low.copy(), grounded.ground.high.copy()
            place = int(np.searchsorted(grounded.cuts(j), at))
            if point[j] <= at:
                low[j], point = place + 1, (*point[:j], at + 1, *point[j + 1 :])
            else:
                high[j], point = place, (*point[:j], at, *point[j + 1 :])
            inside = grounded.inside(low, high)
        self.grounded, self.cells = inside, inside.cells(point)

    def _reached(self) -> bool:
        """Climb to the goal and pull back within the box; whether the goal was reached."""
        grounded = self.grounded
        most = -1 if self.question.most_changes is None else self.question.most_changes
        for part in range(len(grounded.aim.begin) - 1):
            found = from_near(grounded, grounded.forest, NO_LIMIT, most, self.cells, part, self.deadline, POWER)
            if found is not None:
                self.cells = found
                return True
        return False
