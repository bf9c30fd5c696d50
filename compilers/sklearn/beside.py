"""Networks beside each other: one network that has the scores of several, over the same columns.

In:  the tables of linear models and perceptrons.
Out: `beside`: the layers of one network, whose scores are theirs, one after the other. `averaged`: the network of the
     weighted mean of what several regressors predict.
Promise: every score is the same sum of products in both, and its margin in the whole is no smaller than in its own.
How: a network of fewer layers carries its scores through further ones as relu(s) - relu(-s); so do hidden layers
without a relu where others have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from mace.tables.table import Floats, Layer, Network


def beside(tables: Sequence[Network], width: int = 0) -> tuple[Layer, ...]:
    """The layers of all beside each other; with scores that are zero, up to a width."""
    each = [list(table.layers) for table in tables]
    if len({tuple(layer.activation for layer in layers) for layers in each}) > 1:
        deepest = max(map(len, each))
        each = [_deepened(layers, deepest) for layers in each]
    found = []
    for number, layers in enumerate(zip(*each, strict=True)):
        blocks = [layer.weights for layer in layers]
        bias = np.concatenate([layer.bias for layer in layers])
        found.append(Layer(_diagonal(blocks) if number else np.hstack(blocks), bias, layers[0].activation))
    last, more = found[-1], max(width - len(found[-1].bias), 0)
    found[-1] = Layer(np.pad(last.weights, ((0, 0), (0, more))), np.pad(last.bias, (0, more)), last.activation)
    return tuple(found)


def averaged(tables: Sequence[Network], shares: Sequence[float], name: str) -> Network:
    """The layers of the members, and one of their mean; shares: what each counts, together 1.

    sum(w p) / sum(w) rounds n products, n sums and a quotient, and the shares themselves have n + 1 roundings, which
    the margin of a layer of 2 n + 3 inputs covers; those beyond n are zeros.
    """
    layers = beside(tables, 2 * len(tables) + 3)
    weights = np.zeros((len(layers[-1].bias), 1))
    weights[: len(tables), 0] = shares
    layers = (*layers, Layer(weights, np.zeros(1), "identity"))
    return replace(tables[0], layers=layers, name=name, dtype=coarsest(tables))


def coarsest(tables: Sequence[Network]) -> Literal["float32", "float64"]:
    """In which type the scores of some of the tables may be computed."""
    return "float32" if any(table.dtype == "float32" for table in tables) else "float64"


def _deepened(layers: Sequence[Layer], depth: int) -> list[Layer]:
    """As many layers, all but the last one with a relu, that say the same."""
    *hidden, last = layers
    found: list[Layer] = []
    for layer in hidden:
        layer = _behind(found, layer)
        found += [layer if layer.activation == "relu" else _both(layer)]
    last = _behind(found, last)
    while len(found) + 1 < depth:
        found.append(_both(last))
        last = _behind(found, Layer(np.eye(len(last.bias)), np.zeros(len(last.bias)), "identity"))
    return [*found, last]


def _both(layer: Layer) -> Layer:
    """The numbers of a layer, and these times -1, each through a relu."""
    return Layer(np.hstack([layer.weights, -layer.weights]), np.concatenate([layer.bias, -layer.bias]), "relu")


def _behind(before: Sequence[Layer], layer: Layer) -> Layer:
    """A layer as it takes the numbers of the one before it, which may have become `_both`."""
    if not before or len(before[-1].bias) == len(layer.weights):
        return layer
    return Layer(np.vstack([layer.weights, -layer.weights]), layer.bias, layer.activation)


def _diagonal(blocks: Sequence[Floats]) -> Floats:
    """Matrices along the diagonal of one."""
    rows, columns = np.cumsum([0, *(b.shape[0] for b in blocks)]), np.cumsum([0, *(b.shape[1] for b in blocks)])
    whole = np.zeros((rows[-1], columns[-1]))
    for number, block in enumerate(blocks):
        whole[rows[number] : rows[number + 1], columns[number] : columns[number + 1]] = block
    return whole
