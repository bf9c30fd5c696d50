"""Frames of polars and tables of Arrow wherever a frame is taken: answers are those over the same frame of pandas."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from fractions import Fraction
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


def test_nan_beside_pandas_own_mark_for_what_is_missing_is_missing() -> None:
    held = pyarrow.array([0.5, float("nan"), None, 2.0])
    for column in (pd.Series(held, dtype=pd.ArrowDtype(pyarrow.float64())), pd.Series(held, dtype="Float64")):
        feature = mace.Space.from_frame(pd.DataFrame({"a": column}))["a"]
        assert (feature.lower, feature.upper, feature.missing) == (0.5, 2.0, "keep")


def test_lists_and_structs_of_arrow_are_refused_as_those_of_python() -> None:
    for cells in ([[1], [2]], [{"x": 1}, {"x": 2}]):
        held = pd.DataFrame({"a": pd.Series(pyarrow.array(cells), dtype=pd.ArrowDtype(pyarrow.array(cells).type))})
        with pytest.raises(MaceError, match=r"`a`: a cell holds .*, which is no single value"):
            mace.Space.from_frame(held)


def test_a_decimal_that_is_nan_is_missing() -> None:
    held = pd.DataFrame({"a": [decimal.Decimal(k) for k in ("1.5", "NaN", "2.25")], "b": [1, 2, 3]})
    space = mace.Space.from_frame(held)
    assert (space["a"].step, space["a"].missing) == ("0.01", "keep")
    assert [space.row(held.iloc[k])["a"] for k in (0, 1)] == [decimal.Decimal("1.5"), None]
    assert space.read(held)[0] == [Fraction(3, 2), None, Fraction(9, 4)]


@pytest.mark.parametrize("kind", [pyarrow.int64(), pyarrow.uint64()])
def test_whole_numbers_beside_missing_ones_are_not_rounded_on_the_way(kind: Any, tmp_path: Path) -> None:
    table = pyarrow.table({"a": pyarrow.array([2**53 + 1, None, 3], kind), "b": pyarrow.array([1, None, 3], kind)})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for given in (in_pandas(table), in_pandas(polars.from_arrow(table)), read_rows(str(tmp_path / "t.parquet"))):
        assert int(given.a[0]) == 2**53 + 1 and given.a.isna().tolist() == [False, True, False]
        assert given.b.dtype == "float64"
        with pytest.raises(MaceError, match=f"cannot hold {2**53 + 1}"):
            mace.Space.from_frame(given)


@pytest.mark.parametrize("places", [0, 2])
@pytest.mark.parametrize("absent", [False, True])
def test_decimals_are_numbers_with_the_step_of_their_last_place(places: int, absent: bool) -> None:
    cells = [decimal.Decimal(k).scaleb(-places) for k in range(-3, 40)] * 2
    said = [int(cell * 10**places > 17) for cell in cells]
    held = polars.DataFrame({"a": polars.Series(cells, dtype=polars.Decimal(10, places))})
    if absent:
        held, said = polars.concat([held, polars.DataFrame({"a": [None]}, schema=held.schema)]), [*said, 0]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(held, said)
    for given in (held, held.to_arrow(), held.to_pandas(), held.to_pandas(use_pyarrow_extension_array=True)):
        answer = mace.explain(tree, given, held.row(0, named=True))
        assert answer.exact_distance == Fraction(18 + 3, 39 + 3)
        assert answer.counterfactuals[0].values["a"] == 18 / 10**places
        assert answer.space["a"].kind == ("real" if places else "integer")
    assert tree.predict(polars.DataFrame({"a": [decimal.Decimal(18).scaleb(-places)]}, schema=held.schema))[0] == 1


@pytest.mark.parametrize(
    ("cell", "said"), [("1e30", "more digits"), ("0.12345678901234567", "more digits"), ("Infinity", "no number")]
)
def test_decimals_that_no_float_holds_are_refused(cell: str, said: str) -> None:
    with pytest.raises(MaceError, match=f"column `a` holds .*{said}"):
        mace.Space.from_frame(pd.DataFrame({"a": [decimal.Decimal("1.5"), decimal.Decimal(cell)]}))


def test_a_day_is_the_moment_that_pandas_makes_of_it() -> None:
    days = [datetime.date(2020, 1, 1 + k % 4) for k in range(80)]
    held = polars.DataFrame({"c": days, "b": X.b.to_numpy()})
    said = (np.array([day.day for day in days]) * 2 + X.b > 8).astype(int)
    columns = ColumnTransformer([("c", OneHotEncoder(), ["c"])], remainder="passthrough")
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(held, said)
    answers = [mace.explain(model, held, row) for row in (held.row(0, named=True), held[:1], held.to_pandas().iloc[0])]
    assert answers[0].decision == model.predict(held)[0]
    assert {one.exact_distance for one in answers} == {answers[0].exact_distance}
    as_days = mace.Feature("c", "categorical", levels=sorted(set(days)))
    assert as_days.read(pd.Timestamp("2020-01-02")) == as_days.read(datetime.date(2020, 1, 2)) == 1
    for other in (pd.Timestamp("2020-01-02 01:00"), pd.Timestamp("2020-01-02", tz="UTC"), datetime.date(2021, 1, 1)):
        with pytest.raises(MaceError, match="is not one of its levels"):
            as_days.read(other)


def test_a_column_without_a_name_is_told_by_its_place() -> None:
    with pytest.raises(MaceError, match="column 2 of 2 has no name") as refused:
        mace.Space.from_frame(polars.DataFrame({"a": [1, 2], "": [3, 4]}))
    assert "rename" in refused.value.hint


def test_a_frame_of_which_nothing_was_read_is_refused_wherever_a_frame_is_taken() -> None:
    model, space, lazy = pipeline().fit(X, Y), mace.Space.from_frame(X), polars.from_pandas(X).lazy()
    asked: list[Callable[[], object]] = [
        lambda: mace.explain(model, lazy, X.iloc[0]),
        lambda: mace.explain(model, X, lazy),
        lambda: mace.Explainer(model, space, background=lazy),
        lambda: mace.Space.from_frame(lazy),
        lambda: space.encode(lazy),
        lambda: mace.metrics.valid(model, space, lazy, 1),
    ]
    for ask in asked:
        with pytest.raises(MaceError, match="no rows") as refused:
            ask()
        assert "collect()" in refused.value.hint


@pytest.mark.parametrize("given", [X.iloc[0], {"a": [1.0]}, [[1.0, 2, "x"]], None])
def test_what_is_no_frame_is_refused_by_a_space(given: Any) -> None:
    with pytest.raises(MaceError, match="expected a frame"):
        mace.Space.from_frame(X).encode(given)


def test_rows_with_two_columns_of_one_name_are_refused_by_that_name() -> None:
    twice = X.assign(d=1).set_axis(["a", "b", "c", "b"], axis=1)
    explainer = mace.Explainer(pipeline().fit(X, Y), mace.Space.from_frame(X))
    for ask in (explainer.explain, explainer.space.encode, explainer.space.read):
        with pytest.raises(MaceError, match="several columns called `b`"):
            ask(twice)
    assert len(explainer.space.encode(X.assign(d=1, e=2).set_axis(["a", "b", "c", "d", "d"], axis=1))) == len(X)


def test_a_frame_for_which_there_is_no_memory_is_not_said_to_be_wrong():
    class Large:
        columns = ("a",)

        def to_pandas(self):
            raise MemoryError

    with pytest.raises(MemoryError):
        in_pandas(Large())
