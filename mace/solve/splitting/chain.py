"""A network as arrays for bounds over boxes, with what each of its sums may be rounded by.

In:  a `Network` (dense layers, ReLU or none between them), and the ends of a box of its inputs.
Out: a `Chain`: the layers after those that act on each input by itself, which are applied to the box at once.
Promise: for every x of the box, let z be what a layer's sums come to, computed by the deployed model in its own
precision and any order of summation, with or without fused multiply-add, with subnormal numbers flushed or not; or
computed without rounding. Then z = h W + b + d for the values h that the layer below gave in the same computation, and
|d| <= `rounding` * (|h| |W| + |b|) + `tiny`. `rounding` also holds what the doubles of `bounds` lose.
Source: Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.), section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mace.base.exact import LARGEST_32, UNIT_ROUNDOFF, UNIT_ROUNDOFF_32, above, gamma
from mace.tables.margins import SMALLEST
from mace.tables.table import Floats, Layer, Network

# What a product of doubles loses below the smallest one counts for nothing if all sums are below these.
LARGEST = {"float32": float(LARGEST_32) / 2, "float64": 2.0**100}
FEW, LEAST_SPARSE = 16, 2**14  # one weight in so many that is not zero, of so many weights or more: a sparse stage
OUTWARD = 1 + 2.0**-40  # more than the sum of all roundings of a bound on one sum's error


@dataclass(frozen=True, eq=False)
class Stage:
    """A dense layer. bias, rounding, tiny: (outputs,), see the promise above.

    Of its weights, shape (inputs, outputs), only those that are not zero are kept where they are few.
    """

    bias: Floats
    relu: bool
    rounding: Floats
    tiny: Floats
    _weights: Any
    _turned: Any

    @property
    def sparse(self) -> bool:
        """Whether most weights are zero."""
        return not isinstance(self._weights, np.ndarray)

    @property
    def inputs(self) -> int:
        """How many values it is given."""
        return int(self._weights.shape[0])

    @property
    def kept(self) -> int:
        """How many weights are kept."""
        return int(self._weights.size)  # of a sparse array those that are kept

    @cached_property
    def _sizes(self) -> tuple[Any, Any]:
        return abs(self._weights), abs(self._turned)

    def forward(self, values: Floats) -> Floats:
        """The sums without the bias, of values of shape (rows, inputs)."""
        found: Floats = values @ self._weights
        return found

    def forward_size(self, values: Floats) -> Floats:
        """The same with the sizes of the weights."""
        found: Floats = values @ self._sizes[0]
        return found

    def back(self, ends: Any) -> Any:
        """The coefficients of the inputs, from those of the sums, shape (rows, outputs); sparse where these are."""
        return ends @ self._turned

    def back_size(self, ends: Floats) -> Floats:
        """The same with the sizes of the weights."""
        found: Floats = ends @ self._sizes[1]
        return found


class Interval(NamedTuple):
    """Two ends; of any shape."""

    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Chain:
    """Layers over a box.

    first:  layers that act on each input by itself, in order: a factor and a shift for each input.
    stages: the layers after them; largest: what no sum may exceed.
    """

    first: tuple[Layer, ...]
    stages: tuple[Stage, ...]
    dtype: str

    @property
    def weights(self) -> int:
        """How many weights the stages have together: about what one row costs on its way through them; never 0."""
        return max(1, sum(stage.kept for stage in self.stages))

    @property
    def widest(self) -> int:
        """Of how many values the largest layer is."""
        return max(max(stage.inputs, len(stage.bias)) for stage in self.stages)

    @property
    def largest(self) -> float:
        """Beyond this a sum of the deployed model might overflow."""
        return LARGEST[self.dtype]

    def enter(self, box: Interval) -> Interval:
        """What the first stage is given when the inputs lie in a box; shapes (columns,)."""
        lower, upper = box
        for layer in self.first:
            stage = _stage(layer, self.dtype)
            factor = np.diag(layer.weights)
            ends = np.stack([lower * factor, upper * factor])
            error = stage.rounding * (np.abs(ends).max(axis=0) + np.abs(layer.bias)) + stage.tiny
            lower = np.nextafter(ends.min(axis=0) + layer.bias - error, -np.inf)
            upper = np.nextafter(ends.max(axis=0) + layer.bias + error, np.inf)
        return Interval(lower, upper)

    def leave(self, entered: Floats) -> Floats:
        """About the inputs for which the first stage is given these values; shape (.., columns)."""
        values = entered
        for layer in reversed(self.first):
            factor = np.diag(layer.weights)
            values = np.divide(values - layer.bias, factor, out=np.zeros_like(values), where=factor != 0)
        return values

    def outputs(self, entered: Floats) -> Floats:
        """About the outputs for values that the first stage is given; shape (rows, outputs)."""
        values = entered
        for stage in self.stages:
            values = stage.forward(values) + stage.bias
            if stage.relu:
                values = np.maximum(values, 0.0)
        return values


def chain_of(network: Network) -> Chain:
    """The arrays of a network."""
    layers = list(network.layers)
    first: list[Layer] = []
    while len(layers) > 1 and _by_itself(layers[0]):
        first.append(layers.pop(0))
    return Chain(tuple(first), tuple(_stage(layer, network.dtype) for layer in layers), network.dtype)


def _by_itself(layer: Layer) -> bool:
    """Whether a layer acts on each of its inputs by itself."""
    weights = layer.weights
    square = weights.shape[0] == weights.shape[1] and layer.activation == "identity"
    return square and np.count_nonzero(weights) == np.count_nonzero(np.diag(weights))


def _stage(layer: Layer, dtype: str) -> Stage:
    unit = UNIT_ROUNDOFF_32 if dtype == "float32" else UNIT_ROUNDOFF
    # A product with a weight of 0 is 0, and adding 0 changes nothing: only the others round.
    terms = np.count_nonzero(layer.weights, axis=0)
    fan_in, outputs = layer.weights.shape
    counts, which = np.unique(terms, return_inverse=True)
    deployed = np.array([above(gamma(int(count) + 1, unit)) for count in counts])[which]
    # Eight passes of doubles over sums of this length, in whatever order, for coefficients, constants and bounds.
    own = above(8 * gamma(max(fan_in, outputs) + 16, UNIT_ROUNDOFF))
    tiny = np.full(outputs, above((2 * fan_in + 2) * SMALLEST[dtype]))
    weights: Any = layer.weights
    if FEW * int(terms.sum()) <= weights.size >= LEAST_SPARSE:
        from scipy.sparse import csr_array

        weights = csr_array(weights)
        turned = csr_array(weights.T)
    else:
        turned = weights.T
    return Stage(layer.bias, layer.activation == "relu", (deployed + own) * OUTWARD, tiny, weights, turned)


__all__ = ["Chain", "Interval", "Stage", "chain_of"]
