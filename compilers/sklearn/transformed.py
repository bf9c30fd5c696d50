"""Read scikit-learn's TransformedTargetRegressor: what its regressor predicts, on the scale of the target.

In:  the model, its regressor and the table of that.
Out: the table with the link "exp" or "expm1" for a logarithm of the target; moved and scaled for a StandardScaler, the
     very operations of the library in a network, within `error` in an ensemble; unchanged without a transformer.
Promise: another transformer is a ModelError that names it.
How the library decides (sklearn/compose/_target.py, checked in 1.9): the inverse of the transformer is applied to the
prediction; of a StandardScaler that is a product, rounded, and a sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.sklearn.common import fitted, name_of, numbers
from mace.errors import UnreadableError
from mace.tables.table import Ensemble, Layer, Link, Network

_UNIT = 2.0**-53


def inside(model: Any) -> Any:
    """The regressor."""
    return fitted(model, "regressor_")


def read_transformed(model: Any, regressor: Any, table: Ensemble | Network) -> Ensemble | Network:
    """The table of the whole model."""
    transformer = fitted(model, "transformer_")
    name = f"{name_of(model)} of {table.name}"
    if table.classes or table.link is not None or table.outputs != 1:
        raise UnreadableError(
            f"{name_of(model)} over a {name_of(regressor)} that predicts no plain number is not supported"
        )
    if name_of(transformer) == "StandardScaler":
        scale, mean = _number(transformer, "scale_", 1.0), _number(transformer, "mean_", 0.0)
        return replace(_moved(table, scale, mean), name=name)
    if name_of(transformer) != "FunctionTransformer":
        raise _unsupported(model, f"a {name_of(transformer)}")
    pair = transformer.func, transformer.inverse_func
    if pair == (None, None):
        return replace(table, name=name)
    if transformer.kw_args or transformer.inv_kw_args:
        raise _unsupported(model, "a function with arguments")
    kind: Any = {np.exp: "exp", np.expm1: "expm1"}.get(pair[1])
    if kind is None:
        raise _unsupported(model, f"the inverse {getattr(pair[1], '__name__', pair[1])!r}")
    return replace(table, name=name, link=Link(kind, dtype=table.dtype))


def _number(scaler: Any, attribute: str, absent: float) -> float:
    found = getattr(scaler, attribute)
    return absent if found is None else float(numbers(scaler, attribute, found, (1,))[0])


def _unsupported(model: Any, what: str) -> UnreadableError:
    return UnreadableError(
        f"{name_of(model)} with {what} is not supported",
        hint="Supported are a StandardScaler, and func=np.log or np.log1p with inverse_func=np.exp or np.expm1. Or "
        "explain its regressor_, with the goal on the transformed scale.",
    )


def _moved(table: Ensemble | Network, scale: float, mean: float) -> Ensemble | Network:
    """The table whose score is multiplied and moved."""
    if isinstance(table, Network):
        layer = Layer(np.array([[scale]]), np.array([mean]), "identity")
        return replace(table, layers=(*table.layers, layer))
    if table.dtype == "float32":
        raise UnreadableError(
            f"a StandardScaler of the target over {table.name} is not supported: it computes in float32",
            hint="Fit it to the target itself.",
        )
    trees = tuple(replace(tree, value=tree.value * scale) for tree in table.trees)
    start = table.start * scale + mean * table.divide
    size = float(np.abs(start).sum()) + abs(mean) * table.divide
    size += sum(float(np.abs(tree.value[tree.column < 0]).max()) for tree in trees)
    error = table.error * abs(scale) + (2 * len(trees) + 16) * _UNIT * size
    return replace(table, trees=trees, start=start, error=error)
