"""Numbers over boxes as polynomials of the columns, so that products, squares and cubes are not bounded one by one.

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

MOST_COLUMNS = 40  # of cubes


class Form(NamedTuple):
    """f(x) <= high + s d + d' M d + the sum of T |d_j d_k d_l|, where d = x - c for a row c of each box.

    high:   shape (boxes, numbers).    slopes: s, (boxes, columns, numbers).
    matrix: M, symmetric, (boxes, numbers, columns, columns).
    third:  T, at least 0, (1 or boxes, numbers, columns, columns, columns); None where there are no cubes.
    """

    high: Floats
    slopes: Floats
    matrix: Floats
    third: Floats | None


@dataclass(frozen=True, eq=False)
class Quadratic:
    """f(x) - f(c) is s d + the sum over terms of w_t ((l_t d) (r_t d) + (k_t d)^3) + a rest.

    Here d = x - c for a row c of each box.

    slopes:  s, any floats, shape (boxes, columns, numbers).
    left, right, cubes: l, r and k, any floats, shape (boxes, columns, terms).
    weights: w, any floats, shape (1 or boxes, terms, numbers); None where each number has one term, with weight 1.
    rest:    bounds on the rest, shape (boxes, numbers).
    reach:   no |d| is larger, shape (boxes, columns).
    """

    slopes: Floats
    left: Floats
    right: Floats
    cubes: Floats
    weights: Floats | None
    rest: Range
    reach: Floats

    @classmethod
    def of_columns(cls, reach: Floats, off: Floats) -> Quadratic:
        """The columns themselves; off: by how much they may lie off the line between two rows, (boxes, columns)."""
        boxes, columns = reach.shape
        eye, none = np.broadcast_to(np.eye(columns), (boxes, columns, columns)), np.zeros((boxes, columns, 0))
        return cls(eye, none, none, none, np.zeros((1, 0, columns)), Range(-off, off), reach)

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
        terms = self._moved(self.left) * self._moved(self.right) + self._moved(self.cubes) ** 3
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
        left, right, cubes, weights = (*(side[..., where] for side in (self.left, self.right, self.cubes)), None)
        if not left.any() and not cubes.any():
            left = right = cubes = left[..., :0]
            weights = np.zeros((1, 0, len(where)))
        return Quadratic(slopes, left, right, cubes, weights, rest, self.reach)

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
        none = np.broadcast_to(0.0, slopes.shape)
        return Quadratic(slopes, self.slopes, other.slopes, none, None, rest, self.reach)

    def cubed(self, at: Range) -> Quadratic | None:
        """The cubes of linear functions, which are `at` at c; None of other ones, and of very many columns.

        f^3 - f(c)^3 = 3 f(c)^2 (f - f(c)) + 3 f(c) (f - f(c))^2 + (f - f(c))^3.
        """
        if not self.linear or self.slopes.shape[1] > MOST_COLUMNS:
            return None
        middle, doubt = at.low + (at.high - at.low) / 2, self.rest.size
        first, second = at.times(at), at.plus(Range(np.zeros_like(at.low), np.zeros_like(at.low)))
        away = self.moved + doubt
        beside = (first.high - first.low + UNSURE * first.size) * away
        beside = beside + (second.high - second.low + UNSURE * second.size) * away**2
        beside = beside + second.size * (2 * self.moved + doubt) * doubt + UNSURE * away**3
        beside = 3 * beside + (3 * self.moved * away + doubt**2) * doubt
        rest = self.rest.times(first).times(Range(np.full_like(doubt, 3.0), np.full_like(doubt, 3.0)))
        steep, bend = 3 * middle[:, None, :] ** 2, 3 * middle[:, None, :]
        return Quadratic(
            self.slopes * steep, self.slopes * bend, self.slopes, self.slopes, None,
            rest.wider(beside * (1 + UNSURE) + TINY), self.reach,
        )  # fmt: skip

    def form(self, at: Range, error: Floats) -> Form:
        """What is left of it where it is `at` at c, and the library's floats may be off by so much."""
        weights = np.eye(self.left.shape[2])[None] if self.weights is None else self.weights
        weights = np.moveaxis(weights, 2, 1)[:, :, None, :]
        matrix = np.matmul(weights * self.left[:, None], np.swapaxes(self.right, 1, 2)[:, None])
        high = at.plus(self.rest).high + error
        high = high + unsure(self.left.shape[1] + self.left.shape[2]) * (3 * self.size + np.abs(high)) + TINY
        return Form(high, self.slopes, (matrix + np.swapaxes(matrix, 2, 3)) / 2, self._third(weights))

    def _third(self, weights: Floats) -> Floats | None:
        """The magnitudes of what the cubes are made of; of all boxes at once where they are alike."""
        if not self.cubes.any():
            return None
        cubes = self.cubes[:1] if (self.cubes == self.cubes[:1]).all() and len(weights) == 1 else self.cubes
        boxes, columns, terms = cubes.shape
        squares = (cubes[:, :, None, :] * cubes[:, None, :, :]).reshape(boxes, 1, columns**2, terms)
        third = np.matmul(squares, np.swapaxes(weights * cubes[:, None], 2, 3))
        return np.asarray(np.abs(third).reshape(boxes, weights.shape[1], columns, columns, columns))


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
        return Quadratic(slopes, *_terms(known), None, rest, known[0].reach)
    left, right, cubes = _terms(known)
    own = [np.eye(part.left.shape[2])[None] if part.weights is None else part.weights for part in known]
    weights = np.zeros((max(len(one) for one in own), left.shape[2], slopes.shape[2]))
    row = column = 0
    for one in own:
        weights[:, row : row + one.shape[1], column : column + one.shape[2]] = one
        row, column = row + one.shape[1], column + one.shape[2]
    return Quadratic(slopes, left, right, cubes, weights, rest, known[0].reach)


def _terms(parts: Sequence[Quadratic]) -> tuple[Floats, Floats, Floats]:
    """What the terms of several are made of, beside each other."""
    left, right, cubes = zip(*((part.left, part.right, part.cubes) for part in parts), strict=True)
    return np.concatenate(left, axis=2), np.concatenate(right, axis=2), np.concatenate(cubes, axis=2)


def _idle(part: Quadratic) -> Quadratic:
    """Linear functions with a term each, of nothing."""
    none = np.zeros_like(part.slopes)
    return replace(part, left=none, right=none, cubes=none, weights=None)
