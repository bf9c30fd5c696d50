"""Intervals of floats, rounded outwards, and what rows of a box are near enough.

In:  arrays of lower and upper bounds.
Out: `Range` and its arithmetic; `Ball`, a budget for how far rows may be from a row of their box.
Promise: every operation moves its bounds outwards by `UNSURE` of the magnitudes that it adds, or more where it adds
many numbers. What overflows is NaN, which bounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ranged: TypeAlias = Callable[["Range"], "Range"]
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


def unsure(count: int) -> float:
    """What share of the magnitudes the sum of so many products may be off by."""
    return max(UNSURE, (count + 8) * 2.0**-51)


@dataclass(frozen=True, eq=False)
class Ball:
    """Rows of boxes that are not too far from their centres: the costs of their columns' changes are no more than that.

    down, up: what it costs to move a column to its least and its largest value, shape (boxes, columns); a part of the
              way costs no less than that part of it.
    left:     what all of them may cost together, shape (boxes,).
    """

    down: Floats
    up: Floats
    left: Floats

    def most(self, down: Floats, up: Floats) -> Floats:
        """The most that all columns bring, and what costs nothing, if there is more; down, up: what each brings there,
        shape (boxes, columns or more, numbers).
        """
        with np.errstate(all="ignore"):
            return self._most(down, up)

    def _most(self, down: Floats, up: Floats) -> Floats:
        free = np.zeros((len(self.left), down.shape[1] - self.down.shape[1]))
        costs = (np.concatenate([cost, free], axis=1)[:, :, None] for cost in (self.down, self.up))
        rates = [np.where(brought > 0, brought / cost, 0.0) for brought, cost in zip((down, up), costs, strict=True)]
        rate, brought = np.maximum(*rates), np.maximum(np.maximum(down, up), 0.0)
        order = np.argsort(-rate, axis=1)
        rate, brought = np.take_along_axis(rate, order, 1), np.take_along_axis(brought, order, 1)
        cost = np.where(brought > 0, brought / rate, 0.0)
        spent = np.minimum(np.cumsum(cost, axis=1), self.left[:, None, None])
        spent[:, 1:] -= spent[:, :-1].copy()
        paid = np.where(cost > 0, spent * rate, brought)
        return np.asarray(np.minimum(paid, brought).sum(axis=1))
