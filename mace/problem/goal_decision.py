"""Goals as comparisons of the model's float scores.

In:  what is wanted, and the table of the model.    Out: the question's `Goal`, and the table that it speaks of.
Promise: every point whose deployed model says what is wanted satisfies the comparisons; so a bound on them is a bound
on the goal. Where they say no more than that (the last bits of an exponential depend on the library's libm), they
are a little wider, and a witness counts only after `met` was true of what the deployed model itself returned.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mace.errors import EverywhereError, GoalError, NowhereError
from mace.problem.goal_means import anywhere, conditions_of, covered, is_mean, nowhere
from mace.problem.goal_scores import (
    exactly_between,
    exponential_between,
    fraction_between,
    linked_between,
    scores_apart,
)
from mace.problem.goal_softmax import Covered, at_least
from mace.problem.goal_text import HINT_NUMBER, known, listed
from mace.problem.goals import MARGIN_UNIT, Classes, Margin, Probability, Value, Wanted
from mace.problem.question import Goal
from mace.tables.table import Compare, Decision, Ensemble, Formula, Network, Table, decision_for
from mace.tables.validity import validate


def lower(goal: Wanted, table: Table) -> tuple[Goal, Table]:
    """The goal as comparisons of float scores, and the table that they speak of.

    The table is the given one; for a margin over several runners-up, with the runners-up moved by it as more scores.
    A goal within what a model can say, but that no input has (a calibration that never gives it), is a comparison that
    no score meets. Raises GoalError for a goal that is not about this model, that every input has, or that no
    comparison of its scores expresses.
    """
    try:
        return _lower(goal, table)
    except NowhereError:
        assert not isinstance(table, Formula)
        decision, same = nowhere(table)
        labels = goal.labels if isinstance(goal, Classes) else frozenset()
        return Goal(str(goal), labels, decision, wanted=goal, enclosed=True), same


def lower_or_all(goal: Wanted, table: Table) -> tuple[Goal, Table]:
    """As `lower`; a goal that every input has is a comparison that every score meets.

    Where some input may miss it by the last bits of a probability, the model is asked.
    """
    try:
        return lower(goal, table)
    except EverywhereError:
        assert not isinstance(table, Formula)
        decision, same = anywhere(table)
        if isinstance(goal, Probability) and not goal.between.holds(np.array([0.0, 1.0])).all():
            return Goal(str(goal), frozenset(), decision, wanted=goal, enclosed=True), same
        labels = frozenset(table.classes)
        return Goal(str(goal), labels, decision, wanted=Classes(labels) if labels else goal), same


def _lower(goal: Wanted, table: Table) -> tuple[Goal, Table]:
    text = str(goal)
    if isinstance(table, Formula):
        if not isinstance(goal, Classes):
            raise GoalError(f"the goal `{text}` is not for a program", hint="A program returns a class: name one.")
        labels = known(goal.labels, table.classes)
        return Goal(text, labels, (), frozenset(table.classes.index(label) for label in labels), goal), table
    if isinstance(goal, Value) != (not table.classes):
        if table.classes:
            raise GoalError(f"`{text}` is a goal for a number, and this model has classes: {listed(table.classes)}")
        raise GoalError(f"`{text}` is a goal for classes, and this model predicts a number", hint=HINT_NUMBER)
    match goal:
        case Classes():
            labels = known(goal.labels, table.classes)
            if is_mean(table) and len(labels) == 1:
                decision, wide = covered(table, conditions_of(goal, table.classes), None, text)
                return Goal(text, labels, decision, wanted=goal, enclosed=True), wide
            return Goal(text, labels, decision_for(table, labels), wanted=goal), table
        case Value():
            return Goal(text, frozenset(), _value_decision(goal, table), wanted=goal, enclosed=bool(table.link)), table
        case Probability():
            _ = known([goal.label], table.classes)
            decision, wide = _probable(goal, table)
            return Goal(text, frozenset(), decision, wanted=goal, enclosed=True), wide
        case Margin():
            _ = known([goal.label], table.classes)
            decision, moved = _leading(goal, table)
            if moved is not table:
                validate(moved, "a lead over several classes")
            return Goal(text, frozenset(), decision, wanted=goal, enclosed=True), moved


def _value_decision(goal: Value, table: Ensemble | Network) -> Decision:
    between = goal.between
    if table.link is not None:
        return (exponential_between(table.link, table.dtype, between.low, between.high, str(goal)),)
    return (fraction_between(0, between.low, between.high, between.low_strict, between.high_strict),)


def _probable(goal: Probability, table: Ensemble | Network) -> Covered:
    """The probability of a class, as comparisons of scores, by the link of the table; and the table with these."""
    link = table.link
    if is_mean(table):
        return covered(table, conditions_of(goal, table.classes), None, str(goal))
    if link is None or link.kind != "softmax":
        return Covered(_probable_by_one(goal, table), table)
    low = goal.between.low
    if low is None or low <= 0 or goal.between.high not in (None, 1.0):
        raise GoalError(
            f"`{goal}`: of several classes only that a probability is at least a number can be asked",
            hint=f"For instance `p({goal.label}) >= 0.6`; or ask for the class, or for a lead over every other class.",
        )
    return at_least(table, table.classes.index(goal.label), low, str(goal))


def _probable_by_one(goal: Probability, table: Ensemble | Network) -> Decision:
    """The same for a probability that is a function of one score."""
    between, link = goal.between, table.link
    if link is None:
        raise _no_link(goal, table)
    # What every probability satisfies is not asked; of votes what lies beyond all of them is a comparison all the same.
    low, high, votes = between.low, between.high, link.kind == "fraction"
    if low is not None and (low == 0 and not between.low_strict or low < 0 and not votes):
        low = None
    if high is not None and (high == 1 and not between.high_strict or high > 1 and not votes):
        high = None
    if low is None and high is None:
        raise EverywhereError(f"every input has the goal `{goal}`")
    place = table.classes.index(goal.label)
    if votes:
        return (fraction_between(place, low, high, between.low_strict, between.high_strict),)
    if link.exact:
        strict = (between.low_strict, between.high_strict)
        return exactly_between(link, table.dtype, place, (low, high), strict, str(goal))
    return (linked_between(link, table.dtype, place, low, high, str(goal)),)


def _no_link(goal: Probability, table: Ensemble | Network) -> GoalError:
    """What to ask instead of a probability that is no function of one score."""
    if len(table.classes) == 2:
        return GoalError(
            f"`{goal}`: no probability of {table.name} is known as a function of its score",
            hint="Calibrate it, as CalibratedClassifierCV(model, ensemble=False), or ask for the class, or for a lead "
            f"of its score, for instance `{goal.label} by 0.5 in score`.",
        )
    error = f"`{goal}`: with {len(table.classes)} classes the probabilities of {table.name} compare no two scores"
    hint, p = "Ask for the class, or for a lead over every other class", goal.between.low
    if p is None or not 0 < p < 1:
        return GoalError(error, hint=f"{hint}, for instance `{goal.label} by 0.5 in score`.")
    # p(k) >= p says that the sum of exp(s_j - s_k) over the others is at most (1 - p) / p: each of them is, at least,
    # and they are if each is at most its share.
    needed, enough = math.log(p / (1 - p)), math.log((len(table.classes) - 1) * p / (1 - p))
    said = [f"`{goal.label} by {math.ceil(enough * 100 + 1e-6) / 100} in score` is enough"] if enough > 0 else []
    if needed >= 0.01:
        said.append(f"`{goal.label} by {math.floor(needed * 100 - 1e-6) / 100} in score` is needed")
    said = said or [f"`{goal.label}` is enough"]
    return GoalError(error, hint=f"{hint}. If they are the softmax of the scores, {', and '.join(said)}.")


def _leading(goal: Margin, table: Ensemble | Network) -> tuple[Decision, Ensemble | Network]:
    """The lead of a class over all others, as comparisons of scores."""
    place, unit = table.classes.index(goal.label), MARGIN_UNIT * max(1.0, goal.by)
    if not goal.in_score:
        if goal.by >= 1:
            raise GoalError(f"`{goal}`: a probability leads by less than 1", hint=f"`{goal} in score` means scores.")
        if table.link is None or table.link.kind == "softmax":
            raise GoalError(
                f"`{goal}`: the probabilities of {table.name} are no comparison of scores",
                hint=f"Ask for a margin of the scores themselves: `{goal} in score`.",
            )
        if len(table.classes) == 2:
            return _probable(goal.of_two(), table)
    if is_mean(table) or table.decisions is not None or (isinstance(table, Ensemble) and table.error):
        raise GoalError(f"`{goal}`: {table.name} compares no scores of its classes")
    one = table.one if isinstance(table, Ensemble) else 1.0
    if table.outputs == 1:
        least_score = (goal.by - 2 * unit) * one
        return ((Compare(0, None, least_score) if place else Compare(None, 0, least_score),),), table
    others = [k for k in range(len(table.classes)) if k != place]
    moved = scores_apart(table, place, others, Fraction(goal.by) * Fraction(one), Fraction(unit) * Fraction(one))
    return (tuple(Compare(place, table.outputs + k) for k in range(len(others))),), moved
