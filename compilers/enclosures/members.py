"""Bound models of scikit-learn that ask several others: votes, stacking, one model a class, bagging.

In:  a fitted wrapper, and how its members are bounded, whatever they are.
Out: `Enclosed`.
Promise: members of other classes than the whole are an UnreadableError.
How the library decides (sklearn/ensemble, sklearn/multiclass.py, checked in 1.9): hard votes by the first class of the
largest sums of weights; soft votes by the first of the largest weighted means of probabilities; stacking by its final
estimator, which is given what the members say, and with `passthrough` the columns behind that; OneVsRest by the first
of the largest scores, or probabilities where a member has no scores; bagging by mean probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from mace.compilers.enclosures.bounds import Bounds, joined, jumping, of_boxes, over
from mace.compilers.enclosures.enclosed import Enclosed, Function, largest, possible, same_classes, second
from mace.compilers.enclosures.ranges import Floats, Range
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import UnreadableError
from mace.tables.table import class_decision

Reading: TypeAlias = Callable[[Any], Enclosed]


def voting(model: Any, read: Reading) -> Enclosed:
    """VotingClassifier."""
    members = [read(member) for member in fitted(model, "estimators_")]
    given = model._weights_not_none
    weights = numbers(model, "weights", [1.0] * len(members) if given is None else given, (len(members),))
    if model.voting == "hard":
        return _counted(model, members, weights)
    return _mean(model, members, [list(range(columns_of(model)))] * len(members), weights / weights.sum())


def _counted(model: Any, members: list[Enclosed], weights: Floats) -> Enclosed:
    """Votes for classes: between those of the members that certainly decide so, and of those that may."""
    classes = labels_of(model)
    if same_classes(members, name_of(model)) != tuple(range(len(classes))):
        raise UnreadableError(f"{name_of(model)}: its members know other classes than it")
    # Of as many votes the first class decides: it is ahead by less than any vote.
    ahead = -np.arange(len(classes)) / (2.0 * len(classes)) if (weights == weights.round()).all() else 0.0

    def votes(x: Bounds) -> Bounds:
        low = high = np.zeros((len(x.error), len(classes))) + ahead
        for member, weight in zip(members, weights.tolist(), strict=True):
            may = possible(member, x.said, of_boxes if x.change is None else over)
            low = low + weight * (may & (may.sum(axis=1) == 1)[:, None])
            high = high + weight * may
        return jumping(Bounds(Range(low, high).rounded(), np.zeros_like(low)), x, votes)

    name = f"{name_of(model)} of {len(members)} models"
    return Enclosed(name, columns_of(model), classes, votes, largest(len(classes)), width=width_of(members))


def bagging(model: Any, read: Reading) -> Enclosed:
    """BaggingClassifier or BaggingRegressor, over any members."""
    members = [read(member) for member in fitted(model, "estimators_")]
    places = [np.asarray(some, dtype=np.intp).tolist() for some in fitted(model, "estimators_features_")]
    shares = np.full(len(members), 1.0 / len(members))
    if hasattr(model, "classes_"):
        return _mean(model, members, places, shares)
    # Members that predict in float32 are added in float32.
    scores = weighted([member.scores for member in members], places, shares, (len(members) + 1) * 2.0**-24)
    return Enclosed(name_of(model), columns_of(model), (), scores, width=width_of(members))


def _mean(model: Any, members: list[Enclosed], places: list[list[int]], shares: Floats) -> Enclosed:
    """The mean of what members say of the probabilities of classes."""
    classes = labels_of(model)
    if len(same_classes(members, name_of(model))) != len(classes):
        raise UnreadableError(f"{name_of(model)}: its members know other classes than it")
    probable = weighted([probable_of(member) for member in members], places, shares)
    name = f"{name_of(model)} of {len(members)} models"
    return Enclosed(
        name, columns_of(model), classes, probable, largest(len(classes)), probable, width=width_of(members)
    )


def weighted(functions: list[Function], places: list[list[int]], shares: Floats, unsure: float = 0.0) -> Function:
    """The weighted sum of what functions say of some of the columns each.

    unsure: by what share of the magnitudes that it adds the library's sum may be off, beyond that of float64.
    """

    def total(x: Bounds) -> Bounds:
        parts = [function(x.picked(some)) for function, some in zip(functions, places, strict=True)]
        width = parts[0].error.shape[1]
        weights = np.asarray(np.kron(shares[:, None], np.eye(width)), dtype=np.float64)
        whole = joined(parts)
        found = whole.affine(weights, np.zeros(width))
        return replace(found, error=found.error + unsure * (whole.said.size @ np.abs(weights)))

    return total


def one_vs_rest(model: Any, read: Reading) -> Enclosed:
    """OneVsRestClassifier over any members."""
    classes, members = labels_of(model), [read(member) for member in fitted(model, "estimators_")]
    if str(fitted(model, "label_binarizer_").y_type_) not in ("binary", "multiclass"):
        raise UnreadableError(f"{name_of(model)} decides several labels a row", hint="Explain one of its estimators_.")
    if any(len(member.classes) != 2 for member in members):
        raise UnreadableError(f"{name_of(model)} with a class that every row has is not supported")
    by_score = all(hasattr(member, "decision_function") for member in model.estimators_)
    parts = [score_of(member) if by_score else _second_of(member) for member in members]

    def scores(x: Bounds) -> Bounds:
        return joined([part(x) for part in parts])

    name = f"{name_of(model)} of {members[0].name}"
    if len(members) > 1:
        return Enclosed(name, columns_of(model), classes, scores, largest(len(classes)), width=width_of(members))
    shift = 0.0 if by_score else 0.5
    decisions = tuple(class_decision("positive", 1, k) for k in range(2))
    return Enclosed(
        name, columns_of(model), classes, lambda x: scores(x).affine(np.ones((1, 1)), np.array([-shift])), decisions,
        None if by_score else lambda x: second(scores(x)), width=width_of(members),
    )  # fmt: skip


def stacking(model: Any, read: Reading) -> Enclosed:
    """StackingClassifier or StackingRegressor over any members, with any final estimator."""
    final = read(fitted(model, "final_estimator_"))
    classes = labels_of(model) if hasattr(type(model), "predict_proba") else ()
    parts: list[Function] = []
    width = final.width
    for member, method in zip(fitted(model, "estimators_"), fitted(model, "stack_method_"), strict=True):
        known = read(member)
        width = max(width, known.width)
        if method == "predict_proba":
            parts.append(_second_of(known) if len(classes) == 2 else probable_of(known))
        elif method == "decision_function":
            parts.append(score_of(known))
        elif known.classes:
            raise UnreadableError(f"{name_of(model)} is given the class of a {name_of(member)}, which has no bounds")
        else:
            parts.append(known.scores)
    if classes and final.classes != tuple(range(len(classes))):
        raise UnreadableError(f"{name_of(model)}: its final estimator knows other classes than it")
    whole = bool(model.passthrough)

    def given(x: Bounds) -> Bounds:
        return joined([*(part(x) for part in parts), *([x] if whole else [])])

    def behind(function: Function | None) -> Function | None:
        return None if function is None else lambda x: function(given(x))

    scores = behind(final.scores)
    assert scores is not None
    name = f"{name_of(model)} of {len(parts)} models"
    return Enclosed(name, columns_of(model), classes, scores, final.decisions, behind(final.probable), width=width)


def width_of(members: list[Enclosed]) -> int:
    """How many numbers the widest of them has at once."""
    return max(member.width for member in members)


def probable_of(member: Enclosed) -> Function:
    """What a member says of the probabilities of the classes."""
    if member.probable is None:
        raise UnreadableError(f"the probabilities of {member.name} are not bounded over boxes")
    return member.probable


def _second_of(member: Enclosed) -> Function:
    """The probability of the second of two classes."""
    probable = probable_of(member)
    return lambda x: probable(x).picked([1])


def score_of(member: Enclosed) -> Function:
    """What the library calls its decision function."""
    if member.scoring is None:
        raise UnreadableError(f"the scores of {member.name} are not bounded over boxes")
    return member.scoring
