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
from mace.scorecards.problem import Array, supports

BATCH = 3000  # choices that join at a time
ROUNDS = 30
SAFE = 1e-9  # of a sum, for rounding


class Priced(NamedTuple):
    """bound: no set has a smaller sum. excess: (choices,) >= 0, by how much each with its prices exceeds `least`.

    values: the price of each (variable, bin) that has one; sets: of each set of variables, as bits.
    """

    bound: float
    least: float
    excess: Array
    values: dict[tuple[int, int], float]
    sets: dict[int, float]


def priced(bins: Array, cost: Array, count: int, deadline: Deadline, *, features: bool) -> Priced | None:
    """Prices of bins; None where the program is not solved. Raises TimeOverError."""
    taken, names = _taken(bins, features=features)
    active = np.arange(min(BATCH, len(cost)))
    best: Priced | None = None
    for _ in range(ROUNDS):
        deadline.look("pricing bins")
        part = taken[active]
        found = linprog(
            cost[active], A_ub=part.T.tocsr(), b_ub=np.ones(part.shape[1]), A_eq=np.ones((1, len(active))),
            b_eq=[float(count)], bounds=(0, None), method="highs",
            options={} if (left := deadline.left()) is None else {"time_limit": max(left, 0.01)},
        )  # fmt: skip
        deadline.look("pricing bins")
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
            best = Priced(bound, each + least, excess - least, *_named(names, prices))
        outside = np.flatnonzero(excess < -1e-9)
        if not len(outside):
            return best
        outside = outside[np.argsort(excess[outside], kind="stable")[:BATCH]]
        joined = np.union1d(active, outside)
        if len(joined) == len(active):
            return best
        active = joined
    return best


class _Names(NamedTuple):
    """What the columns of `_taken` stand for: bins, as variable * width + bin, and after them sets of variables."""

    bins: Array
    width: int
    sets: list[int]  # of variables as bits; wider than a word where there are many


def _taken(bins: Array, *, features: bool) -> tuple[csr_array, _Names]:
    """Which bins (and which set of variables) each choice takes, shape (choices, bins and sets)."""
    moved, width = bins >= 0, int(bins.max(initial=0)) + 1
    rows, columns = np.nonzero(moved)
    places, number = np.unique(columns * width + bins[rows, columns], return_inverse=True)
    sets: list[int] = []
    if features:
        _, one, which = np.unique(supports(moved), return_index=True, return_inverse=True)
        sets = [sum(1 << int(j) for j in np.flatnonzero(moved[n])) for n in one]
        rows = np.concatenate([rows, np.arange(len(bins))])
        number = np.concatenate([number, which + len(places)])
    shape = (len(bins), len(places) + len(sets))
    return csr_array((np.ones(len(rows)), (rows, number)), shape=shape), _Names(places, width, sets)


def _named(names: _Names, prices: Array) -> tuple[dict[tuple[int, int], float], dict[int, float]]:
    """The prices above 0 of bins, and of sets of variables."""
    first = len(names.bins)
    return (
        {divmod(int(n), names.width): float(p) for n, p in zip(names.bins, prices[:first], strict=True) if p > 0},
        {n: float(p) for n, p in zip(names.sets, prices[first:], strict=True) if p > 0},
    )
