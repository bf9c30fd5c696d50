"""One column of the model's matrix, as a function of one feature.

In:  a feature's value: the index of a level, or a number.
Out: the float64 that the model is given: looked up for a level; for a number, computed by a chain of operations.
Promise: `of` and `of_many` repeat a library's preprocessing operation by operation, each rounded once. `affine` and
`error` say what an arithmetic chain is without rounding, and how far rounding may take it from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import UNIT_ROUNDOFF, exact, nearest, nearest_float32
from mace.errors import ModelError, RowError
from mace.space.axes import Axis, GridAxis, LevelAxis

# "nonzero": 0 becomes NaN, as in a sparse matrix whose reader takes what is not stored for missing.
# (edges, values): a number with k edges at or below it becomes values[k]; len(values) == len(edges) + 1.
# "power": ("yeo-johnson" or "box-cox", its exponent). "quantile": quantiles, the references that they become, and
# whether these are looked up in the normal distribution, as in scikit-learn's QuantileTransformer.
Steps: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
Step: TypeAlias = (
    tuple[Literal["add", "sub", "mul", "div"], float]
    | tuple[Literal["log", "log1p", "sqrt", "nonzero"], None]
    | tuple[Literal["clip"], tuple[float, float]]
    | tuple[Literal["steps"], Steps]
    | tuple[Literal["power"], tuple[str, float]]
    | tuple[Literal["quantile"], tuple[tuple[float, ...], tuple[float, ...], bool]]
)
Floats: TypeAlias = NDArray[np.float64]

WHOLE = 2**40  # far below what doubles hold of whole numbers
ARITHMETIC = ("add", "sub", "mul", "div")


@dataclass(frozen=True)
class Column:
    """One column of the model's matrix, as a function of one feature.

    values:  for a feature with levels: the float64 that each level becomes, NaN if the model cannot take that level;
             None for a number.
    chain:   what happens to a number before the model sees it: float64 operations in this order, each rounded once
             (a scaler in a pipeline is `sub` then `div`). Empty: the number as it is.
    missing: what a missing number becomes; None if the model cannot take one.
    rounded_to: see `mace.space.axes.Grid`.
    """

    name: str
    feature: int
    values: tuple[float, ...] | None
    chain: tuple[Step, ...] = ()
    missing: float | None = None
    rounded_to: Literal["float64", "float32"] = "float64"

    def __hash__(self) -> int:
        """Of what tells the columns of a model apart: those of many levels would take long."""
        return hash((self.name, self.feature))

    def given(self, number: Fraction) -> float:
        """The float that enters the chain for an exact number."""
        return nearest(number) if self.rounded_to == "float64" else nearest_float32(number)

    def of(self, number: float) -> float:
        """The column's value for a float that enters its chain."""
        for step in self.chain:
            if step[0] == "add":
                number = number + step[1]
            elif step[0] == "sub":
                number = number - step[1]
            elif step[0] == "mul":
                number = number * step[1]
            elif step[0] == "div":
                number = number / step[1]
            else:
                number = float(apply(step, np.array([number]))[0])
        return number

    def of_many(self, numbers: Floats) -> Floats:
        """The column's values for numbers of shape (n,); shape (n,). Outside a function's domain: NaN."""
        with np.errstate(all="ignore"):
            for step in self.chain:
                numbers = apply(step, numbers)
        return numbers

    def at(self, axis: Axis, index: int) -> float:
        """The column's value at an index of its feature's axis."""
        if self.values is not None:
            return self.values[index]
        if index == axis.missing:
            assert self.missing is not None, f"the model does not take a missing {axis.name}"
            return self.missing
        if isinstance(axis, GridAxis) and axis.grid.rounded_to == self.rounded_to:
            return self.of(axis.given(index))
        return self.of(self.given(axis.value(index)))

    def is_double_of(self, axis: Axis) -> bool:
        """Whether the model is given the double of every index as it is."""
        if self.chain or self.rounded_to != "float64" or not isinstance(axis, GridAxis):
            return False
        return axis.grid.kind == axis.grid.rounded_to == "float64" and axis.missing is None

    def is_multiple_of(self, axis: Axis) -> bool:
        """Whether the model is given the double of every index times a step, by one division that rounds once."""
        if self.values is not None or self.chain or self.rounded_to != "float64" or not isinstance(axis, GridAxis):
            return False
        grid = axis.grid
        if grid.kind != "step" or grid.extra is not None or grid.rounded_to != "float64" or axis.missing is not None:
            return False
        most = max(abs(axis.lower), abs(axis.upper), abs(axis.start))
        return most * grid.step.numerator < WHOLE and grid.step.denominator < WHOLE

    def on(self, axis: Axis) -> Column:
        """The column in a question about a row with this axis, which holds one value for each of its levels.

        A number that is missing and stays so is one level. Where the row has a value and may not lose it, an axis may
        have no place for "missing", the last level.
        """
        if not isinstance(axis, LevelAxis):
            return self
        if self.values is not None:
            return self if len(self.values) <= axis.count else replace(self, values=self.values[: axis.count])
        return Column(self.name, self.feature, (float("nan") if self.missing is None else self.missing,))

    @property
    def is_affine(self) -> bool:
        """Whether the chain is arithmetic only."""
        return all(step[0] in ARITHMETIC for step in self.chain)

    @property
    def is_bent(self) -> bool:
        """Whether it is a number that reasoning about linear functions cannot follow."""
        return self.values is None and not self.is_affine

    def affine(self) -> tuple[Fraction, Fraction]:
        """(a, b): without rounding, the column is a * number + b.

        Raises ModelError when it is not of that form.
        """
        a, b = Fraction(1), Fraction(0)
        for step in self.chain:
            if step[0] == "add" or step[0] == "sub":
                b += exact(step[1]) if step[0] == "add" else -exact(step[1])
            elif step[0] == "mul" or step[0] == "div":
                by = exact(step[1]) if step[0] == "mul" else 1 / exact(step[1])
                a, b = a * by, b * by
            else:
                raise ModelError(f"column `{self.name}` is not a linear function of its feature: it uses {step[0]!r}")
        return a, b

    def error(self, magnitude: Fraction, given: Fraction = Fraction(0)) -> Fraction:
        """How far the float64 of the column may be from its `affine` value, for |number| <= magnitude.

        given: how far the float64 that enters the chain may be from the number itself.
        """
        size, error = magnitude, given  # |exact value so far| <= size, |float - exact| <= error
        for step in self.chain:
            if step[0] == "add" or step[0] == "sub":
                size += abs(exact(step[1]))
            elif step[0] == "mul" or step[0] == "div":
                by = abs(exact(step[1])) if step[0] == "mul" else 1 / abs(exact(step[1]))
                size, error = size * by, error * by
            else:
                self.affine()  # raises
            # The operation rounds once, relative to a result that is off by what came before.
            error += UNIT_ROUNDOFF * (size + error) + Fraction(1, 2**1074)
        return error


def usable_axes(columns: Sequence[Column], axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes as the model is given their values: without "missing" where it cannot take that.

    columns: one entry a column of the model; a column of levels may lack the last one.
    Raises RowError when the row itself lacks what the model cannot do without.
    """
    usable = list(axes)
    for column in columns:
        axis = usable[column.feature]
        if isinstance(axis, GridAxis):
            if axis.grid.rounded_to != column.rounded_to:
                axis = usable[column.feature] = replace(axis, grid=replace(axis.grid, rounded_to=column.rounded_to))
            takes, stuck = axis.missing is None or column.missing is not None, axis.lacks
        else:
            known = len(column.values) if column.values is not None else 0 if column.missing is None else 1
            takes, stuck = axis.count <= known, axis.start >= known
        if stuck and not takes:
            raise RowError(
                f"column `{axis.name}`: the value is missing, and the model does not take that",
                hint="Fill it in, or give a Pipeline with a step for what is missing (SimpleImputer, for instance).",
            )
        if takes:
            continue
        if isinstance(axis, GridAxis):
            usable[column.feature] = replace(axis.present, missing=None)
        else:
            usable[column.feature] = replace(axis, count=known, allowed=axis.allowed & (1 << known) - 1, missing=None)
    return tuple(usable)


def apply(step: Step, numbers: Floats) -> Floats:
    """One operation on numbers of shape (n,)."""
    if step[0] == "add":
        return numbers + step[1]
    if step[0] == "sub":
        return numbers - step[1]
    if step[0] == "mul":
        return numbers * step[1]
    if step[0] == "div":
        return numbers / step[1]
    if step[0] == "log":
        return np.log(numbers)
    if step[0] == "log1p":
        return np.log1p(numbers)
    if step[0] == "sqrt":
        return np.sqrt(numbers)
    if step[0] == "nonzero":
        return np.where(numbers == 0, np.nan, numbers)
    if step[0] == "clip":
        return np.clip(numbers, *step[1])
    if step[0] == "power":
        return _power(numbers, *step[1])
    if step[0] == "quantile":
        return _quantile(numbers, *step[1])
    edges, values = step[1]
    return np.asarray(values)[np.searchsorted(np.asarray(edges), numbers, side="right")]


def _power(numbers: Floats, method: str, exponent: float) -> Floats:
    """As sklearn.preprocessing.PowerTransformer, before it standardizes."""
    from scipy import special, stats

    made = special.boxcox(numbers, exponent) if method == "box-cox" else stats.yeojohnson(numbers, exponent)
    return np.asarray(made, dtype=np.float64)


_BOUNDS = 1e-7  # BOUNDS_THRESHOLD in sklearn/preprocessing/_data.py


def _quantile(numbers: Floats, quantiles: Sequence[float], references: Sequence[float], normal: bool) -> Floats:
    """As sklearn.preprocessing.QuantileTransformer: the mean of interpolations from both sides, cut off at the ends."""
    x, y = np.asarray(quantiles), np.asarray(references)
    found = 0.5 * (np.interp(numbers, x, y) - np.interp(-numbers, -x[::-1], -y[::-1]))
    found[numbers + _BOUNDS > x[-1] if normal else numbers == x[-1]] = 1.0
    found[numbers - _BOUNDS < x[0] if normal else numbers == x[0]] = 0.0
    if not normal:
        return np.asarray(found, dtype=np.float64)
    from scipy import special

    ends = special.ndtri(np.array([_BOUNDS - np.spacing(1), 1 - (_BOUNDS - np.spacing(1))]))
    return np.asarray(np.clip(special.ndtri(found), *ends))
