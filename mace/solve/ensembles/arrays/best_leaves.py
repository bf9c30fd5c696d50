"""The best leaves of a box of cells, tree by tree, without any distance: what plans ask of an ensemble.

In:  the arrays of `cells`, and a box in cells (masks for axes of levels).
Out: for every comparison of the goal the sum of the largest gains that a leaf of each tree can give in the box
     (`best_gains`); or for many boxes whether some part of the goal may hold there (`may_hold`).
Promise: no point of the box has a larger sum; with one cell an axis it is the sum exactly.
"""

from __future__ import annotations

import numpy as np

from mace.solve.compiled import compiled
from mace.solve.ensembles.arrays.cuts import Array

LEAF = -1


@compiled
def best_gains(
    test: Array, roots: Array, gain: Array, grid: Array, base: Array, at: Array, low: Array, high: Array
) -> Array:  # fmt: skip
    found = np.zeros(gain.shape[0], np.int64)
    stack = np.empty(test.shape[0] + 1, np.int64)
    for c in range(gain.shape[0]):
        total = 0
        for root in roots:
            best, size = -(2**62), 1
            stack[0] = root
            while size > 0:
                size -= 1
                node = stack[size]
                if gain[c, node] <= best:
                    continue
                axis, cut = test[node, 0], test[node, 1]
                if axis == LEAF:
                    best = gain[c, node]
                    continue
                if grid[axis]:
                    left, right = low[axis] <= cut, high[axis] > cut
                else:
                    mask = at[base[axis] + cut]
                    left, right = (low[axis] & mask) != 0, (low[axis] & ~mask) != 0
                if left:
                    stack[size] = test[node, 2]
                    size += 1
                if right:
                    stack[size] = test[node, 3]
                    size += 1
            total += best
        found[c] = total
    return found


@compiled
def may_hold(
    test: Array, roots: Array, gain: Array, grid: Array, base: Array, at: Array, lows: Array, highs: Array,
    need: Array, part_of: Array, begin: Array,
) -> Array:  # fmt: skip
    held = np.zeros(lows.shape[0], np.bool_)
    for k in range(lows.shape[0]):
        best = best_gains(test, roots, gain, grid, base, at, lows[k], highs[k])
        for part in range(len(begin) - 1):
            some = True
            for place in range(begin[part], begin[part + 1]):
                some &= best[part_of[place]] >= need[part_of[place]]
            held[k] |= some
    return held
