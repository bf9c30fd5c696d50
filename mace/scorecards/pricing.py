"""Which choices of bins can be in a better set, by the prices of a linear program.

In:  single choices, how many must go together, where each bin (and each set of variables) is taken at most once.
Out: `Priced`: a bound on the sum of any such set, and for each choice by how much it misses it.
Promise: a set with a sum below `bound + room` has choices only whose excess, and whose excesses together, are at most
`room`: for any prices >= 0, whatever the program's own tolerances.

The program chooses shares of choices; it is solved for the cheapest ones, and those whose excess is negative join.
Source: the set packing relaxation; reduced cost fixing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from mace.base.deadline import Deadline
from mace.scorecards.problem import Array

BATCH = 3000  # choices that join at a time
ROUNDS = 30
SAFE = 1e-9  # of a sum, for rounding


class Priced(NamedTuple):
    """bound: no set has a smaller sum. excess: (choices,) >= 0."""

    bound: float
    excess: Array


def priced(bins: Array, cost: Array, count: int, deadline: Deadline, *, features: bool) -> Priced | None:
    """Prices of bins; None where the program is not solved. Raises TimeOverError."""
    taken = _taken(bins, features=features)
    active = np.arange(min(BATCH, len(cost)))
    best: Priced | None = None
    for _ in range(ROUNDS):
        deadline.look("pricing bins")
        part = taken[active]
        found = linprog(
            cost[active], A_ub=part.T.tocsr(), b_ub=np.ones(part.shape[1]), A_eq=np.ones((1, len(active))),
            b_eq=[float(count)], bounds=(0, None), method="highs",
        )  # fmt: skip
        if found.status == 2 and len(active) < len(cost):  # too few choices yet
            active = np.arange(min(len(cost), 4 * len(active)))
            continue
        if found.status != 0 or found.eqlin is None or found.ineqlin is None:
            return best
        prices = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        each = float(np.asarray(found.eqlin.marginals)[0])
        excess = cost + taken @ prices - each
        least = min(float(excess.min()), 0.0)
        bound = count * (each + least) - float(prices.sum())
        bound -= SAFE * (count * abs(each) + float(prices.sum()) + 1.0)
        if best is None or bound > best.bound:
            best = Priced(bound, excess - least)
        outside = np.flatnonzero(excess < -1e-9)
        if not len(outside):
            return best
        outside = outside[np.argsort(excess[outside], kind="stable")[:BATCH]]
        joined = np.union1d(active, outside)
        if len(joined) == len(active):
            return best
        active = joined
    return best


def _taken(bins: Array, *, features: bool) -> csr_array:
    """Which bins (and which set of variables) each choice takes, shape (choices, bins and sets)."""
    moved = bins >= 0
    rows, columns = np.nonzero(moved)
    places = columns * (int(bins.max(initial=0)) + 1) + bins[rows, columns]
    _, number = np.unique(places, return_inverse=True)
    if features:
        support = moved @ (1 << np.arange(bins.shape[1], dtype=np.int64))
        _, sets = np.unique(support, return_inverse=True)
        rows = np.concatenate([rows, np.arange(len(bins))])
        number = np.concatenate([number, sets + number.max(initial=-1) + 1])
    shape = (len(bins), int(number.max(initial=-1)) + 1)
    return csr_array((np.ones(len(rows)), (rows, number)), shape=shape)
