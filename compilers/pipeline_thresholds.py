"""Trees after a preprocessing of numbers: the same trees over the raw numbers.

In:  an Ensemble whose columns are computed from features by chains of operations.
Out: an Ensemble that compares the features themselves, and its columns.
Promise: for every float64 x in the range of its feature, `x <= T` in the new tree if and only if the library's test
lets chain(x) pass, cast included. T is found by bisection over all doubles, which is exact because every operation of a
chain is monotone as it is rounded: IEEE 754 promises this for arithmetic and the square root; for the logarithm it is
checked around every threshold. A chain that ends in bins may let a middle range pass: such a test becomes two.
What a missing number becomes is replaced by a raw number that goes the same way at every test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.columns import Column, Step, Steps
from mace.errors import ModelError
from mace.exact import first_holding_each, float_to_rank
from mace.tables import Ensemble, Floats, Tree
from mace.validity import validate

Bools: TypeAlias = NDArray[np.bool_]
# Features live within a quarter of the doubles; the numbers beyond are kept for what is missing.
LARGEST = float(np.finfo(np.float64).max)
TOP = LARGEST / 4
MOST_NODES = 500_000
NEIGHBOURS = 512


def on_raw_numbers(table: Ensemble, columns: Sequence[Column]) -> tuple[Ensemble, tuple[Column, ...]]:
    """The ensemble over the features themselves; see the module's docstring.

    Raises ModelError where a chain is not monotone, or where a missing number would need a place between neighbours.
    """
    if not any(column.chain for column in columns):
        return table, tuple(columns)
    tests = [_Tests(table, column, _thresholds(table, place)) for place, column in enumerate(columns)]
    groups = _groups(tests)
    trees = [_Rebuilt(table, tree, tests, groups).tree for tree in table.trees]
    if sum(tree.nodes for tree in trees) > MOST_NODES:
        raise ModelError(
            f"the tests of {table.name} on bins become more than {MOST_NODES} tests on numbers",
            hint='Use KBinsDiscretizer(encode="ordinal").',
        )
    raw = tuple(test.raw_column(groups) for test in tests)
    raised = replace(table, trees=tuple(trees), cast="float64", test="<=")
    return validate(raised, "tests on raw numbers"), raw


def _thresholds(table: Ensemble, place: int) -> Floats:
    found = [tree.threshold[(tree.column == place) & ~_by_member(tree)] for tree in table.trees]
    return np.unique(np.concatenate(found))


def _by_member(tree: Tree) -> Bools:
    """The nodes that test a category."""
    mask = np.zeros(tree.nodes, dtype=bool)
    mask[list(tree.members)] = True
    return mask


@dataclass(frozen=True)
class _Group:
    """Bins of one feature: piece k is all x with ends[k - 1] < x <= ends[k]; `missing` is the piece of no number."""

    ends: list[float]
    missing: int

    def inside(self, piece: int) -> float:
        """A number of a piece."""
        return self.ends[piece] if piece < len(self.ends) else LARGEST / 2


class _Tests:
    """All tests on one column: where each lies on the raw number, or which bins it lets pass."""

    def __init__(self, table: Ensemble, column: Column, thresholds: Floats) -> None:
        self.column, self.thresholds = column, thresholds
        self.steps: Steps | None = None
        before = column.chain
        if before and before[-1][0] == "steps":
            self.steps, before = before[-1][1], before[:-1]
        self.before = Column(column.name, column.feature, None, before)
        self.cut: dict[float, float] = {}
        self.passing: dict[float, Bools] = {}
        if self.steps is not None:
            values = np.array(self.steps[1])
            self.passing = {float(t): table.passes(values, np.array([t])) for t in thresholds}
        elif len(thresholds):
            # Left of its domain a logarithm is NaN: small, for the purpose of the search.
            def passes(numbers: Floats) -> Bools:
                return table.passes(self.before.of_many(numbers), thresholds, missing_left=True)

            found = last_passing(passes, len(thresholds))
            if any(step[0] == "log1p" for step in before):
                self._check_order(table, found)
            found = self._with_missing(table, found)
            self.cut = dict(zip(thresholds.tolist(), found.tolist(), strict=True))

    @property
    def key(self) -> tuple[int, tuple[Step, ...], tuple[float, ...]]:
        """Columns of one feature with equal bins share a key."""
        assert self.steps is not None
        return self.column.feature, self.before.chain, self.steps[0]

    def _check_order(self, table: Ensemble, found: Floats) -> None:
        ranks = np.array([float_to_rank(x) for x in found.tolist()], dtype=np.int64)
        for offset in range(-NEIGHBOURS, NEIGHBOURS + 1):
            numbers = _doubles(ranks + offset)
            known = (np.abs(found) < TOP) & (np.abs(numbers) < TOP)
            passed = table.passes(self.before.of_many(numbers), self.thresholds, missing_left=True)
            if (passed != (offset <= 0))[known].any():
                raise ModelError(
                    f"column `{self.column.name}`: the logarithm of this machine's numpy is not monotone near a "
                    "threshold, so the tree's test is not one test of the number",
                    hint="Bin the number instead (KBinsDiscretizer), or train the trees on the number itself.",
                )

    def _with_missing(self, table: Ensemble, found: Floats) -> Floats:
        """Cuts that also leave room for what a missing number becomes, and that raw number itself."""
        self.missing = self.column.missing
        value = self.column.missing
        none, every = found == -np.inf, found == np.inf
        if value is None or value != value:  # NaN stays: nodes say where it goes.
            return np.where(none, -LARGEST, np.where(every, LARGEST, found))
        passed = table.passes(np.array([value]), self.thresholds)
        found = np.where(none, np.where(passed, -LARGEST / 2, -LARGEST), found)
        found = np.where(every, np.where(passed, LARGEST, TOP), found)
        low = found[~passed].max(initial=-LARGEST)
        high = found[passed].min(initial=LARGEST / 2)
        if passed.all() and len(found):
            high = min(high, TOP)
        if not low < high and not (passed.all() and low == -LARGEST):
            raise ModelError(
                f"column `{self.column.name}`: what a missing value becomes lies between two neighbouring numbers",
                hint="Impute before scaling.",
            )
        self.missing = float(high)
        return found

    missing: float | None = None

    def raw_column(self, groups: dict[Any, _Group]) -> Column:
        """The column of the new ensemble."""
        column = self.column
        if column.values is not None:
            return column
        missing = column.missing
        if self.steps is not None and missing is not None:
            missing = groups[self.key].inside(groups[self.key].missing)
        elif len(self.thresholds) and missing is not None:
            missing = self.missing
        return Column(column.name, column.feature, None, (), missing)


def _groups(tests: Sequence[_Tests]) -> dict[Any, _Group]:
    """The bins of every feature, and the bin in which a missing number lies."""
    groups: dict[Any, _Group] = {}
    for test in tests:
        if test.steps is None or test.key in groups:
            continue
        ends = _ends(test.before, test.steps)
        same = [other for other in tests if other.steps is not None and other.key == test.key]
        missing = 0
        if any(other.column.missing is not None for other in same):
            pieces = [
                k for k in range(len(ends) + 1)
                if all(o.steps is not None and o.column.missing == o.steps[1][k] for o in same)
            ]  # fmt: skip
            if not pieces:
                raise ModelError(
                    f"column `{test.column.name}`: what a missing value becomes is not one of the bins",
                    hint="Impute before binning.",
                )
            missing = pieces[0]
        groups[test.key] = _Group(ends.tolist(), missing)
    return groups


def _ends(before: Column, steps: Steps) -> Floats:
    """For every edge the largest number that is still below it, after the operations before the bins."""
    edges = np.array(steps[0])

    def passes(numbers: Floats) -> Bools:
        return np.asarray(~(before.of_many(numbers) >= edges))

    return np.clip(last_passing(passes, len(edges)), -LARGEST, TOP) if len(edges) else edges


def edges_of(columns: Sequence[Column]) -> list[tuple[int, float]]:
    """For every feature that is binned, (feature, largest number of a bin) for each bin but the last."""
    found: dict[Any, list[tuple[int, float]]] = {}
    for column in columns:
        if column.chain and (last := column.chain[-1])[0] == "steps":
            key = (column.feature, column.chain[:-1], last[1][0])
            if key not in found:
                before = Column(column.name, column.feature, None, column.chain[:-1])
                found[key] = [(column.feature, end) for end in _ends(before, last[1]).tolist()]
    return [place for places in found.values() for place in places]


_Task: TypeAlias = tuple[int, int, bool, dict[Any, tuple[int, int]]]


class _Rebuilt:
    """One tree with its tests on raw numbers."""

    def __init__(self, table: Ensemble, tree: Tree, tests: Sequence[_Tests], groups: dict[Any, _Group]) -> None:
        self.old, self.tests, self.groups = tree, tests, groups
        self.from_: list[int] = []  # per new node the old one
        self.column: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self._grow()
        members = {new: tree.members[old] for new, old in enumerate(self.from_) if old in tree.members}
        self.tree = replace(
            tree,
            column=np.array(self.column, dtype=np.int32),
            threshold=np.array(self.threshold, dtype=np.float64),
            left=np.array(self.left, dtype=np.int32),
            right=np.array(self.right, dtype=np.int32),
            value=tree.value[self.from_],
            missing_left=None if tree.missing_left is None else tree.missing_left[self.from_],
            members=members,
        )
        for node in members:
            if tests[self.column[node]].column.chain:
                raise ModelError(f"{table.name} tests a category of `{tests[self.column[node]].column.name}`, a number")

    def _grow(self) -> None:
        """Copy from the root down. A task is an old node, where its new one hangs, and the bins that are still open."""
        todo: list[_Task] = [(0, -1, False, {})]
        while todo:
            node, parent, is_left, known = todo.pop()
            column = int(self.old.column[node])
            if column < 0 or node in self.old.members:
                new = self._add(node, column, float(self.old.threshold[node]), parent, is_left)
                if column >= 0:
                    todo += self._children(node, new, known)
                continue
            test, threshold = self.tests[column], float(self.old.threshold[node])
            if test.steps is None:
                new = self._add(node, column, test.cut[threshold], parent, is_left)
                todo += self._children(node, new, known)
                continue
            group, passing = self.groups[test.key], test.passing[threshold]
            first, last = known.get(test.key, (0, len(group.ends)))
            end = first
            while end < last and passing[end + 1] == passing[first]:
                end += 1
            child = int(self.old.left[node] if passing[first] else self.old.right[node])
            if end == last:  # All open bins go the same way: no test is needed.
                todo.append((child, parent, is_left, known))
                continue
            new = self._add(node, column, group.ends[end], parent, is_left)
            todo.append((node, new, False, {**known, test.key: (end + 1, last)}))
            todo.append((child, new, True, {**known, test.key: (first, end)}))

    def _children(self, node: int, new: int, known: dict[Any, tuple[int, int]]) -> list[_Task]:
        return [(int(self.old.right[node]), new, False, known), (int(self.old.left[node]), new, True, known)]

    def _add(self, node: int, column: int, threshold: float, parent: int, is_left: bool) -> int:
        new = len(self.from_)
        if new > MOST_NODES:
            raise ModelError("one tree's tests on bins become too many tests", hint='Use encode="ordinal".')
        self.from_.append(node)
        self.column.append(column)
        self.threshold.append(threshold)
        self.left.append(-1)
        self.right.append(-1)
        if parent >= 0:
            (self.left if is_left else self.right)[parent] = new
        return new


# ---------------------------------------------------------------------------------------------- all doubles


def last_passing(passes: Callable[[Floats], Bools], count: int) -> Floats:
    """For `count` tests at once, the largest double in -TOP..TOP that passes; -inf if none does, inf if every one.

    passes: from one number a test, shape (count,), to booleans; small numbers pass and large ones do not.
    """
    low = np.full(count, float_to_rank(-TOP), dtype=np.int64)
    high = np.full(count, float_to_rank(TOP), dtype=np.int64)
    none, every = ~passes(_doubles(low)), passes(_doubles(high))
    last = first_holding_each(lambda ranks: ~passes(_doubles(ranks)), low, high) - 1
    return np.where(every, np.inf, np.where(none, -np.inf, _doubles(last)))


def _doubles(ranks: NDArray[np.int64]) -> Floats:
    """The doubles with these places among all doubles."""
    size = np.abs(ranks).view(np.float64)
    return np.where(ranks >= 0, size, -size)
