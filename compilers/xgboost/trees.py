"""One tree of an XGBoost model file: its arrays checked, and made again as the library wants them.

In:  the fields of a tree in a file.    Out: the same tree without the nodes that pruning deleted.
Promise: parents, sizes and counts are made here; whether children, columns and sets of categories make a tree is
checked by `read_document`.
Source: src/tree/tree_model.cc, src/predictor/predict_fn.h.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.formats.fields import Fields
from mace.errors import UnreadableError

MOST_OUTPUTS, MOST_TREES = 2**16, 2**24
MOST_CATEGORIES = 2**24  # From here on float32 has gaps, and the library knows no category.
_DELETED = 2**31 - 1  # the column of a node that pruning took out of the tree
_NO_PARENT = 2**31 - 1
_TREE = (
    "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes", "default_left", "id",
    "left_children", "loss_changes", "parents", "right_children", "split_conditions", "split_indices", "split_type",
    "sum_hessian", "tree_param",
)  # fmt: skip


def tree_of(tree: Fields, number: int, columns: int) -> dict[str, Any]:
    """One tree without the nodes that pruning deleted, whose arrays are as long as one another."""
    parameters = tree.fields("tree_param") if "tree_param" in tree.values else Fields({}, tree.where)
    if (size := parameters.whole("size_leaf_vector", 0, MOST_OUTPUTS, 0)) > 1:
        raise UnreadableError(
            f"tree {number} of the XGBoost model has leaves with {size} numbers, which is not supported",
            hint='Fit it with multi_strategy="one_output_per_tree", the default: leaves that are numbers.',
        )
    tree.only(_TREE)  # Leaves with several numbers bring members of their own.
    if tree.whole("id", 0, MOST_TREES, number) != number:
        raise tree.wrong("has another number than its place")
    left = tree.wholes("left_children", "int32", -1, 2**31 - 1)
    arrays = {
        "left_children": left,
        "right_children": tree.wholes("right_children", "int32", -1, 2**31 - 1),
        "split_indices": tree.wholes("split_indices", "int32", 0, 2**31 - 1),
        "split_conditions": tree.floats("split_conditions", "float32"),
        "default_left": tree.wholes("default_left", "uint8", 0, 1),
        "split_type": tree.wholes("split_type", "uint8", 0, 1, np.zeros(len(left), dtype=np.uint8)),
    }
    unused = [tree.numbers(key) for key in ("base_weights", "loss_changes", "sum_hessian") if key in tree.values]
    if len({len(array) for array in (*arrays.values(), *unused)}) != 1:
        raise tree.wrong("has arrays of different lengths")
    gone = arrays["split_indices"] == _DELETED
    for key, expected in (("num_nodes", len(left)), ("num_deleted", int(gone.sum()))):
        if parameters.whole(key, 0, 2**31 - 1, expected) != expected:
            raise tree.wrong(f"has a {key} that does not fit its arrays")
    place = np.cumsum(~gone) - 1  # of every node that stays
    sets = _sets(tree, arrays["split_type"] & ~gone, place)
    kept = {key: array[~gone] for key, array in arrays.items()}
    for side in ("left_children", "right_children"):
        child = kept[side]
        inside = (child >= 0) & (child < len(gone))
        if gone[child[inside]].any():
            raise tree.wrong("has a node below which there is a deleted one")
        child[inside] = place[child[inside]]
    made = _complete(kept, sets, number, columns)
    children = np.concatenate([made["left_children"], made["right_children"]])
    if np.array_equal(np.sort(children[children >= 0]), np.arange(1, len(made["parents"]))):
        _refuse_other_order(tree, made, gone, place)
    return made  # Where a node is the child of several, or of none, `read_document` says so.


def _refuse_other_order(tree: Fields, made: dict[str, Any], gone: NDArray[Any], place: NDArray[Any]) -> None:
    """Raise unless the children of a node lie side by side, and name it as their parent."""
    inner = made["left_children"] >= 0
    if (made["left_children"][inner] + 1 != made["right_children"][inner]).any():
        # `GetNextNode` of predict_fn.h goes to the node behind the left child, wherever the right one is.
        raise tree.wrong("has a right child that does not follow the left one, which XGBoost takes for granted")
    if "parents" not in tree.values:
        return
    stored = tree.wholes("parents", "int64", -(2**31), 2**31 - 1)
    stored = stored[~gone][1:] if len(stored) == len(gone) else np.array([-1])
    inside = (stored >= 0) & (stored < len(place))
    if not inside.all() or not np.array_equal(place[stored], made["parents"][1:]):
        raise tree.wrong("has parents that are not those of its children")


def _complete(kept: dict[str, NDArray[Any]], sets: dict[str, Any], number: int, columns: int) -> dict[str, Any]:
    """A tree with what follows from its arrays: the parent of every node, and how many there are."""
    nodes = len(kept["left_children"])
    parents = np.full(nodes, _NO_PARENT, dtype=np.int32)
    for side in ("left_children", "right_children"):
        child = kept[side]
        inside = (child >= 0) & (child < nodes)
        parents[child[inside]] = np.flatnonzero(inside)
    nothing = np.zeros(nodes, dtype=np.float32)
    return {
        **kept,
        **sets,
        "base_weights": nothing,
        "id": number,
        "loss_changes": nothing,
        "parents": parents,
        "sum_hessian": nothing,
        "tree_param": {
            "num_deleted": "0", "num_feature": str(columns), "num_nodes": str(nodes), "size_leaf_vector": "1",
        },
    }  # fmt: skip


def _sets(tree: Fields, categorical: NDArray[Any], place: NDArray[Any]) -> dict[str, Any]:
    """The sets of categories, one after the other in the order of their nodes."""
    nothing = np.zeros(0, dtype=np.int64)
    nodes, starts, sizes = (
        tree.wholes(f"categories_{part}", "int64", 0, 2**31 - 1, nothing) for part in ("nodes", "segments", "sizes")
    )
    members = tree.wholes("categories", "int32", 0, MOST_CATEGORIES - 1, nothing)
    if not len(nodes) == len(starts) == len(sizes):
        raise tree.wrong("has sets of categories that do not fit together")
    if nodes.tolist() != np.flatnonzero(categorical).tolist():
        raise tree.wrong("has categorical nodes without categories, or sets in another order")
    if len(nodes) and (not sizes.all() or (starts + sizes > len(members)).any() or sizes.sum() > len(members)):
        raise tree.wrong("has a set of categories out of range")
    parts = [members[a : a + size] for a, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    return {
        "categories": np.concatenate([members[:0], *parts]),
        "categories_nodes": place[nodes].astype(np.int32),
        "categories_segments": (np.cumsum(sizes) - sizes).astype(np.int64),
        "categories_sizes": sizes,
    }
