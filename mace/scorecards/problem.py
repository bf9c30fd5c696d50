"""What is asked of a scorecard: which bins may be chosen, which scores will do, and what a choice costs.

In:  a `Card`, the bins that the row lies in, what is wanted.
Out: a `Problem`, which says of choices of bins what they cost, and whether their score will do.

A choice is an array of one bin for each variable, -1 where the variable keeps its bin; n choices have shape
(n, variables).

    proximity  sum of w_i |x_i - x'_i| over the variables, x the values of bins, w_i = 1 / range_i
    closeness  sum of |F^T (x' - mu)|, where F F^T is the inverse of the covariance of the training data's values

Source: Navas-Palencia 2021, "Optimal Counterfactual Explanations for Scorecard modelling"; Kanamori et al. 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.scorecards.card import Card

Array = NDArray[Any]
DOUBT = 1e-9  # scores that are nearer to an end are asked of the scorecard itself
ROUNDED = 2.0**-49  # of the size of a score: how far one of its sums may be off
WORD = 62  # variables whose sets are the bits of one whole number
OBJECTIVES = ("proximity", "closeness")
DIFFERENCES = ("diversity_features", "diversity_values")  # between two choices of a set
OUTCOME = "diff_outcome"  # how far the outcome is from a target


def supports(moved: Array) -> Array:
    """A number for the set of variables that each choice moves, shape (n,): the same for the same sets alone."""
    if moved.shape[1] <= WORD:
        return np.asarray(moved @ (1 << np.arange(moved.shape[1], dtype=np.int64)))
    return np.asarray(np.unique(np.packbits(moved, axis=1), axis=0, return_inverse=True)[1]).ravel()


class Near(NamedTuple):
    """What closeness is measured with: F, lower triangular, shape (variables, variables); means, shape (variables,)."""

    factor: Array
    mean: Array

    @classmethod
    def of(cls, values: Array, still: Sequence[bool] = ()) -> Near | None:
        """From the training table, shape (rows, variables); None where its columns depend on each other linearly.

        still: which variables have the same value in all bins, so that no choice moves them: they count nothing.
        """
        if len(values) <= values.shape[1]:
            return None
        spread = values.max(axis=0) > values.min(axis=0)
        if not spread.all():
            if any(still) and bool((spread | np.asarray(still)).all()) and spread.any():
                rest = cls.of(values[:, spread])
                return None if rest is None else cls(_placed(rest.factor, spread), values.mean(axis=0))
            return None
        # Rounding leaves a little of a spread that is none: its inverse would be about 1e16.
        if np.linalg.matrix_rank((values - values.mean(axis=0)) / values.std(axis=0)) < values.shape[1]:
            return None
        try:
            factor = np.linalg.cholesky(np.linalg.inv(np.atleast_2d(np.cov(values, rowvar=False))))
        except np.linalg.LinAlgError:
            return None
        return cls(factor, values.mean(axis=0))


def _placed(factor: Array, kept: NDArray[np.bool_]) -> Array:
    """A square array whose rows and columns belong to some of the variables, among all of them; 0 elsewhere."""
    found = np.zeros((len(kept), len(kept)))
    found[np.ix_(kept, kept)] = factor
    return found


def tied(values: Array) -> int | None:
    """The first column of a table, shape (rows, variables), that follows from those before it; None where none does."""
    even = values - values.mean(axis=0)
    spread = even.std(axis=0)
    even = even / np.where(spread > 0, spread, 1.0)
    return next((k for k in range(even.shape[1]) if np.linalg.matrix_rank(even[:, : k + 1]) <= k), None)


@dataclass(frozen=True)
class Problem:
    """One row, and what is wanted for it.

    choices:  for each variable the bins that it may move to.
    low, high: the scores that will do, ends included up to `doubt`, within which `accepts` decides.
    unsure:   what is added to `doubt`, where an outcome rounds more than a score.
    target:   an outcome to come near to, with its weight; None without.
    """

    card: Card
    start: tuple[int, ...]
    choices: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]
    near: Near | None
    most_changes: int
    low: float = -math.inf
    high: float = math.inf
    unsure: float = 0.0
    target: tuple[float, float] | None = None
    accepts: Any = field(default=None, compare=False, repr=False)

    @cached_property
    def values(self) -> list[Array]:
        """The values of the bins of each variable."""
        return [np.array([one.value for one in v.bins]) for v in self.card.variables]

    @cached_property
    def doubt(self) -> float:
        """How near to an end of what will do a score is in doubt: `DOUBT`, and more where scores are large."""
        sizes = [abs(v.coefficient) * max(abs(one.value) for one in v.bins) for v in self.card.variables]
        scored = max(DOUBT, ROUNDED * (len(sizes) + 2) * math.fsum((abs(self.card.intercept), *sizes)))
        return self.unsure + scored

    @cached_property
    def gains(self) -> list[Array]:
        """What each choice adds to the score, for each variable."""
        return [
            v.coefficient * (self.values[j][list(self.choices[j])] - self.values[j][self.start[j]])
            for j, v in enumerate(self.card.variables)
        ]

    @cached_property
    def steps(self) -> list[Array]:
        """What each choice costs in proximity, for each variable."""
        return [
            self.weights[j] * np.abs(self.values[j][list(self.choices[j])] - self.values[j][self.start[j]])
            for j in range(len(self.card.variables))
        ]

    @property
    def counted(self) -> int:
        """How many choices there are, whatever their score."""
        ways = [1] + [0] * self.most_changes  # by how many variables they move
        for choice in self.choices:
            ways = [one + len(choice) * fewer for one, fewer in zip(ways, [0, *ways], strict=False)]
        return sum(ways)

    def proximity(self, bins: Array) -> Array:
        """What each choice costs in proximity, shape (n,)."""
        total = np.zeros(len(bins))
        for j, (values, now) in enumerate(zip(self.values, self.start, strict=True)):
            total += self.weights[j] * np.abs(values[np.where(bins[:, j] < 0, now, bins[:, j])] - values[now])
        return total

    def closeness(self, bins: Array) -> Array:
        """What each choice costs in closeness, shape (n,); 0 where it is not measured."""
        if self.near is None:
            return np.zeros(len(bins))
        values = np.empty(bins.shape)
        for j, own in enumerate(self.values):
            values[:, j] = own[np.where(bins[:, j] < 0, self.start[j], bins[:, j])]
        found: Array = np.abs((values - self.near.mean) @ self.near.factor).sum(axis=1)
        return found

    def scores(self, bins: Array) -> Array:
        """The score of each choice, shape (n,)."""
        total = np.full(len(bins), self.card.score(self.start))
        for j, variable in enumerate(self.card.variables):
            own, now = self.values[j], self.start[j]
            total += variable.coefficient * (own[np.where(bins[:, j] < 0, now, bins[:, j])] - own[now])
        return total

    def far(self, score: Array) -> Array:
        """What the distance of the outcome from the target costs."""
        if self.target is None:
            return np.zeros(len(score))
        wanted, weight = self.target
        with np.errstate(over="ignore"):
            outcome = score if self.card.target == "continuous" else 1 / (1 + np.exp(-score))
        found: Array = weight * np.abs(outcome - wanted)
        return found

    def sure(self, bins: Array, score: Array) -> Array:
        """Which choices have a score that will do; where it is in doubt the scorecard is asked."""
        inside: Array = (score > self.low + self.doubt) & (score < self.high - self.doubt)
        for n in np.flatnonzero(~inside):
            inside[n] = self.accepts(self.places(bins[n]))
        return inside

    def places(self, bins: Sequence[int]) -> tuple[int, ...]:
        """A choice as the bin of every variable."""
        return tuple(int(s if b < 0 else b) for b, s in zip(bins, self.start, strict=True))

    def changed(self, bins: Sequence[int]) -> Iterator[int]:
        """The variables that a choice moves."""
        return (j for j, b in enumerate(bins) if b >= 0)
