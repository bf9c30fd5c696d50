from __future__ import annotations

import itertools
import json
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.exact import exact, float_to_rank, floats_to_ranks, rank_to_float, ranks_to_floats, to_float32
from mace.errors import FileError, RowError, SpaceError
from mace.space.axes import Grid, GridAxis
from mace.space.feature import Feature
from mace.space.file import dumps, loads
from mace.space.space import Space

CORPUS = Path(__file__).parent / "corpus" / "bad"
doubles = st.floats(allow_nan=False, allow_infinity=False)


@given(doubles)
def test_the_rank_of_a_double_names_it(x):
    assert rank_to_float(float_to_rank(x)) == x


@given(st.lists(st.floats(allow_nan=False)))
def test_the_ranks_of_many_doubles_are_those_of_each(many):
    ranks = [float_to_rank(x) for x in many]
    assert floats_to_ranks(np.array(many, float)).tolist() == ranks
    assert ranks_to_floats(ranks).tolist() == [rank_to_float(rank) for rank in ranks]


@given(doubles, doubles, st.floats(1e-320, 1e308))
def test_a_rough_change_is_near_to_the_exact_one_or_infinite(start, value, scale):
    low, high = sorted(map(float_to_rank, (start, value)))
    axis = GridAxis("x", Grid("float64"), low, high, float_to_rank(start), exact(scale))
    rough, true = axis.rough_delta(float_to_rank(value)), axis.delta(float_to_rank(value))
    assert rough == np.inf or abs(exact(rough) - true) <= true / 2**50 + Fraction(1, 2**1000)


@given(doubles, doubles)
def test_ranks_are_ordered_as_doubles_are(x, y):
    assert (float_to_rank(x) < float_to_rank(y)) == (x < y)


@given(
    st.sampled_from(
        [Grid("step"), Grid("step", Fraction(1, 10)), Grid("step", Fraction(5), Fraction(13, 4)), Grid("float64")]
    ),
    st.floats(-1e6, 1e6),
)
def test_floor_is_the_largest_grid_value_not_above(grid, x):
    value = exact(x)
    index = grid.floor(value)
    assert grid.value(index) <= value < grid.value(index + 1)


def test_a_start_off_the_grid_has_its_own_index_between_its_neighbours():
    axis = Feature("income", "real", 0, 1000, step=100).axis(2417 / 10)
    assert [axis.value(axis.start + k) for k in (-1, 0, 1)] == [200, Fraction("241.7"), 300]
    assert axis.delta(axis.start) == 0


@given(st.floats(-50, 50, width=32), st.sampled_from(["<=", "<"]))
def test_the_cut_is_where_the_librarys_own_test_changes(threshold, test):
    def passes(x: float) -> bool:
        return to_float32(x) <= threshold if test == "<=" else to_float32(x) < threshold

    for feature, start in (
        (Feature("a", "integer", -60, 60), 0),
        (Feature("b", "real", -60, 60, step="0.1"), 0.05),
        (Feature("c", "real", -60.0, 60.0), 0.3),
    ):
        axis = feature.axis(start)
        assert isinstance(axis, GridAxis)
        cut = axis.cut(passes, threshold)
        assert passes(float(axis.value(cut))) and not passes(float(axis.value(cut + 1)))


def test_deltas_follow_the_paper():
    space = Space(
        [
            Feature("age", "integer", 20, 70),
            Feature("school", "ordinal", levels=["low", "mid", "high"]),
            Feature("job", "categorical", levels=["a", "b", "c"]),
        ]
    )
    age, school, job = space.axes({"age": 30, "school": "low", "job": "c"})
    assert age.delta(age.start + 5) == Fraction(1, 10)
    assert [school.delta(k) for k in range(3)] == [0, Fraction(1, 2), 1]
    assert [job.delta(k) for k in range(3)] == [1, 1, 0]


def test_one_way_features_keep_their_direction():
    space = Space(
        [
            Feature("age", "integer", 20, 70, change="increase"),
            Feature("debt", "integer", 0, 9, change="decrease"),
            Feature("school", "ordinal", levels=["low", "mid", "high"], change="increase"),
            Feature("sex", "binary", levels=["f", "m"], change="fixed"),
        ]
    )
    age, debt, school, sex = space.axes({"age": 30, "debt": 4, "school": "mid", "sex": "m"})
    assert (age.value(age.lower), age.value(age.upper)) == (30, 70)
    assert (debt.value(debt.lower), debt.value(debt.upper)) == (0, 4)
    assert school.levels() == [1, 2]
    assert sex.fixed


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20, 30, 44],
            "income": [1000.5, 2000.0, 3000.25],
            "owns": [0, 1, 1],
            "job": ["b", "a", "c"],
            "school": pd.Categorical(["low", "high", "mid"], ["low", "mid", "high"], ordered=True),
            "smokes": [True, False, True],
        }
    )


def test_inference_says_what_it_inferred(frame):
    space = Space.from_frame(frame, fixed=["owns"], increase=["age"])
    assert [f.kind for f in space.features] == ["integer", "real", "binary", "categorical", "ordinal", "binary"]
    assert space["age"].change == "increase" and len(space.notes) == 6
    assert "observed" in space.notes[0]


@pytest.mark.parametrize("dtype", ["float32", "Float32"])
def test_a_column_of_single_precision_gets_numbers_that_it_can_hold(dtype):
    # Numbers between two of them did not flip the model any more once they stood in the column.
    X = pd.DataFrame({"a": pd.Series(np.arange(40) / 7, dtype=dtype), "b": np.arange(40) / 7})
    space = Space.from_frame(X)
    assert [feature.grid for feature in space.features] == ["float32", "float64"]
    model = DecisionTreeClassifier(max_depth=2).fit(X[["a"]].to_numpy(np.float64) + 1e-9, X["b"] > 3)
    answer = mace.explain(model, Space.from_frame(X[["a"]]), X[["a"]].iloc[0])
    found = answer.counterfactuals[0].values["a"]
    assert answer.status == "optimal" and float(np.float32(found)) == found
    with pytest.raises(SpaceError, match="half precision"):
        Space.from_frame(X.astype("float16"))


@pytest.mark.parametrize("encoding", ["codes", "one-hot", "thermometer"])
def test_decode_undoes_encode(frame, encoding):
    space = Space.from_frame(frame, encoding={"school": encoding})
    matrix = space.encode(frame)
    assert list(matrix) == [c.name for c in space.columns]
    back = space.decode(matrix)
    for name in frame:
        assert list(back[name]) == list(frame[name])


def test_a_point_encodes_as_its_row_does(frame):
    space = Space.from_frame(frame)
    for place in range(len(frame)):
        axes = space.axes(frame.iloc[place])
        start = tuple(axis.start for axis in axes)
        assert np.array_equal(space.matrix_row(axes, start), space.encode(frame).to_numpy()[place])
        assert space.show(axes, start) == dict(frame.iloc[place])


def test_a_saved_space_is_read_back_equal(frame, tmp_path):
    space = Space.from_frame(
        frame, step={"income": "0.25"}, unit={"income": "EUR"}, rules=['job == "a" implies age > 3']
    )
    space.save(tmp_path / "space.toml")
    assert Space.load(tmp_path / "space.toml") == space


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


@given(st.lists(names, min_size=2, max_size=4, unique=True), names)
def test_any_names_and_levels_survive_the_file(levels, name):
    space = Space([Feature(name, "categorical", levels=levels)], name=name)
    assert loads(dumps(space), Space) == space


BAD_ROWS = [(case["change"], case["error"]) for case in json.loads((CORPUS / "rows" / "rows.json").read_text())]


@pytest.mark.parametrize(("change", "message"), BAD_ROWS)
def test_a_wrong_row_is_refused_by_name(frame, change, message):
    space = Space.from_frame(frame)
    row = {**frame.iloc[0], **{name: float("nan") if value == "NaN" else value for name, value in change.items()}}
    with pytest.raises(RowError, match="column") as error:
        space.axes(row)
    assert message in str(error.value)


def test_a_wrong_row_is_named_as_people_see_its_label_whatever_the_index_holds(frame):
    frame["age"] = [-5.0, *frame["age"][1:]]
    for rows in (frame, frame.set_axis([*frame.index[:-1], "x"]), frame.set_axis(np.arange(len(frame)))):
        with pytest.raises(RowError, match=r"^row 0, column `age`"):
            Space([Feature("age", "integer", 0, 120)]).read(rows)


def test_a_row_without_a_column_names_it(frame):
    with pytest.raises(RowError, match="no column `income`"):
        Space.from_frame(frame).axes({"age": 20})


BAD_FEATURES = [
    ({"name": "x", "kind": "real"}, "needs `lower`"),
    ({"name": "x", "kind": "number"}, "kind 'number' is not one of real, integer"),
    ({"name": "x", "kind": "integer", "lower": 3, "upper": 1}, "`lower` 3 is above `upper` 1"),
    ({"name": "x", "kind": "integer", "lower": 0.5, "upper": 1}, "must end in integers"),
    ({"name": "x", "kind": "real", "lower": 0, "upper": 1, "step": 0}, "`step` must be a number > 0"),
    ({"name": "x", "kind": "binary", "levels": ["a"]}, "needs two `levels`"),
    ({"name": "x", "kind": "categorical", "levels": ["a", "a"]}, "stands twice"),
    ({"name": "x", "kind": "categorical", "levels": ["a", "b"], "change": "increase"}, "needs an order"),
    ({"name": "x", "kind": "categorical", "levels": ["a", "b"], "encoding": "as-is"}, "needs levels that are numbers"),
    ({"name": "x", "kind": "real", "lower": 0, "upper": float("inf")}, "must be a finite number"),
    ({"name": "x", "kind": "real", "lower": 0, "upper": 1, "columns": ["a", "b"]}, "needs 1 column names, got 2"),
]


@pytest.mark.parametrize(("feature", "message"), BAD_FEATURES)
def test_a_wrong_feature_is_refused_by_name(feature, message):
    with pytest.raises(SpaceError) as error:
        Feature(**feature)
    assert "feature `x`" in str(error.value) and message in str(error.value)


BAD_SPACES = sorted((CORPUS / "spaces").glob("*.toml"))


@pytest.mark.parametrize("path", BAD_SPACES, ids=lambda path: path.stem)
def test_a_wrong_space_file_names_feature_and_line(path):
    message = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ERROR: ")
    with pytest.raises(SpaceError) as error:
        Space.load(path)
    assert message in str(error.value) and path.name in str(error.value)


def test_an_absent_space_file_is_a_file_error(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        Space.load(tmp_path / "none.toml")


def test_neighbouring_doubles_are_neighbouring_indices():
    axis = Feature("x", "real", -1.0, 1.0).axis(0.1)
    for k in itertools.chain(range(-3, 4)):
        assert float(axis.value(axis.start + k + 1)) == np.nextafter(float(axis.value(axis.start + k)), 2)


def test_a_row_of_a_frame_is_read_as_a_dict_of_its_cells() -> None:
    space = Space(
        [Feature("a", "real", 0, 1), Feature("b", "integer", 0, 9), Feature("c", "categorical", levels=["u"])]
    )
    frame = pd.DataFrame({"c": ["u"], "b": [np.int32(3)], "a": [np.float32(0.1)], "more": [None]})
    row = frame.iloc[0]
    assert space.row(row) == {"a": float(np.float32(0.1)), "b": 3, "c": "u"}
    assert [type(value) for value in space.row(row).values()] == [float, int, str]
    assert space.axes(row) == space.axes(row.to_dict()) == space.axes(frame)
    with pytest.raises(RowError, match="no column `b`"):
        space.row(row.drop("b"))
    assert space.axes({"a": 0.5, "b": 1, "c": "u"})[1] != space.axes({"a": 0.5, "b": 2, "c": "u"})[1]


def test_a_cell_that_holds_a_list_within_a_tuple_is_named_by_its_row_and_column() -> None:
    cells = np.empty(2, dtype=object)
    cells[:] = [0, (1, [2])]
    frame = pd.DataFrame({"x": cells}, index=["first", "second"])
    with pytest.raises(RowError, match=r"row 'second', column `x`: a cell holds \(1, \[2\]\)"):
        Space([Feature("x", "integer", 0, 3)]).numbers(frame)


@pytest.mark.parametrize(
    "cell", [(1, 2), date(2020, 1, 1), 1 + 2j, pd.Timestamp(0), {"a": 1}, np.array([1, 2]), pd.Series([1, 2]), object]
)
def test_a_cell_that_is_no_number_and_no_level_is_named_by_its_row_and_column(cell: Any) -> None:
    space = Space(
        [Feature("x", "real", 0, 3), Feature("n", "integer", 0, 3), Feature("k", "categorical", levels=["u"])]
    )
    row = {"x": 1.0, "n": 2, "k": "u"}
    for name in space.names:
        with pytest.raises(RowError, match=f"^column `{name}`: "):
            space.axes({**row, name: cell})
        cells = np.empty(2, dtype=object)
        cells[0], cells[1] = row[name], cell
        frame = pd.DataFrame({**{key: [value, value] for key, value in row.items()}, name: cells}, index=["a", "b"])
        with pytest.raises(RowError, match=f"^row 'b', column `{name}`: "):
            space.numbers(frame)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int8", "uint64", "object", "Int64"])
@given(data=st.data())
def test_a_column_is_read_at_once_as_cell_by_cell(kind, data):
    """Ends that are no doubles, numbers that a person wrote, -0.0, whole numbers of any size, and what is missing."""
    feature = data.draw(
        st.sampled_from(
            [
                Feature("x", "integer", -100, 100),
                Feature("x", "integer", -100, 2**53 + 1, missing="keep"),
                Feature("x", "real", -1, 1),
                Feature("x", "real", "-0.3", "0.7", step="0.1"),
                Feature("x", "real", Fraction(-1, 3), 2**62, missing="fill"),
            ]
        )
    )
    whole = st.sampled_from([0, 1, 2, 100, 101, 127, *([2**53, 2**53 + 1, 2**62] if "64" in kind else [])])
    cells = st.sampled_from(
        [-0.0, 0.1, 0.7, 0.30000000000000004, -0.3, 1.0, 2.0, -100.0, 2.0**53, 1e16, np.nan, np.inf]
    )
    drawn = data.draw(st.lists(whole if "nt" in kind else cells, max_size=4))
    column = pd.Series(drawn, dtype=kind)
    space = Space([feature])
    read = []
    for value in column.tolist():
        try:
            read.append(feature.read(value))
        except RowError:
            with pytest.raises(RowError, match=r"row .*, column `x`"):
                space.numbers(pd.DataFrame({"x": column}))
            return
    expected = [np.nan if number is None else float(number) for number in read]
    assert space.numbers(pd.DataFrame({"x": column}))[:, 0].tolist() == pytest.approx(
        expected, rel=0, abs=0, nan_ok=True
    )
    assert not np.signbit(space.numbers(pd.DataFrame({"x": column}))[column.to_numpy() == 0]).any()


@pytest.mark.parametrize("levels", [["None", "no"], ["None", 1, "1", True], [1.5, "1.5"]])
@pytest.mark.parametrize("encoding", ["one-hot", "thermometer"])
def test_levels_that_are_written_alike_have_columns_of_their_own(levels: list[Any], encoding: Any) -> None:
    levels = list(dict.fromkeys(levels))
    for missing in {False, encoding == "one-hot"}:
        feature = Feature("a", "ordinal", levels=levels, encoding=encoding, missing=missing)
        space = Space([feature])
        assert len(set(feature.columns)) == len(feature.levels) - (encoding == "thermometer")
        frame = pd.DataFrame({"a": pd.Series(feature.levels, dtype=object)})
        assert space.read(space.decode(space.encode(frame))) == space.read(frame)
