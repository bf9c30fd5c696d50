"""Bound models of scikit-learn whose scores are smooth: curved layers, Gaussian densities, distances to centroids.

In:  MLPClassifier or MLPRegressor with tanh or logistic layers; GaussianNB; QuadraticDiscriminantAnalysis;
     NearestCentroid.
Out: `Enclosed`. Its scores are those that the library compares, before any exponential.
Promise: shapes and numbers are checked before use.
How the library decides (checked in 1.9): perceptrons as in `mace.compilers.sklearn.mlp`; GaussianNB by the first of the
largest joint log densities; QuadraticDiscriminantAnalysis likewise, of two classes the second where it is larger;
NearestCentroid by the first of the least distances, or, where classes are not equally likely, by the first of the
largest discriminant scores, whose columns are divided by their spread within classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.enclosures.bounds import Bounds, joined
from mace.compilers.enclosures.enclosed import Enclosed, Function, largest, second, softmax
from mace.compilers.enclosures.functions import hyperbolic, logistic, rectified, squared
from mace.compilers.enclosures.ranges import TINY, Floats, unsure
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Label, class_decision

_CURVES: dict[str, Callable[[Bounds], Bounds]] = {
    "tanh": hyperbolic,
    "logistic": logistic,
    "relu": rectified,
    "identity": lambda x: x,
}


def perceptron(model: Any) -> Enclosed:
    """MLPClassifier or MLPRegressor, whatever its hidden layers."""
    weights, biases, output = (fitted(model, name) for name in ("coefs_", "intercepts_", "out_activation_"))
    curve, columns = _CURVES.get(model.activation), columns_of(model)
    classes: tuple[Label, ...] = () if output == "identity" else labels_of(model)
    outputs = 1 if len(classes) in (0, 2) else len(classes)
    expected = "identity" if not classes else "logistic" if outputs == 1 else "softmax"
    if curve is None or output != expected or fitted(model, "n_outputs_") != outputs:
        raise UnreadableError(f"{name_of(model)} with the output {output!r} is not supported")
    _in_doubles(model, *weights)
    layers, inputs = list[tuple[Floats, Floats]](), columns
    for number, (matrix, bias) in enumerate(zip(weights, biases, strict=True)):
        width = outputs if number == len(weights) - 1 else int(np.shape(matrix)[-1])
        known = numbers(model, f"coefs_[{number}]", matrix, (inputs, width))
        layers.append((known, numbers(model, f"intercepts_[{number}]", bias, (width,))))
        inputs = width

    def scores(x: Bounds) -> Bounds:
        for matrix, bias in layers[:-1]:
            x = curve(x.affine(matrix, bias))
        return x.affine(*layers[-1])

    name = f"{name_of(model)} with {model.activation} layers"
    if not classes:
        return Enclosed(name, columns, (), scores)
    if outputs == 1:
        decisions = tuple(class_decision("sigmoid", 1, k) for k in range(2))
        return Enclosed(name, columns, classes, scores, decisions, lambda x: second(logistic(scores(x))))
    return Enclosed(name, columns, classes, scores, largest(outputs), lambda x: softmax(scores(x)))


def gaussians(model: Any) -> Enclosed:
    """GaussianNB: one density a class, of independent columns."""
    classes, columns = labels_of(model), columns_of(model)
    shape = (len(classes), columns)
    _in_doubles(model, fitted(model, "theta_"), fitted(model, "var_"))
    means, spreads = (numbers(model, name, fitted(model, name), shape) for name in ("theta_", "var_"))
    prior = numbers(model, "class_prior_", fitted(model, "class_prior_"), (len(classes),))
    if not (spreads > 0).all() or not (prior > 0).all():
        raise ModelError(f"{name_of(model)} is damaged: a variance or a prior is not above 0")
    eye = np.eye(columns)
    moved = [(eye / np.sqrt(2 * s), -m / np.sqrt(2 * s)) for m, s in zip(means, spreads, strict=True)]
    bias = np.log(prior) - 0.5 * np.log(2 * np.pi * spreads).sum(axis=1)
    return replace(_of_squares(name_of(model), columns, classes, moved, bias), additive=True)


def quadratic(model: Any) -> Enclosed:
    """QuadraticDiscriminantAnalysis: one density a class."""
    classes, columns = labels_of(model), columns_of(model)
    rotations, scalings = fitted(model, "rotations_"), fitted(model, "scalings_")
    _in_doubles(model, fitted(model, "means_"), *rotations, *scalings)
    means = numbers(model, "means_", fitted(model, "means_"), (len(classes), columns))
    prior = numbers(model, "priors_", fitted(model, "priors_"), (len(classes),))
    moved, bias = [], np.log(prior)
    for k, mean in enumerate(means):
        spread = numbers(model, f"scalings_[{k}]", scalings[k], (len(scalings[k]),))
        turned = numbers(model, f"rotations_[{k}]", rotations[k], (columns, len(spread)))
        if not (spread > 0).all():
            raise UnreadableError(f"{name_of(model)} with a variance of 0 is not bounded over boxes")
        weights = turned * np.sqrt(0.5 / spread)
        moved.append((weights, -mean @ weights))
        bias[k] -= 0.5 * np.log(spread).sum()
    return _of_squares(name_of(model), columns, classes, moved, bias)


def centroids(model: Any) -> Enclosed:
    """NearestCentroid: one point a class. Without what all classes share, squared distances are linear."""
    if model.metric != "euclidean":
        raise UnreadableError(
            f"{name_of(model)} with the metric {model.metric!r} is not bounded over boxes", hint='Use "euclidean".'
        )
    classes, columns = labels_of(model), columns_of(model)
    points, spread = fitted(model, "centroids_"), fitted(model, "within_class_std_dev_")
    _in_doubles(model, points, spread)
    points, spread = numbers(model, "centroids_", points, (len(classes), columns)), np.asarray(spread)
    spread = numbers(model, "within_class_std_dev_", np.where(spread == 0, 1.0, spread), (columns,))
    prior = numbers(model, "class_prior_", fitted(model, "class_prior_"), (len(classes),))
    if not (prior > 0).all():
        raise UnreadableError(f"{name_of(model)} with a prior of 0 is not bounded over boxes")
    scored = _nearest(points / spread, spread, 2 * np.log(prior))
    # Where no class is likelier than another, the library compares distances in the columns' own units.
    alike = bool(np.isclose(prior, 1 / len(classes)).all())
    decided = _nearest(points, np.ones(columns), np.zeros(len(classes))) if alike else scored
    lead = np.array([[-1.0], [1.0]])
    scoring = (lambda x: scored(x).affine(lead, np.zeros(1))) if len(classes) == 2 else scored
    return Enclosed(
        name_of(model), columns, classes, decided, largest(len(classes)), lambda x: softmax(scored(x)), scoring
    )


def _nearest(points: Floats, spread: Floats, bias: Floats) -> Function:
    """One score a class: bias - |x / spread - point|^2 + |x / spread|^2."""
    weights, shift = 2 * points.T / spread[:, None], bias - (points**2).sum(axis=1)

    def scores(x: Bounds) -> Bounds:
        found = x.affine(weights, shift)
        # The library adds all squares up, and may take roots and square them again.
        size = ((x.said.size[:, None, :] / spread + np.abs(points)) ** 2).sum(axis=2)
        return replace(found, error=found.error + unsure(len(spread)) * (size + np.abs(bias)) + TINY)

    return scores


def _in_doubles(model: Any, *arrays: Any) -> None:
    """Raise where the library computes in less than float64: logarithms and products of what is stored."""
    if any(np.asarray(array).dtype != np.float64 for array in arrays):
        raise UnreadableError(f"{name_of(model)} in float32 is not bounded over boxes", hint="Fit it on float64.")


def _of_squares(
    name: str, columns: int, classes: tuple[Label, ...], moved: list[tuple[Floats, Floats]], bias: Floats
) -> Enclosed:
    """One score a class: its bias less the sum of the squares of what moves the columns, (weights, bias) a class."""
    # What the library adds up first may be larger than what is left of it.
    lost = np.array([float(np.abs(part).max(initial=0.0)) for _, part in moved])

    def scores(x: Bounds) -> Bounds:
        parts = []
        for k, (weights, shift) in enumerate(moved):
            distances = squared(x.affine(weights, shift))
            parts.append(distances.affine(-np.ones((len(shift), 1)), bias[k : k + 1]))
        found = joined(parts)
        return replace(found, error=found.error + (np.abs(bias) + lost) * 2.0**-40)

    # Of two classes the library's `decision_function` is the lead of the second.
    lead = np.array([[-1.0], [1.0]])
    scoring = (lambda x: scores(x).affine(lead, np.zeros(1))) if len(classes) == 2 else scores
    return Enclosed(name, columns, classes, scores, largest(len(classes)), lambda x: softmax(scores(x)), scoring)
