"""Background rows: those that are allowed and have the goal, the nearest first."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from mace.compilers import deployed
from mace.problem.distance import norm
from mace.problem.exclusions import AvoidNear
from mace.problem.goals import Classes
from mace.problem.question import Goal, Question
from mace.solve import background
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


def question_of(frame: pd.DataFrame, row: int) -> Question:
    """A question about a row; what counts as the goal does not matter here."""
    table = Ensemble((), len(SPACE.columns), np.zeros(1), "positive", (0, 1))
    axes = SPACE.axes(frame.iloc[row].to_dict())
    return Question(SPACE, axes, table, Goal("1", frozenset([1]), decision_for(table, [1])), norm("l1", 4))


def people(count: int) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Rows, and which of them have the goal."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 61, count),
            "score": np.where(rng.random(count) < 0.1, np.nan, rng.integers(-30, 31, count) / 10),
            "sex": rng.integers(0, 2, count),
            "place": rng.choice(["a", "b", "c"], count),
        }
    )
    return frame, rng.random(count) < 0.7


@pytest.mark.parametrize("share", [1.0, 0.1, 0.0])
def test_a_few_questions_ask_the_model_about_the_nearest_rows_alone(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, goal = people(900)
    goal &= np.random.default_rng(2).random(900) < share
    monkeypatch.setattr(background, "CHUNK", 200)
    monkeypatch.setattr(background, "BATCH", 60)
    asked: list[int] = []

    def decide(part: pd.DataFrame) -> NDArray[np.bool_]:
        asked.extend(part.index)
        return goal[part.index]

    few, all_of_them = Background(SPACE, frame, decide), Background(SPACE, frame, lambda part: goal[part.index]).read()
    for row in range(background.GLANCES):
        question = question_of(frame, row)
        found = list(few.near(question, lambda said: said))
        assert found == list(all_of_them.nearest(question, lambda said: said))
        assert len(set(asked)) == len(asked)
        if share == 1.0:
            assert len(found) > 10 and len(asked) < 500
    first = next(few.near(question_of(frame, 5), lambda said: said), None)
    assert first == next(all_of_them.nearest(question_of(frame, 5), lambda said: said), None)
    assert sorted(asked) == list(range(900))
    assert few.decisions is not None and few.decisions.tolist() == goal.tolist()


def test_candidates_are_the_nearest_of_the_allowed_rows_with_the_goal() -> None:
    frame, goal = people(400)
    rows = Background(SPACE, frame, lambda part: goal[part.index]).read()
    for row in range(6):
        question = question_of(frame, row)
        points = [SPACE.point(question.axes, frame.iloc[k].to_dict()) for k in np.flatnonzero(goal)]
        allowed = [point for point in points if point is not None and question.obeys(point)]
        expected = sorted(map(question.distance_of, allowed))[:CANDIDATES]
        found = list(rows.nearest(question, lambda said: said))
        # Distances serve to sort, in floats.
        assert [float(question.distance_of(point)) for point in found] == pytest.approx(list(map(float, expected)))


def test_rows_in_an_excluded_ball_are_no_candidates() -> None:
    space = Space([Feature("a", "integer", 0, 1000)])
    frame = pd.DataFrame({"a": range(1001)})
    rows = Background(space, frame, lambda part: part.a > 0).read()
    table = Ensemble((), 1, np.zeros(1), "positive", (0, 1))
    goal = Goal("1", frozenset([1]), decision_for(table, {1}))
    question = Question(space, space.axes({"a": 0}), table, goal, norm("l1", 1)).away(AvoidNear((1,), Fraction(1, 5)))
    assert next(rows.nearest(question, lambda said: said)) == (201,)


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
