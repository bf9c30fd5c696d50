"""Probabilities and margins as comparisons of float scores: the arithmetic behind `mace.goals`.

In:  a table's link (`mace.tables.Link`) and the ends of an interval of probabilities; or a margin between scores.
Out: comparisons, and for margins a table with more scores.
Promise: a point whose deployed model, with any libm of a few ulp, has a probability in the interval satisfies the
comparisons. How: the link is a monotone function of one score; the ends, moved outward by more than its last bits can
differ, are found by bisection over the doubles through the function itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mace.errors import GoalError
from mace.exact import UNIT_ROUNDOFF, UNIT_ROUNDOFF_32, below, exact, float_to_rank, rank_to_float
from mace.margins import compare_slack
from mace.tables import Compare, Ensemble, Layer, Link, Network

FARTHEST = 1e300
"""Scores beyond this are not looked at."""
_UNITS = 16
"""Probabilities of two libraries for one score differ by fewer than half as many units of rounding."""


def fraction_between(
    score: int, low: float | None, high: float | None, low_strict: bool, high_strict: bool
) -> tuple[Compare, ...]:
    """A score that is itself the number asked for: the comparisons are the library's own, exactly."""
    part = []
    if low is not None:
        part.append(Compare(score, None, low, low_strict))
    if high is not None:
        part.append(Compare(None, score, -high, high_strict))
    return tuple(part)


def linked_between(
    link: Link, dtype: str, place: int, low: float | None, high: float | None, goal: str
) -> tuple[Compare, ...]:
    """The probability of class `place` (of two) within low..high, or within the last bits of it.

    Raises GoalError where the floats of the library cannot tell the probability from 0 or 1, or nothing reaches it.
    """
    unit = float(UNIT_ROUNDOFF_32 if "float32" in (dtype, link.dtype) else UNIT_ROUNDOFF)
    probability = _probability(link)

    def of_class(score: float) -> float:
        return probability(score) if place else 1.0 - probability(score)

    rising = of_class(FARTHEST) > of_class(-FARTHEST)
    part = []
    for end, is_low in ((low, True), (high, False)):
        if end is None:
            continue
        # 1 / (1 + exp(-s)) has a small relative error; one minus it, and interpolation, a small absolute one.
        doubt = _UNITS * unit * (end if place and link.kind == "logistic" else 1.0)
        if link.kind == "logistic" and not 4 * doubt <= min(end, 1 - end):
            raise GoalError(
                f"`{goal}`: a logistic probability is never exactly 0 or 1, and its floats do not tell so near to them",
                hint="Ask for a probability such as 0.001 or 0.999.",
            )
        moved = end - doubt if is_low else end + doubt
        above = rising == is_low  # whether the score must be large

        def holds(score: float, moved: float = moved, is_low: bool = is_low) -> bool:
            return of_class(score) >= moved if is_low else of_class(score) <= moved

        if not holds(FARTHEST if above else -FARTHEST):
            raise GoalError(f"no input has the goal `{goal}`: the model's calibration never gives it")
        if holds(-FARTHEST if above else FARTHEST):
            continue  # every score has it
        turn = _turn(holds, above=above)
        # slope * s + shift is rounded too, and so is what is interpolated.
        turn += (-1 if above else 1) * 16 * unit * (abs(turn) + (abs(link.shift / link.slope) if link.slope else 0.0))
        part.append(Compare(link.score, None, turn) if above else Compare(None, link.score, -turn))
    if not part:
        raise GoalError(f"every input has the goal `{goal}`")
    return tuple(part)


def _probability(link: Link) -> Callable[[float], float]:
    """The probability of class 1 as a function of the score; for "logistic" as scipy's expit computes it."""
    if link.kind == "logistic":

        def logistic(score: float) -> float:
            z = link.slope * score + link.shift
            if z >= 0:
                return 1.0 / (1.0 + math.exp(-z)) if z < 700 else 1.0
            return math.exp(z) / (1.0 + math.exp(z)) if z > -700 else 0.0

        return logistic
    x, y = (np.array(side, dtype=np.float64) for side in zip(*link.knots, strict=True))
    return lambda score: float(np.interp(score, x, y))


def _turn(holds: Callable[[float], bool], *, above: bool) -> float:
    """The least double that something holds for which holds from there on upwards; else the largest, downwards."""
    inside, outside = (FARTHEST, -FARTHEST) if above else (-FARTHEST, FARTHEST)
    one, other = float_to_rank(inside), float_to_rank(outside)  # Invariant: it holds at `one` and not at `other`.
    while abs(one - other) > 1:
        middle = (one + other) // 2
        one, other = (middle, other) if holds(rank_to_float(middle)) else (one, middle)
    return rank_to_float(one)


def scores_apart(
    table: Ensemble | Network, place: int, others: Sequence[int], by: Fraction, unit: Fraction
) -> Ensemble | Network:
    """The table with one more score for each other class: its own plus `by`, less a little for all roundings.

    Then "class `place` leads by `by`, up to `unit`" implies that its score is at least each of them, in floats too.
    """
    if isinstance(table, Network):
        last = table.layers[-1]
        # The margins of `mace.margins` are relative to the bias, which is moved here: by far less than the unit.
        added = [below(exact(last.bias[k]) + by - 2 * unit * (1 + abs(exact(last.bias[k])))) for k in others]
        layer = Layer(
            np.hstack([last.weights, last.weights[:, list(others)]]), np.append(last.bias, added), last.activation
        )
        return replace(table, layers=(*table.layers[:-1], layer), link=None)
    trees = tuple(replace(t, value=np.hstack([t.value, t.value[:, list(others)]])) for t in table.trees)
    start = np.append(table.start, [below(exact(table.start[k]) + by * table.divide) for k in others])
    wide = replace(table, trees=trees, start=start, link=None)
    own = [below(exact(start[table.outputs + n])) for n in range(len(others))]
    coarse = 2**30 if table.dtype == "float32" else 1  # floats of that type are 2^29 times as far apart
    for n in range(len(others)):
        slack = compare_slack(wide, Compare(place, table.outputs + n))
        less = 2 * (slack.possible + slack.sure) + 2 * unit * coarse * table.divide * (1 + abs(exact(own[n])))
        start[table.outputs + n] = below(exact(own[n]) - less)
    return replace(wide, start=start)
