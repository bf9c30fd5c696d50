"""Scores of an ensemble, all its trees walked at once.

In:  an Ensemble and a matrix of shape (rows, columns).    Out: `scores`, shape (rows, outputs); `one`, of one row.
Promise: bit by bit what `Ensemble.scores` gives for every row (tests/compilers/test_crosscheck.py): the same casts and
tests, the same sums in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isnan

import numpy as np

from mace.base.cache import Kept
from mace.tables.table import Bools, Ensemble, Floats, Ints, Tree

MOST_NODES = 2_000_000  # of trees that are walked together
FEW_TREES = 128  # are walked one by one for a single row: arrays have more to do for each step
WORTH = 1000  # nodes that lists are made of, for each single row that was asked about: that takes as long


def scores(table: Ensemble, rows: Floats) -> Floats:
    """The library's own float scores of rows of shape (rows, columns), as float64."""
    seen = table.seen(np.asarray(rows, dtype=np.float64))
    total = np.tile(table.start.astype(table.dtype), (len(seen), 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for trees in _together(table.trees):
            walk = flat(table) if len(trees) == len(table.trees) else Walk(table, trees)
            reached = walk.leaves(seen)
            for place in range(len(trees)):
                total = total + walk.value[reached[:, place]].astype(table.dtype)
        if table.divide != 1:
            total = total / np.asarray(table.divide, dtype=table.dtype)
    return total.astype(np.float64)


def one(table: Ensemble, row: Floats) -> Floats:
    """The library's own float scores of a row of shape (columns,), as float64."""
    values = values_of(table, row)
    if values is None:
        return table.scores(row)
    if table.dtype == "float64":
        # Python adds the same doubles, one after the other, and arrays of a few numbers have more to do for it.
        found = table.start.tolist()
        for leaf in values.tolist():
            found = [total + value for total, value in zip(found, leaf, strict=True)]
        return np.array(found if table.divide == 1 else [total / table.divide for total in found], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # `accumulate` adds one after the other, as `Ensemble.total` does; `sum` would not.
        summands = np.concatenate([table.start[None, :].astype(table.dtype), values.astype(table.dtype)])
        total = np.add.accumulate(summands, axis=0, dtype=table.dtype)[-1]
        if table.divide != 1:
            total = total / np.asarray(table.divide, dtype=table.dtype)
    return np.asarray(total, dtype=np.float64)


def values_of(table: Ensemble, row: Floats) -> Floats | None:
    """What the leaves that a row reaches add, shape (trees, outputs); None for a model too large to be flattened."""
    if _too_many(table):
        return None
    walk = flat(table)
    seen = table.seen(np.asarray(row, dtype=np.float64))
    reached = walk.leaves_of_one(seen.tolist()) if len(table.trees) <= FEW_TREES else None
    return np.asarray(walk.value[walk.leaves(seen[None, :])[0] if reached is None else reached])


def flat(table: Ensemble) -> Walk:
    """All trees of a model in one array; kept, unless they are too many."""
    return Walk(table, table.trees) if _too_many(table) else WALKS.get(table, None, lambda: Walk(table, table.trees))


def _too_many(table: Ensemble) -> bool:
    return _COUNTS.get(table, None, lambda: sum(tree.nodes for tree in table.trees)) > MOST_NODES


def _together(trees: Sequence[Tree]) -> Iterator[list[Tree]]:
    """The trees in order, so many at a time that their nodes fit into memory."""
    some: list[Tree] = []
    nodes = 0
    for tree in trees:
        if some and nodes + tree.nodes > MOST_NODES:
            yield some
            some, nodes = [], 0
        some.append(tree)
        nodes += tree.nodes
    if some:
        yield some


class Walk:
    """Some trees in one array, walked by all rows at once; whoever reads its arrays must not change them."""

    def __init__(self, table: Ensemble, trees: Sequence[Tree]) -> None:
        self.table = table
        self._asked = 0  # single rows, so far
        sizes = np.array([tree.nodes for tree in trees])
        self.roots = np.cumsum(sizes) - sizes
        # Large forests take a quarter less memory so, and the time to fill it.
        narrow = np.int32 if sizes.sum() < 2**31 else np.int64
        shift = np.repeat(self.roots.astype(narrow), sizes)
        self.column = np.concatenate([tree.column for tree in trees])
        self.threshold = np.concatenate([tree.threshold for tree in trees])
        self.left = np.concatenate([tree.left for tree in trees]) + shift
        self.right = np.concatenate([tree.right for tree in trees]) + shift
        self.value = np.concatenate([tree.value for tree in trees])
        self.missing = np.concatenate([_missing(tree) for tree in trees])
        sets = {
            int(root) + node: found
            for root, tree in zip(self.roots, trees, strict=True)
            for node, found in tree.members.items()
        }
        self.set_of = np.full(len(self.column) if sets else 0, -1, dtype=np.int64)
        self.set_of[list(sets)] = np.arange(len(sets))
        most = max(map(len, sets.values()), default=0)
        ends = np.full((len(sets), most, 2), np.nan)  # NaN bounds no number.
        for place, found in enumerate(sets.values()):
            ends[place, : len(found)] = np.array(found, dtype=np.float64).reshape(len(found), 2)
        self.low, self.high = ends[:, :, 0], ends[:, :, 1]

    def leaves(self, seen: Floats) -> Ints:
        """The leaf that every row reaches in every tree, shape (rows, trees), as places in `value`."""
        trees = len(self.roots)
        node = np.tile(self.roots, len(seen))
        row = np.repeat(np.arange(len(seen)), trees)
        open_ = np.flatnonzero(self.column[node] >= 0)
        while len(open_):
            here = node[open_]
            left = self._passes(here, seen[row[open_], self.column[here]])
            node[open_] = np.where(left, self.left[here], self.right[here])
            open_ = open_[self.column[node[open_]] >= 0]
        return node.reshape(len(seen), trees)

    @cached_property
    def _lists(self) -> tuple[list[int], list[float], list[int], list[int]]:
        """Columns, thresholds and children as lists, of which single entries are taken faster."""
        return self.column.tolist(), self.threshold.tolist(), self.left.tolist(), self.right.tolist()

    def leaves_of_one(self, seen: Sequence[float]) -> list[int] | None:
        """The leaf that one row reaches in every tree, one tree after the other; None where arrays had better do it."""
        if len(self.low) or isnan(sum(seen)):  # infinities of both signs too, which seldom come
            return None
        self._asked += 1
        if self._asked * WORTH < len(self.column):
            return None
        columns, thresholds, left, right = self._lists
        strict, found = self.table.test == "<", list(map(int, self.roots))
        for tree, node in enumerate(found):
            while (column := columns[node]) >= 0:
                number, threshold = seen[column], thresholds[node]
                node = left[node] if number < threshold or number == threshold and not strict else right[node]
            found[tree] = node
        return found

    def _passes(self, node: Ints, seen: Floats) -> Bools:
        threshold = self.threshold[node]
        passed = seen <= threshold if self.table.test == "<=" else seen < threshold
        if len(self.set_of):
            by_set = np.flatnonzero(self.set_of[node] >= 0)
            place, number = self.set_of[node[by_set]], seen[by_set, None]
            passed[by_set] = ((self.low[place] <= number) & (number <= self.high[place])).any(axis=1)
        return np.asarray(np.where(np.isnan(seen), self.missing[node], passed), dtype=np.bool_)


WALKS: Kept[Walk] = Kept(1)
_COUNTS: Kept[int] = Kept(1)  # nodes of all trees: every row that is asked about asks


def _missing(tree: Tree) -> Bools:
    return np.zeros(tree.nodes, dtype=np.bool_) if tree.missing_left is None else tree.missing_left
