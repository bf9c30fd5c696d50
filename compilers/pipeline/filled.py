"""Trees over numbers that may be missing and may be given: the same trees, with what is missing above all numbers.

In:  an Ensemble over raw numbers, its columns as functions of one feature each, and the features.
Out: the same for every row of the space. For a feature whose missing values may be given, or whose values may become
     missing, the columns hold a number above all others for what is missing, so that every test sends it to the right.
     Where the library sends it to the left, a test "is it there?" stands before, and the left subtree once more, as
     what is missing finds it.
Promise: every row of the space reaches a leaf with the values of the leaf that it reached; so an axis with "missing" at
its upper end is cut by each test into two intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mace.compilers.pipeline.missing import beyond
from mace.errors import ModelError
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.table import Ensemble, Tree

MOST_NODES = 500_000
UNKNOWN, PRESENT, ABSENT = 0, 1, 2


def with_missing_above(
    table: Ensemble, columns: Sequence[Column], features: Sequence[Feature]
) -> tuple[Ensemble, tuple[Column, ...]]:
    """See the module's docstring; raises ModelError where the trees become too many, or numbers are too large."""
    open_ = {
        k: column for k, column in enumerate(columns)
        if column.values is None and column.missing is not None and features[column.feature].missing in ("fill", "any")
    }  # fmt: skip
    if not open_:
        return table, tuple(columns)
    above, bound, most = beyond(table)
    for column in open_.values():
        feature = features[column.feature]
        if max(map(abs, feature.bounds())) > most:
            raise ModelError(
                f"feature `{feature.name}`: its range is too large for values that may be missing or not",
                hint='Narrow it, or declare missing="keep".',
            )
    room, trees = MOST_NODES, []
    for tree in table.trees:
        trees.append(_Grown(table, tree, open_, bound, room).tree())
        room -= trees[-1].nodes
    found = tuple(replace(column, missing=above) if k in open_ else column for k, column in enumerate(columns))
    return replace(table, trees=tuple(trees)), found


@dataclass
class _Grown:
    """One tree, copied from the root down."""

    table: Ensemble
    old: Tree
    open: dict[int, Column]
    bound: float
    room: int
    source: list[int] = field(default_factory=list)  # per new node the old one
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    asked: list[bool] = field(default_factory=list)  # whether the node is "is it there?"

    def tree(self) -> Tree:
        """The new tree."""
        old = self.old
        # A task: an old node, where its new one hangs, and per feature whether its value is known to be there.
        todo: list[tuple[int, int, bool, dict[int, int]]] = [(0, -1, False, {})]
        while todo:
            node, parent, is_left, known = todo.pop()
            column = int(old.column[node])
            if column not in self.open:
                new = self._add(node, parent, is_left)
                if column >= 0:
                    todo += [(int(old.right[node]), new, False, known), (int(old.left[node]), new, True, known)]
                continue
            feature = self.open[column].feature
            there, left = known.get(feature, UNKNOWN), self._goes_left(node, column)
            if there == ABSENT:
                todo.append((int(old.left[node] if left else old.right[node]), parent, is_left, known))
                continue
            present = {**known, feature: PRESENT}
            if there == UNKNOWN and left:
                new = self._add(node, parent, is_left, asks=True)
                todo.append((int(old.left[node]), new, False, {**known, feature: ABSENT}))
                parent, is_left, known = new, True, present
            new = self._add(node, parent, is_left)
            # On the right the value may still be missing; on the left of a test it is there.
            todo += [(int(old.right[node]), new, False, known), (int(old.left[node]), new, True, present)]
        return self._made()

    def _goes_left(self, node: int, column: int) -> bool:
        value = self.open[column].missing
        assert value is not None
        return self.table.goes_left(self.old, node, value)

    def _add(self, node: int, parent: int, is_left: bool, *, asks: bool = False) -> int:
        new = len(self.source)
        if new >= self.room:
            raise ModelError(
                f"the trees of {self.table.name} become more than {MOST_NODES} nodes where values may be given",
                hint='Declare missing="keep" for more features.',
            )
        if node in self.old.members and int(self.old.column[node]) in self.open:
            raise ModelError(f"{self.table.name} tests `{self.open[int(self.old.column[node])].name}` as a category")
        self.source.append(node)
        self.threshold.append(self.bound if asks else min(float(self.old.threshold[node]), self.bound))
        self.left.append(-1)
        self.right.append(-1)
        self.asked.append(asks)
        if parent >= 0:
            (self.left if is_left else self.right)[parent] = new
        return new

    def _made(self) -> Tree:
        old, source = self.old, np.array(self.source)
        threshold = np.where(old.column[source] >= 0, np.array(self.threshold), old.threshold[source])
        missing = None
        if old.missing_left is not None:
            missing = old.missing_left[source] & ~np.isin(old.column[source], list(self.open))
        return replace(
            old,
            column=old.column[source],
            threshold=threshold,
            left=np.array(self.left, dtype=old.left.dtype),
            right=np.array(self.right, dtype=old.right.dtype),
            value=old.value[source],
            missing_left=missing,
            members={new: old.members[node] for new, node in enumerate(self.source) if node in old.members},
        )
