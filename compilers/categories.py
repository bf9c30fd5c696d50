"""Tests of categories on numbers: the same trees with tests of thresholds.

In:  an Ensemble, its columns as functions of one feature each, and the features.
Out: an Ensemble in which only columns that hold whole numbers by level are tested for categories, as provers for
     numbers and certificates want it.
Promise: every row, NaN included, takes the same way through every tree. A set of categories is a union of intervals
(`mace.tables.members`): its ends become thresholds, and what lies between them leads on as it did. Trees that would
become too large stay as they are: the solvers read a set of categories by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from mace.base.exact import nearest
from mace.compilers.pieces import Reach, Test, rebuilt
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.members import Members, among, are_whole, neighbour
from mace.tables.table import Ensemble, Tree
from mace.tables.validity import validate

MOST_NODES = 200_000


def on_thresholds(table: Ensemble, columns: Sequence[Column], features: Sequence[Feature]) -> Ensemble:
    """See the module's docstring."""
    tested = {int(tree.column[node]) for tree in table.trees for node in tree.members}
    numbers = {place for place in tested if not _by_level(table, columns[place], place)}
    numbers = {place for place in numbers if _bounded(table, columns[place], features[columns[place].feature])}
    if not numbers:
        return table
    known = {place: Reach(-math.inf, math.inf, _may_lack(columns[place])) for place in numbers}
    trees, left = [], MOST_NODES
    for tree in table.trees:
        tests = {node: _test(table, columns, tree, node) for node in tree.members if int(tree.column[node]) in numbers}
        made = rebuilt(table, tree, tests, known, left) if tests else tree
        if made is None:
            return table
        trees.append(made)
        left -= made.nodes
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


def _test(table: Ensemble, columns: Sequence[Column], tree: Tree, node: int) -> Test:
    """Where the set of a node begins and ends among the numbers of its column."""
    place, members = int(tree.column[node]), tree.members[node]
    values = columns[place].values
    cuts, sides = _intervals(table, members) if values is None else _levels(table, values, members)
    missing = tree.missing_left is not None and bool(tree.missing_left[node])
    return Test(place, tuple(cuts), tuple(sides), missing)


def _intervals(table: Ensemble, members: Members) -> tuple[list[float], list[bool]]:
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
    return cuts, sides


def _levels(table: Ensemble, values: Sequence[float], members: Members) -> tuple[list[float], list[bool]]:
    """The same for a few numbers: as few cuts as tell them apart."""
    seen = sorted({x for x in table.seen(np.array(values)).tolist() if x == x})
    cuts, sides = [], [among(members, seen[0])] if seen else [False]
    for before, here in pairwise(seen):
        if among(members, here) != sides[-1]:
            cuts.append(before if table.test == "<=" else here)
            sides.append(not sides[-1])
    return cuts, sides


def _may_lack(column: Column) -> bool:
    """Whether the column may hold NaN."""
    return any(map(math.isnan, column.values or ())) or column.missing is not None and math.isnan(column.missing)
