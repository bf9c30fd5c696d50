"""Points with the goal, moved nearer along the slopes of a model that is bounded.

In:  a run that asks the model; what bounds it, and what it must reach for the goal; a norm.
Out: rows of the chart that are valid, each nearer than the one it began with.
Promise: nothing but good guesses; every row has been asked about.

Near a valid row the model is taken for linear, and the distance from the start is made least within a region around
the row, by a knapsack that may be cut, or by bisection of the largest change. What the model says of such points, of
regions of all sizes, decides which is the next one. Source: Griffith and Stewart, "A Nonlinear Programming Technique
for the Optimization of Continuous Processing Systems" (1961): sequential linear programming.
"""

from __future__ import annotations

import numpy as np

from mace.base.deadline import Deadline
from mace.base.exact import nearest
from mace.compilers.enclosures.bounds import over
from mace.compilers.enclosures.ranges import Floats, Range
from mace.compilers.enclosures.reader import Enclosure
from mace.problem.distance import Norm
from mace.search.box_goals import Needs
from mace.search.protocol import Run

BACKGROUND = 200  # of the background rows, how many of the nearest are asked about
BEGIN = 3  # from how many of them a way to the start is tried
PARTS = 16  # of such a way
REGIONS = 0.5 ** np.arange(10)  # how far a feature may move at once, relative to its range
ROUNDS = 60
LEAST = 1e-5  # by what share a round must come nearer


class Descent:
    """Ways down from valid rows."""

    def __init__(self, run: Run, enclosure: Enclosure, needs: Needs, norm: Norm) -> None:
        self.run, self.enclosure, self.needs = run, enclosure, needs
        self.chart = run.task.chart
        self.moves = self.chart.numbers & self.chart.free
        self.slope, self.peak = (np.array([nearest(charge[k]) for charge in norm.charges]) for k in (1, 2))

    def first(self) -> Floats | None:
        """A valid row on the way from a background row to the start, shape (features,); None where none is found."""
        given = self.run.task.rows
        if given is None or not len(given):
            return None
        rows = self.chart.snap(np.where(np.isfinite(given), given, self.chart.start))
        rows = rows[np.argsort(self.chart.distances(rows), kind="stable")[:BACKGROUND]]
        rows = rows[self.run.scores(rows).valid][:BEGIN]
        if not len(rows):
            return None
        shares = np.arange(1, PARTS + 1)[:, None, None] / PARTS
        ways = np.where(self.chart.numbers, self.chart.start + shares * (rows - self.chart.start), rows)
        return self._best(self.chart.snap(ways.reshape(-1, rows.shape[1])))

    def nearer(self, row: Floats, deadline: Deadline) -> Floats:
        """The last of the valid rows to which the way from this one leads."""
        distance = self.chart.distances(row[None])[0]
        for _ in range(ROUNDS):
            if deadline.over or self.run.task.asked.why:
                break
            found = self._best(self._steps(row))
            if found is None:
                break
            nearer = self.chart.distances(found[None])[0]
            if not nearer < distance * (1 - LEAST):
                break
            row, distance = found, nearer
        return row

    def _best(self, rows: Floats) -> Floats | None:
        """The nearest of rows that are valid."""
        valid = rows[self.run.scores(rows).valid]
        return valid[np.argmin(self.chart.distances(valid))] if len(valid) else None

    def _steps(self, row: Floats) -> Floats:
        """Rows to try next: for regions of all sizes, and on the way to the first of them."""
        slopes, spare = self._linear(row)
        place = np.where(self.moves, (row - self.chart.start) / self.chart.scale, 0.0)
        low, high = ((end - self.chart.start) / self.chart.scale for end in (self.chart.low, self.chart.high))
        found = []
        for region in REGIONS:
            ends = np.maximum(low, place - region), np.minimum(high, place + region)
            moved = self._least(slopes, spare, place, *ends)
            found += [moved, (moved + place) / 2]
        rows = np.where(self.moves, self.chart.start + np.array(found) * self.chart.scale, row)
        back = np.tile(row, (len(row), 1))
        np.fill_diagonal(back, self.chart.start)  # each change taken back
        return self.chart.snap(np.concatenate([rows, back[row != self.chart.start]]))

    def _linear(self, row: Floats) -> tuple[Floats, float]:
        """Of what is hardest to reach: the slope by the change of each feature, and by how much it is passed."""
        columns = self.enclosure.columns
        step = np.where(self.moves, 1e-6 * self.chart.scale, 0.0)
        around = self.chart.matrix(np.concatenate([row[None], row + np.diag(step)]), columns)
        at = around[:1]
        tight = over(self.needs.numbers, Range(at, at), at)
        reached = (tight.said.low[0] + tight.said.high[0]) / 2
        hardest = [
            min((reached[number] - least, number) for number, least in part) for part in self.needs.parts if part
        ]
        if not hardest:
            return np.zeros(len(row)), 0.0
        spare, number = max(hardest)
        with np.errstate(all="ignore"):
            slopes = (around[1:] - at) @ tight.slopes[0, :, number] / 1e-6
        return np.where(self.moves & np.isfinite(slopes), slopes, 0.0), float(spare)

    def _least(self, slopes: Floats, spare: float, place: Floats, low: Floats, high: Floats) -> Floats:
        """The least changes in a region by which a linear function falls by no more than `spare` below a place."""
        home: Floats = np.asarray(np.clip(0.0, low, high))
        toward = np.where(slopes > 0, high, low)
        lacking = float(slopes @ (place - home)) - spare
        if lacking <= 0:
            return home
        if self.peak.any():
            return self._level(slopes, lacking, home, toward)
        gains = np.abs(slopes) * np.abs(toward - home)
        with np.errstate(all="ignore"):
            price = np.where(gains > 0, self.slope / np.abs(slopes), np.inf)
        order = np.argsort(price, kind="stable")
        before = np.cumsum(gains[order]) - gains[order]
        with np.errstate(all="ignore"):
            share = np.where(gains[order] > 0, np.clip((lacking - before) / gains[order], 0.0, 1.0), 0.0)
        found = home.copy()
        found[order] += share * (toward - home)[order]
        return np.asarray(found)

    def _level(self, slopes: Floats, lacking: float, home: Floats, toward: Floats) -> Floats:
        """The same where the largest change counts: all change as much, as far as they can."""
        with np.errstate(all="ignore"):
            units = np.where(self.peak > 0, 1.0 / self.peak, np.inf)

        def moved(top: float) -> Floats:
            reach = np.minimum(np.abs(toward), np.maximum(top * units, np.abs(home)))
            return np.where(slopes == 0, home, np.where(toward == home, home, np.sign(toward - home) * reach))

        short, enough = 0.0, 1.0
        for _ in range(50):
            middle = (short + enough) / 2
            if slopes @ (moved(middle) - home) < lacking:
                short = middle
            else:
                enough = middle
        return np.asarray(moved(enough))
