"""Reduced-cost fixing, compiled: which cells of a box can still hold a point that is near enough.

In:  the relaxation of trees, what a box leaves open, and prices whose bound of the box does not suffice to close it.
Out: `narrowed`: the box without the cells whose reduced cost by itself makes the bound suffice.
Promise: a point of the box with the goal, nearer than what is to be proved, lies in what is left.

A bound by prices is a sum of what the cheapest piece of every axis and the cheapest leaf of every tree cost. A point
pays for its own pieces instead: one that costs so much more than the cheapest of its axis that the sum is enough is out
of reach.
Source: Dantzig, Fulkerson, Johnson 1954, "Solution of a large-scale traveling-salesman problem" (reduced costs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.solve.compiled import compiled
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.exact_bound import cost_of_piece
from mace.solve.ensembles.relaxation.frame import ANYTHING, Active, RelaxationArrays, paid_by


@compiled
def narrowed(
    frame: RelaxationArrays, active: Active, prices: Array, shares: Array, lines: Array, spare: int, low: Array,
    high: Array,
) -> bool:  # fmt: skip
    """Take from both ends of a box what costs `spare` units more than the least of its axis, and such levels.

    prices: (R,) in whole units, shares, lines: as of `proved`. low, high: the box, in cells and masks, changed here.
    Returns whether something was taken.
    """
    price = np.empty(len(active.number), np.int64)
    for i in range(len(active.number)):
        price[i] = prices[active.number[i]]
    paid, own = paid_by(frame, active, price), np.empty(len(frame.part), np.int64)
    fewer = False
    for j in range(len(low)):
        grid, begin, end = frame.grid[j], active.begin[j], active.end[j]
        least, pays = np.int64(ANYTHING), np.int64(0)
        for piece in range(begin, end):
            pays = paid[piece] + (pays if grid else np.int64(0))
            own[piece] = ANYTHING
            if grid or (active.mask[j] >> frame.begin_cell[piece]) & 1:
                cost: Any = cost_of_piece(frame, j, piece, shares, lines)
                if cost == ANYTHING:
                    return False
                own[piece] = cost - pays
                least = min(least, own[piece])
        if not grid:
            for piece in range(begin, end):
                level = np.int64(1) << frame.begin_cell[piece]
                if low[j] & level and own[piece] - least >= spare:
                    low[j] &= ~level
                    fewer = True
            continue
        while own[begin] - least >= spare:
            begin += 1
        while own[end - 1] - least >= spare:
            end -= 1
        fewer |= frame.begin_cell[begin] > low[j] or frame.end_cell[end - 1] < high[j]
        low[j], high[j] = max(low[j], frame.begin_cell[begin]), min(high[j], frame.end_cell[end - 1])
    return fewer
