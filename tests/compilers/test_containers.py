"""What each library makes of the container and types that it is given, asked of the library; and that tables say so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from mace.base.exact import nearest_float32
from mace.compilers.containers import Stage, matrix_of
from mace.compilers.library import Intake
from mace.compilers.lightgbm.reader import of_sparse_rows, read_wrapper
from mace.compilers.pipeline.reader import compile_pipeline
from mace.errors import ModelError
from mace.explain.explainer import Explainer
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.decide import decides
from mace.tables.table import Ensemble, decision_for

TOWNS = [f"c{k}" for k in range(8)]


def xgboost(**options: Any) -> Any:
    library = pytest.importorskip("xgboost", reason="an extra that is not installed")
    return library.XGBClassifier(**{"n_estimators": 3, "max_depth": 3, "n_jobs": 1, **options})


def lightgbm(**options: Any) -> Any:
    library = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    return library.LGBMClassifier(
        **{"n_estimators": 1, "min_child_samples": 1, "min_data_in_bin": 1, "verbose": -1, "n_jobs": 1, **options}
    )


def stored(number: float) -> Any:
    """A sparse row that stores one number, a zero too."""
    return sp.csr_matrix((np.array([number]), np.array([0]), np.array([0, 1])), shape=(1, 2))


def test_xgboost_takes_what_a_sparse_matrix_does_not_store_for_missing_and_stored_zeros_for_zeros() -> None:
    x = np.random.default_rng(0).integers(-5, 6, (400, 2)).astype(float)
    model = xgboost(n_estimators=2, max_depth=2).fit(sp.csr_matrix(x), (x[:, 0] > -3) & (x[:, 0] != 0))

    def score(rows: Any) -> float:
        return float(model.predict(rows, output_margin=True)[0])

    missing, zero = score(np.full((1, 2), np.nan)), score(np.array([[0.0, np.nan]]))
    assert missing != zero
    assert score(sp.csr_matrix((1, 2))) == missing
    for made in (sp.csr_matrix, sp.csr_array):
        for container in ("csr", "csc", "coo"):
            assert score(made(stored(0.0)).asformat(container)) == zero
    assert score(stored(-0.0)) == score(stored(1e-60)) == zero


def test_lightgbm_drops_tiny_numbers_of_dense_rows_and_keeps_those_of_sparse_ones() -> None:
    x = np.random.default_rng(0).choice([-2.0, -1, 0, 0, 0, 1, 2], (600, 1))
    model = lightgbm().fit(x, (x[:, 0] < 0).astype(int))
    tiny = float(np.float32(1e-35))
    numbers = np.array([-1e-34, np.nextafter(-tiny, -1), -tiny, np.nextafter(-tiny, 0), 0.0, tiny, 1e-34])[:, None]
    table = read_wrapper(model)
    for rows, read in (
        (numbers, table),
        (pd.DataFrame(numbers), table),
        (sp.csr_matrix(numbers), of_sparse_rows(table)),
    ):
        own = model.predict(rows, raw_score=True)
        assert [read.scores(row)[0] for row in numbers] == own.tolist()
    assert table.scores(numbers[2]) != of_sparse_rows(table).scores(numbers[2])


BEYOND = 2**60  # float32 has a gap of 2^37 here, float64 one of 2^8
AROUND = np.array([BEYOND + 2**36 + k for k in (-600, -130, -1, 0, 1, 127, 129, 130, 600)], dtype=np.int64)[:, None]


@pytest.mark.parametrize(
    ("model", "at_once"),
    [
        (lambda: DecisionTreeClassifier(), True),
        (lambda: ExtraTreesClassifier(2), True),
        (lambda: GradientBoostingClassifier(n_estimators=1), True),
        (lambda: AdaBoostClassifier(n_estimators=1), True),
        (lambda: xgboost(n_estimators=1), True),
        (lambda: lightgbm(), True),
        (lambda: HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=1), False),
    ],
    ids=["tree", "extra trees", "boosting", "ada", "xgboost", "lightgbm", "hist"],
)
def test_an_array_of_integers_goes_to_float32_in_one_rounding_but_for_histograms(model: Any, at_once: bool) -> None:
    x = np.array([[BEYOND], [BEYOND + 2**37]] * 40, dtype=np.int64)
    fitted = model().fit(x, (x[:, 0] > BEYOND).astype(int))
    said = fitted.predict(AROUND)
    if at_once:
        assert said.tolist() == (AROUND[:, 0] > BEYOND + 2**36).astype(int).tolist()
    else:
        assert said.tolist() == fitted.predict(AROUND.astype(np.float64)).tolist()


def sparse_pipeline(seed: int) -> tuple[Pipeline, Space, pd.DataFrame]:
    """One-hot columns and a number around zero, in a sparse matrix, before XGBoost."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"town": rng.choice(TOWNS, 600), "x": rng.integers(-300, 301, 600)})
    good = frame["x"].gt(40) if seed % 2 else frame["x"].gt(40) | frame["x"].between(-160, -120)
    columns = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
    model = Pipeline([("columns", columns), ("model", xgboost())]).fit(frame, good.astype(int))
    towns = Feature("town", "categorical", levels=TOWNS, change="fixed")
    every = pd.DataFrame({"town": "c1", "x": np.arange(-300, 301)})
    return model, Space([towns, Feature("x", "integer", lower=-300, upper=300)]), every


@pytest.mark.parametrize("seed", range(4))
def test_zeros_before_xgboost_in_a_sparse_matrix_are_found_by_the_prover(seed: int) -> None:
    model, space, every = sparse_pipeline(seed)
    assert model[0].sparse_output_
    said = model.predict(every)
    row = {"town": "c1", "x": -40}
    start = said[every["x"].tolist().index(-40)]
    nearest = min(abs(x + 40) for x in every["x"][said != start])
    answer = Explainer(model, space).explain(row)
    assert answer.status == "optimal"
    assert abs(answer.counterfactuals[0].values["x"] + 40) == nearest
    assert model.predict(pd.DataFrame([answer.counterfactuals[0].values]))[0] != start
    assert answer.certificate.check().accepted


def agrees(model: Any, space: Space, rows: list[dict[str, Any]]) -> None:
    """The table decides as the pipeline, on the frame that it is given."""
    compiled = compile_pipeline(model, space)
    said = compiled.predict(compiled.frame(rows))
    assert isinstance(compiled.table, Ensemble)
    for row, label in zip(rows, said.tolist(), strict=True):
        assert decides(compiled.table, decision_for(compiled.table, {label}), compiled.row(row)) is not False, row


def test_a_zero_that_arises_inside_a_sparse_matrix_is_stored_and_no_missing_one() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(TOWNS, 400), "x": rng.choice([-1e-320, 0.0, 1e-320, 1.0], 400)})
    columns = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
    frame.loc[0, "x"] = 1e6  # the scale
    model = make_pipeline(columns, MaxAbsScaler(), xgboost()).fit(frame, (frame["x"] == 0).astype(int))
    inside = model[:2].transform(pd.DataFrame({"town": ["c1"] * 3, "x": [0.0, 1e-320, -1e-320]}))
    assert inside[:, [8]].nnz == 2 and not inside[:, [8]].toarray().any()
    space = Space([Feature("town", "categorical", levels=TOWNS), Feature("x", "real", lower=-1e6, upper=1e6)])
    numbers = [0.0, -0.0, 5e-324, -5e-324, 1e-320, -1e-320, 1e-300, -1e-300, 1.0, -1.0, 1e6, -1e6]
    agrees(model, space, [{"town": "c1", "x": x} for x in numbers])


def test_integers_beyond_2_53_go_to_float32_in_one_rounding() -> None:
    frame = pd.DataFrame({"n": np.array([BEYOND + i * 2**36 for i in range(9)] * 3, dtype=np.int64)})
    steps = [("nothing", "passthrough"), ("model", DecisionTreeClassifier())]
    model = Pipeline(steps).fit(frame, (frame["n"] > BEYOND + 2**36).astype(int))
    space = Space([Feature("n", "integer", lower=BEYOND, upper=BEYOND + 2**39)])
    for oracle in ("z3", "auto"):
        answer = Explainer(model, space).explain({"n": BEYOND}, goal=1, oracle=oracle)
        found = answer.counterfactuals[0].values["n"]
        asked = pd.DataFrame({"n": np.array([found - 1, found], dtype=np.int64)})
        assert model.predict(asked).tolist() == [0, 1]
    assert answer.exact_lower_bound == answer.exact_distance
    verdict = answer.certificate.check()
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("number", [BEYOND + 2**36, BEYOND + 2**36 + 1, BEYOND + 2**36 - 1, 2**24 + 1, 3, -(2**60) - 1])
def test_the_nearest_float32_is_that_of_the_processor(number: int) -> None:
    assert nearest_float32(Fraction(number)) == float(np.float32(np.int64(number)))


def test_integers_that_reach_lightgbm_in_an_array_are_rounded_to_float32() -> None:
    low = 2**26
    x = np.random.default_rng(0).integers(low, low + 200, (400, 2))
    y = (x[:, 0] > low + 101).astype(int)
    model = make_pipeline(SelectKBest(k=2), lightgbm()).fit(x, y)
    space = Space([Feature(name, "integer", low, low + 200) for name in ("a", "b")])
    agrees(model, space, [{"a": low + k, "b": low + 3} for k in range(200)])


def test_what_is_not_followed_is_named() -> None:
    with pytest.raises(ModelError, match=r"the step gives columns of the type Int64, which is not supported"):
        Stage.of(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "the step")
    with pytest.raises(ModelError, match=r"gives columns of the type float16"):
        Stage.of(np.zeros((1, 1), dtype=np.float16), "the step")
    with pytest.raises(ModelError, match=r"gives a list, which is not supported"):
        Stage.of([[1.0]], "the step")
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40) % 2})
    model = make_pipeline(
        ColumnTransformer([("b", OneHotEncoder(dtype=np.float32), ["b"])]),
        FunctionTransformer(),
        DecisionTreeClassifier(),
    ).fit(frame, frame["b"])
    agrees(model, Space([Feature("b", "binary")]), [{"b": 0}, {"b": 1}])


def test_the_stage_is_what_the_library_is_given() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.0], "c": [True, False], "d": ["x", "y"]})
    assert Stage.of(frame[["a"]], "").common == "integer"
    assert Stage.of(frame[["a", "b"]], "") == Stage("frame", ("integer", "float64"), "float64")
    assert Stage.of(frame[["a", "c"]], "").common == "object"
    assert Stage.of(frame["d"].astype("category").to_frame(), "").dtypes == ("category",)
    assert Stage.of(sp.csr_matrix(np.eye(2, dtype=np.int8)), "") == Stage("sparse", ("integer",) * 2, "integer")
    assert Stage.of(np.eye(2, dtype=bool), "") == Stage("array", ("bool",) * 2, "bool")


@pytest.mark.parametrize(("kind", "levels"), [(bool, [True, False]), (np.int64, [7, 3])])
def test_a_missing_category_is_missing_whatever_stands_beside_it(kind: Any, levels: list[Any]) -> None:
    # pandas makes truths of a frame of truths and categories that are truths, also where one is missing.
    rng = np.random.default_rng(1053)
    beside = rng.integers(0, 2, 90).astype(kind)
    category = pd.Categorical([None if k > 2 else levels[k % 2] for k in rng.integers(0, 4, 90)], levels)
    frame = pd.DataFrame({"a": beside, "b": category})
    assert np.isnan(matrix_of(frame, Intake())[:, 1]).tolist() == frame["b"].isna().tolist()
    wanted = np.where(frame["b"].isna(), beside == 1, frame["b"] == levels[1])
    model = HistGradientBoostingClassifier(min_samples_leaf=3, max_iter=9, categorical_features="from_dtype")
    explainer = Explainer(model.fit(frame, wanted), Space.from_frame(frame, missing="any", fixed="a"))
    rows = pd.DataFrame({"a": np.array([0, 0, 0], kind), "b": pd.Categorical([*levels, None], levels)})
    said = explainer.decisions(rows).tolist()
    assert said == model.predict(rows).tolist() and len(set(said)) == 2
    for place, answer in enumerate(explainer.explain(rows)):
        assert answer.status == "optimal" and answer.certificate.check().accepted
        assert model.predict(pd.DataFrame([answer.counterfactuals[0].values]).astype(rows.dtypes))[0] != said[place]
