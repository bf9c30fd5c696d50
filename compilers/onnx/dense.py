"""The dense layers of an ONNX graph, one operation after the other.

In:  operations of a graph, its constants, and the number of columns of its input (0 where the file leaves it open).
Out: `Dense`: the layers so far, each operation a layer of its own, and the number of columns as far as it is known.
Promise: shapes must fit and numbers must be finite; what is not followed is a ModelError that names the operation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.between import leaking, normalising
from mace.compilers.onnx.model import OnnxNode
from mace.compilers.onnx.operations import wrong
from mace.errors import ModelError
from mace.tables.table import Floats, Layer

LARGE = 2.0**20
MOST_CELLS = 2**27  # numbers of all layers together: 1 GB


class Dense:
    """The layers so far."""

    def __init__(self, columns: int, constants: Mapping[str, NDArray[Any]]) -> None:
        self.columns, self.constants = columns, dict(constants)
        self.layers = list[Layer]()
        self.cells = 0

    def width(self) -> int:
        return len(self.layers[-1].bias) if self.layers else self.columns

    def gemm(self, node: OnnxNode, used: Sequence[str]) -> None:
        given = node.attributes
        if given.get("transA"):
            raise wrong(node, "has transA, which takes columns for rows")
        weights = self.constant(node, used[1], 2)
        bias = self.row(node, used[2]) if len(used) > 2 else None
        alpha, beta = (self.power(node, name) for name in ("alpha", "beta"))
        if abs(alpha) < 1 and weights.size and np.abs(weights).max() > LARGE:
            raise wrong(node, f"has weights beyond {LARGE:g} beside an alpha of {alpha}")
        self.dense(node, alpha * (weights.T if given.get("transB") else weights), None if bias is None else beta * bias)

    @staticmethod
    def power(node: OnnxNode, name: str) -> float:
        """A factor that rounds nothing, in whatever order it is multiplied by: 0, or a power of two of moderate size.

        What falls below the smallest normal number is far less than the margin of a layer has for that, as long as it
        is not multiplied by weights beyond `LARGE`.
        """
        factor = float(node.attributes.get(name, 1.0))
        if factor and (abs(math.frexp(factor)[0]) != 0.5 or not 1 / LARGE <= abs(factor) <= LARGE):
            raise wrong(node, f"has the {name} {factor}; followed are 0 and powers of two up to {LARGE:g}")
        return factor

    def dense(self, node: OnnxNode, weights: Floats, bias: Floats | None) -> None:
        width = self.width()
        if not width:
            self.columns = width = len(weights)  # The file leaves the number of columns open.
        if len(weights) != width or not weights.size:
            raise wrong(node, f"takes {len(weights)} columns and is given {width}")
        outputs = weights.shape[1]
        if bias is not None and bias.size not in (1, outputs):
            raise wrong(node, f"adds {bias.size} numbers to {outputs} columns")
        self.count(weights.size)
        spread = np.zeros(outputs) if bias is None else np.broadcast_to(bias, (outputs,)).copy()
        self.layers.append(Layer(weights, spread, "identity"))

    def scaler(self, node: OnnxNode) -> None:
        offset, scale = (np.asarray(node.attributes.get(key, []), dtype=np.float64) for key in ("offset", "scale"))
        if offset.size != scale.size or not np.isfinite([*offset, *scale]).all():
            raise wrong(node, "has an offset and a scale of different sizes, or that are not finite")
        self.by_column(node, "Sub", offset, first=True)
        self.by_column(node, "Mul", scale, first=True)

    def by_column(self, node: OnnxNode, kind: str, other: Floats, first: bool) -> None:
        """A number for each column is added, subtracted, multiplied or divided by."""
        self.columns = self.columns or other.size
        width = self.width()
        if other.size not in (1, width):
            raise wrong(node, f"has {other.size} numbers for {width} columns")
        each = np.broadcast_to(other, (width,)).astype(np.float64)
        if kind in ("Add", "Sub"):
            sign = -1.0 if kind == "Sub" else 1.0
            last = self.layers[-1] if self.layers else None
            if kind == "Add" and last is not None and last.activation == "identity" and not last.bias.any():
                self.layers[-1] = Layer(last.weights, each.copy(), "identity")  # The bias of a MatMul.
                return
            factor = 1.0 if first or kind == "Add" else -1.0
            self.layers.append(
                Layer(self.square(width) * factor, each * (sign if first or kind == "Add" else 1.0), "identity")
            )
            return
        if kind == "Div" and (not first or not each.all()):
            raise wrong(node, "divides by a column, or by zero")
        # 1 / d is rounded to float64: the margin of a layer is far wider, for it allows for every sum of its width.
        factors = each if kind == "Mul" else 1.0 / each
        if not np.isfinite(factors).all():
            raise wrong(node, "divides by a number that is too small")
        self.layers.append(Layer(self.square(width) * factors, np.zeros(width), "identity"))

    def relu(self, node: OnnxNode) -> None:
        """The last layer's activation; twice is once."""
        last = self.bare(node)
        if last is not None:
            self.layers[-1] = Layer(last.weights, last.bias, "relu")

    def leaky(self, node: OnnxNode) -> None:
        slope = float(node.attributes.get("alpha", np.float32(0.01)))
        if not 0 <= slope <= 1:
            raise wrong(node, f"has the slope {slope}; followed are slopes from 0 to 1")
        last = self.bare(node)
        if last is None:  # what a ReLU gives is not negative, and stays as it is
            return
        self.count(2 * last.weights.size + 2 * len(last.bias) ** 2)
        self.layers[-1:] = leaking(last, slope)

    def bare(self, node: OnnxNode) -> Layer | None:
        """The last layer, or one that changes nothing; None where it has its activation already."""
        if not self.layers:
            if not self.columns:
                raise wrong(node, "comes before any layer that says how many columns there are")
            self.layers.append(Layer(self.square(self.columns), np.zeros(self.columns), "identity"))
        return self.layers[-1] if self.layers[-1].activation == "identity" else None

    def normalise(self, node: OnnxNode, used: Sequence[str]) -> None:
        """By the numbers that the file keeps: scale, shift, mean and variance."""
        given = node.attributes
        if given.get("training_mode") or len([name for name in node.outputs if name]) != 1:
            raise wrong(node, "is in training mode: export the model for inference (in PyTorch: model.eval() first)")
        if len(used) != 5:
            raise wrong(node, f"takes {len(used)} values, expected 5")
        factor, shift, mean, variance = (self.constant(node, name, 1) for name in used[1:])
        self.columns = self.columns or len(mean)
        if {len(factor), len(shift), len(mean), len(variance)} != {self.width()}:
            raise wrong(node, f"has {len(mean)} means for {self.width()} columns, or as many other numbers")
        layers = normalising(mean, variance, float(given.get("epsilon", np.float32(1e-5))), factor, shift)
        if layers is None:
            raise wrong(node, "divides by a variance that is zero or negative")
        self.count(sum(layer.weights.size for layer in layers))
        self.layers += layers

    def square(self, width: int) -> Floats:
        """A layer that changes nothing."""
        self.count(width * width)
        return np.eye(width)

    def count(self, cells: int) -> None:
        self.cells += cells
        if self.cells > MOST_CELLS:
            raise ModelError(f"the ONNX model is too large: its layers have more than {MOST_CELLS} numbers")

    def constant(self, node: OnnxNode, name: str, dimensions: int) -> Floats:
        array = self.constants.get(name)
        if array is None or array.dtype.kind not in "fiu":
            raise wrong(node, f"needs a constant, and {name!r} is none")
        if array.ndim != dimensions or not np.isfinite(array).all():
            raise wrong(node, f"has {name!r} of shape {array.shape}, or numbers that are not finite")
        return np.asarray(array, dtype=np.float64)

    def flatten(self, node: OnnxNode, name: str, shape: tuple[int, ...]) -> None:
        """Write a constant for rows of several dimensions as one for flat rows: the runtime is given flat ones."""
        array = self.constants.get(name)
        if array is None or array.size == 1:
            return
        try:
            self.constants[name] = np.broadcast_to(array, (1, *shape)).reshape(1, -1).copy()
        except ValueError:
            raise wrong(node, f"has {name!r} of shape {array.shape} for rows of shape {shape}") from None

    def row(self, node: OnnxNode, name: str) -> Floats:
        """A constant with a number for each column, or one for all."""
        array = self.constants.get(name)
        dimensions = 0 if array is None else array.ndim
        row = self.constant(node, name, dimensions)
        if row.size > 1 and (dimensions > 2 or dimensions == 2 and len(row) != 1):
            raise wrong(node, f"has {name!r} of shape {row.shape}, expected a number for each column")
        return row.ravel()
