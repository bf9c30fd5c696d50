"""What a model that is bounded over boxes must reach for a goal: numbers that must be so large.

In:  a model that is bounded (`mace.compilers.enclosures`), and what is wanted.
Out: `Needs`: functions of the columns, and which of them together give the goal.
Promise: a row with the goal has all that one of the parts needs, as far as the library's floats can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mace.compilers.enclosures.bounds import Bounds
from mace.compilers.enclosures.enclosed import Enclosed, Function, leads_of
from mace.errors import GoalError
from mace.problem.goals import MARGIN_UNIT, Between, Classes, Margin, Probability, Value, Wanted


class Need(NamedTuple):
    """One of the numbers must be at least so large."""

    number: int
    least: float


@dataclass(frozen=True, eq=False)
class Needs:
    """What gives a goal: all needs of one of the parts.

    numbers:  the columns -> the numbers that needs speak of.
    additive: whether each of these is a sum of functions of one column each.
    """

    numbers: Function
    parts: tuple[tuple[Need, ...], ...]
    additive: bool = False


def needs_of(model: Enclosed, wanted: Wanted) -> Needs:
    """What a model must reach; raises GoalError where that is not known."""
    match wanted:
        case Classes(labels=labels):
            leads = leads_of(model)
            decisions = [model.decisions[k] for k, label in enumerate(model.classes) if label in labels]
            parts = tuple(
                tuple(Need(leads.place[compare], compare.than) for compare in part)
                for decision in decisions
                for part in decision
            )
            return Needs(leads.function, parts, model.additive)
        case Value(between=between):
            return replace(_within(model.scores, 0, between), additive=model.additive)
        case Probability(label=label, between=between):
            return _within(_probable(model), model.classes.index(label), between)
        case Margin(label=label, by=by):
            place, count = model.classes.index(label), len(model.classes)
            others = [k for k in range(count) if k != place]
            weights = np.zeros((count, len(others)))
            weights[place] = 1.0
            weights[others, range(len(others))] = -1.0
            least = by - 8 * MARGIN_UNIT * max(1.0, by)
            needs = tuple(Need(k, least) for k in range(len(others)))
            return Needs(_weighed(_probable(model), weights), (needs,))


def _probable(model: Enclosed) -> Function:
    if model.probable is None:
        raise GoalError(f"the probabilities of {model.name} are not bounded over boxes")
    return model.probable


def _within(function: Function, place: int, between: Between) -> Needs:
    """One of the numbers lies in an interval: it, and its negative, are at least so large."""
    needs: list[Need] = []
    signs: list[float] = []
    for end, sign in ((between.low, 1.0), (between.high, -1.0)):
        if end is not None:
            needs.append(Need(len(signs), sign * end))
            signs.append(sign)

    def numbers(x: Bounds) -> Bounds:
        return function(x).picked([place]).affine(np.array([signs]), np.zeros(len(signs)))

    return Needs(numbers, (tuple(needs),))


def _weighed(function: Function, weights: Sequence[Sequence[float]] | np.ndarray) -> Function:
    matrix = np.asarray(weights, dtype=np.float64)
    return lambda x: function(x).affine(matrix, np.zeros(matrix.shape[1]))
