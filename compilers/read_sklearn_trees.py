"""Read scikit-learn's classification trees and forests.

In:  DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, ExtraTreesClassifier, or a subclass.
Out: an Ensemble whose `scores` are `predict_proba`, bit by bit.
Promise: every index, shape and number is checked before use; damage is a ModelError that names tree and node.
How the library decides (sklearn/tree/_tree.pyx, sklearn/ensemble/_forest.py, checked in 1.7 to 1.9): a row is cast to
float32 and goes left where it is <= the float64 threshold; `tree_.value` holds class fractions; a forest adds them
from zero in float64, in the order of its trees (in any order if `n_jobs` is not one), and divides by their number;
the first of the largest is the class. Missing values do not occur in the spaces of this package, so
`missing_go_to_left` is not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.read_sklearn import columns_of, fitted, labels_of, name_of
from mace.errors import ModelError
from mace.tables import Ensemble, Label, Tree

_LEAF = -1


def read_tree(model: Any) -> Ensemble:
    """The table of one classification tree."""
    tree = fitted(model, "tree_")
    classes, columns = _classes(model), columns_of(model)
    return _ensemble(model, (_tree(name_of(model), 0, tree, columns, len(classes)),), classes, columns)


def read_forest(model: Any) -> Ensemble:
    """The table of a forest of classification trees, in the order of its estimators."""
    estimators = fitted(model, "estimators_")
    classes, columns = _classes(model), columns_of(model)
    if not estimators:
        raise ModelError(f"{name_of(model)} is damaged: it has no trees")
    trees = tuple(
        _tree(name_of(model), number, fitted(estimator, "tree_"), columns, len(classes))
        for number, estimator in enumerate(estimators)
    )
    return _ensemble(model, trees, classes, columns)


def _classes(model: Any) -> tuple[Label, ...]:
    """The classes of a model with one output."""
    outputs = fitted(model, "n_outputs_")
    if outputs != 1:
        raise ModelError(
            f"{name_of(model)} decides {outputs} outputs at once, which is not supported",
            hint="Fit one model for each output, with a target of one column.",
        )
    return labels_of(model)


def _ensemble(model: Any, trees: tuple[Tree, ...], classes: tuple[Label, ...], columns: int) -> Ensemble:
    return Ensemble(
        trees=trees,
        columns=columns,
        start=np.zeros(len(classes)),
        rule="argmax",
        classes=classes,
        cast="float32",
        test="<=",
        divide=len(trees),
        name=name_of(model),
        # Threads add their trees as they finish, under a lock.
        ordered=len(trees) == 1 or getattr(model, "n_jobs", None) in (None, 1),
    )


def _tree(owner: str, number: int, tree: Any, columns: int, classes: int) -> Tree:
    """One tree of plain arrays, checked; `number` is its place in the forest, for messages."""
    where = f"{owner} is damaged: tree {number}"
    try:
        left, right = np.array(tree.children_left, dtype=np.int64), np.array(tree.children_right, dtype=np.int64)
        column, threshold = np.array(tree.feature, dtype=np.int64), np.array(tree.threshold, dtype=np.float64)
        value = np.array(tree.value, dtype=np.float64)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{where} has no readable arrays ({error})") from error
    nodes = len(left) if left.ndim == 1 else 0
    if nodes == 0:
        raise ModelError(f"{where} has no nodes")
    for name, array, shape in (
        ("children_right", right, (nodes,)),
        ("feature", column, (nodes,)),
        ("threshold", threshold, (nodes,)),
        ("value", value, (nodes, 1, classes)),
    ):
        if array.shape != shape:
            raise ModelError(f"{where} has {name} of shape {array.shape}, expected {shape}")

    leaf = left == _LEAF
    _refuse(where, leaf != (right == _LEAF), "has one child only")
    inner = ~leaf
    for side, child in (("left", left), ("right", right)):
        _refuse(where, inner & ((child < 0) | (child >= nodes)), f"has its {side} child out of range", child)
    _refuse(where, inner & ((column < 0) | (column >= columns)), f"tests a column beyond the {columns} known", column)
    _refuse(where, inner & ~np.isfinite(threshold), "has a threshold that is not finite", threshold)
    _refuse(where, leaf & ~np.isfinite(value).all(axis=(1, 2)), "has a leaf value that is not finite")
    _refuse_cycles(where, left, right)
    return Tree(
        column=np.where(leaf, _LEAF, column).astype(np.int32),
        threshold=np.where(leaf, 0.0, threshold),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        value=value[:, 0, :],
    )


def _refuse(where: str, wrong: Any, what: str, shown: Any = None) -> None:
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
    _refuse(where, parents > 1, "is reached from several nodes, or twice from one: a cycle or a shared branch")
    reached, pending = np.zeros(len(left), dtype=bool), [0]
    while pending:  # Every node has one parent at most, so none is pushed twice.
        node = pending.pop()
        reached[node] = True
        if left[node] != _LEAF:
            pending += [int(left[node]), int(right[node])]
    _refuse(where, ~reached, "is not reached from the root: a cycle or a loose branch")
