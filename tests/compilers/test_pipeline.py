"""A pipeline's table over raw columns decides as the pipeline itself, on any row of the space."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.exact import exact
from mace.compilers.pipeline.reader import CompiledPipeline, compile_pipeline
from mace.compilers.pipeline.steps import FUNCTIONS as KNOWN_FUNCTIONS
from mace.errors import ModelError, RowError
from mace.space.columns import usable_axes
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.margins import network_error
from mace.tables.table import Ensemble, Network
from tests.compilers.pipelines import (
    FUNCTIONS,
    MODELS,
    PREPARATIONS,
    adversarial_rows,
    fitted,
    people,
    random_rows,
    space_of,
)
from tests.marks import exhaustive_from, slow_unless

CLIPS = "min-max with clip, ordinal"  # clips numbers of this space, which networks do not take
CASES = [(p, m) for p in PREPARATIONS for m in MODELS if p != CLIPS or m in ("tree", "forest")]
CASES += [(p, m) for p in FUNCTIONS for m in ("tree", "forest")]


def table_decides(compiled: CompiledPipeline, rows: list[dict[str, Any]]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The table's class for each row, and where no rounding of sums could change it."""
    table = compiled.table
    matrix = np.array([compiled.row(row) for row in rows])
    if isinstance(table, Ensemble):
        total = np.tile(table.start, (len(rows), 1))
        for tree in table.trees:
            node = np.zeros(len(rows), dtype=np.intp)
            while (inner := tree.column[node] >= 0).any():
                seen = matrix[np.arange(len(rows)), tree.column[node]]
                left = table.passes(seen, tree.threshold[node])
                node = np.where(inner, np.where(left, tree.left[node], tree.right[node]), node)
            total = total + tree.value[node]
        if table.outputs == 1:
            certain = np.abs(total[:, 0]) > table.error + 1e-12
            return np.array(table.classes)[(total[:, 0] > 0).astype(int)], certain
        return np.array(table.classes)[np.argmax(total / table.divide, axis=1)], np.ones(len(rows), dtype=bool)
    assert isinstance(table, Network)
    values = matrix
    for layer in table.layers:
        values = values @ layer.weights + layer.bias
        values = np.maximum(values, 0.0) if layer.activation == "relu" else values
    bounds = [exact(bound) for bound in np.abs(matrix).max(axis=0).tolist()]
    margin = 2 * float(network_error(table, bounds)[0]) + 1e-15
    return np.array(table.classes)[(values[:, 0] > 0).astype(int)], np.abs(values[:, 0]) > margin


@pytest.mark.parametrize("count", exhaustive_from(10_000, (3000, 10_000)))
@pytest.mark.parametrize(
    ("preparation", "model"),
    slow_unless(lambda case: case in CASES[:40:2] and case[1] == "tree", CASES),
    ids=[f"{p}; {m}" for p, m in CASES],
)
def test_the_table_of_a_pipeline_decides_as_the_pipeline(preparation: str, model: str, count: int) -> None:
    compiled = compile_pipeline(fitted(preparation, model), space_of())
    for rows in (random_rows(compiled.space, count), adversarial_rows(compiled, 1000)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is unknown is ignored, as asked for
            said = compiled.predict(compiled.frame(rows))
        decided, certain = table_decides(compiled, rows)
        wrong = np.flatnonzero((decided != said) & certain)
        assert not len(wrong), rows[wrong[0]]
        assert certain.mean() > 0.99


@pytest.mark.parametrize("preparation", PREPARATIONS)
def test_columns_are_what_the_steps_give_and_carry_their_names(preparation: str) -> None:
    pipeline = fitted(preparation, "mlp" if preparation != CLIPS else "tree")
    compiled = compile_pipeline(pipeline, space_of())
    rows = random_rows(compiled.space, 300)
    real = pipeline[:-1].transform(compiled.frame(rows))
    assert [column.name for column in compiled.columns] == list(pipeline[:-1].get_feature_names_out())
    if not isinstance(compiled.table, Ensemble):  # an ensemble's columns are the raw numbers
        real = real.toarray() if hasattr(real, "toarray") else np.asarray(real)
        assert np.array_equal(np.array([compiled.row(row) for row in rows]), real)


def test_a_scaled_number_stays_within_its_error_of_the_affine_value() -> None:
    columns = compile_pipeline(fitted("scale, one-hot", "logistic"), space_of()).columns
    rng = np.random.default_rng(3)
    for column in columns[:3]:
        a, b = column.affine()
        for number in rng.uniform(0, 250000, 200).tolist():
            off = abs(exact(column.of(number)) - (a * exact(number) + b))
            assert off <= column.error(exact(number))


def test_a_missing_value_that_no_step_takes_is_refused_for_that_row_only() -> None:
    frame, decision = people(missing=False)
    model = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), ["age", "income", "debt"])], remainder="drop"),
        MODELS["logistic"](),
    ).fit(frame, decision)
    compiled = compile_pipeline(model, space_of())
    row = {**random_rows(compiled.space, 1, missing=0)[0], "region": None}
    axes = usable_axes(compiled.columns, compiled.space.axes(row))
    assert axes[3].count == 5  # the region reaches no column: it may be missing
    with pytest.raises(RowError, match=r"`age`: the value is missing, and the model does not take that"):
        usable_axes(compiled.columns, compiled.space.axes({**row, "age": None}))


def test_a_level_that_the_pipeline_cannot_take_as_missing_is_no_way_out() -> None:
    frame, decision = people(missing=False)
    model = make_pipeline(
        ColumnTransformer([("r", OneHotEncoder(), ["region"])], remainder="drop"), MODELS["logistic"]()
    ).fit(frame, decision)
    compiled = compile_pipeline(model, space_of())
    row = random_rows(compiled.space, 1, missing=0)[0] | {"region": "east"}
    assert usable_axes(compiled.columns, compiled.space.axes(row))[3].count == 4
    with pytest.raises(RowError, match="missing"):
        usable_axes(compiled.columns, compiled.space.axes({**row, "region": None}))


def test_a_missing_number_stays_missing_and_a_present_one_does_not_become_so() -> None:
    compiled = compile_pipeline(fitted("scale, one-hot", "tree"), space_of())
    row = random_rows(compiled.space, 1, missing=0)[0]
    assert not compiled.space.axes(row)[0].fixed
    axis = compiled.space.axes({**row, "age": None})[0]
    assert axis.fixed and compiled.space.features[0].show(axis, axis.start) is None


def test_an_array_without_names_is_taken_in_the_order_of_the_features() -> None:
    frame, decision = people(missing=False)
    model = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), [0, 1, 2]), ("l", OneHotEncoder(), [3, 4, 5])]), MODELS["tree"]()
    ).fit(frame.to_numpy(), decision)
    compiled = compile_pipeline(model, space_of(missing=False))
    rows = random_rows(compiled.space, 200)
    decided, _ = table_decides(compiled, rows)
    assert np.array_equal(decided, compiled.predict(compiled.frame(rows)))


def test_the_output_container_of_the_steps_does_not_matter() -> None:
    frame, decision = people(missing=False)
    model = Pipeline([("p", PREPARATIONS["bins as columns"]()), ("m", MODELS["tree"]())])
    model.set_params(p__levels__sparse_output=False).set_output(transform="pandas")
    model.fit(frame, decision)
    compiled = compile_pipeline(model, space_of(missing=False))
    rows = random_rows(compiled.space, 200)
    decided, _ = table_decides(compiled, rows)
    assert np.array_equal(decided, compiled.predict(compiled.frame(rows)))


def test_features_that_the_pipeline_never_saw_are_left_out_of_its_frame() -> None:
    model = fitted("scale, one-hot", "tree")
    space = space_of()
    wider = Space([Feature("shoe size", "real", 30, 50), *space.features])
    compiled = compile_pipeline(model, wider)
    assert "shoe size" not in compiled.frame(random_rows(wider, 3)).columns
    assert all(column.feature > 0 for column in compiled.columns)


class Twice(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A step that mace does not know."""

    def fit(self, X: Any, y: Any = None) -> Twice:  # noqa: ARG002
        return self

    def transform(self, X: Any) -> Any:
        return X


def numbers_only(*steps: Any) -> Any:
    frame, decision = people(missing=False)
    return make_pipeline(*steps, DecisionTreeClassifier(max_depth=3)).fit(frame[["age", "income", "debt"]], decision)


def numbers_only_of(frame: pd.DataFrame, decision: NDArray[np.int64]) -> Any:
    return make_pipeline(MinMaxScaler(clip=True), MODELS["logistic"]()).fit(frame[["age", "income", "debt"]], decision)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: numbers_only(StandardScaler(), Twice()), r"the step `twice` of the pipeline, a .*Twice, is not supp"),
        (lambda: numbers_only(PCA(2)), "PCA before DecisionTreeClassifier is not supported: its trees"),
        (lambda: numbers_only(FunctionTransformer(np.cbrt)), r"`functiontransformer` .*applies `cbrt`, which is not"),
        (lambda: numbers_only(OneHotEncoder(handle_unknown="ignore")), "encodes `age`, which the space declares"),
        (lambda: numbers_only(SimpleImputer(missing_values=0)), "takes the number 0 of `age` for a missing value"),
        (lambda: numbers_only(KBinsDiscretizer(3, dtype=np.float32)), r"`kbinsdiscretizer` .* gives `age` in float32"),
        (
            lambda: make_pipeline(FunctionTransformer(np.log1p), MODELS["logistic"]()).fit(
                people(missing=False)[0][["income"]], people()[1]
            ),
            "`log1p` of a real number before a network or a linear model is not supported",
        ),
        (lambda: Pipeline([("scale", StandardScaler())]), "StandardScaler are not supported"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(model: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        compile_pipeline(model(), space_of(missing=False))


def test_a_logarithm_before_trees_is_followed_on_both_sides_of_every_test() -> None:
    frame = pd.DataFrame({"income": np.linspace(1, 1000, 400).round(2), "age": np.arange(400) % 61 + 18.0})
    model = make_pipeline(FunctionTransformer(np.log), DecisionTreeClassifier(max_depth=7, random_state=0))
    model.fit(frame, (frame.income * frame.age > 9000).astype(int))
    space = Space([Feature("income", "real", 1, 1000, step="0.01"), Feature("age", "integer", 18, 78)])
    answer = mace.explain(model, space, frame.iloc[0], goal=1)
    point = answer.counterfactuals[0].values
    assert answer.status == "optimal" and model.predict(pd.DataFrame([point]))[0] == 1
    for name, by in (("income", 0.01), ("age", 1)):  # a step less of what was changed is not enough
        if point[name] != frame.iloc[0][name]:
            assert model.predict(pd.DataFrame([{**point, name: point[name] - by}]))[0] == 0


def test_clipping_that_never_happens_in_the_space_is_no_obstacle_for_a_network() -> None:
    frame, decision = people(missing=False)
    model = numbers_only_of(frame, decision)
    inside = [
        Feature(name, "real", float(frame[name].min()), float(frame[name].max())) for name in ("age", "income", "debt")
    ]
    columns = compile_pipeline(model, Space(inside)).columns
    assert all(column.is_affine for column in columns)
    with pytest.raises(ModelError, match="`clip` of a real number before a network"):
        compile_pipeline(model, Space([*inside[:2], Feature("debt", "real", 0.0, 1e6)]))


def test_a_level_that_the_encoder_never_saw_is_named() -> None:
    space = space_of()
    features = [
        f if f.name != "grade" else Feature("grade", "ordinal", levels=["low", "middle", "high", "x"])
        for f in space.features
    ]
    with pytest.raises(ModelError, match=r"OneHotEncoder\) of the pipeline does not take the row .*grade='x'"):
        compile_pipeline(fitted("scale, one-hot", "tree"), Space(features))


def test_a_pipeline_on_other_columns_than_the_space_is_refused() -> None:
    with pytest.raises(ModelError, match="was fitted on other columns"):
        compile_pipeline(fitted("scale, one-hot", "tree"), Space([Feature("a", "real", 0, 1)]))
    fewer = Space([f for f in space_of().features if f.name != "income"])
    with pytest.raises(ModelError, match="`income`, which the space does not have"):
        compile_pipeline(fitted("scale, one-hot", "tree"), fewer)


def test_functions_are_monotone_where_they_are_used() -> None:
    numbers = np.sort(np.random.default_rng(0).exponential(1000.0, 100_000))
    for function in KNOWN_FUNCTIONS:
        assert (np.diff(function(numbers)) >= 0).all()


def test_a_space_infers_and_keeps_what_may_be_missing(tmp_path: Any) -> None:
    frame, _ = people()
    space = Space.from_frame(frame, ordinal={"grade": ["low", "middle", "high"]})
    assert [bool(f.missing) for f in space.features] == [True, True, False, True, False, False, False]
    assert space["region"].levels[-1] is None and "missing" in space.notes[0]
    space.save(tmp_path / "space.toml")
    assert Space.load(tmp_path / "space.toml") == space
    assert space.axes(frame.iloc[0])[0].name == "age"
    assert isinstance(pd.DataFrame(space.read(frame)[3:4]), pd.DataFrame)


@pytest.mark.parametrize(
    "step", [PowerTransformer(), QuantileTransformer(n_quantiles=20)], ids=lambda s: type(s).__name__
)
def test_curves_of_integers_before_a_linear_model_are_a_table(step: Any) -> None:
    frame = pd.DataFrame([(a, b) for a in range(12) for b in range(-4, 6)], columns=["a", "b"])
    space = Space([Feature("a", "integer", 0, 11), Feature("b", "integer", -4, 5)])
    model = make_pipeline(step, LogisticRegression()).fit(frame, (2 * frame.a - frame.b**2 + frame.b % 3 > 6))
    compiled = compile_pipeline(model, space)
    decided, certain = table_decides(compiled, frame.to_dict("records"))
    assert certain.all()
    assert (decided == model.predict(frame)).all()
    real = Space([Feature("a", "real", 0, 11, step="0.5"), space["b"]])
    with pytest.raises(ModelError, match="of a real number before a network"):
        compile_pipeline(model, real)


def test_a_step_that_mixes_columns_says_what_to_do_instead() -> None:
    frame = pd.DataFrame({"a": [0, 1, 2, 3], "b": [1, 0, 1, 0]})
    model = make_pipeline(PolynomialFeatures(), LogisticRegression()).fit(frame, [0, 1, 1, 0])
    with pytest.raises(ModelError, match=r"(?s)two numbers, is not linear.*column of the frame"):
        compile_pipeline(model, Space([Feature("a", "integer", 0, 3), Feature("b", "binary")]))


@pytest.mark.parametrize("model", ["tree", "logistic"])
@pytest.mark.parametrize("sparse", [0, 1])
def test_weights_of_the_parts_of_a_step_multiply_their_columns(model: str, sparse: int) -> None:
    frame, decision = people(missing=False)
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), ["age", "income"]), ("region", OneHotEncoder(), ["region"])],
        remainder="drop",
        sparse_threshold=sparse,
        transformer_weights={"numbers": 0.3, "region": 2},
    )
    pipeline = make_pipeline(columns, MODELS[model]()).fit(frame, decision)
    compiled = compile_pipeline(pipeline, space_of(missing=False))
    rows = random_rows(compiled.space, 500)
    decided, certain = table_decides(compiled, rows)
    assert (decided == compiled.predict(compiled.frame(rows)))[certain].all() and certain.mean() > 0.99
    columns.transformer_weights = {"numbers": -1.0}
    with pytest.raises(ModelError, match="weights that are not above zero"):
        compile_pipeline(pipeline.fit(frame, decision), space_of(missing=False))
