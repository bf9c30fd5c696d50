"""Read scikit-learn's ensembles of trees: AdaBoost, Bagging, Voting, IsolationForest.

In:  AdaBoostClassifier, BaggingClassifier, BaggingRegressor, VotingClassifier over trees (for soft votes also over
     forests; over other members: `votes.py`), IsolationForest, or a subclass.
Out: an Ensemble. Where the library only adds, its scores are the library's bit by bit; where it averages averages or
     squashes, `error` bounds the difference.
Promise: a member that is not a tree is a ModelError that names its class.
How the library decides (checked in 1.7 to 1.9): AdaBoost adds +w or -w / (K - 1) for the class of each member, divides
by the sum of w, and takes class 1 where the score is > 0, or the first of the largest. Bagging adds the members'
fractions and divides by their number. Voting counts weights (hard), or takes a weighted mean of probabilities (soft).
IsolationForest adds the depths of the leaves; an outlier has -2^(-depths / c) - offset < 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mace.base.classes import module_of
from mace.base.escape import short
from mace.base.exact import first_float
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.compilers.sklearn.trees import is_regressor, read_forest, tree_of
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Compare, Ensemble, Floats, Label, Link, Tree

TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
_UNIT = 2.0**-53


def read_adaboost(model: Any) -> Ensemble:
    """The table of AdaBoostClassifier (SAMME)."""
    members, classes, columns = _members(model), labels_of(model), columns_of(model)
    weights = numbers(model, "estimator_weights_", fitted(model, "estimator_weights_")[: len(members)], (len(members),))
    count = len(classes)
    if count < 2:
        raise ModelError(f"{name_of(model)} knows one class only, {classes[0]!r}: no input has another decision")
    trees = []
    # More than two classes: the division by the sum of weights may make neighbouring sums equal. Scaled below 1 (by a
    # power of two, which rounds nothing), they are then within the slack of the rule "softmax".
    scale = 1.0 if count == 2 else 2.0 ** -int(np.ceil(np.log2(np.abs(weights).sum())) + 1)
    for number, (member, weight) in enumerate(zip(members, weights.tolist(), strict=True)):
        if tuple(np.asarray(member.classes_).tolist()) != classes:
            raise ModelError(f"{name_of(model)}: member {number} knows other classes than the whole")
        other = -1 / (count - 1) * weight
        votes = _votes(model, number, member, columns)
        added = np.where(votes == 1, weight, other) * scale
        added = added[:, 1:] if count == 2 else added
        trees.append(tree_of(name_of(model), number, member.tree_, columns, count, values=added))
    return Ensemble(
        trees=tuple(trees),
        columns=columns,
        start=np.zeros(1 if count == 2 else count),
        rule="positive" if count == 2 else "softmax",
        classes=classes,
        name=name_of(model),
        # decision_function divides by the sum of weights; of two classes it is the difference of both votes.
        one=float(weights.sum()) * (0.5 if count == 2 else scale),
    )


def read_bagging(model: Any) -> Ensemble:
    """The table of BaggingClassifier or BaggingRegressor over trees, with their parts of the columns."""
    members, columns = _members(model), columns_of(model)
    parts = fitted(model, "estimators_features_")
    classes: tuple[Label, ...] = () if is_regressor(model) else labels_of(model)
    if len(parts) != len(members):
        raise ModelError(f"{name_of(model)} is damaged: {len(members)} members, {len(parts)} sets of columns")
    trees = []
    for number, (member, part) in enumerate(zip(members, parts, strict=True)):
        features = np.asarray(part).tolist()
        if any(not isinstance(f, int) or not 0 <= f < columns for f in features):
            raise ModelError(f"{name_of(model)} is damaged: member {number} uses columns beyond the {columns} known")
        if not classes:
            trees.append(tree_of(name_of(model), number, fitted(member, "tree_"), columns, 1, features))
            continue
        own = [int(k) for k in member.classes_]  # The whole numbers its classes; a member may have seen fewer.
        if any(not 0 <= k < len(classes) for k in own):
            raise ModelError(f"{name_of(model)} is damaged: member {number} knows classes that the whole does not")
        tree = tree_of(name_of(model), number, fitted(member, "tree_"), columns, len(own), features)
        value = np.zeros((tree.nodes, len(classes)))
        value[:, own] = tree.value
        trees.append(replace(tree, value=value))
    return Ensemble(
        trees=tuple(trees),
        columns=columns,
        start=np.zeros(len(classes) or 1),
        rule="argmax" if classes else "value",
        classes=classes,
        divide=len(trees),
        name=name_of(model),
        link=Link("fraction") if classes else None,
        ordered=len(trees) == 1 or getattr(model, "n_jobs", None) in (None, 1),
    )


def read_voting(model: Any) -> Ensemble:
    """The table of VotingClassifier: hard over trees, soft over trees and forests."""
    members, columns = list(fitted(model, "estimators_")), fitted(model, "n_features_in_")
    classes = tuple(np.asarray(fitted(model, "le_").classes_).tolist())
    hard, given = model.voting == "hard", model._weights_not_none
    weights = weights_of(model, members)
    trees: list[Tree] = []
    deepest = 1
    for number, (member, weight) in enumerate(zip(members, weights.tolist(), strict=True)):
        if is_own(member, TREES):
            votes = _votes(model, number, member, columns) if hard else None
            count = len(member.classes_)
            one = tree_of(name_of(model), number, fitted(member, "tree_"), columns, count, values=votes)
            own = [one]
        elif not hard and is_own(member, FORESTS):
            own = list(read_forest(member).trees)
        else:
            raise UnreadableError(
                f"{name_of(model)}: member {number} is a {name_of(member)}; with voting={short(model.voting)} only "
                "trees of scikit-learn are supported",
                hint='Its other votes are no sum of trees; with voting="soft" they are means of probabilities.',
            )
        if np.asarray(member.classes_).tolist() != list(range(len(classes))):
            raise ModelError(f"{name_of(model)}: member {number} knows other classes than the whole")
        deepest = max(deepest, len(own))
        trees += [replace(tree, value=tree.value * (weight / len(own))) for tree in own]
    # Hard votes and single trees of equal weight are plain sums. Else each probability is a rounded mean, times a
    # weight, rounded, added and divided: relative to the sum of the weights at most this many roundings, and ours.
    plain = hard or (given is None and deepest == 1)
    if not plain:
        trees = [replace(tree, value=tree.value / weights.sum()) for tree in trees]
    error = 0.0 if plain else (2 * deepest + 2 * len(members) + 16) * _UNIT
    return Ensemble(
        trees=tuple(trees),
        columns=int(columns),
        start=np.zeros(len(classes)),
        rule="argmax",
        classes=classes,
        divide=len(members) if not hard and plain else 1,
        name=name_of(model),
        ordered=hard or len(members) == 2,  # numpy may add a mean of more in blocks
        error=error,
        link=None if hard else Link("fraction"),
    )


def weights_of(model: Any, members: Sequence[Any]) -> Floats:
    """What the votes of each member count; shape (members,). Raises ModelError for what is no weight."""
    given = model._weights_not_none
    weights = numbers(model, "weights", [1.0] * len(members) if given is None else given, (len(members),))
    if (weights < 0).any() or not 0 < weights.sum() < np.inf:
        raise ModelError(f"{name_of(model)} has weights {weights.tolist()}: they must be >= 0, and not all 0")
    return weights


def read_isolation(model: Any) -> Ensemble:
    """The table of IsolationForest: its score is the sum of the depths; -1 is an outlier, 1 is not.

    `deep_enough(model, value)` gives the sum that a `score_samples` of at least `value` needs.
    """
    members, columns = _members(model), columns_of(model)
    parts, lengths, paths = (
        fitted(model, name)
        for name in ("estimators_features_", "_decision_path_lengths", "_average_path_length_per_tree")
    )
    trees = []
    whole = fitted(model, "_max_features") == columns  # Then its trees are given the rows as they are.
    for number, member in enumerate(members):
        if whole and np.asarray(parts[number]).tolist() != list(range(columns)):
            raise ModelError(f"{name_of(model)} is damaged: member {number} has other columns than the whole")
        depth = np.asarray(lengths[number], dtype=np.float64) + np.asarray(paths[number], dtype=np.float64) - 1.0
        part = np.asarray(parts[number]).tolist()
        tree = fitted(member, "tree_")
        trees.append(tree_of(name_of(model), number, tree, columns, 1, part, depth.reshape(-1, 1)))
    least, error = deep_enough(model, float(fitted(model, "offset_")))
    return Ensemble(
        trees=tuple(trees),
        columns=columns,
        start=np.zeros(1),
        rule="value",
        classes=(-1, 1),
        name=name_of(model),
        error=error,
        decisions=(((Compare(None, 0, -least, strict=True),),), ((Compare(0, None, least),),)),
    )


def deep_enough(model: Any, value: float) -> tuple[float, float]:
    """The least sum of depths with `score_samples` >= value, and how far from it the library may still differ.

    As a rule of plausibility: the table's score 0 compared with this number.
    """
    from sklearn.ensemble._iforest import _average_path_length

    scale = len(model.estimators_) * float(_average_path_length([model._max_samples])[0])
    if not scale > 0:
        raise ModelError(f"{name_of(model)} was fitted on one row: its score says nothing")

    def inlier(total: float) -> bool:
        score = -(2.0 ** (-np.divide(np.array([total]), scale)))[0]
        return bool(score - value >= 0)

    least = first_holding(inlier, 0.0, 1e6 * scale)
    # 2^x is not correctly rounded: a few units in the last place of a score of at most 1, as a change of the depth.
    return least, 32 * _UNIT * (scale / max(abs(value), 1e-3) + abs(least))


def first_holding(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least float of low..high for which something holds that, once it holds, goes on to hold."""
    if holds(low):
        return low
    if not holds(high):
        raise ModelError("no input has the other decision: the model's calibration never changes it")
    return first_float(holds, low, high)


# ---------------------------------------------------------------------------------------------- members


def _members(model: Any) -> list[Any]:
    """The members of an ensemble, all of them trees."""
    members = list(fitted(model, "estimators_"))
    if not members:
        raise ModelError(f"{name_of(model)} is damaged: it has no members")
    for number, member in enumerate(members):
        if not is_own(member, TREES):
            raise UnreadableError(
                f"{name_of(model)}: member {number} is a {name_of(member)}; only trees of scikit-learn are supported",
                hint="Use a DecisionTree or an ExtraTree as its estimator.",
            )
    return members


def is_own(model: Any, names: Iterable[str]) -> bool:
    """Whether a model is of one of these classes of scikit-learn itself: a subclass may decide otherwise."""
    kind = type(model)
    return kind.__name__ in names and module_of(kind).startswith("sklearn.")


def _votes(model: Any, number: int, member: Any, columns: int) -> Floats:
    """Per node of a tree, 1 for the class that it decides for (the first of the largest), else 0."""
    count = len(member.classes_)
    tree = tree_of(name_of(model), number, fitted(member, "tree_"), columns, count)
    value = np.asarray(tree.value)
    votes = np.zeros_like(value)
    votes[np.arange(len(value)), np.argmax(value, axis=1)] = 1.0
    return votes
