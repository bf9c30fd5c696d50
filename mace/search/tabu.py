"""Entity tabu search: change one feature after the other, and do not come back to one too soon.

Each step tries moves of single features and goes on from the best of them, even where that is worse than before. A
feature that moved is left alone for some steps, unless it leads to a point better than all before. Some moves of each
step start elsewhere: at the best point known, and at the best points that change this or that few features, so that
each way to the goal is closed in on by itself.

Source: "Counterfactuals with Constraint Solvers", which runs such a search with a list of 10 features and 1000 moves a
step from where it stands. Here numbers also move by steps of all sizes and back towards the start, which is what
closes in on the boundary of the goal.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mace.search.chart import Chart, Floats
from mace.search.limits import check
from mace.search.observed import nearest_observed
from mace.search.protocol import Batches, Task
from mace.search.score import WORST, Score, Scores
from mace.space.axes import Point

Places = NDArray[np.intp]
ELITE_SHARE = 0.2  # how likely the first of them is taken, the second if not, ..
ELITES = 32  # sets of changed features of which the best point is kept
FINEST = 32.0  # powers of two below the range that the smallest step of a number is


@dataclass(frozen=True)
class Tabu:
    """Entity tabu search.

    size:     for how many steps a feature that moved is left alone; at most all free features but one.
    moves:    how many points are tried in a step.
    observed: of the background rows, how many of the nearest ones are tried first.
    patience: after so many steps without a better point it ends; None: never by itself.
    """

    size: int = 10
    moves: int = 64
    observed: int = 64
    patience: int | None = 300
    name: str = "tabu"

    def __post_init__(self) -> None:
        check(self, zero=("size", "observed"))

    def refusal(self, task: Task) -> str | None:  # noqa: ARG002
        """None: it takes every task; where no feature may change it asks about the start alone."""
        return None

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """The start, then the moves of each step."""
        chart = task.chart
        at, free = chart.snap(chart.start)[0], np.flatnonzero(chart.free)
        scores = yield at[None]
        if not len(free):
            return None
        known = _Known(chart, at, scores.at(0) if np.isfinite(scores.goal[0]) else WORST)
        if task.rows is not None and len(rows := nearest_observed(chart, task.rows)[: self.observed]):
            known.learn(rows, (yield rows))
        left_alone, idle = deque[int](maxlen=max(0, min(self.size, len(free) - 1))), 0
        met: Point | None = None
        while self.patience is None or idle < self.patience:
            if (given := task.known()) is not None and given is not met:  # perhaps somebody else's
                met, row = given, chart.row(given)[None]
                at = row[0] if known.learn(row, (yield row)) >= 0 else at
            rows, features = self._moves(chart, at, known, free, rng)
            rows = chart.snap(rows)
            scores = yield rows
            idle += 1
            chosen = known.learn(rows, scores)
            if chosen >= 0:
                idle = 0
            else:
                # The moves from elsewhere only count where they are better than all before.
                tried = np.isfinite(scores.goal) & ~np.isin(features, left_alone) & (rows != at).any(axis=1)
                tried[self.moves // 2 :] = False
                chosen = next((int(place) for place in scores.order() if tried[place]), -1)
            if chosen >= 0:
                at = rows[chosen]
                left_alone.append(int(features[chosen]))
        return None

    def _moves(
        self, chart: Chart, at: Floats, known: _Known, free: Places, rng: np.random.Generator
    ) -> tuple[Floats, Places]:
        """The points to try, and which feature each moves: half of them from where the search stands."""
        origins, features = np.tile(at, (self.moves, 1)), rng.choice(free, self.moves)
        half, few = self.moves // 2, self.moves // 8
        origins[half : half + few] = known.leader
        elites = known.elites()
        # Of those that change fewer features more often.
        chosen = np.minimum(rng.geometric(ELITE_SHARE, self.moves) - 1, len(elites) - 1)
        for place in range(half + few, self.moves if elites else 0):
            origins[place] = elites[chosen[place]]
            changed = np.flatnonzero(chart.changed(origins[place][None])[0])
            if len(changed):
                features[place] = rng.choice(changed)
        fine = np.arange(self.moves) >= half + few
        return moved(chart, origins, features, fine, rng), features


class _Known:
    """The best point, and the best points that change some features and no others."""

    def __init__(self, chart: Chart, leader: Floats, best: Score) -> None:
        self.chart, self.leader, self.best = chart, leader, best
        self._by_change: dict[bytes, tuple[Score, Floats]] = {}

    def learn(self, rows: Floats, scores: Scores) -> int:
        """Take in what was found; the place of a point that is better than all before, or -1."""
        changed = self.chart.changed(rows)
        for place in np.flatnonzero(np.isfinite(scores.goal)).tolist():
            key, score = changed[place].tobytes(), scores.at(place)
            if key not in self._by_change or score < self._by_change[key][0]:
                self._by_change[key] = (score, rows[place])
        if len(self._by_change) > 4 * ELITES:
            # Those that change few features, and of these the best.
            kept = sorted(self._by_change.items(), key=lambda item: (item[1][0].changes, item[1][0]))[:ELITES]
            self._by_change = dict(kept)
        if not len(rows):
            return -1
        first = int(scores.order()[0])
        if not (scores.at(first) < self.best and np.isfinite(scores.goal[first])):
            return -1
        self.best, self.leader = scores.at(first), rows[first]
        return first

    def elites(self) -> list[Floats]:
        """The best point of each set of changed features, the fewest changes first."""
        some = [entry for entry in self._by_change.values() if entry[0].changes]
        return [row for _, row in sorted(some, key=lambda entry: (entry[0].changes, entry[0]))]


def moved(chart: Chart, origins: Floats, features: Places, fine: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """One feature of each row moved: anywhere, a step of any size, towards the start, or back to it.

    fine: which rows only move by steps and towards the start, shape (rows,).
    """
    rows = origins.copy()
    kinds = np.where(fine, rng.integers(2, 6, len(rows)), rng.integers(0, 6, len(rows)))
    share, way, size = rng.random(len(rows)), rng.choice([-1.0, 1.0], len(rows)), rng.random(len(rows))
    for place, j in enumerate(features):
        known, start, now = chart.levels[j], chart.start[j], rows[place, j]
        if kinds[place] == 0:
            rows[place, j] = start
        elif known is not None:
            rows[place, j] = known[int(share[place] * len(known))]
        elif kinds[place] == 1 or now != now or start != start:
            rows[place, j] = chart.low[j] + share[place] * (chart.high[j] - chart.low[j])
        elif kinds[place] == 2:
            rows[place, j] = start + (now - start) * share[place]
        elif kinds[place] == 3:
            rows[place, j] = start + (now - start) * (1 - 2.0 ** -(FINEST * size[place]))
        else:
            step = chart.scale[j] * 2.0 ** -(FINEST * size[place] ** 2)
            rows[place, j] = now + way[place] * step
    return rows
