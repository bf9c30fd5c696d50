"""Nearer points with the goal from one that is known: some of its changes are undone, and the goal is reached anew.

In:  the arrays of a question, cells of a point with the goal, a random generator.
Out: `Repairs`, whose `best` only gets cheaper.
Promise: nothing but good guesses, as of `greedy`; the caller checks each point by the model's own sums.

Each repair takes the best point, or one that was found on the way, puts some of its changed features back to the
start, forbids some of these and some others to move, and climbs and pulls back as `greedy` does.
Source: Shaw 1998, large neighbourhood search; Schrimpf et al. 2000, "ruin and recreate".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.base.deadline import Deadline
from mace.solve.ensembles.arrays.cells import NO_LIMIT, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.sweeping import room
from mace.solve.ensembles.points.greedy import (
    GOING,
    REACHED,
    ROUNDS,
    accepted,
    allowed,
    climb,
    cost_of,
    pull_in,
    strides,
)

UNDONE = (0.2, 0.4, 0.7)  # how many of the changes are undone
STUCK_TO = 0.5  # how many of the features whose change was undone must stay at the start
HELD, HOLD = 0.3, 0.5  # how likely others may not move either, and then how many of them
SLACK = 0.02  # the mean part by which a point from which the search goes on may be dearer than the best one
POWERS = (1.0, 0.6, 0.3)  # of the cost against the gain, as in `greedy`


class Repairs:
    """A search around points with the goal.

    most_changes: -1 for any number.    cells: of a point with the goal.
    counts:       whether that point is allowed; else any other is better.
    """

    def __init__(
        self, grounded: Grounded, most_changes: int, cells: Array, rng: np.random.Generator, *, counts: bool = True
    ) -> None:
        self.grounded, self.most, self.rng = grounded, most_changes, rng
        self.best, self.cost = cells.copy(), cost_of(grounded.ground, cells) if counts else np.int64(NO_LIMIT)
        self.at = self.best  # where the next repair begins
        self.home = np.array([allowed(grounded.ground, j, cell) for j, cell in enumerate(grounded.ground.start)])
        self._room = room(grounded)

    def take(self, cells: Array) -> None:
        """Go on from another point with the goal, where it is cheaper."""
        cost = cost_of(self.grounded.ground, cells)
        if cost < self.cost:
            self.best, self.cost = cells.copy(), cost
            self.at = self.best

    def repaired(self, deadline: Deadline) -> Array | None:
        """One repair; cells of a point that is cheaper than all before, to be taken with `take`, or None."""
        ground, forest, aim = self.grounded.ground, self.grounded.forest, self.grounded.aim
        point, held = self._ruined()
        part = int(self.rng.integers(len(aim.begin) - 1))
        power = POWERS[self.rng.integers(len(POWERS))]
        ended = REACHED if accepted(held, forest, aim, point, self._room.leaves) else GOING
        parts = strides(6 * len(point) + 6, ROUNDS, held, forest, deadline)
        while ended == GOING and (bounds := next(parts, None)) is not None:
            left = bounds[1] - bounds[0]
            ended = climb(held, forest, aim, part, power, self.most, NO_LIMIT, self._room, point, left)
        if ended != REACHED:
            return None
        pull_in(ground, forest, aim, part, point, NO_LIMIT, self._room, deadline)
        cost = cost_of(ground, point)
        self._walk(point, cost)
        return point if cost < self.cost else None

    def _walk(self, point: Array, cost: Any) -> None:
        """Go on from a point that is not much dearer than the best one, so that the search does not stand still."""
        near = float(cost) <= (1 + self.rng.exponential(SLACK)) * float(self.cost)
        self.at = point if near else self.best

    def _ruined(self) -> tuple[Array, Any]:
        """The point with some of its changes undone, and the axes with some that may not move."""
        ground, rng = self.grounded.ground, self.rng
        point, low, high = self.at.copy(), ground.low.copy(), ground.high.copy()
        changed = np.flatnonzero((point != ground.start) & self.home)
        undone = changed[rng.random(len(changed)) < UNDONE[rng.integers(len(UNDONE))]]
        point[undone] = ground.start[undone]
        still = undone[rng.random(len(undone)) < STUCK_TO]
        if rng.random() < HELD:
            others = np.flatnonzero((point == ground.start) & self.home)
            still = np.concatenate([still, others[rng.random(len(others)) < HOLD]])
        cells = np.where(ground.grid, ground.start, np.int64(1) << np.where(ground.grid, 0, ground.start))
        low[still] = cells[still]
        high[still] = ground.start[still]
        return point, ground._replace(low=low, high=high)
