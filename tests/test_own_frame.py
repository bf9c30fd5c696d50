"""An answer is about the frame that it was asked with: where the model computes otherwise over it, it is refused."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PowerTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import mace
from mace.errors import ModelError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"u": RNG.gamma(2, 3, 150), "v": RNG.gamma(2, 300, 150)})
Y = (X.u * 100 + X.v > 1000).to_numpy().astype(int)
SINGLE = X.astype("float32")
SMALL = pd.DataFrame({"age": RNG.integers(0, 90, 150), "held": RNG.integers(0, 2, 150).astype(bool)})
OLD = (SMALL.age > 40).to_numpy().astype(int)


@pytest.mark.parametrize(
    ("pipeline", "step"),
    [
        (make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=5, random_state=0)), "StandardScaler"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "StandardScaler"),
        (make_pipeline(PowerTransformer(), LogisticRegression()), "PowerTransformer"),
        (make_pipeline(SplineTransformer(), LogisticRegression()), "SplineTransformer"),  # bounded over boxes
        (make_pipeline(PCA(2), LogisticRegression()), "PCA"),
    ],
)
def test_a_step_that_computes_in_float32_over_the_frame_is_refused(pipeline: Any, step: str) -> None:
    pipeline.fit(SINGLE, Y)
    with pytest.raises(ModelError, match=rf"{step} makes .* its numbers are float64 .*`u` is float32") as said:
        mace.explain(pipeline, SINGLE, SINGLE.iloc[0])
    assert "float64" in said.value.hint
    with pytest.raises(ModelError, match=step):
        mace.explain(pipeline, mace.Space.from_frame(SINGLE), SINGLE.iloc[0], background=SINGLE)
    double = SINGLE.astype("float64")
    answer = mace.explain(pipeline, double, double.iloc[0], timeout=10)
    assert answer.counterfactuals
    changed = double.assign(**answer.counterfactuals[0].values)
    assert pipeline.predict(changed.iloc[[0]])[0] != pipeline.predict(double.iloc[[0]])[0]


def test_a_table_of_rows_is_held_to_the_model_as_well() -> None:
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=5, random_state=0)).fit(X, Y)
    explainer = mace.Explainer(pipeline, mace.Space.from_frame(SINGLE))
    with pytest.raises(ModelError, match="StandardScaler"):
        explainer.explain(SINGLE.iloc[:2])
    with pytest.raises(ModelError, match="StandardScaler"):
        mace.audit(pipeline, mace.Space.from_frame(SINGLE), SINGLE.iloc[:2], goal=1, progress=False)


def test_the_logarithm_of_small_integers_is_of_half_precision_and_is_refused() -> None:
    pipeline = make_pipeline(FunctionTransformer(np.log1p), DecisionTreeClassifier(max_depth=5, random_state=0))
    small = SMALL[["age"]].astype("int8")
    pipeline.fit(small, OLD)
    with pytest.raises(ModelError, match=r"FunctionTransformer makes .*`age` is int8, and would be given as int64"):
        mace.explain(pipeline, small, small.iloc[0])


@pytest.mark.parametrize("types", [{"age": "int8"}, {"age": "Int64", "held": "boolean"}, {"age": "float32"}, object])
def test_what_makes_the_same_of_other_types_is_answered(types: Any) -> None:
    frame = SMALL.astype(types)
    columns = ColumnTransformer([("age", "passthrough", ["age"]), ("held", OneHotEncoder(), ["held"])])
    pipeline = make_pipeline(columns, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(frame, OLD)
    assert mace.explain(pipeline, frame, frame.iloc[0]).status == "optimal"


def test_numbers_in_the_other_order_of_bytes_are_read_and_refused_where_the_library_reads_them_otherwise() -> None:
    turned = X.round().to_numpy().astype(">i4")
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(turned, Y)
    assert mace.explain(tree, turned, turned[0]).status == "optimal"
    framed = pd.DataFrame({"u": turned[:, 0], "v": turned[:, 1]})
    assert mace.explain(tree.fit(framed, Y), framed, framed.iloc[0]).status == "optimal"
    booster = XGBClassifier(n_estimators=3).fit(turned.astype("int32"), Y)
    assert (booster.predict(turned) != booster.predict(turned.astype("int32"))).any()  # XGBoost takes them as they lie
    with pytest.raises(ModelError, match=r"XGBClassifier makes .* it holds >i4"):
        mace.explain(booster, turned, turned[0])


def test_a_model_is_held_to_the_frame_with_a_column_that_it_does_not_take_as_well(monkeypatch: Any) -> None:
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, Y)
    own = DecisionTreeClassifier.predict
    monkeypatch.setattr(
        DecisionTreeClassifier, "predict", lambda self, rows: own(self, rows) ^ (rows["u"].dtype == np.float32)
    )
    for frame in (SINGLE, SINGLE.assign(said=Y)):
        with pytest.raises(ModelError, match="DecisionTreeClassifier makes"):
            mace.explain(tree, frame, frame.iloc[0])


def test_a_booster_that_gives_probabilities_is_held_to_these() -> None:
    for frame in (X, SINGLE, X.round().astype("int16")):
        data = lightgbm.Dataset(frame, Y)
        booster = lightgbm.train({"objective": "binary", "verbose": -1, "min_data_in_leaf": 3}, data, 3)
        assert mace.explain(booster, frame, frame.iloc[0]).status == "optimal"


@pytest.mark.parametrize("array", [False, True])
def test_a_linear_model_in_float32_is_read_over_its_own_frame_whose_rounding_its_bounds_allow_for(array: bool) -> None:
    rows: Any = SINGLE.to_numpy() if array else SINGLE
    line = LinearRegression().fit(rows, SINGLE.u * 2 + SINGLE.v)
    start: Any = rows[0] if array else rows.iloc[0]
    answer = mace.explain(line, rows, start, goal="y >= 900", timeout=10)
    point = np.array([[*answer.counterfactuals[0].values.values()]], dtype=np.float32)
    assert line.predict(point if array else pd.DataFrame(point, columns=["u", "v"]))[0] >= 900


@pytest.mark.parametrize("levels", [["1", "2", "10", "more"], ["1", "0", "more"], ["0", "1", "more"]])
@pytest.mark.parametrize("lacking", [False, True])
def test_texts_of_which_a_model_made_numbers_are_not_taken_for_the_places_of_levels(
    levels: list[str], lacking: bool
) -> None:
    texts = RNG.choice(levels[:-1], 80)  # no row has the last one, so that libraries take all of them for numbers
    held = pd.DataFrame({"few": pd.Categorical(texts, levels, ordered=True), "d": RNG.integers(0, 3, 80)})
    if lacking:
        held.loc[::7, "few"] = None
    forest = RandomForestClassifier(5, random_state=0).fit(held, texts == levels[0])
    if levels[:2] == ["0", "1"] and not lacking:
        answer = mace.explain(forest, held, held.iloc[1])
        assert answer.decision == forest.predict(held.iloc[[1]])[0]
        return
    with pytest.raises(ModelError, match="trained on other columns"):
        mace.explain(forest, held, held.iloc[1])


@pytest.mark.filterwarnings("ignore:invalid value")
def test_whole_numbers_as_categories_of_which_pandas_makes_a_number_of_what_is_missing_are_refused() -> None:
    cells = [[10, 20, None][k] for k in RNG.integers(0, 3, 120)]
    held = pd.DataFrame({"c": pd.Categorical(cells, [10, 20], ordered=True), "d": RNG.integers(0, 4, 120)})
    above = np.array([cell in (None, 20) for cell in cells]).astype(int)  # the least int64 goes with 10
    forest = HistGradientBoostingClassifier(max_iter=3, learning_rate=1.0, categorical_features=None)
    forest.fit(held.astype("float64"), above)
    assert held.to_numpy().dtype == np.int64
    assert (forest.predict(held) != forest.predict(held.astype("float64"))).any()
    with pytest.raises(ModelError, match=r"makes 0 of the row .*, and 1 where .* `c` is category"):
        mace.explain(forest, held, held.iloc[0])
    held = held.astype("float64")
    assert mace.explain(forest, held, held.iloc[0]).decision == forest.predict(held)[0]
