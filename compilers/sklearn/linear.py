"""Read scikit-learn's linear models.

In:  LogisticRegression, LinearSVC, SGDClassifier, RidgeClassifier, Perceptron, their `CV` forms, or a subclass.
Out: a Network of one layer. Its scores are `decision_function` up to the order of summation.
     REGRESSORS: a Network of rule "value".
     PoissonRegressor, GammaRegressor, TweedieRegressor: the same, with the link "exp".
     SGDOneClassSVM: class 1 where its score is >= 0, else class -1.
Promise: shapes and numbers are checked before use.
How the library decides (LinearClassifierMixin.predict in sklearn/linear_model/_base.py, for all of them): two classes
have one score, and class 1 is score > 0, strictly; more classes have one score each, and the first of the largest wins.
No probability is computed on the way, so no squashing can round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Floats, Layer, Link, Network

SEVERAL_OUTPUTS = "several outputs"
# The linear regressors, below `sklearn`, and what of each is refused. Stacking and votes take them as members, too.
REGRESSORS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "linear_model.LinearRegression", "linear_model.Ridge", "linear_model.RidgeCV", "linear_model.Lasso",
            "linear_model.ElasticNet", "linear_model.Lars", "linear_model.LassoLars",
            "linear_model.OrthogonalMatchingPursuit",
        ), SEVERAL_OUTPUTS,
    ),
    **dict.fromkeys(
        (
            "linear_model.LassoCV", "linear_model.ElasticNetCV", "linear_model.HuberRegressor",
            "linear_model.SGDRegressor", "linear_model.BayesianRidge", "linear_model.ARDRegression",
            "linear_model.QuantileRegressor", "linear_model.TheilSenRegressor", "linear_model.LarsCV",
            "linear_model.LassoLarsCV", "linear_model.LassoLarsIC", "linear_model.OrthogonalMatchingPursuitCV",
            "svm.LinearSVR",
        ), "",
    ),
}  # fmt: skip


def read_linear(model: Any) -> Network:
    """The table of one linear classifier."""
    coefficients, intercept = fitted(model, "coef_"), fitted(model, "intercept_")
    binarizer = getattr(model, "_label_binarizer", None)  # RidgeClassifier alone takes several labels a row
    if binarizer is not None and str(getattr(binarizer, "y_type_", "")).startswith("multilabel"):
        raise UnreadableError(
            f"{name_of(model)} decides several labels a row, which is not supported",
            hint="Fit one model for each label.",
        )
    classes, columns = labels_of(model), columns_of(model)
    if len(classes) < 2:
        raise ModelError(f"{name_of(model)} knows one class only, {classes[0]!r}: no input has another decision")
    outputs = 1 if len(classes) == 2 else len(classes)
    weights = numbers(model, "coef_", coefficients, (outputs, columns))
    bias = numbers(model, "intercept_", intercept, (outputs,))
    return Network(
        layers=(Layer(weights=weights.T.copy(), bias=bias, activation="identity"),),
        columns=columns,
        rule="positive" if outputs == 1 else "argmax",
        classes=classes,
        name=name_of(model),
        link=_link(model) if outputs == 1 else _softmax(model),
        # A model that was fitted on float32 rows computes in float32 when it is asked about float32 rows.
        dtype="float32" if getattr(coefficients, "dtype", None) == np.float32 else "float64",
    )


def _link(model: Any) -> Link | None:
    """What `predict_proba` makes of the score of two classes, where there is one."""
    loss = getattr(model, "loss", "log_loss")
    if not hasattr(model, "predict_proba") or loss not in ("log_loss", "modified_huber"):
        return None
    return Link("logistic") if loss == "log_loss" else Link("steps", knots=((-1.0, 0.0), (1.0, 1.0)))


def _softmax(model: Any) -> Link | None:
    """What `predict_proba` makes of the scores of several classes, where that is their softmax."""
    if type(model).__name__ == "LinearDiscriminantAnalysis":
        return Link("softmax")
    if type(model).__name__ not in ("LogisticRegression", "LogisticRegressionCV"):
        return None
    by_one = getattr(model, "solver", "") == "liblinear" or getattr(model, "multi_class", "auto") in ("ovr", "warn")
    return None if by_one else Link("softmax")


def read_exponential(model: Any) -> Network:
    """The table of PoissonRegressor, GammaRegressor or TweedieRegressor: the exponential of a score, or the score."""
    link = type(fitted(fitted(model, "_base_loss"), "link")).__name__
    if link not in ("LogLink", "IdentityLink"):
        raise UnreadableError(f"{name_of(model)} with the link {link} is not supported")
    return replace(read_line(model), link=Link("exp") if link == "LogLink" else None)


def read_line(model: Any) -> Network:
    """The table of one linear regressor: its score is `predict` up to the order of summation."""
    coefficients = fitted(model, "coef_")
    if np.ndim(coefficients) > 1 and np.shape(coefficients)[0] != 1:
        raise UnreadableError(
            f"{name_of(model)} predicts {np.shape(coefficients)[0]} numbers at once, which is not supported",
            hint="Fit one model for each number.",
        )
    return _one_score(model, numbers(model, "intercept_", fitted(model, "intercept_"), (1,)))


def read_one_class(model: Any) -> Network:
    """The table of SGDOneClassSVM, whose score is >= 0 where it sees no outlier."""
    offset = numbers(model, "offset_", fitted(model, "offset_"), (1,))
    return replace(_one_score(model, -offset), rule="nonnegative", classes=(-1, 1))


def _one_score(model: Any, bias: Floats) -> Network:
    """A model without classes; bias of shape (1,)."""
    coefficients, columns = fitted(model, "coef_"), columns_of(model)
    weights = numbers(model, "coef_", coefficients, (1, columns))
    return Network(
        layers=(Layer(weights=weights.T.copy(), bias=bias, activation="identity"),),
        columns=columns,
        rule="value",
        classes=(),
        name=name_of(model),
        dtype="float32" if getattr(coefficients, "dtype", None) == np.float32 else "float64",
    )
