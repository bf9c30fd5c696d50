"""A model is read once for calls in a row, and again as soon as anything about it has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mace
from mace.explain.explainer import Explainer
from mace.explain.reading import recall
from mace.space.feature import Feature
from mace.space.space import Space

SPACE = Space([Feature("a", "real", 0, 1), Feature("b", "real", 0, 1)])
ROWS = pd.DataFrame(np.random.default_rng(0).random((80, 2)), columns=["a", "b"])
TARGET = (ROWS.sum(axis=1) > 1).astype(int)


@pytest.fixture(autouse=True)
def nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "_HELD", [])


def logistic() -> LogisticRegression:
    return LogisticRegression().fit(ROWS, TARGET)


def table(model: object, space: Space = SPACE) -> object:
    return Explainer(model, space).table


def additive() -> Any:
    glassbox = pytest.importorskip("interpret.glassbox", reason="an extra that is not installed")
    return glassbox.ExplainableBoostingClassifier(max_rounds=5, outer_bags=1, interactions=0, n_jobs=1)


def symmetric() -> Any:
    catboost = pytest.importorskip("catboost", reason="an extra that is not installed")
    return catboost.CatBoostClassifier(iterations=3, verbose=0, thread_count=1, allow_writing_files=False)


UNTRAINED: dict[str, Callable[[], Any]] = {
    "linear": LogisticRegression,
    "forest": lambda: RandomForestClassifier(3, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "additive": additive,
    "catboost": symmetric,
}


@pytest.mark.parametrize("make", UNTRAINED.values(), ids=UNTRAINED)
def test_a_model_is_read_once_for_calls_in_a_row(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = make().fit(ROWS, TARGET)
    reads: list[object] = []
    read = recall._read
    monkeypatch.setattr(recall, "_read", lambda model, space: reads.append(model) or read(model, space))
    answers = [mace.explain(model, SPACE, row) for row in ROWS[:3].to_dict("records")]
    assert len(reads) == 1
    assert [answer.status for answer in answers] == ["optimal"] * 3


def test_a_model_that_was_fitted_again_is_read_again() -> None:
    model = logistic()
    first = table(model)
    assert table(model) is first
    model.fit(ROWS, 1 - TARGET)
    assert table(model) is not first


def test_a_number_that_was_changed_in_place_is_seen() -> None:
    model = logistic()
    first = table(model)
    model.coef_[0, 1] = np.nextafter(model.coef_[0, 1], 9.0)
    second = table(model)
    assert second is not first
    assert second.layers[0].weights.ravel()[1] == model.coef_[0, 1]


def test_another_model_of_the_same_content_has_its_own_predict() -> None:
    one, other = logistic(), logistic()
    assert recall.content(one) == recall.content(other)
    assert table(one) is not table(other)


def test_another_space_of_the_same_names_is_another_space() -> None:
    model = logistic()
    wider = Space([Feature("a", "real", 0, 2), Feature("b", "real", 0, 1)])
    assert table(model) is not table(model, wider)


def test_a_predict_that_was_replaced_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model = logistic()
    first = recall.content(model)
    monkeypatch.setattr(LogisticRegression, "predict", lambda self, X: np.zeros(len(X)), raising=False)
    assert recall.content(model) != first
    monkeypatch.undo()
    assert recall.content(model) == first
    model.predict = lambda X: np.zeros(len(X))
    assert recall.content(model) is None


def test_what_catboost_leaves_out_of_its_files_is_seen() -> None:
    model = symmetric().fit(ROWS, TARGET)
    first = recall.content(model)
    assert first is not None and recall.content(model) == first
    model.set_probability_threshold(0.9)
    assert recall.content(model) not in (None, first)
    voted = VotingClassifier([("one", model)]).fit(ROWS, TARGET)
    assert recall.content(voted) is not None
    for one in (model, voted.estimators_[0]):
        one.predict = lambda X: np.zeros(len(X))
    assert recall.content(model) is None
    assert recall.content(voted) is None


class Own(LogisticRegression):
    """A class of somebody's own."""


def test_what_somebody_else_wrote_is_read_each_time() -> None:
    assert recall.content(Own().fit(ROWS, TARGET)) is None
    step = FunctionTransformer(lambda rows: rows)
    assert recall.content(make_pipeline(step, LogisticRegression()).fit(ROWS, TARGET)) is None
    assert recall.content("return 1;") is None


def test_no_more_than_a_few_models_are_held_on_to() -> None:
    models = [logistic() for _ in range(recall.MOST + 3)]
    for model in models:
        table(model)
    assert [held.model for held in recall._HELD] == models[-recall.MOST :]
