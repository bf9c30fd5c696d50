"""Read scikit-learn's stacking, and the votes of regressors.

In:  StackingClassifier or StackingRegressor with a linear final estimator, over trees, forests, bagging or boosting
     whose outputs are sums, or over linear models alone; VotingRegressor over the one or the other.
Out: an Ensemble whose `error` bounds the difference to the library's means and products, or a Network of two layers,
     which are the library's own.
Promise: members of both kinds together, members with sigmoids, other final estimators and `passthrough` are a
ModelError that names them.
How the library decides (sklearn/ensemble/_stacking.py, _voting.py, checked in 1.9): the final estimator is given what
`predict_proba` (of two classes the second column), `decision_function` or `predict` of the members says, in order; the
votes of regressors are a weighted mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mace.base.classes import module_of
from mace.compilers.sklearn.beside import averaged, beside
from mace.compilers.sklearn.boosting import read_boosting, read_hist_boosting
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.compilers.sklearn.ensembles import read_bagging
from mace.compilers.sklearn.linear import REGRESSORS, read_line, read_linear
from mace.compilers.sklearn.mixed import Part, weighted_sum
from mace.compilers.sklearn.trees import read_forest, read_tree
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Ensemble, Network

_KINDS: dict[str, Callable[[Any], Ensemble | Network]] = {
    **{f"{kind}{what}": read_tree for kind in ("DecisionTree", "ExtraTree") for what in ("Classifier", "Regressor")},
    **{f"{kind}{what}": read_forest for kind in ("RandomForest", "ExtraTrees") for what in ("Classifier", "Regressor")},
    **{f"Bagging{what}": read_bagging for what in ("Classifier", "Regressor")},
    "GradientBoostingRegressor": read_boosting,
    "HistGradientBoostingRegressor": read_hist_boosting,
    **dict.fromkeys(("LinearSVC", "RidgeClassifier", "Perceptron"), read_linear),
    **{name.rpartition(".")[2]: read_line for name in REGRESSORS},
}
_FINAL_CLASSES = (
    "LogisticRegression", "LogisticRegressionCV", "RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "SGDClassifier",
    "Perceptron",
)  # fmt: skip


def read_stacking(model: Any) -> Ensemble | Network:
    """The table of StackingClassifier or StackingRegressor."""
    if model.passthrough:
        raise UnreadableError(
            f"{name_of(model)} with passthrough=True is not supported", hint="Fit it with passthrough=False."
        )
    classes = labels_of(model) if hasattr(type(model), "predict_proba") else ()
    final = _final(model, classes)
    members = [
        _member(model, number, member, method, len(classes))
        for number, (member, method) in enumerate(
            zip(fitted(model, "estimators_"), fitted(model, "stack_method_"), strict=True)
        )
    ]
    name, last = f"{name_of(model)} of {final.name}", final.layers[0]
    counts = [len(kept) for _, kept in members]
    if sum(counts) != final.columns:
        raise ModelError(f"{name_of(model)} is damaged: its members say {sum(counts)} numbers, not {final.columns}")
    ends = np.cumsum([0, *counts])
    tables = [table for table, _ in members]
    if all(isinstance(table, Network) for table in tables):
        stacked = beside([table for table in tables if isinstance(table, Network)])
        return replace(final, layers=(*stacked, last), columns=columns_of(model), classes=classes, name=name)
    parts = []
    for (table, kept), start, end in zip(members, ends[:-1], ends[1:], strict=True):
        weights = np.zeros((table.outputs, len(last.bias)))
        weights[kept] = last.weights[start:end]
        parts.append(Part(_ensemble(model, table), weights))
    return weighted_sum(parts, last.bias, rule=final.rule, classes=classes, name=name, link=final.link)


def read_votes(model: Any) -> Ensemble | Network:
    """The table of VotingRegressor."""
    members = list(fitted(model, "estimators_"))
    given = model._weights_not_none
    weights = numbers(model, "weights", [1.0] * len(members) if given is None else given, (len(members),))
    if not weights.sum():
        raise ModelError(f"{name_of(model)} has weights {weights.tolist()}, whose sum is 0")
    tables = [_member(model, number, member, "predict", 0)[0] for number, member in enumerate(members)]
    shares = (weights / weights.sum()).tolist()
    lines = [table for table in tables if isinstance(table, Network)]
    if len(lines) == len(tables):
        return averaged(lines, shares, name_of(model))
    parts = [Part(_ensemble(model, table), np.array([[share]])) for table, share in zip(tables, shares, strict=True)]
    return weighted_sum(parts, np.zeros(1), rule="value", classes=(), name=name_of(model))


def _final(model: Any, classes: Sequence[Any]) -> Network:
    """The table of the estimator that is given what the members say."""
    estimator = fitted(model, "final_estimator_")
    name = name_of(estimator)
    own = module_of(type(estimator)).startswith("sklearn.")
    if not own or (name not in _FINAL_CLASSES if classes else _KINDS.get(name) is not read_line):
        raise UnreadableError(
            f"{name_of(model)} with the final estimator {name} is not supported",
            hint="Supported are linear ones, such as the default.",
        )
    table = read_linear(estimator) if classes else read_line(estimator)
    if classes and tuple(table.classes) != tuple(range(len(classes))):
        raise ModelError(f"{name_of(model)} is damaged: its final estimator knows other classes than the whole")
    if table.dtype == "float32":
        raise UnreadableError(f"{name_of(model)} with a final estimator in float32 is not supported")
    return table


def _member(model: Any, number: int, member: Any, method: str, classes: int) -> tuple[Ensemble | Network, list[int]]:
    """The table of a member, and those of its scores that the final estimator is given."""
    what = f"{name_of(model)}: member {number} is a {name_of(member)}"
    read = _KINDS.get(name_of(member)) if module_of(type(member)).startswith("sklearn.") else None
    if read is None:
        raise UnreadableError(
            f"{what}, which is not supported there",
            hint="Supported are trees, forests, bagging, boosting for numbers, and linear models without a sigmoid.",
        )
    table = read(member)
    if table.dtype == "float32" or method == "predict" and (table.classes or table.link is not None):
        raise UnreadableError(f"{what} whose `{method}` is given on, which is not supported")
    if method == "predict_proba" and (table.link is None or table.link.kind != "fraction"):
        raise UnreadableError(f"{what} whose `{method}` is no sum of trees, which is not supported")
    if table.classes and tuple(table.classes) != tuple(range(classes)):
        raise ModelError(f"{what} that knows other classes than the whole")
    return table, [1] if method == "predict_proba" and classes == 2 else list(range(table.outputs))


def _ensemble(model: Any, table: Ensemble | Network) -> Ensemble:
    if not isinstance(table, Ensemble):
        raise UnreadableError(
            f"{name_of(model)} of trees and linear models together ({table.name}) is not supported",
            hint="Leave out the ones or the others.",
        )
    return table
