"""A first point for a mean of what several members say: that of one weighted sum of their scores.

In:  the arrays of a question, the member of each tree, and a condition as rising functions (`mace.problem.goal_rises`).
Out: cells of points that may have the goal, one after the other; the caller checks them.
Promise: nothing but guesses.
How: where every member says what the mean shall be, so does the mean. The way of each member's score from the start's
to there is of length 1 in the sum, and the greedy search for one ensemble climbs to it; points a little short of it, or
beyond it, follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mace.base.deadline import Deadline
from mace.problem.goal_rises import Rise
from mace.solve.ensembles.arrays.cells import Aim, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.gains import spread
from mace.solve.ensembles.points.greedy import greedy
from mace.tables.table import Floats

LENGTHS = (0.9, 1.0, 1.2, 1.5, 2.0)
"""Of the way on which all members come to say the mean, where points are looked for."""


def guesses(
    grounded: Grounded, owner: Array, rise: Rise, scores: Floats, most_changes: int, deadline: Deadline
) -> Iterator[Array]:
    """See the module's docstring.

    scores: (members,) those of the start. most_changes: -1 for any number.
    """
    here = scores * rise.turn * rise.divide
    way = _wanted(rise) * rise.divide - here
    way = np.maximum(way, 0.1 * max(float(way.max()), 1e-9))  # of members that say enough already
    weights = 1.0 / way
    forest = grounded.forest
    leaves = np.flatnonzero(forest.test[:, 0] < 0)
    member = owner[np.searchsorted(forest.roots, leaves, side="right") - 1]
    worth = forest.value[leaves, member] * (rise.turn * weights)[member]
    largest = max(float(np.abs(worth).max(initial=0.0)), 1e-300)
    exponent = 58 - int(np.frexp(largest * (len(forest.roots) + 1))[1])
    gain, value = np.zeros((1, len(forest.test)), np.int64), np.zeros((len(forest.value), 1))
    gain[0, leaves] = np.ldexp(worth, exponent).astype(np.int64)
    value[leaves, 0] = worth
    spread(grounded.tests.trees, gain)
    for length in LENGTHS:
        aim = _one(float((weights * (here + length * way - rise.start)).sum()), exponent)
        one = replace(grounded, forest=forest._replace(gain=gain, value=value), aim=aim)
        cells = greedy(one, most_changes, np.zeros(0, np.int64), deadline)
        if cells is None or deadline.over:
            return
        yield cells


def _wanted(rise: Rise) -> Floats:
    """The least score, times `turn`, at which each member says what the mean shall be; the last place where none is."""
    found = np.zeros(len(rise.turn))
    for k, count in enumerate(rise.places.tolist()):
        enough = np.flatnonzero(rise.right[k, :count] >= rise.counts[k] * rise.need / len(rise.turn))
        found[k] = rise.at[k, enough[0] if len(enough) else count - 1]
    return found


def _one(need: float, exponent: int) -> Aim:
    """That one sum is at least this."""
    first, none = np.zeros(1, np.int64), np.full(1, -1, np.int64)
    return Aim(
        need=np.array([int(min(max(np.ldexp(need, exponent), -(2.0**61)), 2.0**61))], np.int64),
        part_of=first, begin=np.array([0, 1], np.int64), plus=first, minus=none, than=np.array([need]),
        strict=np.zeros(1, np.bool_), start=np.zeros(1), single=False, divide=1.0, fuzzy=False, exponent=exponent,
    )  # fmt: skip
