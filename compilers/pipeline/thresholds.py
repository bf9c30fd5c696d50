"""Trees after a preprocessing of numbers: the same trees over the raw numbers.

In:  an Ensemble whose columns are computed from features by chains of operations, and the features.
Out: an Ensemble that compares the features themselves, and its columns.
Promise: for every float64 x in the range of its feature, the new tree sends x the way of the library's test of
chain(x), cast included. Where the answer changes is found by bisection over all doubles, which is exact because every
operation of a chain is monotone as it is rounded: IEEE 754 promises this for arithmetic and the square root; for
logarithms, powers and quantiles it is checked around every threshold. A chain that ends in bins, or in a sparse matrix
whose zeros are missing, may let several ranges pass (`pieces.py`). A missing number stays NaN, and goes the way of what
becomes of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import first_holding_each, float_to_rank, nearest
from mace.compilers.pieces import Reach, Test, rebuilt
from mace.errors import ModelError
from mace.space.columns import Column, Floats, Steps
from mace.space.feature import Feature
from mace.tables.table import Ensemble, Tree
from mace.tables.validity import validate

Bools: TypeAlias = NDArray[np.bool_]
# Features live within a quarter of the doubles; the numbers beyond are kept for what is missing.
LARGEST = float(np.finfo(np.float64).max)
MOST_NODES = 500_000
NEIGHBOURS = 512


def on_raw_numbers(
    table: Ensemble, columns: Sequence[Column], features: Sequence[Feature]
) -> tuple[Ensemble, tuple[Column, ...]]:
    """The ensemble over the features themselves; see the module's docstring.

    Raises ModelError where a chain is not monotone, and where the trees become too large.
    """
    if not any(column.chain for column in columns):
        return table, tuple(columns)
    cuts = [
        _Cuts(table, column, features[column.feature], _thresholds(table, place))
        for place, column in enumerate(columns)
    ]
    known = {j: _reach(feature, [c for c in columns if c.feature == j]) for j, feature in enumerate(features)}
    made = replace(table, cast="float64", test="<=")
    trees: list[Tree] = []
    left = MOST_NODES
    for tree in table.trees:
        new = _over_numbers(made, tree, cuts, known, left)
        if new is None:
            raise ModelError(
                f"the tests of {table.name} on bins, or on zeros that count as missing, become more than {MOST_NODES} "
                "tests on numbers",
                hint='Use KBinsDiscretizer(encode="ordinal"), or give XGBoost a dense matrix (sparse_threshold=0).',
            )
        trees.append(new)
        left -= new.nodes
    raw = tuple(
        column if column.values is not None
        else replace(column, chain=(), missing=None if column.missing is None else math.nan)
        for column in columns
    )  # fmt: skip
    return validate(replace(made, trees=tuple(trees)), "tests on raw numbers"), raw


def _reach(feature: Feature, columns: Sequence[Column]) -> Reach:
    """What every row of the space has of a feature."""
    lower, upper = _ends_of(feature)
    return Reach(math.nextafter(lower, -math.inf), upper, any(column.missing is not None for column in columns))


def _over_numbers(
    table: Ensemble, tree: Tree, cuts: Sequence[_Cuts], known: dict[int, Reach], most: int
) -> Tree | None:
    """One tree with its tests on raw numbers; None if it becomes too large."""
    tests: dict[int, Test] = {}
    threshold = tree.threshold.copy()
    for node, place in enumerate(tree.column.tolist()):
        if place < 0:
            continue
        one = cuts[place]
        if node in tree.members:
            if one.column.chain:
                raise ModelError(f"{table.name} tests a category of `{one.column.name}`, a number")
        elif one.column.values is None:
            missing = tree.missing_left is not None and bool(tree.missing_left[node])
            tests[node] = one.test(float(threshold[node]), missing)
        else:
            threshold[node] = one.cut[float(threshold[node])]
    return rebuilt(table, replace(tree, threshold=threshold), tests, known, most)


def _thresholds(table: Ensemble, place: int) -> Floats:
    found = [tree.threshold[(tree.column == place) & ~_by_member(tree)] for tree in table.trees]
    return np.unique(np.concatenate(found))


def _by_member(tree: Tree) -> Bools:
    """The nodes that test a category."""
    mask = np.zeros(tree.nodes, dtype=bool)
    mask[list(tree.members)] = True
    return mask


class _Cuts:
    """Where along the raw number the tests on one column change their answers.

    cut:   threshold -> the largest raw number that passes, for a column that ends neither in bins nor in zeros.
    zeros: the numbers that become missing zeros are those with zeros[0] < x <= zeros[1].
    """

    def __init__(self, table: Ensemble, column: Column, feature: Feature, thresholds: Floats) -> None:
        self.table, self.column, self.ends = table, column, _ends_of(feature)
        self.steps: Steps | None = None
        self.zeros: tuple[float, float] | None = None
        self.cut: dict[float, float] = {}
        before = column.chain
        if before and before[-1][0] == "steps":
            self.steps, before = before[-1][1], before[:-1]
        hole = next((place for place, step in enumerate(before) if step[0] == "nonzero"), None)
        if hole is not None:
            if self.steps is not None:
                raise ModelError(f"column `{column.name}` bins numbers of a sparse matrix, which is not supported")
            self.zeros = _zeros(Column(column.name, column.feature, None, before[:hole]), self.ends)
            before = before[:hole] + before[hole + 1 :]
        self.before = Column(column.name, column.feature, None, before)
        if self.steps is not None:
            self.edges = tuple(_edges(self.before, self.steps, self.ends).tolist())
        elif len(thresholds):
            found = self._last_passing(thresholds)
            self.cut = dict(zip(thresholds.tolist(), found.tolist(), strict=True))

    def _last_passing(self, thresholds: Floats) -> Floats:
        # Left of its domain a logarithm is NaN: small, for the purpose of the search.
        def passes(numbers: Floats) -> Bools:
            return self.table.passes(self.before.of_many(numbers), thresholds, missing_left=True)

        found = last_passing(passes, len(thresholds), self.ends)
        if any(step[0] in ("log", "log1p", "power", "quantile") for step in self.before.chain):
            _check_order(self.before, passes, found, self.ends)
        return found

    def test(self, threshold: float, missing: bool) -> Test:
        """A node's test of the raw number; missing: whether it sends NaN left."""
        numbers = None if self.column.missing is None else np.array([self.column.missing])
        lacking = missing if numbers is None else bool(self._passes(numbers, threshold, missing)[0])
        if self.steps is not None:
            sides = self._passes(np.array(self.steps[1]), threshold, missing)
            return Test(self.column.feature, self.edges, tuple(sides.tolist()), lacking).merged()
        cut = self.cut[threshold]
        cuts = sorted({cut, *(self.zeros or ())})
        low, high = self.zeros or (LARGEST, LARGEST)
        found = [missing if low < end <= high else end <= cut for end in cuts]
        return Test(self.column.feature, tuple(cuts), (*found, False), lacking).merged()

    def _passes(self, values: Floats, threshold: float, missing: bool) -> Bools:
        return self.table.passes(values, np.array([threshold]), missing)


def _ends_of(feature: Feature) -> tuple[float, float]:
    """The least and the largest float of a feature's range."""
    if not feature.numeric:
        return -LARGEST, LARGEST
    lower, upper = map(nearest, feature.bounds())
    return lower, upper


def edges_of(column: Column, feature: Feature) -> tuple[float, ...] | None:
    """The largest number of each piece, but the last, on which a column of numbers is constant, rising; None where it
    does not end in bins."""
    if not column.chain or column.chain[-1][0] != "steps":
        return None
    before = Column(column.name, column.feature, None, column.chain[:-1])
    return tuple(_edges(before, column.chain[-1][1], _ends_of(feature)).tolist())


def _zeros(before: Column, ends: tuple[float, float]) -> tuple[float, float]:
    """The raw numbers that are zero where they enter a sparse matrix: those above the first and up to the second."""

    def passes(numbers: Floats) -> Bools:
        found = before.of_many(numbers)
        return np.array([bool(found[0] < 0), bool(found[1] <= 0)])

    low, high = last_passing(passes, 2, ends).tolist()
    return low, high


def _edges(before: Column, steps: Steps, ends: tuple[float, float]) -> Floats:
    """For every edge the largest number that is still below it, after the operations before the bins."""
    edges = np.array(steps[0])

    def passes(numbers: Floats) -> Bools:
        return np.asarray(~(before.of_many(numbers) >= edges))

    return last_passing(passes, len(edges), ends) if len(edges) else edges


def _check_order(before: Column, passes: Callable[[Floats], Bools], found: Floats, ends: tuple[float, float]) -> None:
    """Raise unless the numbers around each that was found pass up to it and fail beyond it."""
    inside = np.abs(found) < LARGEST
    ranks = np.array([float_to_rank(x) if i else 0 for x, i in zip(found.tolist(), inside, strict=True)], np.int64)
    for offset in range(-NEIGHBOURS, NEIGHBOURS + 1):
        numbers = _doubles(ranks + offset)
        known = inside & (numbers >= ends[0]) & (numbers <= ends[1])
        if (passes(numbers) != (offset <= 0))[known].any():
            raise ModelError(
                f"column `{before.name}`: the function before the trees, as this machine rounds it, is not monotone "
                "near a threshold, so the tree's test is not one test of the number",
                hint="Bin the number instead (KBinsDiscretizer), or train the trees on the number itself.",
            )


def places_of(columns: Sequence[Column], features: Sequence[Feature]) -> list[tuple[int, float]]:
    """Where bins and missing zeros end, for every feature that has them: (feature, largest number of a piece)."""
    found: dict[Any, list[tuple[int, float]]] = {}
    for column in columns:
        for place, step in enumerate(column.chain):
            if step[0] not in ("steps", "nonzero"):
                continue
            before = Column(column.name, column.feature, None, column.chain[:place])
            key = (column.feature, before.chain, step[1][0] if step[0] == "steps" else None)
            if key not in found:
                ends = _ends_of(features[column.feature])
                last = _edges(before, step[1], ends).tolist() if step[0] == "steps" else _zeros(before, ends)
                found[key] = [(column.feature, number) for number in last]
    return [place for places in found.values() for place in places]


# ---------------------------------------------------------------------------------------------- all doubles


def last_passing(passes: Callable[[Floats], Bools], count: int, ends: tuple[float, float]) -> Floats:
    """For `count` tests at once, the largest double between two ends that passes.

    passes: from one number a test, shape (count,), to booleans; small numbers pass and large ones do not.
    Returns shape (count,): -LARGEST where no number passes, LARGEST where every one does.
    """
    low, high = (np.full(count, float_to_rank(end), dtype=np.int64) for end in ends)
    none, every = ~passes(_doubles(low)), passes(_doubles(high))
    last = first_holding_each(lambda ranks: ~passes(_doubles(ranks)), low, high) - 1
    return np.where(every, LARGEST, np.where(none, -LARGEST, _doubles(last)))


def _doubles(ranks: NDArray[np.int64]) -> Floats:
    """The doubles with these places among all doubles."""
    size = np.abs(ranks).view(np.float64)
    return np.where(ranks >= 0, size, -size)
