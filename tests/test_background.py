"""Background rows: those that are allowed and have the goal, the nearest first."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from mace.compilers import deployed
from mace.problem.distance import norm
from mace.problem.exclusions import AvoidNear
from mace.problem.goals import Classes
from mace.problem.question import Goal, Question
from mace.solve.background import CANDIDATES, Background
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, decision_for

SPACE = Space(
    [
        Feature("age", "integer", 0, 60, change="increase"),
        Feature("score", "real", -3, 3, missing="any"),
        Feature("sex", "binary", change="fixed"),
        Feature("place", "categorical", levels=("a", "b", "c")),
    ]
)


def test_candidates_are_the_nearest_of_the_allowed_rows_with_the_goal() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 61, 400),
            "score": np.where(rng.random(400) < 0.1, np.nan, rng.integers(-30, 31, 400) / 10),
            "sex": rng.integers(0, 2, 400),
            "place": rng.choice(["a", "b", "c"], 400),
        }
    )
    goal = rng.random(400) < 0.7
    background = Background(SPACE, frame, lambda part: goal[part.index]).read()
    table = Ensemble((), len(SPACE.columns), np.zeros(1), "positive", (0, 1))
    for row in range(6):
        start = frame.iloc[row].to_dict()
        axes = SPACE.axes(start)
        distance = norm("l1", 4)
        question = Question(SPACE, axes, table, Goal("1", frozenset([1]), decision_for(table, [1])), distance)
        points = [SPACE.point(axes, frame.iloc[k].to_dict()) for k in np.flatnonzero(goal)]
        allowed = [point for point in points if point is not None and question.obeys(point)]
        expected = sorted(map(question.distance_of, allowed))[:CANDIDATES]
        found = list(background.nearest(question, lambda said: said))
        # Distances serve to sort, in floats.
        assert [float(question.distance_of(point)) for point in found] == pytest.approx(list(map(float, expected)))


def test_rows_in_an_excluded_ball_are_no_candidates() -> None:
    space = Space([Feature("a", "integer", 0, 1000)])
    frame = pd.DataFrame({"a": range(1001)})
    background = Background(space, frame, lambda part: part.a > 0).read()
    table = Ensemble((), 1, np.zeros(1), "positive", (0, 1))
    goal = Goal("1", frozenset([1]), decision_for(table, {1}))
    question = Question(space, space.axes({"a": 0}), table, goal, norm("l1", 1)).away(AvoidNear((1,), Fraction(1, 5)))
    assert next(background.nearest(question, lambda said: said)) == (201,)


def test_a_forest_is_asked_under_one_filter_of_warnings_and_all_filters_are_there_again() -> None:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit([[0.0], [1.0], [2.0]] * 5, [0, 1, 1] * 5)
    asked, before = deployed(model), list(warnings.filters)
    rows = pd.DataFrame({"x": [0.0, 2.0]})
    assert asked.predict(rows).tolist() == model.predict(rows.to_numpy()).tolist()
    assert asked.probabilities is not None
    assert asked.probabilities(rows).tolist() == model.predict_proba(rows.to_numpy()).tolist()
    assert warnings.filters == before


def test_classes_of_whole_numbers_are_found_as_those_of_any_kind_are() -> None:
    said = np.array([0, 3, 1, 3, 2, -1])
    for labels in ([3], [0, 2], [7], [-1, 3], [True], [2**70, 1]):
        met = Classes(frozenset(labels)).met(said, [])
        assert met.tolist() == [any(one == label for label in labels) for one in said.tolist()]
        assert Classes(frozenset(map(str, labels))).met(said.astype(str), []).tolist() == [
            str(one) in map(str, labels) for one in said.tolist()
        ]
