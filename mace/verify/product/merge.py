"""Two copies of a tree as one tree, so that what both share is tested once.

In:  two trees over the columns of one product, and what each column may be.
Out: one tree whose leaves hold the pair of leaves that the two trees reach together.
Promise: for every allowed point, the merged tree reaches the leaves that both trees reach. Pairs that no allowed point
reaches are left out where a threshold, a set of levels or an equal test before says so.

Why: a prover bounds each tree by itself. With the copies in one tree, trees that the two inputs do not tell apart
differ by exactly nothing; in two trees, the same bound is as wide as the whole tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.space.axes import Axis, LevelAxis
from mace.space.columns import Column
from mace.tables.members import Members
from mace.tables.table import Ensemble, Floats, Tree

LARGEST = 20_000  # nodes of one merged tree
DEEPEST = 300
MERGING = "making one model of the two"  # what a message says was not finished

Test: TypeAlias = tuple[int, float, Members | None, bool]  # column, threshold, members, where NaN goes


class TooLarge(Exception):  # noqa: N818
    """The merged tree has more nodes than is worth it."""


@dataclass(frozen=True)
class PathFacts:
    """What the tests before have said: intervals of columns, levels of features, answers to equal tests."""

    between: dict[int, tuple[float, float]] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)
    answers: dict[Test, bool] = field(default_factory=dict)


class Merger:
    """Merges the trees of two ensembles that test alike (`cast`, `test`)."""

    def __init__(
        self, header: Ensemble, columns: Sequence[Column], axes: Sequence[Axis], deadline: Deadline = NEVER
    ) -> None:
        self.header, self.columns, self.axes, self.deadline = header, columns, axes, deadline
        self._masks: dict[Test, int] = {}

    def merge(self, one: Tree, other: Tree, leaf: Callable[[Floats, Floats], Floats]) -> Tree:
        """One tree; `leaf` makes a leaf's value of the two values reached. Raises TooLarge, TimeOverError."""
        column: list[int] = []
        threshold: list[float] = []
        left: list[int] = []
        right: list[int] = []
        missing: list[bool] = []
        members: dict[int, Members] = {}
        value: list[Floats | None] = []

        def grow(a: int, b: int, known: PathFacts, depth: int) -> int:
            a, b = self._down(one, a, known), self._down(other, b, known)
            place = len(column)
            if place >= LARGEST or depth > DEEPEST:
                raise TooLarge
            self.deadline.look(MERGING)
            for part in (column, left, right):
                part.append(-1)
            threshold.append(0.0)
            missing.append(False)
            value.append(None)
            if one.column[a] < 0 and other.column[b] < 0:
                value[place] = leaf(one.value[a], other.value[b])
                return place
            test = _test(one, a) if one.column[a] >= 0 else _test(other, b)
            column[place], threshold[place], missing[place] = test[0], test[1], test[3]
            if test[2] is not None:
                members[place] = test[2]
            left[place] = grow(a, b, self._after(known, test, passed=True), depth + 1)
            right[place] = grow(a, b, self._after(known, test, passed=False), depth + 1)
            return place

        grow(0, 0, PathFacts(), 0)
        outputs = next(len(v) for v in value if v is not None)
        return Tree(
            np.array(column, np.int32),
            np.array(threshold, np.float64),
            np.array(left, np.int32),
            np.array(right, np.int32),
            np.array([np.zeros(outputs) if v is None else v for v in value], np.float64),
            np.array(missing, np.bool_),
            members,
        )

    def _down(self, tree: Tree, node: int, known: PathFacts) -> int:
        """Follow the tests of which the answer is known."""
        while tree.column[node] >= 0:
            answer = self._answer(_test(tree, node), known)
            if answer is None:
                break
            node = int(tree.left[node] if answer else tree.right[node])
        return node

    def _answer(self, test: Test, known: PathFacts) -> bool | None:
        if test in known.answers:
            return known.answers[test]
        column = self.columns[test[0]]
        if column.values is not None:
            mask, here = self._mask(test), known.levels.get(column.feature, self._every(column.feature))
            return True if not here & ~mask else False if not here & mask else None
        low, high = known.between.get(test[0], (-math.inf, math.inf))
        if test[2] is None and self._is_number(test[0]):
            if high <= test[1]:
                return True
            if low >= test[1]:
                return False
        return None

    def _after(self, known: PathFacts, test: Test, *, passed: bool) -> PathFacts:
        column = self.columns[test[0]]
        answers = {**known.answers, test: passed}
        if column.values is not None:
            mask, here = self._mask(test), known.levels.get(column.feature, self._every(column.feature))
            left = here & (mask if passed else ~mask)
            return PathFacts(known.between, {**known.levels, column.feature: left}, answers)
        if test[2] is None and self._is_number(test[0]):
            low, high = known.between.get(test[0], (-math.inf, math.inf))
            side = (low, min(high, test[1])) if passed else (max(low, test[1]), high)
            return PathFacts({**known.between, test[0]: side}, known.levels, answers)
        return PathFacts(known.between, known.levels, answers)

    def _is_number(self, column: int) -> bool:
        """Whether the column never is NaN, so that a failed test means "above" (or "not below")."""
        return all(step[0] not in ("log", "log1p", "sqrt") for step in self.columns[column].chain)

    def _every(self, feature: int) -> int:
        axis = self.axes[feature]
        assert isinstance(axis, LevelAxis)
        return axis.allowed

    def _mask(self, test: Test) -> int:
        """The levels of the column's feature that go left."""
        if test not in self._masks:
            column = self.columns[test[0]]
            assert column.values is not None
            stump = Tree(
                np.array([0, -1, -1], np.int32), np.array([test[1], 0, 0]), np.array([1, -1, -1], np.int32),
                np.array([2, -1, -1], np.int32), np.zeros((3, 1)), np.array([test[3], False, False]),
                {} if test[2] is None else {0: test[2]},
            )  # fmt: skip
            self._masks[test] = sum(
                1 << level for level, number in enumerate(column.values) if self.header.goes_left(stump, 0, number)
            )
        return self._masks[test]


def _test(tree: Tree, node: int) -> Test:
    missing = tree.missing_left is not None and bool(tree.missing_left[node])
    return int(tree.column[node]), float(tree.threshold[node]), tree.members.get(node), missing


def alone(tree: Tree, leaf: Callable[[Floats], Floats]) -> Tree:
    """The tree itself with other values in its leaves."""
    value = np.array([leaf(tree.value[node]) for node in range(tree.nodes)], np.float64)
    return Tree(tree.column, tree.threshold, tree.left, tree.right, value, tree.missing_left, tree.members)


__all__ = ["MERGING", "Merger", "TooLarge", "alone"]
