"""Arrays of one tree from any library, checked before anything walks them.

In:  children, columns, thresholds and values as a library stores them.    Out: a `Tree`.
Promise: children in range, every node reached from the root exactly once (so walks end, at a leaf), columns known,
numbers finite; what is not so is a ModelError that names the tree and the node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mace.errors import ModelError
from mace.members import Members
from mace.tables import Tree

LEAF = -1
MOST_NODES = 10_000_000
MOST_CELLS = 2**28  # nodes times scores: 2 GB of numbers


def refuse_large(what: str, nodes: int, outputs: int) -> None:
    """Raise for a model whose table would not fit into memory; a short file can claim any number of scores."""
    if nodes * outputs > MOST_CELLS:
        raise ModelError(f"{what} is too large: {nodes} nodes for {outputs} scores")


def checked(
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
        ("value", value, (nodes, *value.shape[1:2])),
        ("missing_left", missing, (nodes,)),
    ):
        if array is not None and array.shape != shape:
            raise ModelError(f"{where} has {name} of shape {array.shape}, expected {shape}")

    leaf = left == LEAF
    refuse(where, leaf != (right == LEAF), "has one child only")
    inner = ~leaf
    for side, child in (("left", left), ("right", right)):
        refuse(where, inner & ((child < 0) | (child >= nodes)), f"has its {side} child out of range", child)
    refuse(where, inner & ((column < 0) | (column >= columns)), f"tests a column beyond the {columns} known", column)
    categorical = np.zeros(nodes, dtype=bool)
    categorical[list(members or ())] = True
    refuse(where, inner & ~categorical & ~np.isfinite(threshold), "has a threshold that is not finite", threshold)
    refuse(where, leaf & ~np.isfinite(value).all(axis=1), "has a leaf value that is not finite")
    refuse(where, leaf & categorical, "is a leaf and tests a category")
    _refuse_cycles(where, left, right)
    return Tree(
        column=np.where(leaf, LEAF, column).astype(np.int32),
        threshold=np.where(leaf | categorical, 0.0, threshold),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        value=value,
        missing_left=None if missing is None or not missing[inner].any() else missing,
        members=dict(members or {}),
    )


def refuse(where: str, wrong: Any, what: str, shown: Any = None) -> None:
    """Raise for the first node where `wrong` holds."""
    found = np.flatnonzero(wrong)
    if found.size:
        node = int(found[0])
        raise ModelError(f"{where}, node {node} {what}" + (f" ({shown[node]})" if shown is not None else ""))


def _refuse_cycles(where: str, left: Any, right: Any) -> None:
    """Raise unless every node is reached from the root, exactly once: then walks end, at a leaf."""
    parents = np.bincount(np.concatenate([left[left >= 0], right[right >= 0]]), minlength=len(left))
    if parents[0]:
        raise ModelError(f"{where}, node 0 is the root and a child as well: a cycle")
    refuse(where, parents > 1, "is reached from several nodes, or twice from one: a cycle or a shared branch")
    reached, pending = np.zeros(len(left), dtype=bool), [0]
    while pending:  # Every node has one parent at most, so none is pushed twice.
        node = pending.pop()
        reached[node] = True
        if left[node] != LEAF:
            pending += [int(left[node]), int(right[node])]
    refuse(where, ~reached, "is not reached from the root: a cycle or a loose branch")
