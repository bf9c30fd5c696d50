"""A condition on a mean of probabilities as a sum of rising functions, one of each member's score.

In:  a table that says a mean (`mace.tables.means`), and a condition on it (`mace.problem.goal_means`).
Out: a `Rise`: where and how much each member says at most, as often as it counts, as arrays for compiled code.
Promise: where the library's mean meets the condition, the sum at its own scores is at least `need`. A function lies
above what its member says, as the library rounds it, by little more than that rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.base.cache import Kept
from mace.problem.goal_means import FARTHEST, MANY, Condition, Piece, bend_of, is_rising, most_of, places_of
from mace.tables.margins import compare_slack
from mace.tables.means import counts, doubt
from mace.tables.table import Compare, Ensemble, Floats, Ints, Link


class Rise(NamedTuple):
    """One condition. K members, P places.

    turn:  (K,) 1 where a member's function rises with its score, -1 where it rises with minus the score: what follows
           is about score * turn.
    at:    (K, P) rising places; places: (K,) how many a member has.
    left, right: (K, P) the function at both ends of the interval that begins at a place, linear between; from the last
           place on it is the last of `right`.
    counts: (K,) how often a member counts in the sum, which is in the functions already.
    far:   (K,) how far a score of the library, times `divide`, may lie from the sum of the trees.
    start: (K,) what a score times `turn` is before the first tree, times `divide`, by which sums are divided.
    need:  the sum of the functions that the condition takes.
    """

    turn: Floats
    at: Floats
    places: Ints
    left: Floats
    right: Floats
    counts: Floats
    far: Floats
    start: Floats
    divide: float
    need: float


_RISES: Kept[Rise] = Kept(8)


def rise_of(table: Ensemble, condition: Condition, whole: Piece) -> Rise:
    """The functions of a condition; whole: all scores that the table can have."""
    return _RISES.get(table, condition, lambda: _rise_of(table, condition, whole))


def _rise_of(table: Ensemble, condition: Condition, whole: Piece) -> Rise:
    assert table.link is not None
    slacks = [float(max(compare_slack(table, Compare(k, None)))) for k in range(table.outputs)]
    size = np.maximum(np.abs(whole.low), np.abs(whole.high)) * table.divide
    far = np.array(slacks) * (1 + 1e-9) + 1e-14 * (1 + size)  # and what is rounded on the way there
    found = functions(table.link, condition, whole)
    return found._replace(far=far, start=found.turn * table.start, divide=float(table.divide))


def functions(link: Link, condition: Condition, whole: Piece) -> Rise:
    """The same of a link alone, about scores that are known exactly."""
    sign, counted, found = condition.sign, counts(link), []
    turn = np.array([1.0 if is_rising(part) == (sign > 0) else -1.0 for part in link.parts])
    for k, part in enumerate(link.parts):
        places = places_of(part, whole.low[k], whole.high[k], whole.at[k], MANY)
        values, bend = most_of(part, sign, places), bend_of(part)
        if turn[k] < 0:
            places, values = -places[::-1], values[::-1]
        right = np.append(values[1:], most_of(part, sign, np.array([turn[k] * FARTHEST])))
        left = right.copy()
        if bend is not None:  # a chord lies no farther below than this
            over = 0.125 * bend * np.append(np.diff(places), 0.0) ** 2
            left, right = values + over, right + over
            left[-1] = right[-1]
        found.append((places, counted[k] * (left + 1e-13) + 1e-13, counted[k] * (right + 1e-13) + 1e-13))
    most = max(len(places) for places, _, _ in found)
    at, left, right = (
        np.array([np.pad(one[n], (0, most - len(one[n])), mode="edge") for one in found]) for n in range(3)
    )
    count = np.array([len(places) for places, _, _ in found], np.int32)
    need = len(link.parts) * (condition.bound - doubt(link)) - 1e-13
    return Rise(turn, at, count, left, right, counted, np.zeros(len(turn)), np.zeros(len(turn)), 1.0, need)
