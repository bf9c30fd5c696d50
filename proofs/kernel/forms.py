"""Distances that add the sizes of linear forms, and the multipliers that bound such a sum from below."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from operator import mul
from typing import Any, NamedTuple

from mace.proofs.kernel.axes import Axis, Span
from mace.proofs.kernel.fields import integer, read
from mace.proofs.kernel.floats import need, rational

FINE = 40  # multipliers are integers times 2^-40


class Pull(NamedTuple):
    """What multipliers make of forms, or of rules, in 1 / below: of each level of an axis, of a grid once, per unit.

    constant: what they make of the constants, which counts once: with the first axis.
    """

    axes: Sequence[Axis]
    weights: Sequence[Sequence[int]]
    below: int
    constant: int

    def at(self, j: int, index: int) -> int:
        """What an index of an axis adds; of a grid 0 at the start, but for the constant."""
        once = 0 if j else self.constant
        if not any(self.weights[j]):  # perhaps an axis that may be missing
            return once
        item, change = moved(self.axes[j], index)
        return self.weights[j][item] * change + once

    def least(self, j: int, span: Span) -> int:
        """The least of a span: on a grid what is added is linear, so that an end holds it."""
        return min(self.at(j, index) for index in self.axes[j].ends(span))


class Forms:
    """Forms over the axes: of a grid a factor of its change, of levels the difference of two numbers.

    weights: by axis, and by level (of a grid once, per unit), an integer for each form, in 1 / common.
    constants: what each form is at the start, in 1 / common.
    """

    def __init__(self, data: Sequence[Any], axes: Sequence[Axis]) -> None:
        shapes = tuple(rational if axis.is_grid else (rational,) * axis.count for axis in axes)
        # What a form is at the start comes last, where it is not 0.
        whole = [[*form, "0"] if type(form) is list and len(form) == len(axes) else form for form in data]
        forms = [read(form, (*shapes, rational), f"statement: distance: form {i}") for i, form in enumerate(whole)]
        known = not forms or all(axis.missing is None for axis in axes if axis.is_grid)
        need(known, "statement: distance: a form takes no number that may be missing")
        self.axes, self.count = axes, len(forms)
        exact = [[effects(axis, form[j]) for form in forms] for j, axis in enumerate(axes)]
        starts = [form[-1] for form in forms]
        self.common = lcm(*(q.denominator for row in [starts, *(r for rows in exact for r in rows)] for q in row))
        self.constants = [int(q * self.common) for q in starts]
        self.weights = [
            [[int(row[item] * self.common) for row in rows] for item in range(1 if axis.is_grid else axis.count)]
            for axis, rows in zip(axes, exact, strict=True)
        ]

    def of(self, point: Sequence[int]) -> Fraction:
        """The sum of the sizes of the forms at a point."""
        sums = self.constants
        for j, index in enumerate(point):
            item, change = moved(self.axes[j], index)
            sums = [total + weight * change for total, weight in zip(sums, self.weights[j][item], strict=True)]
        return Fraction(sum(map(abs, sums)), self.common)

    def pull(self, data: Any, where: str) -> Pull | None:
        """What multipliers from -1 to 1, one a form, make of the forms; None where none are given.

        Lemma: |y| >= m y for -1 <= m <= 1. So the forms add at least the sum, over the axes, of what the multipliers
        make of each, of which every axis has its least by itself.
        """
        if data is None:
            return None
        need(len(data) == self.count, f"{where}: forms: expected {self.count} multipliers")
        found = [integer(m, -1 << FINE, 1 << FINE, f"{where}: forms") for m in data]
        weights = [[sum(map(mul, found, item)) for item in items] for items in self.weights]
        return Pull(self.axes, weights, self.common << FINE, sum(map(mul, found, self.constants)))


def effects(axis: Axis, form: Any) -> list[Fraction]:
    """What an axis adds to a form: of a grid per unit, of a level its number less the start's."""
    return [form / axis.unit] if axis.is_grid else [number - form[axis.start] for number in form]


def moved(axis: Axis, index: int) -> tuple[int, int]:
    """Which weights count for an index, and how often."""
    return (0, axis.number(index) - axis.number(axis.start)) if axis.is_grid else (index, 1)
