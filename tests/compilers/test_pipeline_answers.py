"""Pipelines that were refused, or crashed, though every step of them can be followed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mace import explain
from mace.explain.explainer import Explainer
from mace.space.feature import Feature
from mace.space.space import Space

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

NUMBERS = Space([Feature(name, "integer", 0, 19) for name in ("a", "b")])
SPACED = Space([Feature("years here", "integer", 0, 9), Feature("home  town", "categorical", levels=["u v", "w"])])


def agrees(model: Any, space: Space) -> Explainer:
    """The model's table decides as the model does, on rows of the space."""
    explainer = Explainer(model, space)
    rng = np.random.default_rng(5)
    rows = [
        {f.name: int(rng.integers(f.lower, f.upper + 1)) if f.numeric else f.levels[int(rng.integers(len(f.levels)))]
         for f in space.features}
        for _ in range(60)
    ]  # fmt: skip
    said = explainer.decisions(pd.DataFrame(rows))
    for row, label in zip(rows, said.tolist(), strict=True):
        question, decision = explainer.question(row)
        assert decision == label
        assert question.has_goal(question.start) is not True  # any other class is the goal
    return explainer


def numbers() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 20, 200), "b": rng.integers(0, 20, 200)})
    return frame, np.where(frame["a"] + frame["b"] > 19, "yes", "no")


def spaced() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"years here": rng.integers(0, 10, 300), "home  town": rng.choice(["u v", "w"], 300)})
    return frame, ((frame["years here"] > 4) ^ (frame["home  town"] == "w")).astype(int)


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
@pytest.mark.parametrize(
    "base",
    [RandomForestClassifier(5, random_state=0), GradientBoostingClassifier(n_estimators=5)],
)
def test_a_pipeline_may_end_in_a_calibrated_ensemble(base: Any, method: str) -> None:
    frame, decision = numbers()
    calibrated = CalibratedClassifierCV(base, method=method, ensemble=False)
    model = make_pipeline(StandardScaler(), calibrated).fit(frame, decision)
    answer = agrees(model, NUMBERS).explain(frame.iloc[0])
    assert answer.status == "optimal"
    assert answer.certificate.check().accepted


def test_bins_of_a_column_that_was_constant_in_training_are_one_bin() -> None:
    frame, decision = numbers()
    frame["a"] = frame["a"] % 3 * 1e-12
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    model = make_pipeline(
        ColumnTransformer([("bins", bins, ["a"])], remainder="passthrough"), DecisionTreeClassifier(random_state=0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bins are too small
        model.fit(frame, decision)
    assert model[0].transformers_[0][1].n_bins_.tolist() == [0]
    agrees(model, NUMBERS)


def encoder() -> ColumnTransformer:
    return ColumnTransformer([("levels", OneHotEncoder(), ["home  town"])], remainder="passthrough")


@pytest.mark.parametrize(
    "steps",
    [
        lambda: [("nothing", "passthrough"), ("columns", encoder())],
        lambda: [("nothing", None), ("more", "passthrough"), ("columns", encoder()), ("last", "passthrough")],
        lambda: [("inner", Pipeline([("nothing", "passthrough"), ("columns", encoder())]))],
        lambda: [("both", FeatureUnion([("gone", "drop"), ("one", encoder()), ("two", encoder())]))],
    ],
    ids=["before", "around", "nested", "union"],
)
def test_passthrough_before_a_column_transformer_hides_no_names(steps: Callable[[], list[Any]]) -> None:
    frame, decision = spaced()
    agrees(Pipeline([*steps(), ("model", DecisionTreeClassifier(random_state=0))]).fit(frame, decision), SPACED)


def test_names_that_lightgbm_spells_with_underscores_are_the_spaces_own() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    frame, decision = spaced()
    typed, encoded = frame.astype({"home  town": "category"}), SPACED.encode(frame)

    def model() -> Any:
        return lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, min_child_samples=2, n_jobs=1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM says that it renames them
        agrees(model().fit(encoded, decision), SPACED)
        agrees(model().fit(encoded, decision).booster_, SPACED)
        agrees(CalibratedClassifierCV(model(), ensemble=False).fit(encoded, decision), SPACED)
        agrees(model().fit(typed, decision), SPACED)
        agrees(Pipeline([("model", model())]).fit(typed, decision), SPACED)
        agrees(Pipeline([("nothing", "passthrough"), ("model", model())]).fit(typed, decision), SPACED)
        agrees(Pipeline([("columns", encoder()), ("model", model())]).fit(frame, decision), SPACED)
        numbers_only = Pipeline([("model", model())]).fit(frame[["years here"]].to_numpy(), decision)
        agrees(numbers_only, Space([SPACED.features[0]]))


def test_columns_that_people_call_as_boosters_call_theirs_are_known_inside_of_whatever_is_only_asked() -> None:
    # f0 and f1 passed for made up, and the space for one of other columns, but where a pipeline itself was asked.
    rng = np.random.default_rng(0)
    space = Space([Feature("f0", "integer", 0, 5), Feature("f1", "categorical", levels=["x", "y", "z"])])
    frame = pd.DataFrame({"f0": rng.integers(0, 6, 80), "f1": rng.choice(list("xyz"), 80)})
    decision = (frame.f0 + 2 * (frame.f1 == "x") + rng.normal(size=80) > 3).astype(int)
    columns = ColumnTransformer([("n", "passthrough", ["f0"]), ("c", OneHotEncoder(sparse_output=False), ["f1"])])
    model = make_pipeline(columns, GaussianNB())
    for asked in (
        VotingClassifier([("a", model), ("b", model)]),
        FixedThresholdClassifier(model, threshold=0.4),
        CalibratedClassifierCV(model, cv=2),
        make_pipeline(FunctionTransformer(), model),
    ):
        answer = explain(asked.fit(frame, decision), space, {"f0": 1, "f1": "y"})
        assert answer.status == "optimal" and answer.oracle == "search (every point)"
    boosting = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    typed = frame.assign(f1=frame.f1.astype("category"))
    for asked in (VotingClassifier([("a", boosting), ("b", boosting)], voting="soft"), boosting):
        assert explain(asked.fit(typed, decision), space, {"f0": 1, "f1": "y"}).status == "optimal"


def test_a_model_of_codes_that_takes_any_text_for_an_unknown_category_is_asked_with_codes() -> None:
    # It was asked with the levels, all of which were one unknown category to it: "infeasible", of all points.
    rng = np.random.default_rng(0)
    job = Feature("job", "ordinal", levels=list("uvwx"), encoding="codes")
    space = Space([Feature("n", "binary"), job, Feature("z", "real", 0, 1, step="0.25")])
    frame = pd.DataFrame({"n": rng.integers(0, 2, 120), "job": rng.choice(list("uvwx"), 120), "z": 0.5})
    decision = (frame.job.isin(["v", "x"]) ^ (rng.random(120) < 0.1)).astype(int)
    boosting = HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=5, categorical_features=[0, 1])
    model = BaggingClassifier(boosting, 2, bootstrap_features=True, random_state=0)
    model.fit(space.encode(frame), decision)
    assert [part.tolist() for part in model.estimators_features_] == [[0, 2, 0], [1, 0, 0]]
    model.predict(frame)  # does not raise
    row = {"n": 1, "job": "u", "z": 0.5}
    wanted = 1 - int(model.predict(space.encode(pd.DataFrame([row])))[0])
    answer = explain(model, space, row)
    assert answer.status == "optimal"
    assert model.predict(space.encode(pd.DataFrame([answer.counterfactuals[0].values]))) == [wanted]


def test_votes_of_boosters_that_are_only_asked_are_given_their_categories_as_they_were_fitted() -> None:
    # They were given texts, and raised.
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    xgboost = pytest.importorskip("xgboost", reason="an extra that is not installed")
    rng = np.random.default_rng(0)
    space = Space([Feature("n", "integer", 0, 3), Feature("job", "categorical", levels=list("xwvu"))])
    frame = pd.DataFrame({"n": rng.integers(0, 4, 120), "job": rng.choice(list("uvwx"), 120)})
    decision = (frame.job.isin(["v", "w"]) ^ (rng.random(120) < 0.1)).astype(int)
    typed = frame.assign(job=frame.job.astype("category"))
    one = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, min_child_samples=2, min_data_per_group=1, n_jobs=1)
    two = xgboost.XGBClassifier(n_estimators=3, max_depth=2, enable_categorical=True, n_jobs=1)
    three = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    for model in (
        VotingClassifier([("a", one), ("b", one)], voting="soft"),
        VotingClassifier([("a", three), ("b", two)]),
        CalibratedClassifierCV(two, cv=2),
    ):
        answer = explain(model.fit(typed, decision), space, {"n": 1, "job": "u"}, goal=1)
        assert answer.status == "optimal" and answer.counterfactuals[0].values["job"] in "vw"


def lightgbm_around() -> list[Any]:
    """LightGBM in whatever may stand around it: some give it the user's frame, some what they made of it."""
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, min_child_samples=2, n_jobs=1)
    forest = RandomForestClassifier(3, random_state=0)
    return [
        model,
        Pipeline([("nothing", "passthrough"), ("model", model)]),
        make_pipeline(StandardScaler(), model),
        make_pipeline("passthrough", StandardScaler().set_output(transform="pandas"), model),
        make_pipeline(ColumnTransformer([("some", StandardScaler(), ["years here"])], remainder="passthrough"), model),
        GridSearchCV(model, {"num_leaves": [4, 8]}, cv=2),
        GridSearchCV(make_pipeline(StandardScaler(), model), {"standardscaler__with_mean": [True]}, cv=2),
        CalibratedClassifierCV(model, cv=2),
        CalibratedClassifierCV(make_pipeline(StandardScaler(), model), cv=2),
        VotingClassifier([("model", model), ("forest", forest)], voting="soft"),
        BaggingClassifier(model, 2, random_state=0),
    ]


@pytest.mark.parametrize("place", range(11))
def test_without_a_space_a_model_is_told_its_columns_as_whatever_takes_the_frame_spells_them(place: int) -> None:
    """LightGBM writes `years here` with an underscore, a step before it does not; nor is anything warned of."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"years here": rng.normal(size=120), "debts": rng.normal(size=120)})
    decision = (frame["years here"] + frame["debts"] > 0.3).to_numpy().astype(int)
    model = lightgbm_around()[place]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM says that it renames them
        model.fit(frame, decision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        person = frame[model.predict(frame) == 0].iloc[0]
        answer = explain(model, frame, person, goal=1)
        assert answer.status == "optimal"
        assert model.predict(pd.DataFrame([answer.counterfactuals[0].values]))[0] == 1
