"""The leaves of a forest, and what the path to each leaves of the axes that it tests.

In:  the arrays of a question, and a forest that was cut down to its box (`shrink`): every test divides it.
Out: `Leaves`: their sides.
A path tests few axes. Of thousands of features, which is what measurements of genes have, a whole box for every leaf
would take gigabytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.ensembles.arrays.cells import Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array


class Leaves(NamedTuple):
    """L leaves, in order of their nodes, and S sides of their paths.

    node, tree: (L,) of each leaf; begin: (L + 1,) where the sides of each leaf's path begin in
    axis, low, high: (S,) what the path leaves of an axis that it tests, in cells; for levels `low` is the mask. Those
    of a leaf in order of their axes.
    """

    node: Array
    tree: Array
    begin: Array
    axis: Array
    low: Array
    high: Array

    def of(self, some: Array) -> Leaves:
        """Some of the leaves, by place, in order."""
        count = self.begin[some + 1] - self.begin[some]
        begin = np.append(0, np.cumsum(count))
        side = np.arange(begin[-1]) + np.repeat(self.begin[some] - begin[:-1], count)
        return Leaves(self.node[some], self.tree[some], begin, self.axis[side], self.low[side], self.high[side])


def leaves_of(ground: Ground, forest: Forest) -> Leaves:
    """The leaves of a forest with their paths, which are walked upwards."""
    test, axes = forest.test, len(ground.grid)
    node = np.flatnonzero(test[:, 0] < 0)
    leaf, below, keys, lows, highs = np.arange(len(node)), node, *([np.zeros(0, np.int64)] for _ in range(3))
    while len(below):
        above = forest.up[below].astype(np.int64)
        leaf, below, above = leaf[above >= 0], below[above >= 0], above[above >= 0]
        axis, cut = test[above, 0].astype(np.int64), test[above, 1].astype(np.int64)
        grid, left = ground.grid[axis], test[above, 2] == below
        mask = cut.copy()  # of a forest that was not cut down, cuts of grids may lie outside
        mask[~grid] = ground.at[ground.base[axis[~grid]] + cut[~grid]]
        low, high = ground.low[axis].astype(np.int64), ground.high[axis].astype(np.int64)
        keys.append(leaf * axes + axis)
        lows.append(np.where(grid, np.where(left, low, np.maximum(low, cut + 1)), low & np.where(left, mask, ~mask)))
        highs.append(np.where(grid & left, np.minimum(high, cut), high))
        below = above
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    leaf, axis = np.divmod(key[first], axes)
    low, high = np.concatenate(lows)[order], np.concatenate(highs)[order]
    if len(first):
        masks = np.bitwise_and.reduceat(low, first)
        low = np.where(ground.grid[axis], np.maximum.reduceat(low, first), masks)
        high = np.minimum.reduceat(high, first)
    begin = np.searchsorted(leaf, np.arange(len(node) + 1))
    return Leaves(node, np.searchsorted(forest.roots, node, side="right") - 1, begin, axis, low, high)
