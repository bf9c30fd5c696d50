"""The sides of cuts that trees test, and of every leaf those on which it lies whole.

In:  the arrays of a question, a forest that was cut down to its box (`shrink`), and the paths of its leaves.
Out: `sides_of`: for each tree the sides of the cuts that it tests, as far as they hold some leaf; of each leaf its own.
Only axes on a leaf's path are looked at: every test of the forest divides its box, so that a leaf whose path does not
test an axis lies on no side of that axis whole. (In a forest that was not cut down, a test may have the whole box on
one side; a price for that side would not raise the bound.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.solve.compiled import compiled
from mace.solve.ensembles.arrays.cells import Forest, Ground, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.paths import Leaves


class SideRows(NamedTuple):
    """The rows of sides, by number: tree, axis, cut (local to the axis), side (0: cell <= cut, or level in the mask).

    node: the node of the whole forest that the side's test leads to.
    """

    tree: Array
    axis: Array
    cut: Array
    side: Array
    node: Array

    def taken(self, some: Array) -> SideRows:
        """Some of the rows, by place."""
        return SideRows(*(column[some] for column in self))

    def limits(self, ground: Ground) -> Array:
        """The last cell below the cut of each row, or the mask of levels of its side 0."""
        limit = self.cut.copy()
        levels = np.flatnonzero(~ground.grid[self.axis])  # of grids, a cut may lie outside of what `at` holds
        limit[levels] = ground.at[ground.base[self.axis[levels]] + self.cut[levels]]
        return limit


class LeafRows(NamedTuple):
    """The rows of sides, in order of their axes, sides and cuts; at: (L + 1,) where the rows of each leaf on whose
    sides it lies whole begin in `row`, by number, in order.
    """

    rows: SideRows
    at: Array
    row: Array


def sides_of(grounded: Grounded, forest: Forest, leaves: Leaves, deadline: Deadline = NEVER) -> LeafRows:
    """The rows of sides that hold some leaf, and those of each leaf. Raises TimeOverError before each step."""
    what = "preparing the relaxation"
    deadline.look(what)
    entered = _entered(grounded, forest)
    deadline.look(what)
    trees = np.arange(len(forest.roots) + 1)
    first_leaf, first_row = (np.searchsorted(tree, trees) for tree in (leaves.tree, entered.tree))
    ground = grounded.ground
    at, row = rows_of_leaves(ground, leaves, first_leaf, first_row, entered.axis, entered.side, entered.limits(ground))
    deadline.look(what)
    holds = np.zeros(len(entered.tree), np.bool_)
    holds[row] = True
    used = np.flatnonzero(holds)
    used = used[np.lexsort((entered.cut[used], entered.side[used], entered.axis[used]))]
    number = np.zeros(len(holds), np.int64)
    number[used] = np.arange(len(used))
    return LeafRows(entered.taken(used), at, number[row])


def _entered(grounded: Grounded, forest: Forest) -> SideRows:
    """For each tree both sides of each cut that it tests, with a node of the whole forest to which that test leads.

    In order of trees, axes, sides and cuts.
    """
    inner = np.flatnonzero(forest.test[:, 0] >= 0)
    tree = np.searchsorted(forest.roots, inner, side="right") - 1
    axes, cuts = len(grounded.ground.grid), int(forest.test[inner, 1].max(initial=0)) + 1
    tests = (tree * axes + forest.test[inner, 0]) * cuts + forest.test[inner, 1]
    found, first = np.unique(tests, return_index=True)
    of_axis, cut = np.divmod(np.tile(found, 2), cuts)
    side = np.repeat([0, 1], len(found))
    order = np.argsort((2 * of_axis + side) * cuts + cut)
    tree, axis = np.divmod(of_axis[order], axes)
    node = grounded.forest.test[forest.leaf[inner[first]], 2:].astype(np.int64).T.ravel()
    return SideRows(tree, axis, cut[order], side[order], node[order])


@compiled
def rows_of_leaves(
    ground: Ground, leaves: Leaves, first_leaf: Array, first_row: Array, axis: Array, side: Array, limit: Array
) -> tuple[Array, Array]:
    """Of each leaf the rows of its tree on whose sides it lies whole: where they begin, and all of them.

    first_leaf, first_row: (T + 1,) where the leaves and the rows of each tree begin. axis, side, limit: of each row, in
    order of trees, axes, sides and cuts; limit: see `SideRows.limits`.
    """
    axes = len(ground.grid)
    first, over, last = np.zeros(axes, np.int64), np.zeros(axes, np.int64), np.zeros(axes, np.int64)
    at, row = np.zeros(len(leaves.node) + 1, np.int64), np.zeros(0, np.int64)
    for writing in (False, True):
        count = 0
        for t in range(len(first_leaf) - 1):
            for i in range(first_row[t + 1] - 1, first_row[t] - 1, -1):
                j = axis[i]
                if i + 1 == first_row[t + 1] or axis[i + 1] != j:
                    over[j] = last[j] = i + 1
                if side[i] == 1:
                    over[j] = i
                first[j] = i
            for leaf in range(first_leaf[t], first_leaf[t + 1]):
                for s in range(leaves.begin[leaf], leaves.begin[leaf + 1]):
                    j, low, high = leaves.axis[s], leaves.low[s], leaves.high[s]
                    begin, end = over[j], over[j]
                    if ground.grid[j]:
                        while begin > first[j] and limit[begin - 1] >= high:
                            begin -= 1
                        while end < last[j] and limit[end] < low:
                            end += 1
                        if writing:
                            for i in range(begin, end):
                                row[count + i - begin] = i
                        count += end - begin
                        continue
                    for i in range(first[j], last[j]):
                        if low & (~limit[i] if side[i] == 0 else limit[i]) == 0:
                            if writing:
                                row[count] = i
                            count += 1
                at[leaf + 1] = count
        if not writing:
            row = np.empty(count, np.int64)
    return at, row
