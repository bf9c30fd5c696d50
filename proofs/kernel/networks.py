"""Linear models and ReLU networks: what their scores are, and how far rounding may move them.

Bounds of rounding errors are computed in integers times powers of two, rounded upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import compress
from math import gcd
from operator import mul
from typing import Any, NamedTuple

from mace.proofs.kernel.axes import levels
from mace.proofs.kernel.ensembles import SQUASHED
from mace.proofs.kernel.fields import one_of, read
from mace.proofs.kernel.floats import BEYOND, DIGITS, ONE, SMALLEST, UNIT, ceiling, floating, gamma, need, to_float
from mace.proofs.kernel.statement import Column, Compare, Statement

ERROR = 1200  # rounding errors are integers times 2^-1200, rounded up

NETWORK = {
    "kind": one_of("network"), "rule": one_of(*SQUASHED), "dtype": one_of(*DIGITS),
    "layers": [{"weights": [[floating]], "bias": [floating], "activation": one_of("relu", "identity")}],
}  # fmt: skip


class Linear(NamedTuple):
    """A linear function of the inputs of a layer, or of the columns: integers times 2^-shift."""

    coefficients: list[int]
    constant: int
    shift: int


class Layer:
    """rows[input][output] and bias, integers times 2^-shift."""

    def __init__(self, data: Any, inputs: int, where: str) -> None:
        width = len(data.bias)
        fits = len(data.weights) == inputs and all(len(row) == width for row in data.weights)
        need(width and fits, f"{where}: expected {inputs} rows of {width} weights, one an output")
        self.relu = data.activation == "relu"
        common = gcd(*data.bias, *(w for row in data.weights for w in row)) or ONE
        drop = min((common & -common).bit_length() - 1, 1074)
        self.shift = 1074 - drop
        self.bias = [b >> drop for b in data.bias]
        self.rows = [[w >> drop for w in row] for row in data.weights]

    def back(self, f: Linear) -> Linear:
        """From a function of the layer's sums to the same function of its inputs."""
        used = f.coefficients  # of units, many are 0
        factors = [v for v in used if v]
        constant = (f.constant << self.shift) + sum(map(mul, compress(self.bias, used), factors))
        pulled = [sum(map(mul, compress(row, used), factors)) for row in self.rows]
        return Linear(pulled, constant, f.shift + self.shift)


class Network:
    """Dense layers; all but the last may have ReLUs."""

    def __init__(self, data: Any) -> None:
        found = read(data, NETWORK, "statement: model")
        self.kind, self.rule, self.dtype = found.kind, found.rule, found.dtype
        ends = found.layers and found.layers[-1].activation == "identity"
        need(ends, "statement: model: the last layer is the identity")
        self.inputs = width = len(found.layers[0].weights)
        self.layers: list[Layer] = []
        for k, layer in enumerate(found.layers):
            self.layers.append(Layer(layer, width, f"statement: model: layer {k}"))
            width = len(self.layers[-1].bias)
        self.outputs = width

    @lru_cache(1 << 2)  # noqa: B019  # the last models are kept anyway; most statements about one allow the same values
    def errors(self, sizes: tuple[Fraction, ...], moved: tuple[Fraction, ...]) -> list[int]:
        """For every score a bound on |float - exact|, times 2^1200, of inputs up to these sizes, moved by so much.

        Lemma: one layer, in any order of summation, with or without fused multiply-add, has |float - exact| <=
        |W| e + g(n + 1) (|W| (A + e) + |b|) + (2 n + 2) 2^-1022 for n inputs up to A with errors e. A ReLU adds none.
        """
        size, error = ([ceiling(bound, ERROR) for bound in bounds] for bounds in (sizes, moved))
        for layer in self.layers:
            inputs = len(layer.rows)
            relative, smallest = gamma(inputs + 1, self.dtype), ceiling((2 * inputs + 2) * SMALLEST[self.dtype], ERROR)
            new_size, new_error = [], []
            for o, bias in enumerate(layer.bias):
                weights = [abs(row[o]) for row in layer.rows]
                carried = sum(map(mul, weights, error))
                whole = sum(map(mul, weights, size)) + (abs(bias) << ERROR)
                added = ceiling(relative * (whole + carried), -layer.shift)
                new_size.append(ceiling(whole, -layer.shift))
                new_error.append(ceiling(carried, -layer.shift) + added + smallest)
                fits = new_size[o] + new_error[o] < BEYOND[self.dtype] << (ERROR - 1076)
                need(fits, "statement: model: may overflow")
            size, error = new_size, new_error
        return error

    def slack(self, compare: Compare, errors: Sequence[int]) -> int:
        """How far the exact margin of a comparison may be from the float one, times 2^1200."""
        return sum(errors[side] for side in compare.sides) + ceiling(SQUASHED[self.rule] * UNIT[self.dtype], ERROR)

    def witness(self, statement: Statement, point: Sequence[int]) -> bool:
        """Whether the float model has the goal at a point, whatever its order of summation."""
        given = values = [Fraction(x, ONE) for x in statement.row(point)]
        for layer in self.layers:
            sums = (sum(map(mul, column, values)) for column in exact_columns(layer))
            values = [s + Fraction(b, 1 << layer.shift) for s, b in zip(sums, layer.bias, strict=True)]
            values = [max(v, Fraction(0)) for v in values] if layer.relu else values
        cast = [
            abs(x) * UNIT["float32"] + Fraction(1, 2**149) if self.dtype == "float32" else Fraction(0) for x in given
        ]
        errors = self.errors(tuple(map(abs, given)), tuple(cast))

        def holds(compare: Compare) -> bool:
            margin = compare.margin(values) - Fraction(compare.than, ONE)
            return compare.holds(margin, Fraction(self.slack(compare, errors), 1 << ERROR))

        return any(all(map(holds, part)) for part in statement.goal)


def exact_columns(layer: Layer) -> list[list[Fraction]]:
    """The weights of each output."""
    return [[Fraction(row[o], 1 << layer.shift) for row in layer.rows] for o in range(len(layer.bias))]


def affine(column: Column) -> list[tuple[Fraction, Fraction]]:
    """A grid's column as factor x + shift, but for rounding: before the chain and after each of its operations."""
    found = [(Fraction(1), Fraction(0))]
    for name, operand in column.chain:
        y = Fraction(operand, ONE)
        factor, shift = found[-1]
        if name in ("add", "sub"):
            found.append((factor, shift + y if name == "add" else shift - y))
        else:
            found.append((factor * y, shift * y) if name == "mul" else (factor / y, shift / y))
    return found


def exact(column: Column, index: int) -> Fraction:
    """What the column would be without rounding."""
    if column.table is not None:
        return Fraction(column.table[index], ONE)
    value = Fraction(column.axis.number(index), column.axis.unit)
    if not column.chain:
        return value
    factor, shift = affine(column)[-1]
    return factor * value + shift


@lru_cache(1 << 12)
def domain(column: Column, dtype: str) -> tuple[Fraction, Fraction]:
    """A bound on a column's exact values over all allowed points, and on how far the floats of the model are from them:
    each rounding adds half a unit of what is rounded, relative to a result that is off by what came before."""
    axis, error = column.axis, Fraction(0)
    if column.table is not None:
        held = [column.table[level] for level in levels(axis.full)]
        size, same = Fraction(max(map(abs, held)), ONE), all(to_float(x, dtype) == x for x in held)
    else:
        value = Fraction(max(abs(axis.number(k)) for k in axis.full), axis.unit)
        whole = axis.unit == 1 and value <= 2**53
        if axis.grid == "step" and not whole:
            error = value * UNIT["float64"] + Fraction(1, ONE)
        same = not column.chain and (axis.grid == "float32" or (whole and value <= 2**24))
        before, *after = affine(column)
        for (name, operand), (factor, shift) in zip(column.chain, after, strict=True):
            if name in ("mul", "div"):
                error *= abs(Fraction(operand, ONE) if name == "mul" else Fraction(ONE, operand))
            error += (abs(factor) * value + abs(shift) + error) * UNIT["float64"] + Fraction(1, ONE)
        factor, shift = after[-1] if after else before
        size = abs(factor) * value + abs(shift)
    if dtype == "float32" and not same:
        error += (size + error) * UNIT["float32"] + Fraction(1, 2**149)
    return size, error
