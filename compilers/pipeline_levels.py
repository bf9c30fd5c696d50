"""Trees over features with levels, one of which is a missing value to the model: the same trees without NaN.

In:  an Ensemble, and its columns as functions of one feature each.
Out: the same for every level of every feature: where a level becomes NaN, the column holds the level's place instead
     and each of its tests asks whether the place is among those that go left.
Promise: every row of the space takes the same way through every tree. Certificates know no NaN: so they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mace.columns import Column
from mace.tables import Ensemble, Tree


def without_missing_levels(table: Ensemble, columns: Sequence[Column]) -> tuple[Ensemble, tuple[Column, ...]]:
    """See the module's docstring."""
    lacking = {k: c.values for k, c in enumerate(columns) if c.values is not None and np.isnan(c.values).any()}
    if not lacking:
        return table, tuple(columns)
    trees = tuple(_by_place(table, tree, lacking) for tree in table.trees)
    named = tuple(
        replace(column, values=tuple(map(float, range(len(lacking[k]))))) if k in lacking else column
        for k, column in enumerate(columns)
    )
    return replace(table, trees=trees), named


def _by_place(table: Ensemble, tree: Tree, lacking: dict[int, tuple[float, ...]]) -> Tree:
    """One tree whose tests of these columns ask for the level's place."""
    members, threshold = dict(tree.members), tree.threshold.copy()
    missing = None if tree.missing_left is None else tree.missing_left.copy()
    for node, column in enumerate(tree.column.tolist()):
        if column not in lacking:
            continue
        values = lacking[column]
        members[node] = frozenset(k for k, value in enumerate(values) if table.goes_left(tree, node, value))
        threshold[node] = 0.0
        if missing is not None:
            missing[node] = False
    return replace(tree, members=members, threshold=threshold, missing_left=missing)
