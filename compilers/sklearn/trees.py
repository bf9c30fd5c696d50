"""Read scikit-learn's trees and forests, for classes and for numbers.

In:  DecisionTree, ExtraTree, RandomForest, ExtraTrees, each as Classifier or Regressor, or a subclass.
Out: an Ensemble whose `scores` are `predict_proba` (of a regressor: `predict`), bit by bit.
Promise: every index, shape and number is checked before use; damage is a ModelError that names tree and node.
How the library decides (sklearn/tree/_tree.pyx, sklearn/ensemble/_forest.py, checked in 1.7 to 1.9): a row is cast to
float32 and goes left where it is <= the float64 threshold, or where it is NaN and `missing_go_to_left` says so;
`tree_.value` holds class fractions or the predicted number; a forest adds them from zero in float64, in the order of
its trees (in any order if `n_jobs` is not one), and divides by their number; the first of the largest is the class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of
from mace.compilers.tree_arrays import checked_tree
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Ensemble, Label, Link, Tree


def read_tree(model: Any) -> Ensemble:
    """The table of one tree."""
    tree = fitted(model, "tree_")
    classes, columns = _classes(model), columns_of(model)
    return _ensemble(model, (tree_of(name_of(model), 0, tree, columns, len(classes) or 1),), classes, columns)


def read_forest(model: Any) -> Ensemble:
    """The table of a forest, in the order of its estimators."""
    estimators = fitted(model, "estimators_")
    classes, columns = _classes(model), columns_of(model)
    if not estimators:
        raise ModelError(f"{name_of(model)} is damaged: it has no trees")
    trees = tuple(
        tree_of(name_of(model), number, fitted(estimator, "tree_"), columns, len(classes) or 1)
        for number, estimator in enumerate(estimators)
    )
    return _ensemble(model, trees, classes, columns)


def _classes(model: Any) -> tuple[Label, ...]:
    """The classes of a model with one output; none for a regressor."""
    outputs = fitted(model, "n_outputs_")
    if outputs != 1:
        raise UnreadableError(
            f"{name_of(model)} decides {outputs} outputs at once, which is not supported",
            hint="Fit one model for each output, with a target of one column.",
        )
    return () if getattr(model, "_estimator_type", None) == "regressor" or is_regressor(model) else labels_of(model)


def is_regressor(model: Any) -> bool:
    """Whether a model of this package predicts numbers: it has no classes at all."""
    return not hasattr(type(model), "predict_proba") and not hasattr(model, "classes_")


def _ensemble(model: Any, trees: tuple[Tree, ...], classes: tuple[Label, ...], columns: int) -> Ensemble:
    return Ensemble(
        trees=trees,
        columns=columns,
        start=np.zeros(len(classes) or 1),
        rule="argmax" if classes else "value",
        classes=classes,
        cast="float32",
        test="<=",
        divide=len(trees),
        name=name_of(model),
        # Threads add their trees as they finish, under a lock.
        ordered=len(trees) == 1 or getattr(model, "n_jobs", None) in (None, 1),
        link=Link("fraction") if classes else None,
    )


def tree_of(
    owner: str, number: int, tree: Any, columns: int, outputs: int, features: Any = None, values: Any = None
) -> Tree:
    """One tree of plain arrays, checked; `number` is its place in the ensemble, for messages.

    features: the model's columns that the tree's own columns are, where it saw a part of them.
    values:   shape (nodes, anything), what leaves add where that is not `tree_.value` as it is.
    """
    where = f"{owner} is damaged: tree {number}"
    try:
        left, right, column, threshold = tree.children_left, tree.children_right, tree.feature, tree.threshold
        value = np.array(tree.value, dtype=np.float64)
        missing = getattr(tree, "missing_go_to_left", None)
        if missing is not None:
            # A split between NaN and the rest has the threshold infinity: every finite number goes left.
            only = np.isposinf(threshold) & (np.asarray(missing) == 0)
            threshold = np.where(only, np.finfo(np.float64).max, threshold)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{where} has no readable arrays ({error})") from error
    nodes = len(np.atleast_1d(left))
    if value.shape != (nodes, 1, outputs):
        raise ModelError(f"{where} has value of shape {value.shape}, expected {(nodes, 1, outputs)}")
    table = checked_tree(
        where,
        columns if features is None else len(features),
        left,
        right,
        column,
        threshold,
        value[:, 0, :] if values is None else values,
        missing,
    )
    if features is None:
        return table
    moved = np.where(table.column < 0, table.column, np.asarray(features, dtype=np.int32)[table.column])
    return replace(table, column=moved.astype(np.int32))
