"""All choices of bins that will do and cost at most so much, without looking at most of the others.

In:  a `Problem`, an objective, the most that a choice may cost.
Out: `Singles`: these choices, the cheapest first.
Promise: no choice that will do and costs at most that is left out, whatever the linear program said: any multipliers
give a bound.

For any multipliers >= 0 of the score's ends and of the number of changes, and any signs in [-1, 1] of the forms of
closeness, what a choice costs is at least a constant plus what each variable's bin exceeds that variable's least. The
multipliers that make the constant large are those of the linear relaxation. Variables are decided one after the other;
what the bins decided so far exceed may be no more than the most allows. Of closeness, whose factor is a lower triangle,
each form reads a variable and those after it: with the last variable decided first, its size is known once these are.
Source: Lagrangian relaxation, reduced cost fixing; Fincke and Pohst 1985 for the triangle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from mace.base.deadline import Deadline, TimeOverError
from mace.scorecards.problem import OBJECTIVES, Array, Problem

MOST_SINGLES = 3_000_000
CHUNK = 20_000  # choices that are gone on with at once
BEAM = 1000  # choices that a beam search goes on with
SAFE = 1e-9  # of the numbers that a bound adds up, for rounding


class TooManyError(TimeOverError):
    """More choices of bins than are listed: a limit as that of time is, and no error of the user."""


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


class Multipliers(NamedTuple):
    """What the linear relaxation says: of the least score, the greatest one, the number of changes, and each form."""

    low: float
    high: float
    changes: float
    forms: Array


class Bound(NamedTuple):
    """No choice that will do costs less than `least` plus what its bins exceed.

    stay:   for each variable what staying exceeds.
    excess: for each variable and each of its choices what that exceeds; all are >= 0.
    """

    least: float
    stay: Array
    excess: list[Array]


class Floor(NamedTuple):
    """Bounds from below of what choices cost.

    whole:  of the cost.
    near:   of what proximity costs alone, beside which forms that are known are counted exactly.
    forms:  of closeness, weighted, shape (forms, variables); away: what each is at the start.
    widest: by how much a choice exceeds `whole.least` at most.
    limit:  how many variables may change.
    """

    whole: Bound
    near: Bound
    forms: Array
    away: Array
    widest: float
    limit: int


class Batch(NamedTuple):
    """Choices: bins (n, variables), -1 where a variable stays, and the score of each, (n,)."""

    bins: Array
    score: Array


def list_singles(
    problem: Problem, objective: Mapping[str, float], most: float, deadline: Deadline, floor: Floor | None = None
) -> Singles:
    """All choices that will do and cost at most `most` by a weighted sum of objectives.

    floor: that of the objective, where it is known.
    Raises TimeOverError, and TooManyError where there are more than `MOST_SINGLES`.
    """
    none = Batch(np.zeros((0, len(problem.choices)), np.int16), np.zeros(0))
    found, total = [_of(problem, none, objective, most)], 0
    for batch in _listed(problem, floor_of(problem, objective) if floor is None else floor, most, deadline):
        found.append(_of(problem, batch, objective, most))
        total += found[-1].size
        if total > MOST_SINGLES:
            raise TooManyError(f"more than {MOST_SINGLES:,} choices of bins")
    return _sorted(found, whole=most == math.inf)


def some_singles(problem: Problem, objective: Mapping[str, float], floor: Floor) -> Singles:
    """Choices that will do, quickly: those that a beam search leaves; there may be others, and cheaper ones."""
    return _sorted([_of(problem, _near_ones(problem, floor), objective, math.inf)], whole=False)


def _of(problem: Problem, batch: Batch, objective: Mapping[str, float], most: float) -> Singles:
    """Those of a batch that will do and cost at most `most`."""
    parts = {
        "proximity": problem.proximity(batch.bins), "closeness": problem.closeness(batch.bins),
        "far": problem.far(batch.score),
    }  # fmt: skip
    cost = sum((objective.get(name, 0.0) * parts[name] for name in OBJECTIVES), parts["far"])
    keep = np.flatnonzero(cost <= most)
    keep = keep[problem.sure(batch.bins[keep], batch.score[keep])]
    return Singles(batch.bins[keep], cost[keep], {k: v[keep] for k, v in parts.items()}, whole=False)


def _sorted(found: Sequence[Singles], *, whole: bool) -> Singles:
    """All of them in one list, the cheapest first."""
    bins, cost = np.concatenate([one.bins for one in found]), np.concatenate([one.cost for one in found])
    order = np.lexsort((*bins.T[::-1], cost))
    parts = {name: np.concatenate([one.parts[name] for one in found])[order] for name in (*OBJECTIVES, "far")}
    return Singles(bins[order], cost[order], parts, whole)


# --- bounds ----------------------------------------------------------------------------------------------------------


def floor_of(problem: Problem, objective: Mapping[str, float]) -> Floor:
    """The bounds that linear relaxations give."""
    limit = min(problem.most_changes, sum(map(bool, problem.choices)))
    forms, away = _forms(problem, objective)
    by = objective.get("proximity", 0.0)
    whole = _bound(problem, by, forms, away, limit)
    near = _bound(problem, by, forms[:0], away[:0], limit) if len(forms) else whole
    highest = math.fsum(by * float(steps.max(initial=0.0)) for steps in problem.steps)
    highest += float(np.abs(away).sum())
    for j, moved in enumerate(_moves(problem)):
        highest += float(np.abs(forms[:, j]).sum()) * float(np.abs(moved).max(initial=0.0))
    return Floor(whole, near, forms, away, highest + _farthest(problem) - whole.least, limit)


def _farthest(problem: Problem) -> float:
    """What the distance from the target costs at most."""
    if problem.target is None:
        return 0.0
    wanted, weight = problem.target
    if problem.card.target == "binary":
        return weight
    scores = (
        abs(v.coefficient) * float(np.abs(own).max())
        for v, own in zip(problem.card.variables, problem.values, strict=True)
    )
    return weight * math.fsum((abs(wanted), abs(problem.card.intercept), *scores))


def _moves(problem: Problem) -> list[Array]:
    """By how much each choice moves the value of its variable."""
    return [
        own[list(choice)] - own[now]
        for own, choice, now in zip(problem.values, problem.choices, problem.start, strict=True)
    ]


def _bound(problem: Problem, by: float, forms: Array, away: Array, limit: int) -> Bound:
    """The bound of `by` times the proximity, plus the sizes of the forms."""
    found, now = _relaxed(problem, by, forms, away, limit), problem.card.score(problem.start)
    slopes, sizes = found.forms @ forms, [float(abs(found.forms) @ abs(away)), found.changes * limit]
    least, stays, excess = float(found.forms @ away) - found.changes * limit, [], []
    for end, factor, sign in ((problem.low, found.low, 1), (problem.high, found.high, -1)):
        if factor:
            least += sign * factor * (end - now)
            sizes.append(factor * (abs(end) + abs(now)))
    for j, (steps, moved) in enumerate(zip(problem.steps, _moves(problem), strict=True)):
        own = by * steps + slopes[j] * moved + (found.high - found.low) * problem.gains[j] + found.changes
        lowest = min(0.0, float(own.min(initial=0.0)))
        sizes.append(float(np.abs(own).max(initial=0.0)))
        least += lowest
        stays.append(-lowest)
        excess.append(own - lowest)
    return Bound(least - SAFE * (1.0 + math.fsum(sizes)), np.array(stays), excess)


def _forms(problem: Problem, objective: Mapping[str, float]) -> tuple[Array, Array]:
    """The forms of closeness, weighted, shape (forms, variables), and what each is at the start."""
    weight, count = objective.get("closeness", 0.0), len(problem.choices)
    if problem.near is None or not weight:
        return np.zeros((0, count)), np.zeros(0)
    starts = np.array([values[now] for values, now in zip(problem.values, problem.start, strict=True)])
    forms = weight * problem.near.factor.T
    return forms, forms @ (starts - problem.near.mean)


def _relaxed(problem: Problem, by: float, forms: Array, away: Array, limit: int) -> Multipliers:
    """The multipliers of the linear relaxation; zeros where it is not solved.

    Its unknowns are the shares of the bins that variables move to, and the size of each form.
    """
    sizes = [len(choice) for choice in problem.choices]
    bins, none = sum(sizes), Multipliers(0.0, 0.0, 0.0, np.zeros(len(forms)))
    if not bins:
        return none
    of = np.repeat(np.arange(len(sizes)), sizes)
    moves, gains = forms[:, of] * np.concatenate(_moves(problem)), np.concatenate(problem.gains)
    cost = np.concatenate([by * np.concatenate(problem.steps), np.ones(len(forms))])
    now, size = problem.card.score(problem.start), -np.eye(len(forms))
    rows = [np.ones(bins), *(np.equal(of, j).astype(float) for j in range(len(sizes)))]
    ends = [float(limit), *np.ones(len(sizes))]
    for end, sign in ((problem.low, -1.0), (problem.high, 1.0)):
        rows.append(sign * gains if math.isfinite(end) else np.zeros(bins))
        ends.append(sign * (end - now) if math.isfinite(end) else 0.0)
    plain = np.hstack([np.array(rows), np.zeros((len(rows), len(forms)))])
    table = np.vstack([plain, np.hstack([moves, size]), np.hstack([-moves, size])])
    found = linprog(cost, A_ub=table, b_ub=np.concatenate([ends, -away, away]), bounds=(0, None), method="highs")
    if found.status != 0:
        return none
    duals, last = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0), len(rows)
    duals[last - 2] *= math.isfinite(problem.low)
    duals[last - 1] *= math.isfinite(problem.high)
    above, below = duals[last : last + len(forms)], duals[last + len(forms) :]
    return Multipliers(
        float(duals[last - 2]), float(duals[last - 1]), float(duals[0]), np.clip(above - below, -1.0, 1.0)
    )


# --- choices, variable by variable ------------------------------------------------------------------------------------


def _listed(problem: Problem, floor: Floor, most: float, deadline: Deadline) -> Iterator[Batch]:
    """The choices that may do (but for doubt) and may cost at most `most`, by a bound. Raises TimeOverError."""
    way = _way(problem, floor, most)
    todo = [(0, _first(problem, floor))]
    while todo:
        deadline.look("listing the choices of bins")
        n, part = todo.pop()
        part = part.of(_promising(way, floor, n, part) & (_least(way, floor, n, part) <= most))
        if n == len(way.order):
            yield Batch(part.bins, part.score)
            continue
        for begin in range(0, len(part.score), CHUNK):
            todo.append((n + 1, _decided(problem, floor, part.of(slice(begin, begin + CHUNK)), way.order[n])))


def _near_ones(problem: Problem, floor: Floor) -> Batch:
    """Some choices that may do, not the cheapest ones for sure: those that a beam search leaves."""
    way, part = _way(problem, floor, math.inf), _first(problem, floor)
    for n in range(len(way.order) + 1):
        part = part.of(_promising(way, floor, n, part))
        part = part.of(np.argsort(_least(way, floor, n, part), kind="stable")[:BEAM])
        if n < len(way.order):
            part = _decided(problem, floor, part, way.order[n])
    return Batch(part.bins, part.score)


class _Way(NamedTuple):
    """In which order variables are decided; and, with so many of them decided, by how much the others raise and lower
    the score at most, and which forms are known.

    low, high: the scores that will do, up to doubt.
    """

    order: list[int]
    reach: list[tuple[Array, Array]]
    known: list[Array]
    low: float
    high: float


def _way(problem: Problem, floor: Floor, most: float) -> _Way:
    order, (low, high) = _order(problem, floor), _window(problem, most - floor.whole.least)
    reach = [_reached(problem, order[n:], floor.limit) for n in range(len(order) + 1)]
    return _Way(order, reach, _known(floor, order), low - problem.doubt, high + problem.doubt)


def _promising(way: _Way, floor: Floor, n: int, part: _Part) -> Array:
    """Which of them can still reach a score that will do."""
    up, down = way.reach[n]
    left = floor.limit - part.changes
    found: Array = (part.score + up[left] >= way.low) & (part.score + down[left] <= way.high)
    return found


def _least(way: _Way, floor: Floor, n: int, part: _Part) -> Array:
    """What each costs at least, however the others are decided."""
    known = np.abs(part.forms[:, way.known[n]]).sum(axis=1)
    found: Array = np.maximum(floor.whole.least + part.excess, floor.near.least + part.near + known)
    return found


def _order(problem: Problem, floor: Floor) -> list[int]:
    """In which order variables are decided.

    Without forms those come first whose bins exceed most: so few choices are gone on with.
    """
    movable = [j for j, choice in enumerate(problem.choices) if choice]
    if len(floor.forms):
        return movable[::-1]
    return sorted(movable, key=lambda j: -float(floor.whole.excess[j].max(initial=0.0)))


def _known(floor: Floor, order: list[int]) -> list[Array]:
    """Which forms are known once so many variables are decided."""
    reads = floor.forms[:, order] != 0
    after = np.array([max(np.flatnonzero(row), default=-1) + 1 for row in reads], np.int64)
    return [after <= n for n in range(len(order) + 1)]


def _window(problem: Problem, room: float) -> tuple[float, float]:
    """The scores that will do, and whose distance from the target costs at most `room`."""
    if problem.target is None or not math.isfinite(room):
        return problem.low, problem.high
    wanted, weight = problem.target
    ends = []
    for sign in (-1, 1):
        end = wanted + sign * (max(room, 0.0) / weight * (1 + SAFE) + SAFE * (1 + abs(wanted)))
        if problem.card.target == "binary":
            end = math.log(end) - math.log1p(-end) if 0 < end < 1 else math.inf if end >= 1 else -math.inf
        ends.append(end)
    return max(problem.low, ends[0]), min(problem.high, ends[1])


class _Part(NamedTuple):
    """Choices of which some variables are decided, each column with a row for each.

    excess, near: of the decided ones, by the two bounds; forms: what they make of the forms; changes: how many move.
    """

    bins: Array
    score: Array
    excess: Array
    near: Array
    forms: Array
    changes: Array

    def of(self, which: Array | slice) -> _Part:
        """Some of them."""
        return _Part(*(column[which] for column in self))


def _first(problem: Problem, floor: Floor) -> _Part:
    """The one in which nothing is decided but what cannot move."""
    fixed = [j for j, choice in enumerate(problem.choices) if not choice]
    return _Part(
        np.full((1, len(problem.choices)), -1, np.int16), np.full(1, problem.card.score(problem.start)),
        np.full(1, floor.whole.stay[fixed].sum()), np.full(1, floor.near.stay[fixed].sum()), floor.away[None].copy(),
        np.zeros(1, np.int64),
    )  # fmt: skip


def _decided(problem: Problem, floor: Floor, part: _Part, j: int) -> _Part:
    """Every way to decide one variable more."""
    movable = part.of(part.changes < floor.limit)
    count, own = len(problem.choices[j]), np.array(problem.choices[j], np.int16)
    moved = np.repeat(movable.bins, count, axis=0)
    moved[:, j] = np.tile(own, len(movable.score))
    by = problem.values[j][own] - problem.values[j][problem.start[j]]
    forms = movable.forms[:, None, :] + by[:, None] * floor.forms[:, j]

    def with_more(stays: Array, column: Array, more: Array) -> Array:
        return np.concatenate([stays, (column[:, None] + more).ravel()])

    return _Part(
        np.concatenate([part.bins, moved]),
        with_more(part.score, movable.score, problem.gains[j]),
        with_more(part.excess + floor.whole.stay[j], movable.excess, floor.whole.excess[j]),
        with_more(part.near + floor.near.stay[j], movable.near, floor.near.excess[j]),
        np.concatenate([part.forms, forms.reshape(len(moved), len(floor.forms))]),
        np.concatenate([part.changes, np.repeat(movable.changes + 1, count)]),
    )


def _reached(problem: Problem, rest: list[int], limit: int) -> tuple[Array, Array]:
    """By how much the variables that are left raise and lower the score at most, by how many may change yet."""
    found = []
    for sign in (1, -1):
        best = sorted((max(0.0, float((sign * problem.gains[j]).max())) for j in rest), reverse=True)[:limit]
        found.append(sign * np.concatenate([[0.0], np.cumsum(best), np.full(limit - len(best), sum(best))]))
    return found[0], found[1]
