"""Bounds on numbers that a model computes, over many boxes of rows at once.

In:  bounds on the columns of each box.
Out: `Bounds` on whatever is computed from them: on the number itself, on its derivatives by the columns, and on how far
     the library's float of it may lie from it.
Promise: every operation moves its bounds outwards by `UNSURE` of the magnitudes that it adds, or more where it adds
many numbers: that is more than the rounding of any order of summation, of a fused multiply-add and of a function of a
libm that errs by some hundred units in the last place, here and in the library. What overflows is NaN, which bounds
nothing: whoever compares asks for what is certainly so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
UNSURE = 2.0**-40
TINY = 1e-290  # what underflows


class Range(NamedTuple):
    """Lower and upper bounds, of one shape."""

    low: Floats
    high: Floats

    @property
    def size(self) -> Floats:
        """The largest magnitude."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def wider(self, by: Floats | float) -> Range:
        """Moved outwards."""
        return Range(self.low - by, self.high + by)

    def rounded(self) -> Range:
        """Moved outwards by what one operation may round."""
        return self.wider(UNSURE * self.size + TINY)

    def times(self, other: Range) -> Range:
        """The product, entry by entry; shapes are broadcast."""
        ends = [a * b for a in self for b in other]
        return Range(np.minimum.reduce(ends), np.maximum.reduce(ends)).rounded()

    def plus(self, other: Range) -> Range:
        """The sum."""
        size = self.size + other.size
        return Range(self.low + other.low, self.high + other.high).wider(UNSURE * size + TINY)

    def matrix(self, weights: Floats) -> Range:
        """Products with a matrix of numbers, from the right."""
        up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
        margin = unsure(len(weights)) * (self.size @ np.abs(weights)) + TINY
        return Range(self.low @ up + self.high @ down, self.high @ up + self.low @ down).wider(margin)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on some numbers, over some boxes.

    values: of the numbers, as they are without rounding; shape (boxes, numbers).
    error:  how far the library's floats of them may lie from them; the same shape.
    slopes: of their derivatives by the columns, shape (boxes, columns, numbers); None where they have none, or where
            nobody asks.
    """

    values: Range
    error: Floats
    slopes: Range | None = None

    @classmethod
    def of_columns(cls, values: Range, *, slopes: bool) -> Bounds:
        """The columns themselves, which the library is given as they are."""
        boxes, columns = values.low.shape
        own = np.broadcast_to(np.eye(columns), (boxes, columns, columns)) if slopes else None
        return cls(values, np.zeros((boxes, columns)), None if own is None else Range(own, own))

    @property
    def said(self) -> Range:
        """Bounds on the library's floats."""
        return self.values.wider(self.error)

    def steeper(self, slopes: Callable[[Range], Range]) -> Range | None:
        """What becomes of the slopes, where there are any."""
        return None if self.slopes is None else slopes(self.slopes)

    def affine(self, weights: Floats, bias: Floats) -> Bounds:
        """Numbers times weights of shape (numbers, results), plus bias of shape (results,)."""
        found, size = self.values.matrix(weights), self.error @ np.abs(weights)
        margin = unsure(len(weights)) * (self.values.size @ np.abs(weights) + size + np.abs(bias)) + TINY
        values = Range(found.low + bias, found.high + bias).wider(margin)
        return Bounds(values, size + 2 * margin, self.steeper(lambda own: own.matrix(weights)))

    def scaled(self, by: float) -> Bounds:
        """Every number times one."""

        def times(own: Range) -> Range:
            ends = own.low * by, own.high * by
            return Range(*(ends if by >= 0 else ends[::-1])).rounded()

        values = times(self.values)
        error = abs(by) * self.error
        return Bounds(values, error + UNSURE * (values.size + error) + TINY, self.steeper(times))

    def mapped(self, range_of: Callable[[Range], Range], slope_of: Callable[[Range], Range]) -> Bounds:
        """A function of every number by itself.

        range_of: bounds of the number -> of the function.    slope_of: -> of its derivative there.
        """
        values = range_of(self.values).rounded()
        steep = slope_of(self.said).rounded()
        error = self.error * steep.size + UNSURE * values.size + 2 * TINY

        def chained(own: Range) -> Range:
            return own.times(Range(*(side[:, None, :] for side in steep)))

        return Bounds(values, error, self.steeper(chained))

    def rising(self, function: Callable[[Floats], Floats], slope_of: Callable[[Range], Range]) -> Bounds:
        """As `mapped`, of a function that never falls."""
        return self.mapped(lambda x: Range(function(x.low), function(x.high)), slope_of)

    def times(self, other: Bounds) -> Bounds:
        """The product, number by number."""
        values, sizes = self.values.times(other.values), (self.values.size, other.values.size)
        error = sizes[0] * other.error + sizes[1] * self.error + self.error * other.error
        slopes = None
        if self.slopes is not None and other.slopes is not None:
            here, there = (Range(*(side[:, None, :] for side in one.values)) for one in (self, other))
            slopes = self.slopes.times(there).plus(other.slopes.times(here))
        return Bounds(values, error + UNSURE * (values.size + error) + TINY, slopes)

    def picked(self, places: Sequence[int] | NDArray[np.intp]) -> Bounds:
        """Some of the numbers, in an order."""
        where = np.asarray(places, dtype=np.intp)
        values = Range(*(side[:, where] for side in self.values))
        return Bounds(
            values, self.error[:, where], self.steeper(lambda own: Range(*(side[..., where] for side in own)))
        )


def joined(parts: Sequence[Bounds]) -> Bounds:
    """Numbers beside each other, of the same boxes."""

    def beside(sides: Sequence[Range]) -> Range:
        return Range(*(np.concatenate(several, axis=-1) for several in zip(*sides, strict=True)))

    slopes = [part.slopes for part in parts]
    known = [one for one in slopes if one is not None]
    return Bounds(
        beside([part.values for part in parts]),
        np.concatenate([part.error for part in parts], axis=1),
        beside(known) if len(known) == len(parts) else None,
    )


def unsure(count: int) -> float:
    """What share of the magnitudes the sum of so many products may be off by."""
    return max(UNSURE, (count + 8) * 2.0**-51)


# ------------------------------------------------------------------------------------------------- functions


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

    return x.mapped(range_of, slope_of)


def exponential(x: Bounds) -> Bounds:
    """exp(x)."""
    return x.rising(np.exp, lambda values: Range(np.exp(values.low), np.exp(values.high)))


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

    return x.mapped(range_of, slope_of)


def hyperbolic(x: Bounds) -> Bounds:
    """tanh(x)."""
    return x.rising(np.tanh, lambda values: _bell(values, lambda at: 1 - np.tanh(at) ** 2))


def logistic(x: Bounds) -> Bounds:
    """1 / (1 + exp(-x))."""

    def at(numbers: Floats) -> Floats:
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * numbers))

    # Where it is nearly 0 the sum of halves has lost its last digits, which is less than UNSURE of 1.
    found = x.rising(at, lambda values: _bell(values, lambda y: at(y) * (1 - at(y))))
    return replace(found, values=found.values.wider(UNSURE), error=found.error + UNSURE)


def rectified(x: Bounds) -> Bounds:
    """max(x, 0)."""
    return x.rising(
        lambda at: np.maximum(at, 0.0),
        lambda values: Range((values.low > 0).astype(np.float64), (~(values.high <= 0)).astype(np.float64)),
    )


def _bell(values: Range, function: Callable[[Floats], Floats]) -> Range:
    """Bounds of a function that rises up to 0 and falls from there."""
    near = np.clip(0.0, values.low, values.high)
    far = np.maximum(np.abs(values.low), np.abs(values.high))
    return Range(np.minimum(function(far), function(near)), function(near)).wider(UNSURE)


# ------------------------------------------------------------------------------------------------- the whole


class Tight(NamedTuple):
    """What a function of the columns may be over boxes.

    said:  bounds on the library's floats, shape (boxes, numbers).
    share: what each column may move any of them by, shape (boxes, columns); None where no slopes are known.
    """

    said: Range
    share: Floats | None


def over(function: Callable[[Bounds], Bounds], columns: Range) -> Tight:
    """Bounds of a function over boxes: those of its operations, and those around the middle of each box."""
    with np.errstate(all="ignore"):
        found = function(Bounds.of_columns(columns, slopes=True))
        said = found.said
        if found.slopes is None:
            return Tight(said, None)
        middle = columns.low + (columns.high - columns.low) / 2
        at = function(Bounds.of_columns(Range(middle, middle), slopes=False))
        away = np.maximum(columns.high - middle, middle - columns.low)
        away = (away * (1 + UNSURE) + TINY)[:, :, None] * (found.slopes.size * (1 + UNSURE) + TINY)
        near = at.values.wider(away.sum(axis=1) * (1 + unsure(away.shape[1])) + found.error)
        return Tight(Range(np.fmax(said.low, near.low), np.fmin(said.high, near.high)), away.max(axis=2))
