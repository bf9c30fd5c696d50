"""Tests of categories on numbers: the same trees with tests of thresholds.

In:  an Ensemble, its columns as functions of one feature each, and the features.
Out: an Ensemble in which only columns that hold whole numbers by level are tested for categories, as provers for
     numbers and certificates want it.
Promise: every row, NaN included, takes the same way through every tree. A set of categories is a union of intervals
(`mace.members`): its ends become thresholds, and what lies between them leads on as it did. Trees that would become too
large stay as they are: the solvers read a set of categories by itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from mace.columns import Column
from mace.exact import nearest
from mace.members import Members, among, are_whole, neighbour
from mace.space import Feature
from mace.tables import Ensemble, Tree
from mace.validity import validate

MOST_NODES = 200_000
# column -> the thresholds between which its number lies, and whether NaN may come here
Known: TypeAlias = dict[int, tuple[float, float, bool]]
Task: TypeAlias = tuple[int, int, bool, Known]  # old node, the new one above it, whether it hangs to its left


@dataclass(frozen=True)
class _Pieces:
    """The numbers of a column, cut where a set begins or ends.

    cuts:  thresholds, rising, for the ensemble's own test.
    sides: one more than cuts: whether the numbers of a piece lie in the set.
    """

    cuts: list[float]
    sides: list[bool]


def on_thresholds(table: Ensemble, columns: Sequence[Column], features: Sequence[Feature]) -> Ensemble:
    """See the module's docstring."""
    tested = {int(tree.column[node]) for tree in table.trees for node in tree.members}
    numbers = {place for place in tested if not _by_level(table, columns[place], place)}
    numbers = {place for place in numbers if _bounded(table, columns[place], features[columns[place].feature])}
    if not numbers:
        return table
    trees, left = [], MOST_NODES
    for tree in table.trees:
        rebuilt = _Rebuilt(table, tree, columns, numbers, left).tree if tree.members else tree
        if rebuilt is None:
            return table
        trees.append(rebuilt)
        left -= rebuilt.nodes
    return validate(replace(table, trees=tuple(trees)), "thresholds in the place of categories")


def _by_level(table: Ensemble, column: Column, place: int) -> bool:
    """Whether the column's tests ask for whole numbers that stand for levels."""
    if column.values is None:
        return False
    seen = table.seen(np.array(column.values)).tolist()
    sets = {m for tree in table.trees for node, m in tree.members.items() if tree.column[node] == place}
    return all(are_whole(members, seen) for members in sets)


def _bounded(table: Ensemble, column: Column, feature: Feature) -> bool:
    """Whether the column is finite after its cast, wherever it is a number at all."""
    if column.values is not None:
        return not np.isinf(table.seen(np.array(column.values))).any()
    if column.chain:
        return column.missing is None or not math.isnan(column.missing)
    ends = np.array([nearest(end) for end in feature.bounds()])
    return bool(np.isfinite(table.seen(ends)).all())


def _pieces(table: Ensemble, column: Column, members: Members) -> _Pieces:
    """Where a set begins and ends among the numbers of a column."""
    if column.values is not None:
        return _pieces_of_levels(table, column.values, members)
    ends = [neighbour(low, table.cast, up=False) if table.test == "<=" else low for low, _ in members]
    afters = [high if table.test == "<=" else neighbour(high, table.cast, up=True) for _, high in members]
    cuts: list[float] = []
    sides = [False]
    for begin, end in zip(ends, afters, strict=True):
        if cuts and cuts[-1] == begin:  # Two sets of neighbouring floats.
            cuts.pop()
            sides.pop()
        else:
            cuts.append(begin)
            sides.append(True)
        cuts.append(end)
        sides.append(False)
    return _Pieces(cuts, sides)


def _pieces_of_levels(table: Ensemble, values: Sequence[float], members: Members) -> _Pieces:
    """The same for a few numbers: as few cuts as tell them apart."""
    seen = sorted({x for x in table.seen(np.array(values)).tolist() if x == x})
    cuts, sides = [], [among(members, seen[0])] if seen else [False]
    for before, here in pairwise(seen):
        if among(members, here) != sides[-1]:
            cuts.append(before if table.test == "<=" else here)
            sides.append(not sides[-1])
    return _Pieces(cuts, sides)


def _may_lack(column: Column) -> bool:
    """Whether the column may hold NaN."""
    return any(map(math.isnan, column.values or ())) or column.missing is not None and math.isnan(column.missing)


class _Rebuilt:
    """One tree whose tests of categories on some columns are tests of thresholds; None if it is too large."""

    def __init__(self, table: Ensemble, tree: Tree, columns: Sequence[Column], numbers: set[int], most: int) -> None:
        self.old, self.most = tree, most
        # A threshold that every number passes or, where the test is strict, that none does.
        self.all_pass = table.test == "<="
        largest = float(np.finfo(table.cast).max)
        self.beyond = largest if self.all_pass else -largest
        self.may_lack = {place: _may_lack(columns[place]) for place in numbers}
        self.from_: list[int] = []
        self.threshold: list[float] = []
        self.missing: list[bool] = []
        self.kept: list[bool] = []  # Whether the new node's test is the old one's.
        self.children: list[list[int]] = []
        self.pieces = {
            node: _pieces(table, columns[int(tree.column[node])], members)
            for node, members in tree.members.items()
            if int(tree.column[node]) in numbers
        }
        self.tree = self._tree() if self._grow() else None

    def _tree(self) -> Tree:
        from_ = np.array(self.from_)
        children = np.array(self.children, dtype=np.int32)
        column = self.old.column[from_]
        return replace(
            self.old,
            column=column,
            threshold=np.array(self.threshold, dtype=np.float64),
            left=children[:, 0],
            right=children[:, 1],
            value=self.old.value[from_],
            missing_left=np.array(self.missing) if any(self.missing) else None,
            members={
                new: self.old.members[old]
                for new, (old, kept) in enumerate(zip(self.from_, self.kept, strict=True))
                if kept and old in self.old.members
            },
        )

    def _grow(self) -> bool:
        """Copy from the root down; whether the tree stays small enough."""
        old = self.old
        todo: list[Task] = [(0, -1, False, {})]
        while todo:
            node, parent, is_left, known = todo.pop()
            if len(self.from_) >= self.most:
                return False
            missing = old.missing_left is not None and bool(old.missing_left[node])
            if node not in self.pieces:
                new = self._add(node, parent, is_left, float(old.threshold[node]), missing=missing, kept=True)
                if old.column[node] >= 0:
                    todo += [(int(old.right[node]), new, False, known), (int(old.left[node]), new, True, known)]
                continue
            todo += self._cut(node, parent, is_left, known, missing=missing)
        return True

    def _cut(self, node: int, parent: int, is_left: bool, known: Known, *, missing: bool) -> list[Task]:
        """One threshold in the place of a set, and what hangs below it; none where all that comes here goes one way."""
        pieces, column = self.pieces[node], int(self.old.column[node])
        low, high, nan = known.get(column, (-math.inf, math.inf, self.may_lack[column]))
        first, last = bisect_right(pieces.cuts, low), bisect_left(pieces.cuts, high)
        sides = pieces.sides[first : last + 1]
        ways = {*sides, missing} if nan else set(sides)
        if len(ways) == 1:
            return [(self._child(node, ways.pop()), parent, is_left, known)]
        if len(set(sides)) == 1:  # Only NaN goes another way than the numbers that come here.
            new = self._add(node, parent, is_left, self.beyond, missing=not self.all_pass, kept=False)
            numbers = {**known, column: (low, high, False)}
            lacking = {**known, column: (math.inf, -math.inf, True)}
            return [
                (self._child(node, sides[0]), new, self.all_pass, numbers),
                (self._child(node, missing), new, not self.all_pass, lacking),
            ]
        middle = (first + last - 1) // 2
        cut, nan_left = pieces.cuts[middle], missing in pieces.sides[first : middle + 1]
        new = self._add(node, parent, is_left, cut, missing=nan_left, kept=False)
        return [
            (node, new, False, {**known, column: (cut, high, nan and not nan_left)}),
            (node, new, True, {**known, column: (low, cut, nan and nan_left)}),
        ]

    def _child(self, node: int, is_member: bool) -> int:
        return int(self.old.left[node] if is_member else self.old.right[node])

    def _add(self, node: int, parent: int, is_left: bool, threshold: float, *, missing: bool, kept: bool) -> int:
        new = len(self.from_)
        self.from_.append(node)
        self.threshold.append(threshold)
        self.missing.append(missing)
        self.kept.append(kept)
        self.children.append([-1, -1])
        if parent >= 0:
            self.children[parent][0 if is_left else 1] = new
        return new
