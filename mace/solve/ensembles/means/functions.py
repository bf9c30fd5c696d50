"""The conditions on a mean as sums of functions of its members' scores, and what each of these says; compiled.

Out: the most that a member says up to a score, the scores below which it says less, and lines above it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cuts import Array


class Functions(NamedTuple):
    """The conditions on a mean, as functions of its members' scores. C conditions, K members, P places, Q points.

    turn:   (C, K) 1, or -1 where a member's function falls: all else is then said of its score times -1.
    need:   (C,) what the functions shall add up to; many: (C, K) how many places a member has.
    at:     (C, K, P) rising places; left, right: the function at both ends of the interval that begins there.
    ends:   at a place, no less than on either side of it; most: no less than anywhere below it.
    points: (C, K) how many of x, y: (C, K, Q) there are, the points at which a function bends; some of them, where it
            bends everywhere: smooth, (C, K).
    """

    turn: Array
    need: Array
    many: Array
    at: Array
    left: Array
    right: Array
    ends: Array
    most: Array
    points: Array
    x: Array
    y: Array
    smooth: Array


@lean
def fewer(at: Array, count: Any, score: float) -> int:
    """How many of so many rising places lie below a score."""
    low, high = np.int64(0), np.int64(count)
    while low < high:
        middle = (low + high) >> np.int64(1)
        if at[middle] < score:
            low = middle + 1
        else:
            high = middle
    return int(low)


@lean
def reached(at: Array, count: Any, score: float) -> int:
    """How many of so many rising places lie at a score or below it."""
    low, high = np.int64(0), np.int64(count)
    while low < high:
        middle = (low + high) >> np.int64(1)
        if at[middle] <= score:
            low = middle + 1
        else:
            high = middle
    return int(low)


@lean
def up_to(functions: Functions, c: int, k: int, score: float) -> float:
    """The most that a member says at a score or below it."""
    at, count = functions.at[c, k], functions.many[c, k]
    i = reached(at, count, score) - 1
    if i < 0:
        return float(functions.most[c, k, 0])
    if i == count - 1:
        return float(max(functions.most[c, k, i], functions.right[c, k, i]))
    share = (score - at[i]) / (at[i + 1] - at[i])
    left = functions.left[c, k, i]
    return float(max(functions.most[c, k, i], left + share * (functions.right[c, k, i] - left)))


@lean
def least(functions: Functions, c: int, k: int, said: float, low: float) -> float:
    """A score, `low` or a place above it, below which a member says less than this."""
    i = fewer(functions.most[c, k], functions.many[c, k], said) - 1
    return low if i < 0 else float(max(low, functions.at[c, k, i]))


@compiled
def constant_of(functions: Functions, c: int, k: int, slope: float, low: float, high: float) -> float:
    """The least constant with which a line of this slope lies above a member between two scores."""
    at, many = functions.at[c, k], functions.many[c, k]
    first, last = reached(at, many, low), fewer(at, many, high)
    most = max(up_to(functions, c, k, low) - slope * low, up_to(functions, c, k, high) - slope * high)
    if first < last:
        most = max(most, (functions.ends[c, k, first:last] - slope * at[first:last]).max())
    return float(most)
