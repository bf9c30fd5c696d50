"""No verdict where the deployed model, the numbers read of it and the oracle do not agree."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from mace import Explainer, Feature, Space
from mace.errors import ModelError, RowError
from mace.solve.driver import bracket_optimum
from mace.solve.protocol import Found, Gap, Limits, Refuted
from tests.reference import random_question

SPACE = Space([Feature("a", "integer", 0, 9), Feature("b", "integer", 0, 9)])
ROW = {"a": 1, "b": 1}


def fitted(model: Any, least: int) -> Any:
    """A model that says 1 where a + b is at least so large."""
    rows = pd.DataFrame([(a, b) for a in range(10) for b in range(10)], columns=["a", "b"])
    return model.fit(rows, (rows.sum(axis=1) >= least).astype(int))


MODELS = [DecisionTreeClassifier(random_state=0), RandomForestClassifier(5, random_state=0), LogisticRegression(C=100)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_that_was_fitted_again_after_it_was_read_gets_no_verdict(model: Any) -> None:
    explainer = Explainer(fitted(model, 9), SPACE)
    assert explainer.explain(ROW).status == "optimal"
    fitted(model, 14)
    with pytest.raises(ModelError, match="contradicts the numbers that were read"):
        explainer.explain(ROW)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_background_row_that_the_numbers_deny_is_not_passed_over(model: Any) -> None:
    rows = pd.DataFrame([(4, 4), (1, 2), (5, 3)], columns=["a", "b"])
    explainer = Explainer(fitted(model, 14), SPACE, background=rows)
    fitted(model, 6)
    with pytest.raises(ModelError, match="contradicts the numbers that were read"):
        explainer.explain(ROW)


def test_a_class_whose_predict_was_replaced_gets_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(DecisionTreeClassifier(random_state=0), 9)
    monkeypatch.setattr(DecisionTreeClassifier, "predict", lambda self, X: np.zeros(len(X), dtype=int))
    with pytest.raises(ModelError, match="own library says"):
        Explainer(model, SPACE).explain(ROW)


class Wrong:
    """An oracle that refutes everything nearer than a point, and then finds a nearer one."""

    name, refused = "wrong", ()

    def __init__(self, near: Any, far: Any, lower: Fraction, optimises: bool) -> None:
        self.optimises = optimises
        self.replies = [Found(near, lower)] if optimises else [Found(far), Refuted(), Found(near)]

    def ask(self, radius: Any, limits: Limits, **more: Any) -> Any:  # noqa: ARG002
        return self.replies.pop(0)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("optimises", [True, False])
def test_a_bound_above_its_own_witness_is_not_called_optimal(optimises: bool) -> None:
    question = random_question(3, "forest", extras=False)
    start = question.start
    reached = sorted(
        (question.distance_of(point), point)
        for axis in range(len(start))
        for index in range(2)
        if question.obeys(point := (*start[:axis], index, *start[axis + 1 :])) and point != start
    )
    near, far = reached[0][1], reached[-1][1]
    assert 0 < question.distance_of(near) < question.distance_of(far) / 2
    oracle = Wrong(near, far, question.distance_of(far), optimises)
    bracket = bracket_optimum(question, oracle, lambda _: True, gap=Gap(), limits=Limits())
    assert bracket.status == "bounded"
    assert bracket.lower == 0
    assert bracket.proof is None
    assert "please report" in bracket.why


@pytest.mark.parametrize("error", [KeyError("a"), TypeError("no"), RuntimeError("")])
def test_what_the_library_raises_is_a_message_of_ours(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    explainer = Explainer(fitted(DecisionTreeClassifier(random_state=0), 9), SPACE)
    monkeypatch.setattr(DecisionTreeClassifier, "predict", fail)
    with pytest.raises(RowError, match="does not take these rows"):
        explainer.explain(ROW)
