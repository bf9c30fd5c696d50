"""Trees that know where missing values go: the same trees without NaN, as certificates want them.

In:  an Ensemble, its columns as functions of one feature each, and the features.
Out: the same for every row of the space. Where a level becomes NaN, the column holds the level's place instead, and
     each of its tests asks whether the place is among those that go left. A missing number becomes one that goes the
     same ways; if there is none, its column becomes two: one in which a missing number is very small, for the tests
     that send it left, and one in which it is very large.
Promise: every row of the space takes the same way through every tree; a column for which this cannot be done stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mace.compilers.pipeline.thresholds import LARGEST
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.members import equal_to, neighbour
from mace.tables.table import Ensemble, Tree
from mace.tables.validity import validate


def without_nan(
    table: Ensemble, columns: Sequence[Column], features: Sequence[Feature]
) -> tuple[Ensemble, tuple[Column, ...]]:
    """See the module's docstring."""
    lacking = {k: c.values for k, c in enumerate(columns) if c.values is not None and np.isnan(c.values).any()}
    if lacking:
        table = replace(table, trees=tuple(_by_place(table, tree, lacking) for tree in table.trees))
    found = [
        replace(column, values=tuple(map(float, range(len(lacking[k]))))) if k in lacking else column
        for k, column in enumerate(columns)
    ]
    for k, column in enumerate(columns):
        feature = features[column.feature]
        within = not feature.numeric or max(map(abs, feature.bounds())) <= beyond(table).most
        if column.values is None and column.missing is not None and np.isnan(column.missing) and within:
            number = _alike(table, k)
            if number is None:
                table = _by_side(table, found, k)
            else:
                table, found[k] = _never_missing(table, k), replace(column, missing=number)
    return validate(table, "tests without NaN"), tuple(found)


class Beyond(NamedTuple):
    """Numbers for what is missing: `above` all others, which are at most `most`, and a threshold between them."""

    above: float
    bound: float
    most: float


def beyond(table: Ensemble) -> Beyond:
    """Such numbers as the tests see them, after their cast."""
    above = float(np.finfo(np.float32).max) if table.cast == "float32" else LARGEST
    return Beyond(above, above / 2, above / 4)


def _alike(table: Ensemble, place: int) -> float | None:
    """A number that goes the way of NaN at every test of a column; None if there is none."""
    left, right = _sides(table, place)
    highest = float(np.finfo(table.cast).max)
    number = left[0] if left else highest
    if left and table.test == "<":
        number = neighbour(number, table.cast, up=False)
    if any(tree.column[node] == place for tree in table.trees for node in tree.members) or abs(number) > highest:
        return None
    passed = table.passes(np.array([number]), np.array([*left, *right]))
    return number if passed.tolist() == [True] * len(left) + [False] * len(right) else None


def _sides(table: Ensemble, place: int) -> tuple[list[float], list[float]]:
    """The thresholds at which NaN in a column goes left, and those at which it goes right."""
    left: set[float] = set()
    right: set[float] = set()
    for tree in table.trees:
        for node in np.flatnonzero(tree.column == place).tolist():
            goes = tree.missing_left is not None and bool(tree.missing_left[node])
            (left if goes else right).add(float(tree.threshold[node]))
    return sorted(left), sorted(right)


def _never_missing(table: Ensemble, place: int) -> Ensemble:
    """The table whose nodes say nothing about NaN in a column that never holds it."""
    trees = [
        tree if tree.missing_left is None else replace(tree, missing_left=tree.missing_left & (tree.column != place))
        for tree in table.trees
    ]
    return replace(table, trees=tuple(trees))


def _by_place(table: Ensemble, tree: Tree, lacking: dict[int, tuple[float, ...]]) -> Tree:
    """One tree whose tests of these columns ask for the level's place."""
    members, threshold = dict(tree.members), tree.threshold.copy()
    missing = None if tree.missing_left is None else tree.missing_left.copy()
    for node, column in enumerate(tree.column.tolist()):
        if column not in lacking:
            continue
        values = lacking[column]
        members[node] = equal_to(k for k, value in enumerate(values) if table.goes_left(tree, node, value))
        threshold[node] = 0.0
        if missing is not None:
            missing[node] = False
    return replace(tree, members=members, threshold=threshold, missing_left=missing)


def _by_side(table: Ensemble, columns: list[Column], place: int) -> Ensemble:
    """The table with a second column for the tests of column `place` that send NaN left; `columns` changes with it."""
    high, bound, most = beyond(table)
    trees, split = [], False
    for tree in table.trees:
        column, threshold = tree.column.copy(), tree.threshold.copy()
        tests = column == place
        if tests[list(tree.members)].any():
            return table  # A number tested as a category.
        left = tests & (False if tree.missing_left is None else tree.missing_left)
        right = tests & ~left
        # No number of the space lies up there: a test that all of them pass may stand below the missing ones.
        threshold[right & (threshold > most)] = bound
        if (
            table.passes(np.array([high]), threshold[right]).any()
            or not table.passes(np.array([-high]), threshold[left]).all()
        ):
            return table
        column[left] = table.columns
        split = split or bool(left.any())
        missing = None if tree.missing_left is None else tree.missing_left & ~tests
        trees.append(replace(tree, column=column, threshold=threshold, missing_left=missing))
    one = columns[place]
    columns[place] = replace(one, missing=high)
    if not split:
        return replace(table, trees=tuple(trees))
    columns.append(replace(one, name=f"{one.name}, low if missing", missing=-high))
    return replace(table, trees=tuple(trees), columns=table.columns + 1)
