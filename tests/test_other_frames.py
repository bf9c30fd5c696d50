"""Frames of polars and tables of Arrow wherever a frame is taken: answers are those over the same frame of pandas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import mace
from mace.base.frames import in_pandas
from mace.cli import app
from mace.cli.table import read_rows
from mace.errors import FileError, MaceError, ModelError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=80), "b": RNG.integers(0, 9, 80), "c": RNG.choice(["x", "y", "z"], 80)})
Y = (X.a + X.b / 5 + (X.c == "x") > 1.2).to_numpy().astype(int)
FRAMES: list[Callable[[pd.DataFrame], Any]] = [polars.from_pandas, pyarrow.Table.from_pandas]


def pipeline() -> Any:
    columns = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"]), ("others", OneHotEncoder(), ["c"])])
    return make_pipeline(columns, LogisticRegression())


def said(answer: Any) -> tuple[object, ...]:
    return answer.status, answer.exact_distance, answer.counterfactuals[0].values


@pytest.mark.parametrize("other", FRAMES)
def test_a_frame_of_another_library_in_the_place_of_a_space(other: Callable[[pd.DataFrame], Any]) -> None:
    model, row = pipeline().fit(X, Y), X.iloc[0]
    wanted = said(mace.explain(model, X, row, goal=1))
    assert said(mace.explain(model, other(X), row, goal=1)) == wanted
    assert said(mace.explain(model, other(X), other(X.iloc[:1]), goal=1)) == wanted


def test_a_model_that_was_fitted_on_a_frame_of_polars() -> None:
    frame = polars.from_pandas(X)
    numbers = frame.select("a", "b")
    for model, given in ((pipeline(), frame), (RandomForestClassifier(10, random_state=0), numbers)):
        model.fit(given, Y)
        answer = mace.explain(model, given, given.row(0, named=True), goal=1)
        assert answer.status == "optimal"
        found = polars.DataFrame([answer.counterfactuals[0].values]).select(given.columns)
        assert model.predict(found)[0] == 1


@pytest.mark.parametrize("other", FRAMES)
def test_frames_in_all_other_places(other: Callable[[pd.DataFrame], Any]) -> None:
    model, space = pipeline().fit(X, Y), mace.Space.from_frame(X)
    inferred = mace.Space.from_frame(other(X))
    assert inferred.features == space.features
    assert space.encode(other(X)).equals(space.encode(X))
    explainer = mace.Explainer(model, space, background=other(X))
    assert [said(one) for one in explainer.explain(other(X.iloc[:3]), goal=1)] == [
        said(one) for one in mace.Explainer(model, space, background=X).explain(X.iloc[:3], goal=1)
    ]
    audits = [mace.audit(model, space, rows, goal=1) for rows in (other(X.iloc[:4]), X.iloc[:4])]
    assert audits[0].to_frame()[["status", "distance"]].equals(audits[1].to_frame()[["status", "distance"]])
    assert mace.metrics.valid(model, space, other(X), 1).tolist() == model.predict(X).tolist()


def test_a_step_that_computes_in_float32_over_the_frame_of_pandas_but_not_over_that_of_polars() -> None:
    single = X[["a", "b"]].astype("float32")
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=5, random_state=0)).fit(single, Y)
    held = polars.from_pandas(single)
    answer = mace.explain(model, held, held.row(0, named=True))
    moved = polars.DataFrame([answer.counterfactuals[0].values], schema=held.schema)
    assert (model.predict(held)[0], model.predict(moved)[0]) == (answer.decision, 1 - answer.decision)
    assert mace.Explainer(model, answer.space, background=held).explain(held[:1])[0].status == "optimal"
    with pytest.raises(ModelError, match=r"StandardScaler makes .* float32"):
        mace.explain(model, single, single.iloc[0])


LACKS = X[["c", "b"]].assign(c=[None if k % 5 == 0 else c for k, c in enumerate(X.c)])
OR_NONE = ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), ["c"])], remainder="passthrough")


def test_what_is_missing_in_a_frame_of_polars_is_none_to_a_model_and_no_nan() -> None:
    held, said = polars.from_pandas(LACKS), (LACKS.c.isna() | (LACKS.b > 6)).to_numpy().astype(int)
    model = make_pipeline(OR_NONE, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(held, said)
    answer = mace.explain(model, held, held.row(0, named=True))
    assert (answer.status, answer.decision) == ("infeasible", 1) or answer.counterfactuals
    strict = OneHotEncoder().fit(held.select("c"))
    assert strict.categories_[0][-1] is None  # and NaN is unknown to it
    model = make_pipeline(
        ColumnTransformer([("c", OneHotEncoder(), ["c"])], remainder="passthrough"), DecisionTreeClassifier(max_depth=3)
    ).fit(held, said)
    space = mace.Space.from_frame(held, missing={"c": "any"})
    for given in (held, space):
        assert mace.explain(model, given, held.row(0, named=True)).decision == 1
    assert mace.metrics.valid(model, space, held, 1).tolist() == model.predict(held).tolist()
    assert mace.Explainer(model, space, background=held).explain(held[:3])[0].status == "optimal"


def test_nan_in_a_frame_of_pandas_is_unknown_to_a_model_that_learnt_none_and_such_a_frame_is_refused() -> None:
    held, said = polars.from_pandas(LACKS), LACKS.c.isna().to_numpy().astype(int)
    model = make_pipeline(OR_NONE, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(held, said)
    frame = held.to_pandas()
    assert (model.predict(frame) != model.predict(held)).any()
    for space in (frame, mace.Space.from_frame(frame)):
        with pytest.raises(ModelError, match="ColumnTransformer makes"):
            mace.explain(model, space, frame.iloc[0], background=frame)
    assert mace.explain(model, held, held.row(0, named=True)).decision == 1


def test_a_frame_that_cannot_be_turned_is_refused_with_what_its_library_says() -> None:
    class Odd(polars.DataFrame):
        def to_pandas(self, *_: object, **__: object) -> pd.DataFrame:
            raise ModuleNotFoundError("pyarrow is required")

    with pytest.raises(MaceError, match="could not be turned into one of pandas: pyarrow is required") as refused:
        in_pandas(Odd({"a": [1]}))
    assert "pip install pyarrow" in refused.value.hint


@pytest.mark.parametrize(
    "given", [X, X.iloc[0], np.zeros((2, 2)), [1, 2], {"a": 1}, None, pd.DataFrame, polars.DataFrame]
)
def test_all_else_stays_as_it_is(given: object) -> None:
    assert in_pandas(given) is given


def test_on_the_command_line_a_parquet_file_is_answered_as_a_csv_file(tmp_path: Path) -> None:
    numbers = X[["a", "b"]].assign(place=[f"0{k % 3}" for k in range(len(X))])  # of a CSV file 00 would be a number
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(numbers[["a", "b"]], Y)
    joblib.dump(model, tmp_path / "m.joblib")
    shuffled = numbers.assign(said=Y).set_index(pd.Index(range(len(X), 0, -1), name="label"))
    shuffled.to_parquet(tmp_path / "t.parquet")
    shuffled.to_csv(tmp_path / "t.csv", index=False)
    said = []
    for file in ("t.parquet", "t.csv"):
        given = ["--data", str(tmp_path / file), "--target", "said", "--row", "0", "--goal", str(1 - Y[0])]
        ran = CliRunner().invoke(app, ["explain", "--model", str(tmp_path / "m.joblib"), "--trust-pickle", *given])
        assert ran.exit_code == 0, ran.output
        said.append([line for line in ran.stdout.splitlines() if not line.startswith("oracle")])
    assert said[0] == said[1]
    assert read_rows(str(tmp_path / "t.parquet")).place.tolist() == numbers.place.tolist()


def test_a_parquet_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        read_rows(str(tmp_path / "none.parquet"))
    X.to_parquet(tmp_path / "whole.parquet")
    raw = (tmp_path / "whole.parquet").read_bytes()
    for damaged in (b"", b"a,b\n1,2\n", raw[: len(raw) // 2], raw[:-9] + b"\xff" * 9):
        (tmp_path / "t.parquet").write_bytes(damaged)
        with pytest.raises(FileError, match="cannot be read as Parquet"):
            read_rows(str(tmp_path / "t.parquet"))
    for about in (b"{}", b"[]", b"no JSON", b'{"index_columns": ["x"], "columns": [], "column_indexes": []}'):
        said = pyarrow.table({"a": [1]}).replace_schema_metadata({b"pandas": about})
        pyarrow.parquet.write_table(said, tmp_path / "t.parquet")
        with pytest.raises(FileError, match="cannot be read as Parquet"):
            read_rows(str(tmp_path / "t.parquet"))
    twice = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(twice, tmp_path / "t.parquet")
    with pytest.raises(FileError, match="two columns are called 'a'"):
        read_rows(str(tmp_path / "t.parquet"))
