"""Small spaces, asked about as a whole: the nearest point first, until one has the goal.

In:  a task of which all axes are finite and few points are left.
Out: `Enumerated`: the nearest valid point, and below which distance every allowed point was asked about; of a task
     without one the best point by the levels of its score.
Promise: where the model answers each point as it did, no allowed point with the goal is nearer than `lower`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.exact import exact, nearest
from mace.search.chart import Chart, Floats
from mace.search.protocol import Proposal, Run, Task
from mace.search.score import WORST, Score
from mace.space.axes import Axis, GridAxis, Point

MOST = 20_000  # points of a space that is enumerated
BATCH = 256
CLOSE = 1e-9  # relative: distances in floats that may be equal


class Enumerated(NamedTuple):
    """What asking about all points, the nearest first, came to.

    lower: no valid point is nearer; None: there is none at all.
    asked: of how many points.    allowed: how many there are.    why: what stopped it.
    score: of the point.    missed: where no valid point was found, the best of those that were asked about.
    """

    point: Point | None
    lower: Fraction | None
    asked: int
    allowed: int
    why: str
    score: Score | None
    missed: Proposal | None


def points_of(task: Task) -> int:
    """How many points the axes have."""
    return math.prod(_count(axis) for axis in task.place.axes)


def _count(axis: Axis) -> int:
    return axis.upper - axis.lower + 1 if isinstance(axis, GridAxis) else axis.allowed.bit_count()


def enumerate_points(run: Run) -> Enumerated:
    """Ask about all allowed points of a task, the nearest first, as far as the run's limits allow."""
    chart, task = run.task.chart, run.task
    rows = _all(chart)
    rows = rows[chart.allowed(rows)]
    distances, changes = chart.distances(rows), chart.changed(rows).sum(axis=1)
    order = np.lexsort((changes, distances))
    rows, distances, changes = rows[order], distances[order], changes[order]
    found: list[int] = []
    done, best, leader = 0, WORST, -1
    while done < len(rows) and not (found and distances[done] > distances[found[0]] * (1 + CLOSE)):
        scores = run.scores(rows[done : done + BATCH])
        asked = np.isfinite(scores.goal)
        found += (done + np.flatnonzero(scores.valid & asked)).tolist()
        first = int(scores.order()[0])
        if asked[first] and scores.at(first) < best:
            best, leader = scores.at(first), done + first
        done += len(asked) if asked.all() else int(asked.argmin())
        if not asked.all():
            break
    # Floats of distances that are the same may differ, and then stand before those with fewer changes.
    nearest_first = sorted(
        found, key=lambda place: (task.place.distance_of(chart.point(rows[place])), changes[place], place)
    )
    point = chart.point(rows[nearest_first[0]]) if found else None
    why = "" if done == len(rows) or found else task.asked.why
    if point is not None:
        lower: Fraction | None = task.place.distance_of(point)
        if done < len(rows) and distances[done] <= nearest(lower or Fraction(0)) * (1 + CLOSE):
            lower, why = exact(distances[done] * (1 - CLOSE)), task.asked.why
    else:
        lower = None if done == len(rows) else exact(float(distances[done]) * (1 - CLOSE))
    if found:
        return Enumerated(point, lower, done, len(rows), why, run.scores(rows[nearest_first[:1]]).at(0), None)
    missed = None
    if leader >= 0:
        near = chart.point(rows[leader])
        missed = Proposal(near, best, task.place.distance_of(near), 0, task.asked.calls, 0.0)
    return Enumerated(None, lower, done, len(rows), why, None, missed)


def _all(chart: Chart) -> Floats:
    """All points of the axes, as rows."""
    sides = []
    for j, axis in enumerate(chart.place.axes):
        known = chart.levels[j]
        if isinstance(axis, GridAxis):
            values = [nearest(axis.value(index)) for index in range(axis.lower, axis.last + 1)]
            known = np.array([*values, np.nan] if axis.may_lack else values)
        assert known is not None
        sides.append(known)
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))
