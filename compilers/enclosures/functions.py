"""Functions of every number by itself, as bounds over boxes: powers, exponentials and the curves of perceptrons.

In:  `Bounds` on numbers.
Out: `Bounds` on the function of each of them.
Promise: as for `mace.compilers.enclosures.bounds`; of a function that bends, the places where it turns away from a line
are looked at, so that its distance from the line is exact but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mace.compilers.enclosures.bounds import Bounds
from mace.compilers.enclosures.ranges import UNSURE, Floats, Range


def squared(x: Bounds) -> Bounds:
    """x * x."""
    return power(x, 2)


def power(x: Bounds, exponent: int) -> Bounds:
    """x ** exponent, a whole number above 0."""
    if exponent == 1:
        return x

    def range_of(values: Range, exponent: int = exponent) -> Range:
        low, high = values.low**exponent, values.high**exponent
        if exponent % 2:
            return Range(low, high)
        inside = (values.low <= 0) & (values.high >= 0)
        return Range(np.where(inside, 0.0, np.minimum(low, high)), np.maximum(low, high))

    def slope_of(values: Range) -> Range:
        found = range_of(values, exponent - 1) if exponent > 2 else values
        return Range(exponent * found.low, exponent * found.high)

    def turns(slope: Floats) -> list[Floats]:
        root = np.abs(slope / exponent) ** (1 / (exponent - 1))
        return [root, -root]

    found = x.mapped(range_of, slope_of, turns)
    if x.change is None or x.change.form is None or found.change is None:
        return found
    form, at = x.change.form, x.change.centre.values
    known = form.times(form, at, at) if exponent == 2 else form.cubed(at) if exponent == 3 else None
    return replace(found, change=replace(found.change, form=known))


def exponential(x: Bounds) -> Bounds:
    """exp(x)."""

    def range_of(values: Range) -> Range:
        return Range(np.exp(values.low), np.exp(values.high))

    return x.mapped(range_of, range_of, lambda slope: [np.log(slope)])


def reciprocal(x: Bounds) -> Bounds:
    """1 / x of numbers above 0; bounds nothing where one may not be."""

    def safe(values: Range) -> Range:
        return Range(np.where(values.low > 0, values.low, np.nan), values.high)

    def range_of(values: Range) -> Range:
        known = safe(values)
        return Range(1 / known.high, 1 / known.low)

    def slope_of(values: Range) -> Range:
        known = safe(values)
        return Range(-1 / known.low**2, -1 / known.high**2)

    return x.mapped(range_of, slope_of, lambda slope: [1 / np.sqrt(-slope)])


def hyperbolic(x: Bounds) -> Bounds:
    """tanh(x)."""

    def range_of(values: Range) -> Range:
        return Range(np.tanh(values.low), np.tanh(values.high))

    def slope_of(values: Range) -> Range:
        return _bell(values, lambda at: 1 - np.tanh(at) ** 2)

    def turns(slope: Floats) -> list[Floats]:
        place = np.arccosh(np.maximum(1.0, 1 / np.sqrt(slope)))  # 1 / cosh(x)^2, however flat it is
        return [place, -place]

    return x.mapped(range_of, slope_of, turns)


def logistic(x: Bounds) -> Bounds:
    """1 / (1 + exp(-x))."""

    def at(numbers: Floats) -> Floats:
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * numbers))

    def range_of(values: Range) -> Range:
        # Where it is nearly 0 the sum of halves has lost its last digits, which is less than UNSURE of 1.
        return Range(at(values.low), at(values.high)).wider(UNSURE)

    def slope_of(values: Range) -> Range:
        return _bell(values, lambda y: at(y) * (1 - at(y)))

    def turns(slope: Floats) -> list[Floats]:
        place = 2 * np.arccosh(np.maximum(1.0, 0.5 / np.sqrt(slope)))
        return [place, -place]

    found = x.mapped(range_of, slope_of, turns)
    return replace(found, error=found.error + UNSURE)


def rectified(x: Bounds) -> Bounds:
    """max(x, 0)."""

    def range_of(values: Range) -> Range:
        return Range(np.maximum(values.low, 0.0), np.maximum(values.high, 0.0))

    def slope_of(values: Range) -> Range:
        return Range((values.low > 0).astype(np.float64), (~(values.high <= 0)).astype(np.float64))

    return x.mapped(range_of, slope_of, lambda slope: [np.zeros_like(slope)])


def _bell(values: Range, function: Callable[[Floats], Floats]) -> Range:
    """Bounds of a function that rises up to 0 and falls from there."""
    near = np.clip(0.0, values.low, values.high)
    far = np.maximum(np.abs(values.low), np.abs(values.high))
    return Range(np.minimum(function(far), function(near)), function(near)).wider(UNSURE)
