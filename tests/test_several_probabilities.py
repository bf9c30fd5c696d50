"""Probabilities of several classes: comparisons enclose them, and answers are tight."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import mace
from mace.base.deadline import NEVER
from mace.compilers import read
from mace.problem.goal_softmax import touching
from mace.solve.onward import longer_way, onward
from mace.tables import margins

NUMBERS, CLASSES = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=5, n_clusters_per_class=1,
                                       random_state=2)  # fmt: skip
FRAME = pd.DataFrame(NUMBERS, columns=[f"x{k}" for k in range(6)])
SPACE = mace.Space.from_frame(FRAME)
GOAL = "p(1) >= 0.7"
AWAY = [k for k in range(300) if CLASSES[k] != 1][:2]


@pytest.fixture(scope="module")
def linear() -> Any:
    return LogisticRegression().fit(FRAME, CLASSES)


@pytest.mark.parametrize("distance", ["l1", "linf"])
def test_half_spaces_touch_where_the_nearest_point_lies(linear: Any, distance: str) -> None:
    explainer = mace.Explainer(linear, SPACE, distance=distance)
    for k in AWAY:
        answer = explainer.explain(FRAME.iloc[k], goal=GOAL, timeout=None)
        assert answer.distance is not None
        assert answer.distance - answer.lower_bound <= 1e-3 * answer.distance  # it was up to a third of it
        point = pd.DataFrame([answer.counterfactuals[0].values])[FRAME.columns].astype(float)
        assert linear.predict_proba(point)[0, 1] >= 0.7
        assert answer.certificate.check().accepted


def test_the_largest_probability_that_may_be_asked_for_has_an_answer() -> None:
    model = LogisticRegression(C=100).fit(FRAME, CLASSES)
    answer = mace.explain(model, SPACE, FRAME.iloc[AWAY[0]], goal="p(1) >= 0.999999")
    assert answer.status in ("optimal", "bounded") and answer.distance is not None
    assert answer.distance - answer.lower_bound <= 0.01 * answer.distance


def test_a_touching_half_space_holds_all_that_have_the_probability() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        weights = touching(rng.normal(0, 3, 5), 2)
        assert sum(map(Fraction, weights.tolist())) == 1
        apart = rng.normal(0, 3, (200, 4))
        positive = np.where(weights > 0, weights, 1.0)
        assert (logsumexp(apart, axis=1) >= apart @ weights - weights @ np.log(positive) - 1e-9).all()


def test_whole_numbers_do_not_jump_beyond_the_longer_way() -> None:
    frame = pd.DataFrame({"a": [0, 10] * 50, "b": [0.0, 10.0] * 50, "k": [0, 1, 2, 0] * 25})
    model = LogisticRegression().fit(frame[["a", "b"]], frame["k"])
    question, _ = mace.Explainer(model, mace.Space.from_frame(frame[["a", "b"]])).question(frame[["a", "b"]].iloc[0])
    real = question.axes[1].grid
    point = (question.start[0] + 3, real.floor(Fraction(3)))
    farther = longer_way(question, point, Fraction(101, 100))
    assert farther[0] == point[0]  # one more would be a third of the way
    assert farther[1] == real.floor(Fraction(303, 100))


def test_onward_ends_at_the_first_point_that_has_the_goal(linear: Any) -> None:
    question, _ = mace.Explainer(linear, SPACE).question(FRAME.iloc[0], None)
    axis = question.axes[0]
    way = axis.upper if axis.upper != axis.start else axis.lower
    far = (way, *question.start[1:])

    def part(of: Fraction) -> Any:
        value = axis.start_value + (axis.value(way) - axis.start_value) * of
        return (axis.grid.floor(value), *question.start[1:])

    short, wanted = part(Fraction(1, 4)), question.distance_of(part(Fraction(3, 10)))

    def accepts(point: Any) -> bool:
        return bool(question.distance_of(point) >= wanted)

    found = onward(question, short, accepts, None, NEVER)
    assert found is not None and wanted <= question.distance_of(found) <= wanted * Fraction(101, 100)
    assert onward(question, short, accepts, wanted, NEVER) is None
    assert longer_way(question, far, Fraction(5)) == far  # the end of its range


def test_slacks_of_many_comparisons_are_worked_out_once() -> None:
    table = read(GradientBoostingClassifier(n_estimators=3, max_depth=1).fit(NUMBERS, np.arange(300) % 12))
    from mace.problem.goal_softmax import at_least

    covered = at_least(table, 0, 0.5, "p(0) >= 0.5")
    compares = covered.decision[0]
    assert len(compares) > 64
    with mock.patch.object(margins, "_slack_of_sums", wraps=margins._slack_of_sums) as worked:
        for _ in range(3):
            for compare in compares:
                margins.compare_slack(covered.table, compare)
    assert worked.call_count == len(compares)
