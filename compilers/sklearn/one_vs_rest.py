"""Read scikit-learn's OneVsRestClassifier over linear members.

In:  a fitted OneVsRestClassifier whose members are linear classifiers of scikit-learn, one a class, or one for two.
Out: a Network of one layer, one score a class: its member's `decision_function`, up to the order of summation.
Promise: other members, constant ones among them (a class that every row has, or none), and several labels a row are a
ModelError.
How the library decides (sklearn/multiclass.py, checked in 1.9): with one member, class 1 is score > 0; with more, the
first of the largest scores (in older versions the last: a tie is within the margin, and asked of the library itself).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.library import is_a
from mace.compilers.sklearn.common import fitted, labels_of, name_of
from mace.compilers.sklearn.linear import read_linear
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Layer, Network


def read_one_vs_rest(model: Any, linear: Iterable[str]) -> Network:
    """The table of OneVsRestClassifier.

    linear: the public paths of the classes that members may be of.
    """
    members = fitted(model, "estimators_")
    if str(fitted(model, "label_binarizer_").y_type_) not in ("binary", "multiclass"):
        raise UnreadableError(
            f"{name_of(model)} decides several labels a row, which is not supported",
            hint="Explain its members, one for each label: model.estimators_.",
        )
    for member in members:
        if not any(is_a(member, path) for path in linear):
            raise UnreadableError(
                f"{name_of(model)} over a {name_of(member)} is not supported",
                hint="Supported are linear classifiers of scikit-learn; most classifiers take several classes "
                "by themselves.",
            )
    classes, tables = labels_of(model), [read_linear(member) for member in members]
    if len(tables) != (1 if len(classes) == 2 else len(classes)) or any(table.outputs != 1 for table in tables):
        raise ModelError(f"{name_of(model)} is damaged: {len(tables)} members for {len(classes)} classes")
    if len({table.columns for table in tables}) != 1:
        raise ModelError(f"{name_of(model)} is damaged: its members take different numbers of columns")
    first = tables[0]
    if len(tables) == 1:
        return replace(first, classes=classes, name=f"{name_of(model)} of {first.name}")
    weights = np.concatenate([table.layers[0].weights for table in tables], axis=1)
    bias = np.concatenate([table.layers[0].bias for table in tables])
    return Network(
        layers=(Layer(weights=weights, bias=bias, activation="identity"),),
        columns=first.columns,
        rule="argmax",
        classes=classes,
        name=f"{name_of(model)} of {first.name}",
        dtype="float32" if any(table.dtype == "float32" for table in tables) else "float64",
    )
