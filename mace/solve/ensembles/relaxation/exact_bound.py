"""What prices (dual multipliers) prove of a box in whole numbers, compiled: the sums that a checker computes as well.

In:  the arrays of a relaxation, what a box leaves open, and rounded multipliers, whatever they are.
Out: `rounded` prices; `proved`: a lower bound of the distance in units; `cost_of_piece`, by which `narrowing.py` leaves
     out cells.
Promise: the bound holds for every point of the box with the part of the goal, and a checker that evaluates the same
multipliers (proofs/FORMAT.md, 6.14) finds no less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.frame import ANYTHING, Active, RelaxationArrays, paid_by

NOTHING = -(2**62)  # what `proved` says where its sums do not fit
LARGEST = 2.0**59  # units that sums may have
MANY = 1024  # axes whose indices may each add so much the less


@compiled
def rounded(prices: Array, coarse: int, least: float) -> Array:
    """Prices in whole units of 2^coarse, so few that sums fit; those below `least` are dropped, which is positive."""
    found, unit, most = np.zeros(len(prices), np.int64), 2.0**-coarse, 2.0 ** (58 - coarse)
    for i in range(len(prices)):
        if prices[i] >= least:
            found[i] = np.int64(min(np.floor(prices[i] * unit + 0.5), most))
    return found


@lean
def of_spots(frame: RelaxationArrays, piece: int, share: float, lines: Array) -> int:
    """The least cost of the indices of a piece, with what multipliers of linear rules make of it, in whole units below;
    `ANYTHING` where sums of these might not fit.
    """
    least = np.int64(LARGEST)
    for s in range(frame.spots[piece], frame.spots[piece + 1]):
        own, added, about = frame.spot_part[s], 0.0, 0.0
        if share > 0.0:
            own += max(0, np.int64(np.floor(share * float(frame.spot_top[s]) * (1.0 - 2.0**-50))))
        for n in range(len(lines)):
            product = lines[n] * frame.spot_sum[n, s]
            added, about = added + product, about + abs(product)
        if not about <= LARGEST / MANY:
            return ANYTHING
        least = min(least, own + np.int64(np.floor(added - about * (len(lines) + 4) * 2.0**-50)) - 1)
    return int(least)


@lean
def cost_of_piece(frame: RelaxationArrays, j: int, piece: int, shares: Array, lines: Array) -> int:
    """What a piece of an axis costs, without its payments, in whole units below; `ANYTHING` where sums may not fit."""
    if frame.read[j]:
        return of_spots(frame, piece, shares[j], lines)
    own: Any = np.int64(frame.part[piece])
    if shares[j] > 0.0:
        own += max(0, np.int64(np.floor(shares[j] * float(frame.top[piece]) * (1.0 - 2.0**-50))))
    return int(own)


@lean
def least_of_trees(
    frame: RelaxationArrays, active: Active, price: Array, goal: Array, size: float
) -> tuple[Any, float]:
    """What the cheapest leaves of all trees cost, in whole units below, and the size of sums with what they add to it.

    size: that of the sums so far. The cost is `NOTHING` where they might not fit.
    """
    total: Any = np.int64(0)
    for t in range(len(active.first) - 1):
        least: Any = np.int64(ANYTHING)
        most = 0.0
        for k in range(active.first[t], active.first[t + 1]):
            own, slack = 0.0, 0.0
            for c in range(len(goal)):
                product = goal[c] * float(frame.gain[c, active.leaf[k]])
                own, slack = own - product, slack + abs(product)
            most = max(most, slack)
            if size + slack > LARGEST:
                return np.int64(NOTHING), size
            here = np.int64(np.floor(own - slack * (len(goal) + 2) * 2.0**-50)) - 1
            for i in range(active.at[k], active.at[k + 1]):
                here += price[active.row[i]]
            least = min(least, here)
        size += most
        total += least
    return total, size


@lean
def least_of_axes(frame: RelaxationArrays, active: Active, paid: Array, shares: Array, lines: Array) -> Any:
    """What the cheapest pieces of all axes cost when they have been paid, in whole units; `NOTHING` as above."""
    total: Any = np.int64(0)
    for j in range(len(frame.grid)):
        least: Any = np.int64(ANYTHING)
        pays: Any = np.int64(0)
        for piece in range(active.begin[j], active.end[j]):
            pays = paid[piece] + (pays if frame.grid[j] else np.int64(0))
            if frame.grid[j] or (active.mask[j] >> frame.begin_cell[piece]) & 1:
                cost: Any = cost_of_piece(frame, j, piece, shares, lines)
                if cost == ANYTHING:
                    return np.int64(NOTHING)
                least = min(least, np.int64(cost - pays))
        total += least
    return total


@compiled
def proved(
    frame: RelaxationArrays, active: Active, prices: Array, goal: Array, shares: Array, lines: Array, whole: Any
) -> int:  # fmt: skip
    """A lower bound of the distance in units: of points of the box with the part of the goal.

    prices: (R,) whole units. goal: (C,) units per scaled gain, of no more than 40 binary digits; whole: (C,) the needs.
    shares: (J,), of no more than 30 digits, with a sum of at most 1. lines: (N,), of no more than 30 digits.
    Lemma: products of doubles are rounded, and the result moved down by more than that; all sums are of whole numbers,
    and fit, since their sizes together are no more than `LARGEST`.
    """
    if active.empty:
        return ANYTHING
    price = np.empty(len(active.number), np.int64)
    size = 0.0
    for i in range(len(active.number)):
        price[i] = prices[active.number[i]]
        size += float(price[i])
    total: Any = np.int64(0)
    for c in range(len(goal)):
        product = goal[c] * float(whole[c])
        size += abs(product)
        if size > LARGEST:
            return NOTHING
        total += np.int64(np.floor(product - abs(product) * 2.0**-50)) - 1
    of_trees, size = least_of_trees(frame, active, price, goal, size)
    if of_trees == NOTHING:
        return NOTHING
    for n in range(len(lines)):
        product = lines[n] * frame.slack[n]
        size += abs(product)
        if not size <= LARGEST:
            return NOTHING
        total += np.int64(np.floor(product - abs(product) * 2.0**-48)) - 1
    of_axes = least_of_axes(frame, active, paid_by(frame, active, price), shares, lines)
    return NOTHING if of_axes == NOTHING else int(total + of_trees + of_axes)
