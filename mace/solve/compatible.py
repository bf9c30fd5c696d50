"""Rows of a table of choices that go together, with the least sum of costs: a compiled depth-first search.

In:  rows in order of cost, one number a column: what is chosen there, or -1 for no change; how any two must differ.
Out: the best members of a set, where one costs less than what is known.
Promise: every set with the given first member whose cost is below `below` was looked at, or the budget was over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.solve.compiled import compiled, lean

Array = NDArray[Any]

BITS = 63  # of a set of bins in one whole number; a bin beyond them counts as one that is not taken yet


@compiled
def goes(bins: Array, one: int, other: int, features: bool, values: bool) -> bool:
    """Whether two rows may stand in one set."""
    alike = True
    for j in range(bins.shape[1]):
        a, b = bins[one, j], bins[other, j]
        if values and a >= 0 and a == b:
            return False
        alike = alike and (a >= 0) == (b >= 0)
    return not (features and alike)


@compiled
def reward(bins: Array, one: int, other: int, by_features: float, by_values: float) -> float:
    """What the differences of two rows are worth."""
    worth = 0.0
    for j in range(bins.shape[1]):
        a, b = bins[one, j], bins[other, j]
        if (a >= 0) != (b >= 0):
            worth += by_features + by_values
        elif a >= 0 and a != b:
            worth += 2 * by_values
    return worth


@compiled
def least(bins: Array, cost: Array, rows: Array, count: int, need: int) -> float:
    """What `need` of some rows, in order of cost, cost at least, if each bin of a column is taken once."""
    best = 0.0
    for j in range(bins.shape[1]):
        seen, taken, total = np.int64(0), 0, 0.0
        for k in range(count):
            b = bins[rows[k], j]
            if 0 <= b < BITS:
                if seen >> b & 1:
                    continue
                seen |= np.int64(1) << b
            taken += 1
            total += cost[rows[k]]
            if taken == need:
                break
        if taken < need:
            return np.inf
        best = max(best, total)
    return best


@lean
def those_that_go(
    bins: Array, n: int, left: Array, level: int, first: int, last: int, features: bool, values: bool
) -> int:
    """Put down for the next level which rows go with row n: on the first level of all after it, then of those from
    place first to last (left out). Returns how many."""
    fits = 0
    for k in range(n + 1 if level == 0 else first, len(bins) if level == 0 else last):
        m = k if level == 0 else left[level, k]
        if goes(bins, n, m, features, values):
            left[level + 1, fits] = m
            fits += 1
    return fits


@compiled
def best_from(
    start: int, bins: Array, cost: Array, first: Array, room: float, count: int, features: bool, values: bool,
    by_features: float, by_values: float, most_reward: float, below: float, budget: int, found: Array,
) -> tuple[float, int]:  # fmt: skip
    """The cost of the best set whose cheapest member is row `start`, if below `below` (else that), and what is left.

    budget: of rows looked at; once it is used up what is left is negative, and nothing is said of the rows not reached.
    first: another cost, whose sum is at most `room`. found: is given the members, shape (count,).
    """
    size = bins.shape[0]
    left = np.empty((count, size), np.int64)  # of each level: the rows that may come next
    length, place = np.zeros(count, np.int64), np.zeros(count, np.int64)
    chosen = np.zeros(count, np.int64)
    total, other = np.zeros(count + 1), np.zeros(count + 1)
    left[0, 0], length[0] = start, 1
    level = 0
    while level >= 0:
        need = count - level
        if place[level] > length[level] - 1 or (level > 0 and place[level] > length[level] - need):
            level -= 1
            continue
        n = left[level, place[level]]
        place[level] += 1
        budget -= 1
        if budget < 0:
            return below, budget
        if level > 0:
            lower = total[level]
            for m in range(need):
                lower += cost[left[level, place[level] - 1 + m]]
        else:
            lower = need * cost[n]
        pairs = need * (need - 1) // 2 + need * level
        if lower - pairs * most_reward >= below:
            level -= 1
            continue
        if other[level] + first[n] > room:
            continue
        chosen[level] = n
        worth = 0.0
        if most_reward > 0:
            for m in range(level):
                worth += reward(bins, n, chosen[m], by_features, by_values)
        total[level + 1] = total[level] + cost[n] - worth
        other[level + 1] = other[level] + first[n]
        if need == 1:
            if total[count] < below:
                below = total[count]
                found[:] = chosen
            continue
        budget -= size - n - 1 if level == 0 else length[level] - place[level]
        fits = those_that_go(bins, n, left, level, place[level], length[level], features, values)
        if values:
            lower = total[level + 1] + least(bins, cost, left[level + 1], fits, need - 1)
            if lower - (pairs - level) * most_reward >= below:
                continue
        length[level + 1], place[level + 1] = fits, 0
        level += 1
    return below, budget
