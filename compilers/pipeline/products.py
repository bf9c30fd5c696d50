"""Products of dummies, and of dummies and one number, before a linear model or a network: one more layer of it.

In:  the table of a model over products of columns, which columns each product is of (one more than once for a power),
     and these as functions of features.
Out: `multiplied`, the same model as a Network over the columns themselves, equal to it where columns have their values.
Promise: products of two numbers, and columns that are neither dummies nor numbers, are an UnreadableError.
For dummies d and a number x with |x| <= q, a power of two:
    product of n dummies = relu(sum d - (n - 1)),    x times that = relu(x + 2q sum d - q (2n - 1)) - q relu(..),
without rounding, since each is 0 or not by a whole unit. The library multiplies without rounding as well, as a factor
is 0 or 1; the magnitudes that are added here, and so the margins, are larger than its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mace.base.exact import nearest
from mace.errors import UnreadableError
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.table import Floats, Layer, Network, Table

PRODUCTS = "sklearn.preprocessing.PolynomialFeatures"


class _Units:
    """The units of one more layer, each once."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.known: dict[tuple[tuple[float, ...], float], int] = {}

    def unit(self, weights: Floats, bias: float) -> int:
        """The place of relu(weights * columns + bias)."""
        return self.known.setdefault((tuple(weights.tolist()), bias), len(self.known))

    def layer(self) -> Layer:
        """All of them."""
        weights = np.array([weights for weights, _ in self.known]).T.reshape(self.columns, len(self.known))
        return Layer(weights, np.array([bias for _, bias in self.known]), "relu")


def multiplied(
    table: Table, products: Sequence[Sequence[int]], columns: Sequence[Column], features: Sequence[Feature]
) -> Network:
    """A model over products of columns as one over the columns.

    products: for each column of the table the places of the columns that are multiplied; none for a constant 1.
    """
    if not isinstance(table, Network):
        raise UnreadableError(f"products of columns before {table.name} are not read", hint="Use a linear model.")
    units = _Units(len(columns))
    shares: list[dict[int, float]] = []
    bias = np.zeros(len(products))
    for place, factors in enumerate(products):
        dummies = sorted({k for k in factors if _is_dummy(columns[k])})
        numbers = [k for k in factors if k not in dummies]
        if len(numbers) > 1:
            names = " and ".join(f"`{columns[k].name}`" for k in numbers[:2])
            raise UnreadableError(
                f"the product of {names}, two numbers, is not linear", hint="Make it a column of the frame."
            )
        made, shift = _product(units, dummies, numbers, columns, features)
        shares.append(made)
        bias[place] = shift
    weights = np.zeros((len(units.known), len(products)))
    for place, made in enumerate(shares):
        for unit, share in made.items():
            weights[unit, place] += share
    first = table.layers[0]
    # The two layers without an activation between stay two: their weights are the library's own.
    return replace(
        table, layers=(units.layer(), Layer(weights, bias, "identity"), first, *table.layers[1:]), columns=len(columns)
    )


def _product(
    units: _Units,
    dummies: Sequence[int],
    numbers: Sequence[int],
    columns: Sequence[Column],
    features: Sequence[Feature],
) -> tuple[dict[int, float], float]:
    """A product as weights of units, and what is added."""
    if not dummies and not numbers:
        return {}, 1.0
    count, weights = len(dummies), np.zeros(len(columns))
    weights[list(dummies)] = 1.0
    all_of = units.unit(weights, 1.0 - count) if count else None
    if not numbers:
        assert all_of is not None
        return {all_of: 1.0}, 0.0
    largest = _largest(columns[numbers[0]], features)
    weights = 2 * largest * weights
    weights[numbers[0]] = 1.0
    unit = units.unit(weights, largest - 2 * largest * count)
    return ({unit: 1.0}, -largest) if all_of is None else ({unit: 1.0, all_of: -largest}, 0.0)


def _is_dummy(column: Column) -> bool:
    return column.values is not None and set(column.values) <= {0.0, 1.0}


def _largest(column: Column, features: Sequence[Feature]) -> float:
    """A power of two that no magnitude of a column reaches."""
    if column.values is not None:
        size = max(map(abs, column.values))
    elif column.is_affine:
        size = max(abs(column.of(nearest(end))) for end in features[column.feature].bounds())
    else:
        raise UnreadableError(f"a product with `{column.name}`, which is no line of its feature, is not read")
    if not math.isfinite(size):
        raise UnreadableError(f"`{column.name}` has no largest value, so that products with it are not read")
    return 2.0 ** (math.frexp(max(size, 1.0))[1] + 1)
