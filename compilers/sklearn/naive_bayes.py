"""Read scikit-learn's naive Bayes classifiers whose scores are linear.

In:  MultinomialNB, ComplementNB, BernoulliNB, or a subclass.
Out: a Network of one layer, one score a class; of a BernoulliNB that binarizes, an Ensemble of one test a column, whose
     `error` bounds the difference to the library's own sums, whose order is not fixed.
Promise: shapes and numbers are checked before use; a probability of zero, whose logarithm no sum can hold, is a
ModelError.
How the library decides (sklearn/naive_bayes.py, checked in 1.7 to 1.9): the first of the largest of
    MultinomialNB: X @ log P(x | c) + log P(c);    ComplementNB: X @ weights;
    BernoulliNB:   B @ (log p - log(1 - p)) + log P(c) + sum of log(1 - p), where B is 1 where x > `binarize`, else 0.
The prior of ComplementNB counts only where there is one class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.base.exact import UNIT_ROUNDOFF
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.compilers.tree_arrays import checked_tree
from mace.errors import ModelError
from mace.tables.table import Ensemble, Floats, Label, Layer, Network


def read_multinomial(model: Any) -> Network:
    """The table of MultinomialNB."""
    classes, columns = _shape(model)
    return _network(model, classes, _logarithms(model, "feature_log_prob_", (len(classes), columns)), _prior(model))


def read_complement(model: Any) -> Network:
    """The table of ComplementNB."""
    classes, columns = _shape(model)
    weights = _logarithms(model, "feature_log_prob_", (len(classes), columns))
    return _network(model, classes, weights, np.zeros(len(classes)))


def read_bernoulli(model: Any) -> Network | Ensemble:
    """The table of BernoulliNB."""
    classes, columns = _shape(model)
    present = _logarithms(model, "feature_log_prob_", (len(classes), columns))
    with np.errstate(divide="ignore", invalid="ignore"):
        absent = np.log(1 - np.exp(present))  # as the library computes it, from the same array
    if not np.isfinite(absent).all():
        raise _certain(model)
    weights, bias = present - absent, _prior(model) + absent.sum(axis=1)
    if model.binarize is None:
        return _network(model, classes, weights, bias)
    threshold = float(model.binarize)
    if not np.isfinite(threshold):
        raise ModelError(f"{name_of(model)} is damaged: binarize is {threshold}")
    trees = tuple(
        checked_tree(
            f"{name_of(model)}: column {column}", columns, [1, -1, -1], [2, -1, -1], [column, -1, -1],
            [threshold, 0.0, 0.0], np.stack([np.zeros(len(classes)), np.zeros(len(classes)), weights[:, column]]),
        )
        for column in range(columns)
    )  # fmt: skip
    # The library adds the prior and the sum of `absent`, which numpy adds pairwise, after the rest.
    size = np.abs(weights).sum(axis=1) + np.abs(absent).sum(axis=1) + np.abs(_prior(model))
    return Ensemble(
        trees=trees,
        columns=columns,
        start=bias,
        rule="argmax",
        classes=classes,
        cast="float64",
        test="<=",
        name=name_of(model),
        ordered=False,
        error=float(size.max() * (4 * columns + 16)) * float(UNIT_ROUNDOFF),
    )


def _shape(model: Any) -> tuple[tuple[Label, ...], int]:
    """The classes, and the number of columns."""
    classes = labels_of(model)
    if len(classes) < 2:
        raise ModelError(f"{name_of(model)} knows one class only, {classes[0]!r}: no input has another decision")
    return classes, columns_of(model)


def _logarithms(model: Any, attribute: str, shape: tuple[int, ...]) -> Floats:
    """Logarithms of probabilities, none of which is zero."""
    found = np.asarray(fitted(model, attribute))
    if found.dtype.kind == "f" and np.isneginf(found).any():
        raise _certain(model)
    return numbers(model, attribute, found, shape)


def _certain(model: Any) -> ModelError:
    return ModelError(
        f"{name_of(model)} has a probability of 0 or 1, whose logarithm is infinite",
        hint="Fit it with alpha=1, or any number above 0.",
    )


def _prior(model: Any) -> Floats:
    return _logarithms(model, "class_log_prior_", (len(labels_of(model)),))


def _network(model: Any, classes: tuple[Label, ...], weights: Floats, bias: Floats) -> Network:
    """One score a class; weights of shape (classes, columns)."""
    return Network(
        layers=(Layer(weights=weights.T.copy(), bias=bias, activation="identity"),),
        columns=weights.shape[1],
        rule="argmax",
        classes=classes,
        name=name_of(model),
    )
