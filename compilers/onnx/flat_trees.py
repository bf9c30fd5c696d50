"""Read the TreeEnsemble of version 5 of ONNX's ML operators: the nodes of all trees in one list, the leaves in another.

In:  the attributes of a TreeEnsemble.
Out: an Ensemble in float32, whose trees may be added in any order.
Promise: every node is checked as in `tree_arrays.py`, and belongs to one tree; other types, aggregates and transforms,
and several targets, are ModelErrors.
Source: onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsemble.html; onnxruntime 1.31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mace.compilers.onnx.branches import LEAF, MOST_LEVELS, Branch, Comparison, comparison, tree_of
from mace.compilers.tree_arrays import refuse_size
from mace.errors import ModelError
from mace.tables.table import Ensemble, Floats, Tree

KIND = "TreeEnsemble"
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
_SUM, _NONE = 1, 0


def read_flat_trees(given: Mapping[str, Any], columns: int, dtype: str) -> Ensemble:
    """The table of one operator."""
    if dtype != "float32":
        raise ModelError(f"{KIND} on {dtype} inputs is not supported", hint="Export it for float32 inputs.")
    if given.get("aggregate_function", _SUM) != _SUM or given.get("post_transform", _NONE) != _NONE:
        raise ModelError(f"{KIND} with another aggregate than SUM, or a post_transform, is not supported")
    if given.get("n_targets", 1) != 1:
        raise ModelError(f"{KIND} with {given['n_targets']} targets is not supported")
    parts = _parts(given)
    refuse_size("the ONNX model", len(parts.nodes), 1)
    test = comparison(KIND, {node.mode for node in parts.nodes})
    trees = _trees(parts, columns, test)
    return Ensemble(
        trees, columns, np.zeros(1), "value", (), "float32", test, "float32", name=f"ONNX {KIND}", ordered=False
    )


class _Parts(NamedTuple):
    """The nodes; whether their true and false sides are leaves; what the leaves add; where trees begin."""

    nodes: Sequence[Branch]
    leaf: Sequence[tuple[bool, bool]]
    added: Floats
    roots: Sequence[int]


def _numbers(given: Mapping[str, Any], name: str) -> Floats:
    array = np.asarray(given.get(name, np.zeros(0, np.float32)))
    if array.dtype != np.float32 or array.ndim != 1:
        raise ModelError(f"{KIND} with {name} of type {array.dtype} is not supported", hint="Export it for float32.")
    return array.astype(np.float64)


def _parts(given: Mapping[str, Any]) -> _Parts:
    modes = np.asarray(given.get("nodes_modes", np.zeros(0, np.uint8)))
    if modes.dtype != np.uint8 or modes.ndim != 1 or (modes >= len(_MODES)).any():
        raise ModelError(f"the ONNX model is damaged: nodes_modes of {KIND} are no modes")
    count, splits = len(modes), _numbers(given, "nodes_splits")
    names = ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs", "missing_value_tracks_true")
    lists: list[list[int]] = [list(given.get(f"nodes_{name}", ())) for name in names]
    lists[-1] = lists[-1] or [0] * count
    if len(splits) != count or any(len(one) != count for one in lists):
        raise ModelError("the ONNX model is damaged: its nodes_ attributes have different lengths")
    nodes, leaf = [], []
    for mode, split, column, true, false, true_leaf, false_leaf, tracks in zip(
        modes.tolist(), splits.tolist(), *lists, strict=True
    ):
        nodes.append(Branch(column, split, _MODES[mode], true, false, bool(tracks)))
        leaf.append((bool(true_leaf), bool(false_leaf)))
    added, targets = _numbers(given, "leaf_weights"), list(given.get("leaf_targetids", ()))
    if len(targets) != len(added) or any(target != 0 for target in targets):
        raise ModelError(f"the ONNX model is damaged: leaf_targetids of {KIND} do not fit its leaves")
    return _Parts(nodes, leaf, added, list(given.get("tree_roots", ())))


def _trees(parts: _Parts, columns: int, test: Comparison) -> tuple[Tree, ...]:
    """The trees; a leaf that several nodes lead to is repeated."""
    free, found = set(range(len(parts.nodes))), []
    for number, root in enumerate(parts.roots):
        where = f"the ONNX model is damaged: tree {number}"
        nodes: list[Branch] = []
        added: list[float] = []
        todo = [(root, False, -1, False, 0)]
        while todo:
            place, is_leaf, above, side, level = todo.pop()
            if above >= 0:
                held = nodes[above]
                nodes[above] = held._replace(true=len(nodes)) if side else held._replace(false=len(nodes))
            if is_leaf:
                if not 0 <= place < len(parts.added):
                    raise ModelError(f"{where} has the leaf {place}, of {len(parts.added)}")
                nodes.append(Branch(0, 0.0, LEAF, -1, -1, tracks=False))
                added.append(float(parts.added[place]))
                continue
            if place not in free or level > MOST_LEVELS:
                raise ModelError(f"{where} has the node {place} twice, or it is not there, or it lies too deep")
            free.remove(place)
            here, node, (true_leaf, false_leaf) = len(nodes), parts.nodes[place], parts.leaf[place]
            nodes.append(node)
            added.append(0.0)
            todo += [
                (node.false, false_leaf, here, False, level + 1), (node.true, true_leaf, here, True, level + 1),
            ]  # fmt: skip
        found.append(tree_of(where, columns, nodes, np.array(added)[:, None], test))
    if free:
        raise ModelError(f"the ONNX model is damaged: no tree of {KIND} has the node {min(free)}")
    return tuple(found)
