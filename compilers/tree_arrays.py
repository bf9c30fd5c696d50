"""Arrays of one tree from any library, checked before anything walks them.

In:  children, columns, thresholds and values as a library stores them.    Out: a `Tree`.
Promise: children in range, every node reached from the root exactly once (so walks end, at a leaf), columns known,
numbers finite; what is not so is a ModelError that names the tree and the node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mace.errors import ModelError
from mace.tables.members import Members
from mace.tables.table import Tree
from mace.tables.validity import LEAF, tree_fault

MOST_NODES = 10_000_000
MOST_LEVELS = 5000  # of a tree: native code measures it by calling itself, once for every level
MOST_CELLS = 2**28  # nodes times scores: 2 GB of numbers


def refuse_size(what: str, nodes: int, outputs: int) -> None:
    """Raise for a model without trees, and for one whose table would not fit into memory: a short file can claim any
    number of scores."""
    if not nodes:
        raise ModelError(
            f"{what} has no trees", hint="It decides alike for every input: was it saved before it was fitted?"
        )
    if nodes * outputs > MOST_CELLS:
        raise ModelError(f"{what} is too large: {nodes} nodes for {outputs} scores")


def checked_tree(
    where: str,
    columns: int,
    left: Any,
    right: Any,
    column: Any,
    threshold: Any,
    value: Any,
    missing_left: Any = None,
    members: Mapping[int, Members] | None = None,
) -> Tree:
    """One tree; leaves have both children negative.

    where: begins every message, for instance "Booster is damaged: tree 3".
    value: shape (nodes, outputs); only the leaves' rows are kept.
    """
    try:
        left, right = np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)
        column, threshold = np.array(column, dtype=np.int64), np.array(threshold, dtype=np.float64)
        value = np.array(value, dtype=np.float64)
        missing = None if missing_left is None else np.array(missing_left, dtype=np.bool_)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{where} has no readable arrays ({error})") from error
    nodes = len(left) if left.ndim == 1 else 0
    if not 0 < nodes <= MOST_NODES:
        raise ModelError(f"{where} has {nodes} nodes" if nodes else f"{where} has no nodes")
    for name, array, shape in (
        ("children_right", right, (nodes,)),
        ("feature", column, (nodes,)),
        ("threshold", threshold, (nodes,)),
        ("value", value, (nodes, *(value.shape[1:2] or (1,)))),
        ("missing_left", missing, (nodes,)),
    ):
        if array is not None and array.shape != shape:
            raise ModelError(f"{where} has {name} of shape {array.shape}, expected {shape}")

    leaf = left == LEAF
    categorical = np.zeros(nodes, dtype=bool)
    categorical[[node for node in members or () if 0 <= node < nodes]] = True
    tree = Tree(np.where(leaf, LEAF, column), threshold, left, right, value, missing, dict(members or {}))
    fault = tree_fault(tree, columns, value.shape[1])
    if fault:
        raise ModelError(f"{where}{fault}")
    refuse_deep(where, tree, MOST_LEVELS)
    return replace(
        tree,
        column=tree.column.astype(np.int32),
        threshold=np.where(leaf | categorical, 0.0, threshold),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        missing_left=None if missing is None or not missing[~leaf].any() else missing,
    )


def refuse_deep(where: str, tree: Tree, most: int) -> None:
    """Raise for a tree that a library would walk by calling itself, once for every level."""
    if tree.nodes <= 2 * most:  # every level but the first has two nodes at least
        return
    level, depth = np.array([0]), 0
    while level.size:
        if depth > most:
            raise ModelError(f"{where} is more than {most} levels deep")
        inner = level[tree.left[level] >= 0]
        level, depth = np.concatenate([tree.left[inner], tree.right[inner]]), depth + 1
