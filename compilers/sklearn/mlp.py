"""Read scikit-learn's multi-layer perceptrons.

In:  MLPClassifier with relu or identity hidden layers, or a subclass.
Out: a Network. Its scores are what the library hands to its output activation, up to the order of summation.
Promise: shapes and numbers are checked before use; another activation, or several labels a row, is a ModelError.
How the library decides (MLPClassifier._predict, LabelBinarizer.inverse_transform):
* two classes: class 1 is expit(score) > 0.5. Over floats that is not score > 0: expit rounds, and is above one half
  from `HALF_OF_SIGMOID` on only. Rule "sigmoid".
* more classes: the first of the largest of softmax(scores). Rounding can make equal what was not: exp of a difference
  within half an ulp of zero is 1, and neighbouring quotients fall together. Then the first of the tied classes wins,
  although its score is a few ulp lower. Rule "softmax": the comparisons of "argmax", with a slack that covers the ties
  (`mace.tables.margins`).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Layer, Link, Network

_HIDDEN: dict[str, Literal["relu", "identity"]] = {"relu": "relu", "identity": "identity"}


def read_mlp(model: Any) -> Network:
    """The table of one multi-layer perceptron."""
    weights, biases = fitted(model, "coefs_"), fitted(model, "intercepts_")
    hidden = _HIDDEN.get(model.activation)
    if hidden is None and len(weights) > 1:
        raise UnreadableError(
            f"{name_of(model)} has hidden layers with activation {model.activation!r}, which is not supported",
            hint='Supported are "relu" and "identity": fit the model again with activation="relu". `mace.explain` '
            "bounds the others over boxes, without a certificate.",
        )
    output, columns = fitted(model, "out_activation_"), columns_of(model)
    if output not in ("identity", "logistic", "softmax"):
        raise UnreadableError(
            f"{name_of(model)} has the output activation {output!r}, which is not supported",
            hint='Fit it with loss="squared_error".',
        )
    classes = () if output == "identity" else labels_of(model)
    outputs = 1 if len(classes) in (0, 2) else len(classes)
    if len(classes) == 1:
        raise ModelError(f"{name_of(model)} knows one class only, {classes[0]!r}: no input has another decision")
    expected = "identity" if not classes else "logistic" if outputs == 1 else "softmax"
    if fitted(model, "n_outputs_") != outputs or output != expected:
        raise UnreadableError(
            f"{name_of(model)} decides several labels a row, which is not supported",
            hint="Fit one model for each label.",
        )
    if not weights or len(weights) != len(biases):
        raise ModelError(f"{name_of(model)} is damaged: {len(weights)} weight matrices, {len(biases)} biases")
    layers, inputs = [], columns
    for number, (matrix, bias) in enumerate(zip(weights, biases, strict=True)):
        last = number == len(weights) - 1
        width = outputs if last else int(np.shape(matrix)[-1]) if np.ndim(matrix) == 2 else 0
        layers.append(
            Layer(
                weights=numbers(model, f"coefs_[{number}]", matrix, (inputs, width)),
                bias=numbers(model, f"intercepts_[{number}]", bias, (width,)),
                activation="identity" if last or hidden is None else hidden,
            )
        )
        inputs = width
    return Network(
        layers=tuple(layers),
        columns=columns,
        rule="value" if not classes else "sigmoid" if outputs == 1 else "softmax",
        classes=classes,
        name=name_of(model),
        link=None if not classes else Link("logistic") if outputs == 1 else Link("softmax"),
        dtype="float32" if any(getattr(matrix, "dtype", None) == np.float32 for matrix in weights) else "float64",
    )
