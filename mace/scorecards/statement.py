"""What is asked of a scorecard as a question about values of bins: what its certificate is about.

In:  a `Problem`, and the weights of proximity and closeness.
Out: a `Question`: a linear model, a grid of doubles for each variable with a rule that it has the value of a bin, and
     the distance, exact in the doubles that the search is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from mace.problem.distance import Distance, DistanceProgram, Norm
from mace.problem.forms import Forms
from mace.problem.programs import distance_program, rule_of
from mace.problem.question import Goal, Question
from mace.scorecards.problem import Problem
from mace.space.axes import GridAxis, Point
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Compare, Layer, Network


def question_of(problem: Problem, objective: Mapping[str, float]) -> Question:
    """The problem over values of bins."""
    features, rules, row = [], [], {}
    for j in range(len(problem.card.variables)):
        name, now = f"v{j}", float(problem.values[j][problem.start[j]])
        held = sorted({now, *(float(problem.values[j][k]) for k in problem.choices[j])})
        wide = held if held[-1] > held[0] else [now, now + 1.0]
        features.append(Feature(name, "real", wide[0], wide[-1], change="any" if len(held) > 1 else "fixed"))
        rules.append(" or ".join(f"{name} == {_text(value)}" for value in held))
        row[name] = now
    space = Space(features)
    axes = space.axes(row)
    coefficients = np.array([[variable.coefficient] for variable in problem.card.variables])
    layer = Layer(coefficients, np.array([problem.card.intercept]), "identity")
    parts = []
    if problem.low > -math.inf:
        parts.append(Compare(0, None, problem.low))
    if problem.high < math.inf:
        parts.append(Compare(None, 0, -problem.high))
    return Question(
        space, axes, Network((layer,), len(features), "positive", (0, 1)),
        Goal("outcome", frozenset(), (tuple(parts),)),
        distance_of(problem, space, objective),
        tuple(rule_of(rule, space).at(axes) for rule in rules),
        most_changes=min(problem.most_changes, len(axes)),
    )  # fmt: skip


def _text(value: float | Fraction) -> str:
    """A number as an exact expression of the language."""
    above, below = value.as_integer_ratio()
    return f"({above} / {below})" if below > 1 else f"({above})"


def index_of(question: Question, j: int, problem: Problem, k: int) -> int:
    """The index of a bin's value on its axis."""
    axis = question.axes[j]
    assert isinstance(axis, GridAxis)
    return axis.grid.floor(Fraction(float(problem.values[j][k])))


def point_of(problem: Problem, question: Question, bins: Sequence[int]) -> Point:
    """The point of a choice."""
    return tuple(index_of(question, j, problem, k) for j, k in enumerate(problem.places(bins)))


# --- the distance ----------------------------------------------------------------------------------------------------


def distance_of(problem: Problem, space: Space, objective: Mapping[str, float]) -> Distance:
    """The weighted sum of proximity and closeness: a norm without closeness, else a sum of forms."""
    weights = [Fraction(objective.get("proximity", 0.0)) * Fraction(weight) for weight in problem.weights]
    if "closeness" not in objective:
        # The distance counts in shares of the range.
        ranges = [Fraction(feature.upper) - Fraction(feature.lower) for feature in space.features]
        shares = tuple(weight * wide for weight, wide in zip(weights, ranges, strict=True))
        return Norm(Fraction(0), Fraction(1), Fraction(0), shares, "proximity")
    assert problem.near is not None
    rows, constants = [], []
    for j, weight in enumerate(weights):
        if weight:
            rows.append(tuple(weight if i == j else Fraction(0) for i in range(len(weights))))
            constants.append(Fraction(0))
    scale = Fraction(objective["closeness"])
    for column in problem.near.factor.T.tolist():
        rows.append(tuple(scale * Fraction(factor) for factor in column))
        away = [
            Fraction(float(problem.values[j][problem.start[j]])) - Fraction(float(mean))
            for j, mean in enumerate(problem.near.mean)
        ]
        constants.append(sum(map(Fraction.__mul__, rows[-1], away), Fraction(0)))
    forms = Forms(tuple(rows), tuple(space.columns), tuple(constants))
    return DistanceProgram(distance_program(_program(space, forms), space), "closeness", forms)


def _program(space: Space, forms: Forms) -> str:
    """The same as a program."""
    sums = []
    for row, constant in zip(forms.weights, forms.constants, strict=True):
        parts = [
            f"{_text(weight)} * ({name} - start_{name})"
            for weight, name in zip(row, space.names, strict=True) if weight
        ]  # fmt: skip
        sums.append(f"abs({' + '.join([_text(constant), *parts])})")
    return f"return {' + '.join(sums)}\n"
