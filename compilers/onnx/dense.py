"""The dense layers of an ONNX graph, one operation after the other.

In:  operations of a graph, its constants, and the number of columns of its input (0 where the file leaves it open).
Out: `Dense`: the layers so far, each operation a layer of its own, and the number of columns as far as it is known.
Promise: shapes must fit and numbers must be finite; what is not followed is a ModelError that names the operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.onnx.model import Node
from mace.compilers.onnx.operations import wrong
from mace.errors import ModelError
from mace.tables.table import Floats, Layer

MOST_CELLS = 2**27  # numbers of all layers together: 1 GB


class Dense:
    """The layers so far."""

    def __init__(self, columns: int, constants: Mapping[str, NDArray[Any]]) -> None:
        self.columns, self.constants = columns, dict(constants)
        self.layers = list[Layer]()
        self.cells = 0

    def width(self) -> int:
        return len(self.layers[-1].bias) if self.layers else self.columns

    def gemm(self, node: Node, used: Sequence[str]) -> None:
        given = node.attributes
        if given.get("transA") or given.get("alpha", 1.0) != 1.0 or given.get("beta", 1.0) != 1.0:
            raise wrong(node, "has a transA, alpha or beta that is not supported")
        weights = self.constant(node, used[1], 2)
        self.dense(
            node, weights.T if given.get("transB") else weights, self.row(node, used[2]) if len(used) > 2 else None
        )

    def dense(self, node: Node, weights: Floats, bias: Floats | None) -> None:
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

    def scaler(self, node: Node) -> None:
        offset, scale = (np.asarray(node.attributes.get(key, []), dtype=np.float64) for key in ("offset", "scale"))
        if offset.size != scale.size or not np.isfinite([*offset, *scale]).all():
            raise wrong(node, "has an offset and a scale of different sizes, or that are not finite")
        self.by_column(node, "Sub", offset, first=True)
        self.by_column(node, "Mul", scale, first=True)

    def by_column(self, node: Node, kind: str, other: Floats, first: bool) -> None:
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

    def square(self, width: int) -> Floats:
        """A layer that changes nothing."""
        self.count(width * width)
        return np.eye(width)

    def count(self, cells: int) -> None:
        self.cells += cells
        if self.cells > MOST_CELLS:
            raise ModelError(f"the ONNX model is too large: its layers have more than {MOST_CELLS} numbers")

    def constant(self, node: Node, name: str, dimensions: int) -> Floats:
        array = self.constants.get(name)
        if array is None or array.dtype.kind not in "fiu":
            raise wrong(node, f"needs a constant, and {name!r} is none")
        if array.ndim != dimensions or not np.isfinite(array).all():
            raise wrong(node, f"has {name!r} of shape {array.shape}, or numbers that are not finite")
        return np.asarray(array, dtype=np.float64)

    def flatten(self, node: Node, name: str, shape: tuple[int, ...]) -> None:
        """Write a constant for rows of several dimensions as one for flat rows: the runtime is given flat ones."""
        array = self.constants.get(name)
        if array is None or array.size == 1:
            return
        try:
            self.constants[name] = np.broadcast_to(array, (1, *shape)).reshape(1, -1).copy()
        except ValueError:
            raise wrong(node, f"has {name!r} of shape {array.shape} for rows of shape {shape}") from None

    def row(self, node: Node, name: str) -> Floats:
        """A constant with a number for each column, or one for all."""
        array = self.constants.get(name)
        dimensions = 0 if array is None else array.ndim
        row = self.constant(node, name, dimensions)
        if row.size > 1 and (dimensions > 2 or dimensions == 2 and len(row) != 1):
            raise wrong(node, f"has {name!r} of shape {row.shape}, expected a number for each column")
        return row.ravel()
