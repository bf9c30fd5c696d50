"""A probability of several classes: cutting planes where they are needed, and a narrower goal that implies it.

In:  a question about such a probability, which is covered by half-spaces, and the model's own table.
Out: the question with another goal; None where the question is about something else.
Promise: points of narrower goals count once the deployed model has said that they have the question's own. More
half-spaces cover that as the first ones do.
How: the nearest point that a network's half-spaces allow is asked of the model; where it is refused, one more of them
touches the goal's boundary at its scores (Kelley's cutting planes), and the next point is looked for.
Source: Kelley 1960, "The cutting-plane method for solving convex programs".
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mace.explain.probabilities.means import Asks
from mace.problem.goal_decision import lower
from mace.problem.goal_softmax import at_least, inside, touching
from mace.problem.goals import Between, Probability
from mace.problem.question import Question
from mace.solve.choice import choose
from mace.solve.driver import Bracket, bracket_optimum
from mace.solve.onward import onward
from mace.space.axes import Point
from mace.tables.table import Floats, Formula, Network, Table

MOST_TOUCHING = 40  # half-spaces that follow the first ones
TIME = 0.3  # of the time allowed, for these
_TIGHT = 1e-9  # a point whose odds are no farther from those wanted is not brought nearer


class Touched(NamedTuple):
    """A question with more half-spaces, and the best point known."""

    question: Question
    best: Point | None


def touched(question: Question, table: Table, asks: Asks, best: Point | None) -> Touched:
    """The question with half-spaces that touch the goal near its nearest point; the same for any other question."""
    wanted = _of_several(question, table)
    if wanted is None or not isinstance(table, Network):
        return Touched(question, best)
    least, place = wanted.between.low, table.classes.index(wanted.label)
    assert least is not None
    asks = asks.share(TIME)
    deadline = asks.limits.deadline
    more, asked, last = list[Floats](), question, best

    def has_it(point: Point) -> bool:  # by its scores first: the model's own numbers cost more
        return _short(table.scores(question.row(point)), place, least) <= _TIGHT and asks.confirm(point)

    # Invariant: all points with the goal have that of `asked`; the model says that `best` has the question's own.
    while len(more) < MOST_TOUCHING and not deadline.over:
        found = _nearest(asked, asks, best)
        point = found.point
        if found.status != "optimal" or point is None or point == best:
            break
        if asks.confirm(point):
            return Touched(asked, point)
        known = None if best is None else question.distance_of(best)
        best = onward(question, point, has_it, known, deadline) or best
        scores = table.scores(question.row(point))
        near = best is not None and asks.gap.met(found.lower, question.distance_of(best))
        if near or point == last or _short(scores, place, least) <= _TIGHT:  # rounding leaves no half-space between
            break
        more.append(touching(scores, place))
        decision, wide = at_least(table, place, least, question.goal.text, more)
        asked, last = question.aimed(replace(question.goal, decision=decision), wide), point
    return Touched(asked, best)


def _nearest(asked: Question, asks: Asks, best: Point | None) -> Bracket:
    """The nearest point that half-spaces allow, whatever the model says of it."""
    oracle, _ = choose(asked, asks.oracle)
    try:
        return bracket_optimum(asked, oracle, lambda point: True, gap=asks.gap, limits=asks.limits, best=best)
    finally:
        oracle.close()


def _short(scores: Floats, place: int, least: float) -> float:
    """By how much the log odds of a class fall short of those of a probability."""
    apart = np.delete(scores, place) - scores[place]
    top = float(apart.max())
    return top + math.log(float(np.exp(apart - top).sum())) - math.log((1 - least) / least)


def well_inside(question: Question, table: Table) -> Question | None:
    """The question for a larger probability: the half-spaces that cover it hardly reach beyond the given one."""
    wanted = _of_several(question, table)
    if wanted is None:
        return None
    assert wanted.between.low is not None and not isinstance(table, Formula)
    least = inside(wanted.between.low, len(table.classes) - 1)
    goal, wide = lower(Probability(wanted.label, Between(least)), table)
    return question.aimed(goal, wide)


def _of_several(question: Question, table: Table) -> Probability | None:
    """The goal of a question, where it is a least probability of several classes."""
    wanted = question.goal.wanted
    if not isinstance(wanted, Probability) or wanted.between.low is None:
        return None
    several = not isinstance(table, Formula) and table.link is not None and table.link.kind == "softmax"
    return wanted if several else None
