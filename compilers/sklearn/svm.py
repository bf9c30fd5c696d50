"""Read scikit-learn's support vector machines with a linear kernel.

In:  SVC or NuSVC for two or three classes, SVR or NuSVR, fitted on dense rows with kernel="linear".
Out: a Network of two layers without an activation between: the products with the support vectors, then their weighted
     sums, as the library computes them. Its scores decide between two classes each.
Promise: another kernel is a ModelError that names it.
How the library decides (sklearn/svm/src/libsvm/svm.cpp, svm_predict_values, checked in 1.9): of two classes the first
where sum(coefficient * <x, vector>) - rho > 0, in any order of summation, else the second; of more each pair has a
vote, and the first class with the most wins.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Compare, Decision, Floats, Label, Layer, Network

MOST_CLASSES = 3


def read_svm(model: Any) -> Network:
    """The table of one machine."""
    kernel = model.kernel
    if kernel != "linear":
        raise UnreadableError(
            f"{name_of(model)} with the kernel {kernel if isinstance(kernel, str) else 'of a function'!r} is not "
            "supported",
            hint='Use kernel="linear", or an ensemble of trees; `mace.explain` bounds "rbf", "poly" and "sigmoid" over '
            "boxes, without a certificate.",
        )
    machine = stored(model)
    if len(machine.classes) > MOST_CLASSES:
        raise UnreadableError(
            f"{name_of(model)} votes between pairs of {len(machine.classes)} classes; supported are up to "
            f"{MOST_CLASSES}",
            hint="LinearSVC has one score a class.",
        )
    layers = (
        Layer(machine.vectors.T.copy(), np.zeros(len(machine.vectors)), "identity"),
        Layer(machine.weights, machine.bias, "identity"),
    )
    decisions = votes_of(machine.pairs, len(machine.classes)) if machine.classes else None
    return Network(layers, machine.columns, "value", machine.classes, name=name_of(model), decisions=decisions)


class Machine(NamedTuple):
    """What a machine of any kernel holds.

    pairs:   of classes, one score each; of numbers, one.
    vectors: shape (vectors, columns).    weights: of each vector's kernel in each score, shape (vectors, pairs).
    bias:    shape (pairs,).
    """

    columns: int
    classes: tuple[Label, ...]
    pairs: list[tuple[int, int]]
    vectors: Floats
    weights: Floats
    bias: Floats


def stored(model: Any) -> Machine:
    """What a machine holds, in the shapes that libsvm, which is native code, takes for granted."""
    vectors = fitted(model, "support_vectors_")
    if getattr(model, "_sparse", False) or hasattr(vectors, "tocsr"):
        raise UnreadableError(f"{name_of(model)} fitted on sparse rows is not supported", hint="Fit it on dense rows.")
    columns, count = columns_of(model), len(vectors)
    classes = () if model._impl in ("epsilon_svr", "nu_svr") else labels_of(model)
    if not count:
        raise ModelError(f"{name_of(model)} has no support vectors: it says the same of every input")
    sides = max(len(classes), 2)
    pairs = list(itertools.combinations(range(sides), 2))
    shapes = {
        "support_vectors_": (count, columns), "support_": (count,), "_n_support": (sides,),
        "_dual_coef_": (sides - 1, count), "_intercept_": (len(pairs),),
    }  # fmt: skip
    held = {name: numbers(model, name, _shaped(model, name, shape), shape) for name, shape in shapes.items()}
    for name in ("_probA", "_probB"):
        _shaped(model, name, (len(pairs) if len(model._probA) else 0,))
    weights = of_pairs(model, held["_dual_coef_"], pairs, len(classes))
    return Machine(columns, classes, pairs, held["support_vectors_"], weights, held["_intercept_"])


def _shaped(model: Any, attribute: str, shape: tuple[int, ...]) -> Any:
    """An attribute that has this very shape."""
    value = fitted(model, attribute)
    if np.shape(value) != shape:
        raise ModelError(f"{name_of(model)} is damaged: {attribute} has shape {np.shape(value)}, expected {shape}")
    return value


def of_pairs(model: Any, coefficients: Floats, pairs: list[tuple[int, int]], classes: int) -> Floats:
    """What each product counts in the score of each pair of classes, shape (vectors, pairs)."""
    if not classes:
        return coefficients.T.copy()
    held = np.asarray(fitted(model, "_n_support")).tolist()
    if sum(held) != coefficients.shape[1] or min(held) < 0:
        raise ModelError(f"{name_of(model)} is damaged: it has {held} support vectors of {coefficients.shape[1]}")
    ends = np.cumsum([0, *held])
    weights = np.zeros((coefficients.shape[1], len(pairs)))
    for k, (one, other) in enumerate(pairs):
        for mine, yours in ((one, other), (other, one)):
            where = slice(ends[mine], ends[mine + 1])
            weights[where, k] = coefficients[yours - (yours > mine), where]
    return weights


def votes_of(pairs: list[tuple[int, int]], classes: int) -> tuple[Decision, ...]:
    """One decision a class: each way in which the pairs may vote for it."""
    found: list[list[tuple[Compare, ...]]] = [[] for _ in range(classes)]
    for firsts in itertools.product((True, False), repeat=len(pairs)):
        votes = [0] * classes
        for (one, other), first in zip(pairs, firsts, strict=True):
            votes[one if first else other] += 1
        part = tuple(Compare(k, None, strict=True) if first else Compare(None, k) for k, first in enumerate(firsts))
        found[votes.index(max(votes))].append(part)
    return tuple(map(tuple, found))
