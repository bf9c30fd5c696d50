"""Numbers over boxes as quadratic functions of the columns, so that products and squares are not bounded one by one.

In:  linear functions of the columns, exact but for a rest.
Out: `Quadratic`, which follows sums and products of them; `Form`, what is left of one at the end.
Promise: every operation adds what it rounds to the rest, as those of `mace.compilers.enclosures.bounds` do; what is not
a quadratic function, or nearly, is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.compilers.enclosures.ranges import TINY, UNSURE, Floats, Range, unsure


class Form(NamedTuple):
    """f(x) <= high + s d + d' M d, where d = x - c for a row c of each box.

    high: shape (boxes, numbers).    slopes: s, (boxes, columns, numbers).    matrix: M, symmetric,
    (boxes, numbers, columns, columns).
    """

    high: Floats
    slopes: Floats
    matrix: Floats


@dataclass(frozen=True, eq=False)
class Quadratic:
    """f(x) - f(c) is s d + the sum of w_t (l_t d) (r_t d) over terms + a rest, where d = x - c for a row c of each box.

    slopes:  s, any floats, shape (boxes, columns, numbers).
    left, right: l and r, any floats, shape (boxes, columns, terms).
    weights: w, any floats, shape (1 or boxes, terms, numbers); None where each number has one term, with weight 1.
    rest:    bounds on the rest, shape (boxes, numbers).
    reach:   no |d| is larger, shape (boxes, columns).
    """

    slopes: Floats
    left: Floats
    right: Floats
    weights: Floats | None
    rest: Range
    reach: Floats

    @classmethod
    def of_columns(cls, reach: Floats) -> Quadratic:
        """The columns themselves."""
        boxes, columns = reach.shape
        eye, none = np.broadcast_to(np.eye(columns), (boxes, columns, columns)), np.zeros((boxes, columns, 0))
        nothing = Range(np.zeros(reach.shape), np.zeros(reach.shape))
        return cls(eye, none, none, np.zeros((1, 0, columns)), nothing, reach)

    @property
    def linear(self) -> bool:
        """Whether there is no term."""
        return bool(self.left.shape[2] == 0)

    @cached_property
    def moved(self) -> Floats:
        """No |s d| is larger, shape (boxes, numbers)."""
        return self._moved(self.slopes)

    @cached_property
    def size(self) -> Floats:
        """The sum of the magnitudes of all that a number may be changed by but the rest, shape (boxes, numbers)."""
        terms = self._moved(self.left) * self._moved(self.right)
        if self.weights is not None:
            terms = np.matmul(terms[:, None, :], np.abs(self.weights))[:, 0]
        return self.moved + terms

    def _moved(self, slopes: Floats) -> Floats:
        return np.asarray(np.matmul(self.reach[:, None, :], np.abs(slopes))[:, 0])

    def affine(self, weights: Floats) -> Quadratic:
        """Numbers times weights of shape (numbers, results)."""
        rest = self.rest.matrix(weights).wider(unsure(len(weights)) * (self.size @ np.abs(weights)) + TINY)
        terms = weights[None] if self.weights is None else np.matmul(self.weights, weights)
        return replace(self, slopes=self.slopes @ weights, weights=terms, rest=rest)

    def picked(self, where: NDArray[np.intp]) -> Quadratic:
        """Some of the numbers, in an order."""
        slopes, rest = self.slopes[..., where], Range(*(side[..., where] for side in self.rest))
        if self.weights is not None:
            return replace(self, slopes=slopes, weights=self.weights[..., where], rest=rest)
        left, right, weights = self.left[..., where], self.right[..., where], None
        if not left.any():
            left = right = left[..., :0]
            weights = np.zeros((1, 0, len(where)))
        return replace(self, slopes=slopes, left=left, right=right, weights=weights, rest=rest)

    def times(self, other: Quadratic, here: Range, there: Range) -> Quadratic | None:
        """The products of linear functions, which are `here` and `there` at c; None of other ones.

        f g - f(c) g(c) = g(c) (f - f(c)) + f(c) (g - g(c)) + (f - f(c)) (g - g(c)).
        """
        if not (self.linear and other.linear):
            return None
        mine, others = (at.low + (at.high - at.low) / 2 for at in (here, there))
        beside = self.moved * other.rest.size + other.moved * self.rest.size + self.rest.size * other.rest.size
        beside = beside + UNSURE * self.moved * other.moved
        beside = beside + (there.high - there.low + UNSURE * there.size) * self.moved
        beside = beside + (here.high - here.low + UNSURE * here.size) * other.moved
        rest = self.rest.times(there).plus(other.rest.times(here)).wider(beside * (1 + UNSURE) + TINY)
        slopes = self.slopes * others[:, None, :] + other.slopes * mine[:, None, :]
        return Quadratic(slopes, self.slopes, other.slopes, None, rest, self.reach)

    def form(self, at: Range, error: Floats) -> Form:
        """What is left of it where it is `at` at c, and the library's floats may be off by so much."""
        weights = np.eye(self.left.shape[2])[None] if self.weights is None else self.weights
        left = np.moveaxis(weights, 2, 1)[:, :, None, :] * self.left[:, None]
        matrix = np.matmul(left, np.swapaxes(self.right, 1, 2)[:, None])
        high = at.plus(self.rest).high + error
        high = high + unsure(self.left.shape[1] + self.left.shape[2]) * (2 * self.size + np.abs(high)) + TINY
        return Form(high, self.slopes, (matrix + np.swapaxes(matrix, 2, 3)) / 2)


def beside(parts: Sequence[Quadratic | None]) -> Quadratic | None:
    """Numbers beside each other, of the same boxes; None where one of them is not followed."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    slopes = np.concatenate([part.slopes for part in known], axis=2)
    rest = Range(*(np.concatenate(sides, axis=1) for sides in zip(*(part.rest for part in known), strict=True)))
    idle = all(part.linear for part in known)
    if not idle and all(part.weights is None or part.linear for part in known):
        known = [part if part.weights is None else _idle(part) for part in known]
        left, right = (np.concatenate([getattr(part, side) for part in known], axis=2) for side in ("left", "right"))
        return Quadratic(slopes, left, right, None, rest, known[0].reach)
    left, right = (np.concatenate([getattr(part, side) for part in known], axis=2) for side in ("left", "right"))
    own = [np.eye(part.left.shape[2])[None] if part.weights is None else part.weights for part in known]
    weights = np.zeros((max(len(one) for one in own), left.shape[2], slopes.shape[2]))
    row = column = 0
    for one in own:
        weights[:, row : row + one.shape[1], column : column + one.shape[2]] = one
        row, column = row + one.shape[1], column + one.shape[2]
    return Quadratic(slopes, left, right, weights, rest, known[0].reach)


def _idle(part: Quadratic) -> Quadratic:
    """Linear functions with a term each, of nothing."""
    none = np.zeros_like(part.slopes)
    return replace(part, left=none, right=none, weights=None)
