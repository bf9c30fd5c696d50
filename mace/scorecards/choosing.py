"""Several choices of bins at once, with the least sum of costs: depth-first search over single choices.

In:  a `Problem`, an objective, how many, and what any two must not have in common.
Out: `Chosen`: the bins, the sum, and how far the list of single choices had to reach.
Promise: no set that is allowed costs less. A set of K with a member that costs more than r costs more than r plus the
best set of K - 1: so the list need not reach beyond the difference of the two, and where there are many choices it
grows until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline, now
from mace.scorecards.listing import Floor, Singles, floor_of, list_singles, some_singles
from mace.scorecards.pricing import priced
from mace.scorecards.problem import Array, Problem, supports
from mace.solve.compatible import best_from
from mace.solve.compiled import interruptible

STEPS = 10_000_000  # rows looked at between the first two looks at the clock
LATE = 1.1  # of the time left, what the next search may take
FIRST_ROOM = 0.02  # of the bound by prices, within which a set is looked for first
FEW_CHOICES = 20_000  # so few are listed at once, whatever they cost
FIRST_LIST = 0.01  # of what choices exceed the bound by, what those of the first list may
WIDER = 1.25  # times as much as before, what those of the next list may
FEW = 256  # choices, the cheapest ones, that are looked at before all are


class Rules(NamedTuple):
    """What is asked of any two choices, and what their differences are worth.

    features, values: they change different sets of variables; what both change goes to different bins.
    by_features, by_values: the reward for each variable that just one changes, and for each bin that just one takes.
    """

    features: bool = False
    values: bool = False
    by_features: float = 0.0
    by_values: float = 0.0


class Chosen(NamedTuple):
    """A set: bins (K, variables), its cost less the reward, and what single choices may cost at most in it."""

    bins: Array
    cost: float
    reach: float


@dataclass
class _Search:
    """One depth-first search over a list of single choices."""

    singles: Singles
    rules: Rules
    count: int
    deadline: Deadline
    below: float = math.inf
    first: Array | None = None  # another cost, whose sum is at most `room`
    room: float = math.inf
    any_will_do: bool = False
    width: float = math.inf  # members that are tried at each place

    def __post_init__(self) -> None:
        bins = self.singles.bins
        self.moved = bins >= 0
        self.support = supports(self.moved)
        self.best: list[int] | None = None
        self.goes: dict[int, Array] = {}
        most = 2 * int(self.moved.sum(axis=1).max(initial=0))
        self.reward = (self.rules.by_features + self.rules.by_values) * most
        self.rewarded = bool(self.rules.by_features or self.rules.by_values)

    def run(self) -> list[int] | None:
        """The members of a set below `below`, the best of those that `width` lets it see; None without any."""
        self.extend([], np.arange(self.singles.size), 0.0)
        return self.best

    def exact(self) -> list[int] | None:
        """The members of the best set below `below`; None without any. Raises TimeOverError."""
        rules, listed = self.rules, self.singles
        bins, cost = np.ascontiguousarray(listed.bins, np.int64), np.ascontiguousarray(listed.cost, np.float64)
        first = np.zeros(len(cost)) if self.first is None else np.ascontiguousarray(self.first, np.float64)
        found, best = np.full(self.count, -1, np.int64), None
        pairs = self.count * (self.count - 1) // 2
        for start in range(len(cost) - self.count + 1):
            if self.count * float(cost[start]) - pairs * self.reward >= self.below:
                break
            self.deadline.look("choosing a set")
            budget, steps = STEPS, -1
            while steps < 0:
                began = now()
                with interruptible(self.deadline):
                    self.below, steps = best_from(
                        start, bins, cost, first, self.room, self.count, rules.features, rules.values,
                        rules.by_features, rules.by_values, self.reward, self.below, budget, found,
                    )  # fmt: skip
                self.deadline.look("choosing a set")
                left = self.deadline.left()
                pace = budget / max(now() - began, 1e-3)
                # It begins anew: with four times as much, but with no more than there is time for.
                budget = 4 * budget if left is None else min(4 * budget, max(STEPS, int(LATE * left * pace)))
            if found[0] == start:
                best = [int(n) for n in found]
        return best

    def fits(self, n: int) -> Array:
        """Which choices go with one."""
        if n not in self.goes:
            bins, moved = self.singles.bins, self.moved
            good = np.ones(len(bins), bool)
            good[n] = False
            if self.rules.features:
                good &= self.support != self.support[n]
            if self.rules.values:
                own = np.flatnonzero(moved[n])
                good &= ~(bins[:, own] == bins[n, own]).any(axis=1)
            self.goes[n] = good
        return self.goes[n]

    def worth(self, one: int, other: int) -> float:
        """The reward for the differences of two choices."""
        a, b = self.singles.bins[one], self.singles.bins[other]
        alone = int((self.moved[one] != self.moved[other]).sum())
        both = int((self.moved[one] & self.moved[other] & (a != b)).sum())
        return self.rules.by_features * alone + self.rules.by_values * (alone + 2 * both)

    def hopeless(self, left: Array, need: int) -> bool:
        """Whether no so many of these choices go together, because they share too few variables or bins."""
        # What holds of a few of them need not be asked of all.
        for part in (left[:FEW], left):
            few = self.rules.features and len(np.unique(self.support[part])) < need
            if not few and not (self.rules.values and hitting(self.singles.bins[part], need - 1) is not None):
                return False
        return True

    def extend(self, chosen: list[int], left: Array, total: float) -> bool:
        """Add to a set in every way that may cost less than the best; true to stop."""
        self.deadline.look("choosing a set")
        need, cost = self.count - len(chosen), self.singles.cost
        if not need:
            self.best, self.below = chosen, total
            return self.any_will_do
        if len(left) < need or not chosen and need > 1 and self.hopeless(left, need):
            return False
        pairs = need * (need - 1) // 2 + need * len(chosen)
        rest, tried = np.cumsum(np.concatenate([[0.0], cost[left]])), 0
        for place in range(len(left) - need + 1):
            n = int(left[place])
            if total + rest[place + need] - rest[place] - pairs * self.reward >= self.below:
                return False
            worth = sum(self.worth(n, m) for m in chosen) if self.rewarded else 0.0
            after = left[place + 1 :]
            if need > 1:
                after = after[self.fits(n)[after]]
                if len(after) < need - 1 or need > 2 and self.hopeless(after, need - 1):
                    continue
            if tried >= self.width:
                return False
            tried += 1
            if self.extend([*chosen, n], after, total + float(cost[n]) - worth):
                return True
        return False


def hitting(bins: Array, most: int) -> list[tuple[int, int]] | None:
    """At most so many (variable, bin), of which every choice takes one; None if there are none.

    A choice that takes none of them yet must take one of its own: so few branches find them all. Where values must
    differ, no more choices than these go together.
    """
    if not len(bins):
        return []
    if not most:
        return None
    fewest = bins[int((bins >= 0).sum(axis=1).argmin())]
    for j in np.flatnonzero(fewest >= 0):
        found = hitting(bins[bins[:, j] != fewest[j]], most - 1)
        if found is not None:
            return [(int(j), int(fewest[j])), *found]
    return None


def warm() -> None:
    """Compile the search, or read it from disk: no time limit counts that."""
    one = Singles(np.zeros((1, 1), np.int16), np.zeros(1), {}, whole=True)
    _Search(one, Rules(), 1, NEVER).exact()


class _Growing:
    """The cheapest choices that will do, and dearer ones where they are asked for. Raises TimeOverError.

    most: what the choices listed so far cost at most; infinite where these are all.
    """

    floor: Floor
    listed: Singles

    def __init__(self, problem: Problem, objective: Mapping[str, float], count: int, deadline: Deadline) -> None:
        self.problem, self.objective, self.deadline = problem, objective, deadline
        self.floor = floor_of(problem, objective)
        self.at_once = problem.counted <= FEW_CHOICES
        self.some, self.most = some_singles(problem, objective, self.floor), -math.inf
        self.room = self.floor.widest * FIRST_LIST
        self.enough = FEW * count if count > 1 else 1

    def first(self) -> Singles:
        """A list that is long enough to begin with."""
        while self.most == -math.inf or self.listed.size < self.enough and not self.listed.whole:
            self.grown()
        return self.listed

    def grown(self) -> Singles:
        """A longer list."""
        self.room *= WIDER
        most = self.floor.whole.least + self.room
        if self.some.size and self.most < self.some.cost[0]:  # so far there is none for sure
            most = min(most, float(self.some.cost[0]))
        return self.upto(math.inf if self.at_once or self.room >= self.floor.widest else most)

    def upto(self, most: float) -> Singles:
        """The list of choices that cost at most so much, or longer."""
        if most > self.most:
            self.listed = list_singles(self.problem, self.objective, most, self.deadline, self.floor)
            self.most, self.room = most, max(self.room, most - self.floor.whole.least)
        return self.listed

    def worth(self, rules: Rules) -> float:
        """What the differences of any two choices are worth at most."""
        return 2 * self.floor.limit * (rules.by_features + rules.by_values)


def best_set(
    problem: Problem, objective: Mapping[str, float], count: int, rules: Rules, deadline: Deadline,
    seen: Callable[[Chosen], None] = lambda _: None,
) -> Chosen | None:  # fmt: skip
    """The set with the least cost; None if there is none. Raises TimeOverError.

    seen: is given sets of that size that need not be the best.
    """
    if count > problem.counted or rules.values and out_of_reach(problem, count):
        return None
    choices = _Growing(problem, objective, count, deadline)
    if not choices.at_once:
        quick = _Search(choices.some, rules, count, deadline, width=1)
        members = quick.run()
        if members is not None:
            seen(Chosen(choices.some.bins[members], quick.below, math.inf))
    if choices.first().whole and count > 1:
        everything = choices.listed
        if _Search(everything, rules, count, deadline).hopeless(np.arange(everything.size), count):
            return None
    before, found = 0.0, None
    for size in range(1, count + 1):
        known = _by_prices(choices, rules, size) if rules.values and size > 2 and not choices.worth(rules) else None
        if known is not None:
            found = known._replace(reach=known.cost - before)
            if size == count:
                seen(found)
            before = known.cost
            continue
        some = _some(choices, rules, size)
        if some is None:
            return None
        below, members = some.cost, None
        reach = below - before + (size - 1) * choices.worth(rules)
        # Nothing beyond `reach` is in a better set.
        if size == count:
            seen(some._replace(reach=reach))
        near = _cheaper(choices.upto(_with_room(reach)), reach)
        again = _Search(near, rules, size, deadline, below=below)
        members = again.exact()
        reach = again.below - before + (size - 1) * choices.worth(rules)
        found = Chosen(some.bins if members is None else near.bins[members], again.below, reach)
        before = found.cost
    return found


def out_of_reach(problem: Problem, count: int) -> bool:
    """Whether so many choices cannot all reach a score that will do, where each bin is taken once.

    What all of them add to the score is at most the sum of what the best bins add, `count` of each variable.
    """
    now, places = problem.card.score(problem.start), count * problem.most_changes
    for sign, need in ((1, problem.low - now), (-1, now - problem.high)):
        best = [np.sort(sign * gains)[::-1][:count] for gains in problem.gains]
        most = np.sort(np.maximum(np.concatenate(best), 0.0))[::-1][:places].sum()
        if count * (need - 2 * problem.doubt) > most:
            return True
    return False


def _by_prices(choices: _Growing, rules: Rules, count: int) -> Chosen | None:
    """The best set, among the choices that prices leave in it; None where they do not tell."""
    while True:
        listed, found = choices.listed, None
        if listed.size >= count:
            found = priced(listed.bins, listed.cost, count, choices.deadline, features=rules.features)
        if found is None and listed.whole:
            return None
        if found is None:
            choices.grown()
            continue
        room = FIRST_ROOM * max(found.bound, 1e-6)
        # With its prices a choice beyond the list exceeds the least by `choices.most` less that.
        while room < found.excess.max() and found.least + room <= choices.most:
            keep = np.flatnonzero(found.excess <= room)
            near = Singles(listed.bins[keep], listed.cost[keep], {}, whole=False)
            below = found.bound + room
            again = _Search(near, rules, count, choices.deadline, below=below, first=found.excess[keep], room=room)
            members = again.exact()
            if members is not None:
                return Chosen(near.bins[members], again.below, math.inf)
            room *= 2
        if listed.whole:
            return None
        choices.grown()


def _some(choices: _Growing, rules: Rules, count: int, *, any_will_do: bool = False) -> Chosen | None:
    """A set that need not be the best, if there is one: few members are tried at each place, then more, then all."""
    while True:
        search = _Search(choices.listed, rules, count, choices.deadline, any_will_do=any_will_do)
        members = None
        for search.width in (1, 2, 4):
            members = members or search.run()
        if members is None and choices.listed.whole:
            members = search.exact()
        if members is not None:
            return Chosen(choices.listed.bins[members], search.below, math.inf)
        if choices.listed.whole:
            return None
        choices.grown()


def _with_room(most: float) -> float:
    """A little more than a cost, for rounding."""
    return most * (1 + 1e-12) + 1e-12


def _cheaper(singles: Singles, most: float) -> Singles:
    """Those that cost at most so much."""
    end = int(np.searchsorted(singles.cost, _with_room(most)))
    return Singles(singles.bins[:end], singles.cost[:end], {k: v[:end] for k, v in singles.parts.items()}, whole=False)


def any_set(problem: Problem, count: int, rules: Rules, deadline: Deadline) -> bool:
    """Whether there is a set at all."""
    if count > problem.counted or rules.values and out_of_reach(problem, count):
        return False
    choices = _Growing(problem, {"proximity": 1.0}, count, deadline)
    choices.first()
    return _some(choices, rules, count, any_will_do=True) is not None


def next_level(
    problem: Problem,
    first: tuple[str, float],
    second: Mapping[str, float],
    count: int,
    rules: Rules,
    deadline: Deadline,
) -> Chosen | None:
    """The least sum of a second objective over sets whose sum of the first is at most `first[1]`."""
    name, room = first
    singles = list_singles(problem, {name: 1.0}, room, deadline)
    cost = sum((weight * singles.parts[part] for part, weight in second.items()), np.zeros(singles.size))
    order = np.argsort(cost, kind="stable")
    listed = Singles(singles.bins[order], cost[order], {k: v[order] for k, v in singles.parts.items()}, whole=False)
    search = _Search(listed, rules, count, deadline, first=listed.parts[name], room=room)
    members = search.exact()
    return None if members is None else Chosen(listed.bins[members], search.below, math.inf)
