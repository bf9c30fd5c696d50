"""The product of two networks: both side by side, layer by layer, each layer with the activation that it has.

In:  two networks, where each one's columns stand among those of the product.
Out: a `Product` whose table computes the scores of the first, then those of the second, from the same numbers.
Promise: a layer of the product is made of layers of one activation. Where the networks differ in it, or in depth,
layers that pass their values on stand in for what one of them lacks; in exact arithmetic they change nothing, and the
rounding margin of the product, which counts them too, is at least that of each network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mace.space.columns import Column
from mace.tables.table import Compare, Floats, Layer, Network
from mace.verify.product.joint import Pair, Product, decisions_of, moved, name_of


def of_networks(
    one: Network, one_place: Sequence[int], other: Network, other_place: Sequence[int], columns: tuple[Column, ...]
) -> Product:
    """Both networks side by side; hidden units that compute the same of the same are there once."""
    first, second = _aligned(one.layers, other.layers)
    inputs, width = (tuple(one_place), tuple(other_place)), len(columns)
    layers: list[Layer] = []
    for pair in zip(first[:-1], second[:-1], strict=True):
        layer, inputs = _beside(pair, inputs, width, shared=True)
        layers.append(layer)
        width = len(layer.bias)
    layers.append(_beside((first[-1], second[-1]), inputs, width, shared=False)[0])
    table = replace(
        one,
        layers=tuple(layers),
        columns=len(columns),
        # The rule only says how much rounding there is behind the scores: the larger of the two.
        rule=max((one.rule, other.rule), key=_squashing) if _squashing(one.rule) or _squashing(other.rule) else "value",
        classes=(),
        name=name_of(one, other),
        dtype="float32" if "float32" in (one.dtype, other.dtype) else "float64",
        decisions=None,
        link=None,
    )
    by = len(one.layers[-1].bias)
    more = Compare(0, by, 0.0, strict=True)
    extra: dict[Pair, tuple[Compare, ...]] = {(0, 0): (more,)} if not one.classes else {}
    return Product(table, columns, decisions_of(one), tuple(moved(d, by) for d in decisions_of(other)), extra)


def _squashing(rule: str) -> int:
    """How much a rule widens comparisons, in order."""
    return {"softmax": 2, "sigmoid": 1}.get(rule, 0)


@dataclass
class _Units:
    """The units of a layer of the product, and which of them are the same."""

    weights: list[Floats] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    known: dict[tuple[bytes, float], int] = field(default_factory=dict)

    def add(self, row: Floats, bias: float) -> int:
        """Where a new unit stands."""
        self.weights.append(row)
        self.bias.append(bias)
        return len(self.bias) - 1


def _beside(
    pair: tuple[Layer, Layer], inputs: tuple[tuple[int, ...], tuple[int, ...]], width: int, *, shared: bool
) -> tuple[Layer, tuple[tuple[int, ...], tuple[int, ...]]]:
    """One layer of both, and where the units of each stand in it.

    inputs: for each network, which of the `width` units below its layer reads.
    shared: whether a unit of the second network that computes what one of the first does is that one. Of one network
            no two units are made one: the weights above them would be added, and rounded.
    """
    units = _Units()
    found: list[tuple[int, ...]] = []
    for copy, (layer, read) in enumerate(zip(pair, inputs, strict=True)):
        taken: list[int] = []
        for unit in range(len(layer.bias)):
            row = np.zeros(width)
            row[list(read)] = layer.weights[:, unit]
            bias = float(layer.bias[unit])
            key = ((row + 0.0).tobytes(), bias)  # with one zero
            place = units.known.get(key) if shared and copy else None
            if place is None or place in taken:
                place = units.add(row, bias)
                if not copy:
                    units.known.setdefault(key, place)
            taken.append(place)
        found.append(tuple(taken))
    assert pair[0].activation == pair[1].activation
    return replace(pair[0], weights=np.array(units.weights).T.copy(), bias=np.array(units.bias)), (found[0], found[1])


def _aligned(one: Sequence[Layer], other: Sequence[Layer]) -> tuple[list[Layer], list[Layer]]:
    """Both with as many layers, and in each place with the same activation."""
    sides = [list(one), list(other)]
    positive = [False, False]  # whether no value that enters the layer at `place` is negative
    place = 0
    while any(place < len(side) - 1 for side in sides):
        here = [side[place].activation if place < len(side) - 1 else None for side in sides]
        # Any value passes through an identity, so that one is dealt with first.
        wanted: Layer = next(
            side[place]
            for kind in ("identity", "relu")
            for side, found in zip(sides, here, strict=True)
            if found == kind
        )
        for k, side in enumerate(sides):
            if here[k] == wanted.activation:
                positive[k] = wanted.activation == "relu"
                continue
            if wanted.activation == "identity" or positive[k]:
                side.insert(place, _passing(side[place], wanted))
            else:  # x = relu(x) - relu(-x)
                side[place : place + 1] = _parted(side[place], wanted)
                positive[k] = True
        place += 1
    return sides[0], sides[1]


def _passing(above: Layer, like: Layer) -> Layer:
    """A layer that hands on what the layer above it takes."""
    width = len(above.weights)
    return replace(like, weights=np.eye(width), bias=np.zeros(width))


def _parted(above: Layer, like: Layer) -> list[Layer]:
    """A layer of positive and negative parts, and the layer above it as it takes these."""
    width = len(above.weights)
    parts = replace(like, weights=np.hstack([np.eye(width), -np.eye(width)]), bias=np.zeros(2 * width))
    return [parts, replace(above, weights=np.vstack([above.weights, -above.weights]))]


__all__ = ["of_networks"]
