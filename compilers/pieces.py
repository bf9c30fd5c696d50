"""Trees whose tests let several ranges of a number pass: the same trees with tests of thresholds.

In:  a tree, and for some of its nodes a `Test`: the number that is tested, where along it the answer changes, and where
     NaN goes. Sets of categories are such tests (`categories.py`), and tests after a preprocessing that bins, or that
     takes zeros for missing (`pipeline/thresholds.py`).
Out: a tree in which these nodes compare with one threshold each.
Promise: every row takes the same way. What the way down says about a number is kept, so that no test is asked of which
the answer is known.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from mace.tables.table import Ensemble, Tree


@dataclass(frozen=True, slots=True)
class Test:
    """A test of one number, in pieces.

    number:  what is tested: nodes with the same one test the same quantity.
    cuts:    thresholds, rising, for the ensemble's own comparison.
    sides:   one more than cuts: whether the numbers of a piece go left.
    missing: whether NaN goes left.
    """

    number: int
    cuts: tuple[float, ...]
    sides: tuple[bool, ...]
    missing: bool

    def merged(self) -> Test:
        """The same test without the cuts on both sides of which numbers go the same way."""
        kept = [k for k in range(len(self.cuts)) if self.sides[k] != self.sides[k + 1]]
        sides = (*(self.sides[k] for k in kept), self.sides[-1])
        return replace(self, cuts=tuple(self.cuts[k] for k in kept), sides=sides)


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known of a number: low < it <= high (or low <= it < high, where tests are strict), or it may be NaN."""

    low: float
    high: float
    nan: bool


Known: TypeAlias = Mapping[int, Reach]
Task: TypeAlias = tuple[int, int, bool, Known]  # old node, the new one above it, whether it hangs to its left


def rebuilt(table: Ensemble, tree: Tree, tests: Mapping[int, Test], known: Known, most: int) -> Tree | None:
    """The tree with these tests as thresholds; None if it would have more than `most` nodes.

    known: of each number that is tested what holds for every row.
    """
    return _Rebuilt(table, tree, tests, known, most).tree


class _Rebuilt:
    def __init__(self, table: Ensemble, tree: Tree, tests: Mapping[int, Test], known: Known, most: int) -> None:
        self.old, self.tests, self.most = tree, tests, most
        # A threshold that every number passes or, where the comparison is strict, that none does.
        self.all_pass = table.test == "<="
        largest = float(np.finfo(table.cast).max)
        self.beyond = largest if self.all_pass else -largest
        self.from_: list[int] = []
        self.threshold: list[float] = []
        self.missing: list[bool] = []
        self.children: list[list[int]] = []
        self.tree = self._tree() if self._grow(known) else None

    def _tree(self) -> Tree:
        from_ = np.array(self.from_)
        children = np.array(self.children, dtype=np.int32)
        return replace(
            self.old,
            column=self.old.column[from_],
            threshold=np.array(self.threshold, dtype=np.float64),
            left=children[:, 0],
            right=children[:, 1],
            value=self.old.value[from_],
            missing_left=np.array(self.missing) if any(self.missing) else None,
            members={
                new: self.old.members[old]
                for new, old in enumerate(self.from_)
                if old in self.old.members and old not in self.tests
            },
        )

    def _grow(self, everywhere: Known) -> bool:
        """Copy from the root down; whether the tree stays small enough."""
        old = self.old
        todo: list[Task] = [(0, -1, False, everywhere)]
        while todo:
            node, parent, is_left, known = todo.pop()
            if len(self.from_) >= self.most:
                return False
            if node in self.tests:
                todo += self._cut(node, parent, is_left, known)
                continue
            missing = old.missing_left is not None and bool(old.missing_left[node])
            new = self._add(node, parent, is_left, float(old.threshold[node]), missing=missing)
            if old.column[node] >= 0:
                todo += [(int(old.right[node]), new, False, known), (int(old.left[node]), new, True, known)]
        return True

    def _cut(self, node: int, parent: int, is_left: bool, known: Known) -> list[Task]:
        """One threshold of a test, and what hangs below it; none where all that comes here goes one way."""
        test, reach = self.tests[node], known[self.tests[node].number]
        first, last = bisect_right(test.cuts, reach.low), bisect_left(test.cuts, reach.high)
        sides = test.sides[first : last + 1]
        ways = {*sides, test.missing} if reach.nan else set(sides)
        if len(ways) == 1:
            return [(self._child(node, ways.pop()), parent, is_left, known)]
        if len(set(sides)) == 1:  # Only NaN goes another way than the numbers that come here.
            new = self._add(node, parent, is_left, self.beyond, missing=not self.all_pass)
            numbers = {**known, test.number: replace(reach, nan=False)}
            lacking = {**known, test.number: Reach(math.inf, -math.inf, nan=True)}
            return [
                (self._child(node, sides[0]), new, self.all_pass, numbers),
                (self._child(node, test.missing), new, not self.all_pass, lacking),
            ]
        middle = (first + last - 1) // 2
        cut, nan_left = test.cuts[middle], test.missing in test.sides[first : middle + 1]
        new = self._add(node, parent, is_left, cut, missing=nan_left)
        return [
            (node, new, False, {**known, test.number: Reach(cut, reach.high, reach.nan and not nan_left)}),
            (node, new, True, {**known, test.number: Reach(reach.low, cut, reach.nan and nan_left)}),
        ]

    def _child(self, node: int, left: bool) -> int:
        return int(self.old.left[node] if left else self.old.right[node])

    def _add(self, node: int, parent: int, is_left: bool, threshold: float, *, missing: bool) -> int:
        new = len(self.from_)
        self.from_.append(node)
        self.threshold.append(threshold)
        self.missing.append(missing)
        self.children.append([-1, -1])
        if parent >= 0:
            self.children[parent][0 if is_left else 1] = new
        return new
