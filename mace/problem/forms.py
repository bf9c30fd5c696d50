"""Sums of absolute values of linear forms: what "closeness" is, beside the program that computes the same.

    d(x) = sum_i | sum_k weights_ik (column_k(x) - column_k(start)) |

In:  a matrix, a row for each form, over the columns that a space encodes.
Out: `Forms`: what each level, or each unit, of a feature adds to every form, exact.
Promise: `Forms.of` is what the distance program returns (tests/oracles/test_forms.py compares).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from mace.base.exact import exact
from mace.space.axes import Axis, GridAxis, Point
from mace.space.columns import Column

Row = tuple[Fraction, ...]  # one number a form


@dataclass(frozen=True)
class Forms:
    """weights: shape (forms, columns); columns: those of the space, in its order."""

    weights: tuple[Row, ...]
    columns: tuple[Column, ...]

    @cached_property
    def per_feature(self) -> dict[int, tuple[Row, ...]]:
        """By feature: of a number one row, per unit of its value; of levels a row for each."""
        found: dict[int, list[list[Fraction]]] = {}
        for k, column in enumerate(self.columns):
            weights = [row[k] for row in self.weights]
            values = [Fraction(1)] if column.values is None else [exact(value) for value in column.values]
            rows = found.setdefault(column.feature, [[Fraction(0)] * len(weights) for _ in values])
            for row, value in zip(rows, values, strict=True):
                if value:
                    row[:] = [old + weight * value for old, weight in zip(row, weights, strict=True)]
        return {feature: tuple(map(tuple, rows)) for feature, rows in found.items()}

    def effects(self, j: int, axis: Axis) -> tuple[Row, ...]:
        """What a feature adds: of a number per unit of its change, of levels each one's change from the start."""
        rows = self.per_feature.get(j)
        if rows is None:
            nothing = (Fraction(0),) * len(self.weights)
            return (nothing,) if isinstance(axis, GridAxis) else (nothing,) * axis.count
        if isinstance(axis, GridAxis):
            return rows
        start = rows[axis.start]
        return tuple(tuple(a - b for a, b in zip(row, start, strict=True)) for row in rows[: axis.count])

    def by_axis(self, axes: Sequence[Axis]) -> list[tuple[Row, ...]]:
        """The effects of all axes."""
        return [self.effects(j, axis) for j, axis in enumerate(axes)]

    def of(self, axes: Sequence[Axis], point: Point) -> Fraction:
        """The distance of a point from the start."""
        sums = [Fraction(0)] * len(self.weights)
        for j, (axis, index) in enumerate(zip(axes, point, strict=True)):
            if index == axis.start or j not in self.per_feature:
                continue
            rows = self.effects(j, axis)
            if isinstance(axis, GridAxis):
                change = axis.value(index) - axis.start_value
                sums = [total + change * slope for total, slope in zip(sums, rows[0], strict=True)]
            else:
                sums = [total + effect for total, effect in zip(sums, rows[index], strict=True)]
        return sum(map(abs, sums), Fraction(0))
