"""What is asked of a scorecard: which bins may be chosen, which scores will do, and what a choice costs.

In:  a `Card`, the bins that the row lies in, what is wanted.
Out: `Problem`, and `Singles`: every choice of bins whose score will do, the cheapest first.

    proximity  sum of w_i |x_i - x'_i| over the variables, x the values of bins, w_i = 1 / range_i
    closeness  sum of |F^T (x' - mu)|, where F F^T is the inverse of the covariance of the training data's values

Source: Navas-Palencia 2021, "Optimal Counterfactual Explanations for Scorecard modelling"; Kanamori et al. 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import Deadline
from mace.errors import MaceError
from mace.scorecards.card import Card

Array = NDArray[Any]
MOST_SINGLES = 3_000_000
DOUBT = 1e-9  # scores that are nearer to an end are asked of the scorecard itself
ROUNDED = 2.0**-49  # of the size of a score: how far one of its sums may be off
WORD = 62  # variables whose sets are the bits of one whole number
OBJECTIVES = ("proximity", "closeness")


def supports(moved: Array) -> Array:
    """A number for the set of variables that each choice moves, shape (n,): the same for the same sets alone."""
    if moved.shape[1] <= WORD:
        return np.asarray(moved @ (1 << np.arange(moved.shape[1], dtype=np.int64)))
    return np.asarray(np.unique(np.packbits(moved, axis=1), axis=0, return_inverse=True)[1]).ravel()


class Near(NamedTuple):
    """What closeness is measured with: F (lower triangular) and the means, both shape (variables, ..)."""

    factor: Array
    mean: Array


class Singles(NamedTuple):
    """Choices of bins, the cheapest first: shape (n, variables), -1 where a variable stays; and their costs, (n,).

    whole: whether these are all choices whose score will do.
    """

    bins: Array
    cost: Array
    parts: dict[str, Array]
    whole: bool

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.cost)


@dataclass(frozen=True)
class Problem:
    """One row, and what is wanted for it.

    choices:  for each variable the bins that it may move to.
    low, high: the scores that will do, ends included up to `doubt`, within which `accepts` decides.
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
        return max(DOUBT, ROUNDED * (len(sizes) + 2) * math.fsum((abs(self.card.intercept), *sizes)))

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

    def singles(self, objective: Mapping[str, float], most: float, deadline: Deadline, changes: int = -1) -> Singles:
        """All choices that will do and cost at most `most` by a weighted sum of objectives; raises TimeOverError.

        changes: at most so many, where that is fewer than the problem allows.
        """
        limit = self.most_changes if changes < 0 else min(changes, self.most_changes)
        movable = [j for j, choice in enumerate(self.choices) if choice]
        found, total = [], 0
        for size in range(min(limit, len(movable)) + 1):
            for support in combinations(movable, size):
                deadline.look("listing the choices of bins")
                one = self._of(support, objective, most)
                if one is not None:
                    total += len(one.cost)
                    found.append(one)
                if total > MOST_SINGLES:
                    raise MaceError(f"more than {MOST_SINGLES:,} choices of bins", hint="Allow fewer changes.")
        parts = {
            name: np.concatenate([one.parts[name] for one in found] or [np.zeros(0)]) for name in (*OBJECTIVES, "far")
        }
        bins = np.concatenate([one.bins for one in found] or [np.zeros((0, len(self.choices)), np.int16)])
        cost = np.concatenate([one.cost for one in found] or [np.zeros(0)])
        order = np.lexsort((*bins.T[::-1], cost))
        return Singles(
            bins[order], cost[order], {k: v[order] for k, v in parts.items()},
            most == math.inf and limit >= min(self.most_changes, len(movable)),
        )  # fmt: skip

    def _of(self, support: Sequence[int], objective: Mapping[str, float], most: float) -> Singles | None:
        """The choices that change just these variables."""
        by = objective.get("proximity", 0.0)
        bins = np.full((1, len(self.choices)), -1, np.int16)
        near, score = np.zeros(1), np.full(1, self.card.score(self.start))
        room = [(self.gains[j].max(), self.gains[j].min(), self.steps[j].min()) for j in support]
        for n, j in enumerate(support):
            up, down, least = (sum(part) for part in zip(*room[n + 1 :], strict=True)) if room[n + 1 :] else (0, 0, 0)
            count = len(self.choices[j])
            near = (near[:, None] + self.steps[j]).ravel()
            score = (score[:, None] + self.gains[j]).ravel()
            bins = np.repeat(bins, count, axis=0)
            bins[:, j] = np.tile(np.array(self.choices[j], np.int16), len(bins) // count)
            keep = (score + up >= self.low - self.doubt) & (score + down <= self.high + self.doubt)
            keep &= by * (near + least) <= most
            bins, near, score = bins[keep], near[keep], score[keep]
            if not len(near):
                return None
        if not support and not self.low - self.doubt <= score[0] <= self.high + self.doubt:
            return None
        parts = {"proximity": near, "closeness": self.closeness(bins), "far": self.far(score)}
        cost = sum((objective.get(name, 0.0) * parts[name] for name in OBJECTIVES), np.zeros(len(near))) + parts["far"]
        keep = (cost <= most) & self._sure(bins, score)
        return Singles(bins[keep], cost[keep], {k: v[keep] for k, v in parts.items()}, whole=False)

    def closeness(self, bins: Array) -> Array:
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

    def _sure(self, bins: Array, score: Array) -> Array:
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
