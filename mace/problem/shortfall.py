"""How far a goal is missed, in the goal's own units, and the goal that is content with so much less.

In:  what is wanted, and what the deployed model said of a row.
Out: `missed`, exact: of an interval the distance to it, of a lead what lacks to it; `relaxed`: the goal that is met
     where the first one is missed by at most so much, or by less.
A class that is wanted leads all others: what lacks to a lead of 0 is missed, in probability where the model's
probabilities compare scores, else in score.
Promise: of intervals a row meets `relaxed(goal, s)` exactly if it misses the goal by at most s; of leads up to
`MARGIN_UNIT`, as leads are met.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import above, below, exact
from mace.errors import GoalError
from mace.problem.goals import MARGIN_UNIT, Between, Classes, Margin, Probability, Value, Wanted
from mace.tables.table import Formula, Label, Table

Measured = Value | Probability | Margin
LEAST_MISSED = float(np.finfo(np.float64).tiny)  # what a goal is missed by that is not met
MARGIN_DOUBT = Fraction(8 * MARGIN_UNIT)  # a lead is refuted only so far beyond what was reached


def measured(wanted: Wanted, table: Table) -> Measured:
    """A goal whose shortfall is a number; raises GoalError for one that has none."""
    if isinstance(table, Formula):
        raise GoalError("a program returns a class: how far it is from another one is no number")
    if isinstance(wanted, Value) and table.link is not None:
        raise GoalError(
            f"how far `{wanted}` is missed is no difference of scores: {table.name} predicts their exponential",
            hint="Ask for the nearest counterfactual, with a goal that can be met.",
        )
    softmax = table.link is not None and table.link.kind == "softmax"
    if isinstance(wanted, Probability) and softmax:
        raise GoalError(
            f"how far `{wanted}` is missed is no difference of two scores: it is a probability of several classes",
            hint=f"Ask for what is missing to a lead, for instance `{wanted.label} by 0.5 in score`.",
        )
    if not isinstance(wanted, Classes):
        return wanted
    if len(wanted.labels) != 1:
        raise GoalError(
            f"`{wanted}` names several classes, and what is missing to one of them is no single number",
            hint="Name one class, or an interval of a probability.",
        )
    (label,) = wanted.labels
    return Margin(label, 0.0, in_score=table.link is None or softmax)


def missed(goal: Measured, said: NDArray[Any], classes: tuple[Label, ...]) -> Fraction:
    """How far one row misses a goal, by what the deployed model said of it, shape (1,) or (1, classes)."""
    row = [exact(float(number)) for number in np.ravel(said[0])]
    match goal:
        case Value(between=between):
            return _outside(between, row[0])
        case Probability(between=between):
            return _outside(between, row[list(classes).index(goal.label)])
        case Margin():
            place = list(classes).index(goal.label)
            if len(row) == 1:
                lead = row[0] if place else -row[0]
            else:
                lead = row[place] - max(number for k, number in enumerate(row) if k != place)
            return max(Fraction(0), exact(goal.by) - lead)


def shortfalls(wanted: Wanted, said: NDArray[Any], classes: tuple[Label, ...]) -> NDArray[np.float64]:
    """How far several rows miss a goal, in floats, as heuristics compare them; 0 exactly where it is met.

    said: what the model said, as `wanted.met` takes it; for classes also probabilities, shape (rows, classes), of which
          the lead of the largest over the best one wanted is what is missing. Of decisions alone it is 0 or 1.
    """
    if isinstance(wanted, Classes) and said.ndim == 2:
        own = np.isin(np.array(classes, dtype=object), list(wanted.labels))
        met = own[said.argmax(axis=1)]
        gap = said[:, ~own].max(axis=1, initial=0.0) - said[:, own].max(axis=1, initial=0.0)
    elif isinstance(wanted, Classes):
        met, gap = wanted.met(said, classes), np.ones(len(said))
    else:
        met = wanted.met(said, classes)
        gap = _gaps(wanted, np.asarray(said, dtype=np.float64), list(classes))
    return np.where(met, 0.0, np.maximum(gap, LEAST_MISSED))


def _gaps(wanted: Measured, numbers: NDArray[np.float64], classes: list[Label]) -> NDArray[np.float64]:
    if isinstance(wanted, Margin):
        place = classes.index(wanted.label)
        if numbers.shape[1] == 1:
            lead = numbers[:, 0] if place else -numbers[:, 0]
        else:
            lead = numbers[:, place] - np.delete(numbers, place, axis=1).max(axis=1)
        return np.asarray(wanted.by - lead)
    if isinstance(wanted, Probability):
        numbers = numbers[:, classes.index(wanted.label)]
    low = -np.inf if wanted.between.low is None else wanted.between.low
    high = np.inf if wanted.between.high is None else wanted.between.high
    return np.maximum(low - numbers, numbers - high)


def relaxed(goal: Measured, by: Fraction, *, strict: bool = False) -> Measured:
    """The goal that is missed by at most `by`; by less than that if `strict`."""
    if isinstance(goal, Margin):
        least = exact(goal.by) - by
        return replace(goal, by=above(least + MARGIN_DOUBT * max(Fraction(1), abs(least))) if strict else below(least))
    between = goal.between
    low = None if between.low is None else exact(between.low) - by
    high = None if between.high is None else exact(between.high) + by
    if strict:
        under, over = None if low is None else below(low), None if high is None else above(high)
        ends = Between(under, over, low_strict=True, high_strict=True)
    else:
        ends = Between(None if low is None else above(low), None if high is None else below(high))
    return replace(goal, between=ends)


def doubt(goal: Measured) -> Fraction:
    """How far below what was reached the strict goal stays: nothing for intervals."""
    return 2 * MARGIN_DOUBT * max(Fraction(1), abs(exact(goal.by))) if isinstance(goal, Margin) else Fraction(0)


def _outside(between: Between, number: Fraction) -> Fraction:
    low = Fraction(0) if between.low is None else exact(between.low) - number
    high = Fraction(0) if between.high is None else number - exact(between.high)
    return max(Fraction(0), low, high)
