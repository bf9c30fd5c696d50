"""Classifiers with a threshold of their own: over networks, over pipelines, at the ends, and what is refused.

Those over trees are among the families (`families.py`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import ComplementNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import mace
from mace.compilers import read
from mace.compilers.pipeline.reader import compile_raw
from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.decide import decides
from mace.tables.table import Ensemble, Network, decision_of
from tests.compilers.cases import on_boundary

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)) * [1, 10, 0.1, 3]
Y = (X[:, 0] + X[:, 1] / 10 + rng.normal(size=300) / 2 > 0).astype(int)

SMOOTH = {
    "logistic": LogisticRegression(),
    "perceptron": MLPClassifier((4,), max_iter=60, random_state=0),
    "discriminant": LinearDiscriminantAnalysis(),
    "huber": SGDClassifier(loss="modified_huber", random_state=0),
    "sigmoid": CalibratedClassifierCV(LogisticRegression(), ensemble=False),
    "isotonic": CalibratedClassifierCV(LogisticRegression(), method="isotonic", ensemble=False),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 10]}, cv=2),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "auto": {},
    "low": {"threshold": 0.3},
    "first": {"threshold": 0.3, "pos_label": 0},
    "high": {"threshold": 0.9},
}
SCORES: dict[str, dict[str, Any]] = {
    "score": {"threshold": -0.2, "response_method": "decision_function"},
    "score-first": {"threshold": 0.2, "response_method": "decision_function", "pos_label": 0},
}


def fitted(model: Any, rows: Any = X, labels: Any = Y) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, labels)


def agrees(model: Any, rows: Any) -> int:
    """The decisions of a model, in a batch and alone, are possible for its table; how many rounding leaves open."""
    table: Any = read(model)
    assert isinstance(table, (Network, Ensemble))
    undecided = 0
    for row, said in zip(rows, model.predict(rows), strict=True):
        alone = model.predict(row[None])[0]
        held = [decides(table, decision_of(table, index), row) for index in range(2)]
        undecided += None in held
        for one in (said, alone):
            assert held[table.classes.index(one)] is not False
            assert held[1 - table.classes.index(one)] is not True
    return undecided


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, how) for name in SMOOTH for how in OPTIONS),
        *((name, how) for name in ("logistic", "discriminant", "huber", "search", "ridge") for how in SCORES),
    ],
)
def test_a_threshold_on_a_smooth_model_is_the_library_s(name: str, how: str) -> None:
    inner = SMOOTH.get(name, RidgeClassifier())
    model = fitted(FixedThresholdClassifier(inner, **(OPTIONS | SCORES)[how]))
    assert len(set(model.predict(X))) == 2
    assert agrees(model, X[:100]) == 0
    agrees(model, on_boundary(model, X, 40))  # Pairs of neighbouring floats on both sides of the threshold.


@pytest.mark.parametrize(
    ("options", "always"),
    [
        ({"threshold": 0.0}, 1), ({"threshold": -3}, 1), ({"threshold": 2.0}, 0), ({"threshold": float("inf")}, 0),
        ({"threshold": 0.0, "pos_label": 0}, 0), ({"threshold": 1.5, "pos_label": 0}, 1),
        ({"threshold": float("-inf"), "response_method": "decision_function"}, 1),
        ({"threshold": float("-inf"), "response_method": "decision_function", "pos_label": 0}, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("inner", [LogisticRegression(), GradientBoostingClassifier(n_estimators=3)], ids=str)
def test_a_threshold_that_nothing_or_all_reaches_leaves_one_class(inner: Any, options: Any, always: int) -> None:
    model = fitted(FixedThresholdClassifier(inner, **options))
    table: Any = read(model)
    assert set(model.predict(X)) == {always}
    for row in X[:20]:
        assert decides(table, decision_of(table, always), row) is True
        assert decides(table, decision_of(table, 1 - always), row) is False


def test_a_tuned_threshold_counts_with_its_own_positive_class() -> None:
    words = np.array(["good", "poor"])[Y]
    for method in ("predict_proba", "decision_function"):
        tuned = TunedThresholdClassifierCV(LogisticRegression(), response_method=method, cv=3, random_state=0)
        model = fitted(tuned, X, words)
        assert agrees(model, X[:100]) == 0
        agrees(model, on_boundary(model, X, 20))


def test_a_threshold_on_a_score_lends_no_probability_to_a_model_without_one() -> None:
    model = fitted(FixedThresholdClassifier(RidgeClassifier(), threshold=0.1))
    table: Any = read(model)
    assert table.link is None
    assert table.decisions is not None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FixedThresholdClassifier(AdaBoostClassifier(n_estimators=3)), "probabilities of the AdaBoostClassifier"),
        (
            FixedThresholdClassifier(AdaBoostClassifier(n_estimators=3), response_method="decision_function"),
            "decision_function of the AdaBoostClassifier",
        ),
        (
            FixedThresholdClassifier(
                CalibratedClassifierCV(MLPClassifier((3,), max_iter=50), method="temperature", ensemble=False),
                threshold=0.3,
            ),
            r"(?s)none that a threshold is read over.*`p\(1\) >= 0.3`",
        ),
        (
            CalibratedClassifierCV(FrozenEstimator(fitted(FixedThresholdClassifier(LogisticRegression())))),
            "over a FixedThresholdClassifier is not supported",
        ),
    ],
)  # fmt: skip
def test_what_is_no_function_of_one_score_is_refused_by_name(model: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read(fitted(model))


def test_a_threshold_over_a_mean_says_which_goal_of_the_model_inside_is_the_same() -> None:
    """The advice was to calibrate by sigmoids, as these were."""
    for inside in (
        CalibratedClassifierCV(GradientBoostingClassifier(n_estimators=3), cv=2),
        BaggingClassifier(CalibratedClassifierCV(LogisticRegression(), cv=2), 2),
    ):
        model = fitted(FixedThresholdClassifier(inside, threshold=0.3))
        with pytest.raises(ModelError, match=r"(?s)a mean of what several members say.*`p\(1\) >= 0.3`"):
            read(model)
        space = Space([Feature(f"x{k}", "real", -40, 40, step="0.5") for k in range(X.shape[1])])
        row = next(row for row in X if model.predict(row[None])[0] == 0)
        answer = mace.explain(model.estimator_, space, np.round(2 * row) / 2, goal="p(1) >= 0.3")
        for one in answer.counterfactuals:
            assert model.predict([list(one.values.values())])[0] == 1


def test_probabilities_of_naive_bayes_are_refused_by_name() -> None:
    model = fitted(FixedThresholdClassifier(ComplementNB()), np.abs(X))
    with pytest.raises(ModelError, match="probabilities of the ComplementNB"):
        read(model)


@pytest.mark.parametrize("name", ["forest", "boosting", "logistic", "isotonic"])
def test_a_threshold_that_is_a_probability_of_the_model_itself_is_decided_as_the_library_does(name: str) -> None:
    inner: Any = {
        **SMOOTH,
        "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    }[name]
    grid = np.array([(a, b) for a in range(13) for b in range(9)], dtype=float)
    space = Space([Feature("a", "integer", 0, 12), Feature("b", "integer", 0, 8)])
    rows = grid[rng.integers(len(grid), size=150)]
    fitted(inner, rows, (rows.sum(axis=1) + rng.normal(size=150) * 3 > 10).astype(int))
    for positive in (0, 1):
        exactly = float(inner.predict_proba(grid)[int(rng.integers(len(grid))), positive])
        model = FixedThresholdClassifier(FrozenEstimator(inner), threshold=exactly, pos_label=positive)
        said = np.array([fitted(model, rows, Y[:150]).predict(row[None])[0] for row in grid])
        start = int(rng.integers(len(grid)))
        away = np.abs(grid - grid[start]) / [12, 8]
        nearest = away.sum(axis=1)[said != said[start]].min(initial=np.inf)
        answer = mace.explain(model, space, grid[start].tolist(), distance={"l1": 1}, goal=int(1 - said[start]))
        if nearest == np.inf:
            assert answer.status == "infeasible"
            continue
        assert answer.status == "optimal"
        values = answer.counterfactuals[0].values
        found = np.abs(np.array([values["a"], values["b"]]) - grid[start]) / [12, 8]
        assert found.sum() == pytest.approx(nearest)
        assert answer.certificate.check().accepted


# ---------------------------------------------------------------------------------------------- over pipelines

PEOPLE = pd.DataFrame({"age": rng.integers(18, 60, 200), "region": rng.choice(list("abc"), 200)})
PAID = np.where(rng.random(200) < 0.15, 1, 0) ^ ((PEOPLE.age > 35) & (PEOPLE.region != "c")).to_numpy().astype(int)
SPACE = Space([Feature("age", "integer", 18, 60), Feature("region", "categorical", levels=list("abc"))])
EVERYONE = pd.DataFrame([(age, region) for age in range(18, 61) for region in "abc"], columns=["age", "region"])


def prepared(last: Any, scaler: Any = None) -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["region"]), (scaler or StandardScaler(), ["age"]))
    return make_pipeline(columns, last)


BOOSTING = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
PIPED = {
    "threshold over a pipeline": FixedThresholdClassifier(prepared(LogisticRegression()), threshold=0.3),
    "search over a pipeline": GridSearchCV(prepared(BOOSTING), {"gradientboostingclassifier__max_depth": [1, 2]}, cv=2),
    "threshold over a search over a pipeline": FixedThresholdClassifier(
        GridSearchCV(prepared(BOOSTING), {"gradientboostingclassifier__max_depth": [1, 2]}, cv=2), threshold=0.4
    ),
    "calibration over a pipeline": CalibratedClassifierCV(prepared(BOOSTING), ensemble=False),
    "threshold in a pipeline": prepared(FixedThresholdClassifier(BOOSTING, threshold=0.4)),
    "naive Bayes in a pipeline": prepared(ComplementNB(), MinMaxScaler()),
}


@pytest.mark.parametrize("name", PIPED)
def test_a_model_with_a_pipeline_inside_is_explained_in_raw_columns(name: str) -> None:
    model = fitted(PIPED[name], PEOPLE, PAID)
    said = model.predict(EVERYONE)
    for row in ({"age": 20, "region": "c"}, {"age": 50, "region": "a"}):
        now = said[(EVERYONE.age == row["age"]) & (EVERYONE.region == row["region"])][0]
        answer = mace.explain(model, SPACE, row, distance="l1")
        price = abs(EVERYONE.age - row["age"]) / 42 + (EVERYONE.region != row["region"])
        nearest = (price[said != now].min()) if (said != now).any() else None
        assert answer.status == ("infeasible" if nearest is None else "optimal")
        if nearest is not None:
            scale = answer.distance / nearest
            assert scale == pytest.approx(1) or scale == pytest.approx(0.5)
        assert answer.certificate.check().accepted
    if "over" in name:
        with pytest.raises(ModelError, match="over a pipeline is read over the columns of a space"):
            read(model)


def test_a_threshold_over_a_booster_that_numbers_categories_itself_is_read_over_its_frame() -> None:
    frame = PEOPLE.assign(region=PEOPLE.region.astype("category"))
    booster = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype", min_samples_leaf=5)
    model = fitted(FixedThresholdClassifier(booster, threshold=0.4), frame, PAID)
    compiled = compile_raw(model, SPACE)
    assert compiled is not None
    rows = EVERYONE.to_dict("records")
    said = compiled.predict(compiled.frame(rows))
    table: Any = compiled.table
    for row, label in zip(rows, said, strict=True):
        assert decides(table, decision_of(table, table.classes.index(label)), compiled.row(row)) is not False
