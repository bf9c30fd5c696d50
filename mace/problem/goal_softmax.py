"""Probabilities of several classes as comparisons of scores: half-spaces around what has them.

In:  a table whose probabilities are the softmax of its scores, a class, and the least probability that is wanted.
Out: a table with one more score for each half-space, and the comparisons with them.
Promise: every point at which the library's float probability is at least the one wanted satisfies all comparisons. They
are a little wider than that, so a witness counts only after the deployed model itself said so.
How: p(k) >= q says that log(sum over j of exp(s_j - s_k)) <= log((1 - q) / q), j running over the other classes.
The left side is convex: for all weights w that add up to 1 it is at least the sum of w_j (s_j - s_k), plus the entropy
of w. The weights are those of points at all distances around the place where two or three classes are as probable;
for networks more follow, of the points that are met (`mace.explain.probabilities.softmax`).
Source: Boyd and Vandenberghe, Convex Optimization, section 3.3 (the conjugate of log-sum-exp is the negative entropy).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mace.base.cache import Kept
from mace.base.exact import UNIT_ROUNDOFF, UNIT_ROUNDOFF_32
from mace.errors import GoalError
from mace.tables.table import Compare, Decision, Ensemble, Floats, Layer, Network, Tree, decision_of

NEAREST = 1e-6
"""Probabilities nearer to 0 or 1 are not asked for."""
_PAIRS = np.arange(-6.0, 6.01, 0.25)
_TRIPLES = np.arange(-4.0, 4.01, 1.0)
_MANY = (-2.0, 0.0, 2.0)  # each pair's half-spaces cost a search as much as a class, and there are many pairs
_PARTS = 2.0**30
_LARGER = 1e-9
"""How much wider the half-spaces are than exact ones, for the rounding of entropies and probabilities."""


_GAPS = {1: 1e-6, 2: 0.004, 3: 0.05}
"""How far, in log odds, the half-spaces reach beyond a goal: by the other classes; 0.3 for more of them."""


def inside(least: float, others: int) -> float:
    """A larger probability, none too large to be asked for, whose half-spaces hardly reach beyond the smaller one."""
    odds = np.log(least / (1 - least)) + _GAPS.get(others, 0.3)
    return min(float(1 / (1 + np.exp(-odds))), 1 - NEAREST)


class Covered(NamedTuple):
    """Comparisons, and the table that they speak of."""

    decision: Decision
    table: Ensemble | Network


def at_least(table: Ensemble | Network, place: int, least: float, goal: str, more: Sequence[Floats] = ()) -> Covered:
    """The class at `place` has at least this probability; raises GoalError for one that is too near to 0 or 1.

    more: weights of further half-spaces, each as `touching` gives them.
    """
    if not NEAREST <= least <= 1 - NEAREST:
        raise GoalError(
            f"`{goal}`: the floats of a softmax tell too little so near to 0 or 1",
            hint="Ask for a probability such as 0.001 or 0.999.",
        )
    coarse = table.dtype == "float32" or table.link is not None and table.link.dtype == "float32"
    # An error of some units in p, or in q, moves the odds by as much over q (1 - q).
    larger = _LARGER + (256.0 * float(UNIT_ROUNDOFF_32) if coarse else 0.0) / (least * (1 - least))
    bound = float(np.log((1 - least) / least)) + larger + 1e-12 / (least * (1 - least))
    others = [k for k in range(len(table.classes)) if k != place]
    weights = np.vstack([directions(len(others)), *more])
    positive = np.where(weights > 0, weights, 1.0)
    # s_k >= sum of w_j s_j - (bound - entropy of w)
    constants = -(weights * np.log(positive)).sum(axis=1) - bound
    rows = np.zeros((table.outputs, len(weights)))
    rows[others] = weights.T
    own = tuple(decision_of(table, k) for k in range(len(table.classes)))
    wide = with_scores(table, rows, constants, own)
    part = tuple(Compare(place, table.outputs + k) for k in range(len(weights)))
    return Covered((part,), wide)


def directions(count: int) -> Floats:
    """Weights of so many classes, each row adding up to 1; shape (rows, count).

    They are multiples of a power of two, so that the sum is exact, and scores that are all large cancel as they should.
    """
    found = [np.eye(count)[k] for k in range(count)]
    for one, other in itertools.combinations(range(count), 2):
        for steep in _PAIRS if count == 2 else _TRIPLES if count == 3 else _MANY:
            row = np.zeros(count)
            row[[one, other]] = 1 / (1 + np.exp(-steep)), 1 / (1 + np.exp(steep))
            found.append(row)
    if count == 3:
        for pair in itertools.product(_TRIPLES[::2], repeat=2):
            powers = np.exp([0.0, *pair])
            found.append(powers / powers.sum())
    elif count > 3:
        found.append(np.full(count, 1 / count))
    return _exactly_one(np.array(found))


def touching(scores: Floats, place: int) -> Floats:
    """Weights of the half-space that touches where classes are as probable as at some scores of shape (classes,)."""
    others = np.delete(scores, place)
    powers = np.exp(others - others.max())
    return np.asarray(_exactly_one((powers / powers.sum())[None, :])[0])


def _exactly_one(found: Floats) -> Floats:
    """Weights, shape (rows, count), as multiples of a power of two whose rows add up to 1."""
    weights = np.round(found * _PARTS) / _PARTS
    largest = np.arange(len(weights)), weights.argmax(axis=1)
    weights[largest] += 1.0 - weights.sum(axis=1)
    return np.asarray(weights)


def with_scores(
    table: Ensemble | Network, rows: Floats, constants: Floats, own: tuple[Decision, ...]
) -> Ensemble | Network:
    """The table with more scores: sums of its own times `rows`, shape (scores, more), and constants, shape (more,).

    rows: no column's magnitudes add up to more than 1.    own: the decisions of its classes.
    """
    if isinstance(table, Network):
        return _network(table, rows, constants, own)
    return _ensemble(table, rows, constants, own)


def _network(table: Network, rows: Floats, constants: Floats, own: tuple[Decision, ...]) -> Network:
    """One more layer, so that what the scores' own rounding may be is carried on with the weights."""
    last = Layer(
        np.hstack([np.eye(table.outputs), rows]), np.concatenate([np.zeros(table.outputs), constants]), "identity"
    )
    return replace(table, layers=(*table.layers, last), decisions=own, link=None)


def _ensemble(table: Ensemble, rows: Floats, constants: Floats, own: tuple[Decision, ...]) -> Ensemble:
    """More scores in the leaves; `error` covers what these are rounded by, and the rounding of the library's own."""
    trees = _wider(table.trees, rows)
    start = np.concatenate([table.start, table.start @ rows + constants * table.divide])
    size = float(np.abs(start).max()) + _SIZES.get(table, None, lambda: _size(table))
    unit = float(UNIT_ROUNDOFF_32 if table.dtype == "float32" else UNIT_ROUNDOFF)
    rounded = (4 * len(trees) + 4 * len(rows) + 32) * unit * size
    return replace(table, trees=trees, start=start, decisions=own, link=None, error=table.error + rounded)


def _wider(trees: Sequence[Tree], rows: Floats) -> tuple[Tree, ...]:
    """Trees whose values stand beside what they are times `rows`: views of one array, as there may be many trees."""
    if not trees:
        return ()
    values, count = [tree.value for tree in trees], len(rows)
    found = np.empty((sum(map(len, values)), count + rows.shape[1]))
    np.concatenate(values, out=found[:, :count])
    np.matmul(found[:, :count], rows, out=found[:, count:])
    ends = itertools.accumulate(map(len, values))
    return tuple(
        Tree(tree.column, tree.threshold, tree.left, tree.right, found[end - len(tree.value) : end], tree.missing_left,
             tree.members)
        for tree, end in zip(trees, ends, strict=True)
    )  # fmt: skip


def _size(table: Ensemble) -> float:
    """No sum of leaves has a larger magnitude, nor of leaves times rows whose magnitudes add up to 1."""
    return (1 + 1e-9) * sum(float(np.abs(tree.value).max()) for tree in table.trees)


_SIZES: Kept[float] = Kept(1)
