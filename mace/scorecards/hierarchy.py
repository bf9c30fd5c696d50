"""Objectives and soft constraints of a set in order of priority, as `method="hierarchical"` asks.

In:  a `Problem`; the objectives (minimised, but differences between choices are maximised), the most important first;
     by how much each may be worse for the sake of later ones; what any two choices must not have in common.
Out: the `Chosen` set that is best at the last level.
Promise: at each level no set is better among those that keep within the limits of the earlier ones. The first objective
mostly leaves few choices, so that all sets of them are enumerated; the last members of a set are compared in one array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mace.base.deadline import Deadline
from mace.scorecards.choosing import Chosen, Rules, best_set
from mace.scorecards.listing import Singles, list_singles
from mace.scorecards.problem import DIFFERENCES, OBJECTIVES, OUTCOME, Array, Problem

ROUNDING = 1e-9


def allowed(least: float, tolerance: float) -> float:
    """What an objective may be for the sake of later ones: its least, worse by a share of itself and by rounding."""
    return least + max(tolerance * abs(least), ROUNDING)


def by_priority(
    problem: Problem, names: Sequence[str], count: int, rules: Rules, tolerance: float, deadline: Deadline,
    seen: Callable[[Chosen], None],
) -> Chosen | None:  # fmt: skip
    """The set that the objectives leave, one after the other; None if there is none. Raises TimeOverError.

    names: of `OBJECTIVES`, OUTCOME, and of DIFFERENCES, of which more is better.
    """
    first, limits, plain = names[0], dict[str, float](), replace(problem, target=None)
    if first in OBJECTIVES:
        best = best_set(plain, {first: 1.0}, count, rules, deadline, seen)
    elif first == OUTCOME:
        best = best_set(problem, {}, count, rules, deadline, seen)
    else:
        rewarded = rules._replace(by_features=float(first == DIFFERENCES[0]), by_values=float(first == DIFFERENCES[1]))
        best = best_set(plain, {}, count, rewarded, deadline, seen)
    if best is None:
        return None
    limits[first] = allowed(best.cost, tolerance)
    singles = list_singles(plain, {first: 1.0}, limits[first] if first in OBJECTIVES else math.inf, deadline)
    singles.parts[OUTCOME] = problem.far(problem.scores(singles.bins))
    for name in names[1:]:
        search = _Search(singles, rules, count, limits, name, deadline)
        search.extend([], np.arange(singles.size), dict.fromkeys(names, 0.0))
        assert search.best is not None, "what an earlier objective reached is out of reach for a later one"
        limits[name] = allowed(search.least, tolerance)
        best = Chosen(singles.bins[search.best], search.least, math.inf)
        seen(best)
    return best


@dataclass
class _Search:
    """All sets of listed choices, for the one with the least of `aim`; sums of others stay within `limits`."""

    singles: Singles
    rules: Rules
    count: int
    limits: dict[str, float]
    aim: str
    deadline: Deadline
    least: float = math.inf
    best: list[int] | None = None
    ends: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.moved = self.singles.bins >= 0
        # What one more member adds at least: of differences, from each of those that it stands beside.
        most = {DIFFERENCES[0]: 1, DIFFERENCES[1]: 2}
        wide = int(self.moved.sum(axis=1).max(initial=0)) * 2
        for name in {*self.limits, self.aim}:
            known = self.singles.parts.get(name)
            self.ends[name] = -float(most[name] * wide) if known is None else float(known.min(initial=math.inf))

    def extend(self, chosen: list[int], left: Array, sums: dict[str, float]) -> None:
        """Try every way to add to a set."""
        self.deadline.look("choosing a set")
        if len(left) < self.count - len(chosen):
            return
        totals = {name: sums[name] + self.added(name, chosen, left) for name in self.ends}
        more = self.count - len(chosen) - 1  # after the next member
        beside = sum(range(len(chosen) + 1, self.count))  # pairs that these make
        good = np.ones(len(left), bool)
        for name, total in totals.items():
            rest = self.ends[name] * (beside if name in DIFFERENCES else more)
            good &= total + rest <= self.limits.get(name, math.inf)
            if name == self.aim:
                good &= total + rest < self.least
        for place in np.flatnonzero(good):
            if not more:
                self.take(chosen, left[good], totals[self.aim][good])
                return
            n = int(left[place])
            after = left[place + 1 :]
            self.extend([*chosen, n], after[self.goes(n, after)], {k: float(v[place]) for k, v in totals.items()})

    def take(self, chosen: list[int], last: Array, value: Array) -> None:
        """The best of sets that have all members but the last in common."""
        place = int(np.argmin(value))
        if value[place] < self.least:
            self.least, self.best = float(value[place]), [*chosen, int(last[place])]

    def added(self, name: str, chosen: list[int], left: Array) -> Array:
        """What each choice adds to a sum, beside those that are chosen."""
        if name not in DIFFERENCES:
            return self.singles.parts[name][left]
        total = np.zeros(len(left))
        bins, moved = self.singles.bins, self.moved
        for n in chosen:
            total += (moved[left] != moved[n]).sum(axis=1)
            if name == DIFFERENCES[1]:
                total += 2 * (moved[left] & moved[n] & (bins[left] != bins[n])).sum(axis=1)
        return -total

    def goes(self, n: int, left: Array) -> Array:
        """Which choices may stand beside one."""
        bins, moved, good = self.singles.bins, self.moved, np.ones(len(left), bool)
        if self.rules.features:
            good &= (moved[left] != moved[n]).any(axis=1)
        if self.rules.values:
            good &= ~(moved[n] & (bins[left] == bins[n])).any(axis=1)
        return good
