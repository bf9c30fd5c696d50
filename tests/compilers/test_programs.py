"""A compiled program, run by the interpreter, decides as the library's own predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mace.compilers import read
from mace.compilers.programs.program import to_program
from mace.errors import ModelError
from mace.language.check import check
from mace.language.parse import parse_program
from mace.language.run import run
from mace.language.show import show
from mace.language.syntax import Program
from mace.tables.table import Ensemble, Network, Tree, decision_for
from tests.compilers import cases

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

# `score_0` and `best` are what the compilers would like to call their own variables.
NAMES = ["income", "age", "score_0", "best", "odd name"]


def values(names: list[str], row: NDArray[Any]) -> Mapping[str, Fraction]:
    return dict(zip(names, map(Fraction, row.astype(np.float64).tolist()), strict=True))


def results(program: Program, names: list[str], rows: NDArray[Any]) -> list[Any]:
    return [run(program, values(names, row)) for row in rows]


def programs(table: Ensemble | Network, names: list[str], label: Any, rows: NDArray[Any]) -> dict[str, Program]:
    goal, bound = decision_for(table, {label}), cases.bounds(rows)
    made = {reading: to_program(table, names, goal, reading, bound) for reading in ("possible", "sure", "exact")}  # type: ignore[arg-type]
    made["class"] = to_program(table, names)
    return made


def assert_encloses(table: Ensemble | Network, names: list[str], rows: NDArray[Any], predicted: list[Any]) -> int:
    """Check all programs of a table on rows; returns how many rows a margin left open."""
    found = {key: results(program, names, rows) for key, program in programs(table, names, predicted[0], rows).items()}
    undecided = 0
    for at, decision in enumerate(predicted):
        meets = bool(decision == predicted[0])
        assert found["possible"][at] >= meets >= found["sure"][at]
        assert found["possible"][at] >= found["exact"][at] >= found["sure"][at]
        assert found["exact"][at] == (table.classes[int(found["class"][at])] == predicted[0])
        if found["possible"][at] == found["sure"][at]:
            assert found["exact"][at] == meets
        undecided += found["possible"][at] != found["sure"][at]
    return undecided


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", cases.TREES, ids=lambda make: make.__name__)
def test_programs_of_trees_decide_as_predict_on_thresholds(
    make: Callable[[int], Any], classes: int, dtype: str
) -> None:
    model = cases.fitted(make, classes)
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = cases.on_thresholds(table, cases.sample(classes)[0], 60).astype(dtype)
    undecided = assert_encloses(table, NAMES, rows, list(model.predict(rows)))
    assert undecided == 0 or make is cases.forest  # the others do not round, or not here


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", cases.NETWORKS, ids=lambda make: make.__name__)
def test_programs_of_networks_enclose_predict(make: Callable[[int], Any], classes: int, dtype: str) -> None:
    model = cases.fitted(make, classes)  # fitted on doubles, asked about either
    table = read(model)
    assert isinstance(table, Network)
    sample = cases.sample(classes, dtype)[0]
    rows = np.concatenate([sample[:10], cases.on_boundary(model, sample, 10)])
    assert assert_encloses(table, NAMES, rows, list(model.predict(rows))) <= 10


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["adult", "compas", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("credit", "german"))]
)
@pytest.mark.parametrize(
    "make", [cases.tree, cases.pure_forest, cases.logistic, cases.relu_network], ids=lambda make: make.__name__
)
def test_programs_decide_as_predict_on_real_rows(make: Callable[[int], Any], name: str) -> None:
    rows, labels = cases.data(name, 2000)
    model = cases.trained(make(2), rows, labels)
    table = read(model)
    assert isinstance(table, (Ensemble, Network))
    names = [f"x{column}" for column in range(table.columns)]
    chosen = rows[:100]
    if isinstance(table, Ensemble):
        chosen = np.concatenate(
            [chosen, cases.on_thresholds(table, rows, 40), cases.on_thresholds(table, rows, 20).astype(np.float32)]
        )
    assert_encloses(table, names, chosen, list(model.predict(chosen)))


# Up to some milliseconds a row in exact arithmetic: of more than 10,000 different rows one in 80 keeps the suite short.
@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.exhaustive), 80])
@pytest.mark.parametrize("name", ["adult", "credit", "compas", "german"])
@pytest.mark.parametrize(
    "make", [cases.tree, cases.small_forest, cases.logistic, cases.relu_network], ids=lambda make: make.__name__
)
def test_programs_decide_as_predict_on_every_row(make: Callable[[int], Any], name: str, every: int) -> None:
    rows, labels = cases.data(name, 50_000)
    model = cases.trained(make(2), rows[:5000], labels[:5000])
    table = read(model)
    assert isinstance(table, (Ensemble, Network))
    names = [f"x{column}" for column in range(table.columns)]
    different = np.unique(rows, axis=0)
    if len(different) > 10_000:
        different = different[::every]
    found = results(to_program(table, names), names, different)
    agree = np.array([table.classes[int(index)] for index in found]) == model.predict(different)
    # Exact arithmetic decides all rows but those that the margin leaves open, which there are hardly any of.
    assert (~agree).sum() <= 1 + len(different) // 1000
    if not agree.all():
        assert_encloses(table, names, different[~agree], list(model.predict(different[~agree])))


@pytest.mark.parametrize("make", [*cases.TREES, cases.logistic, cases.relu_network], ids=lambda make: make.__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_programs_are_well_formed_and_can_be_written_and_read(make: Callable[[int], Any], classes: int) -> None:
    table = read(cases.fitted(make, classes))
    assert isinstance(table, (Ensemble, Network))
    for program in programs(table, NAMES, 1, cases.sample(classes)[0]).values():
        check(program)
        assert parse_program(show(program)) == program


def test_a_goal_of_several_classes_is_a_disjunction() -> None:
    model = cases.fitted(cases.forest, 4)
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = cases.on_thresholds(table, cases.sample(4)[0], 60)
    goal = decision_for(table, {0, 3})
    possibly, surely = (
        results(to_program(table, NAMES, goal, reading), NAMES, rows) for reading in ("possible", "sure")
    )
    for more, decision, less in zip(possibly, model.predict(rows), surely, strict=True):
        assert more >= (decision in (0, 3)) >= less


def test_a_program_of_one_tree_is_one_conditional_a_node() -> None:
    model = cases.fitted(lambda _: cases.tree(2, max_depth=2), 2)
    text = show(to_program(read(model), NAMES))
    assert text.count("return") <= model.tree_.n_leaves
    assert "score" not in text.replace("score_0", "")


def test_names_must_fit_the_columns() -> None:
    table = read(cases.fitted(cases.tree, 2))
    assert [declared.name for declared in to_program(table).inputs] == ["x0", "x1", "x2", "x3", "x4"]
    with pytest.raises(ModelError, match="has 5 columns, and 2 names were given"):
        to_program(table, ["a", "b"])
    with pytest.raises(ModelError, match="two columns are called 'a'"):
        to_program(table, ["a", "a", "b", "c", "d"])
    with pytest.raises(ModelError, match="cannot be written in a program"):
        to_program(table, ["a`", "b", "c", "d", "e"])


def test_a_network_with_a_margin_needs_bounds() -> None:
    table = read(cases.fitted(cases.logistic, 2))
    assert isinstance(table, Network)
    with pytest.raises(ModelError, match="needs a bound on every input column"):
        to_program(table, NAMES, decision_for(table, {1}), "possible")


def test_a_tree_deeper_than_programs_nest_is_refused() -> None:
    depth = 250
    inner, nodes = np.arange(depth), 2 * depth + 1
    left, right, column = (np.full(nodes, -1, np.int32) for _ in range(3))
    left[inner], right[inner], column[inner] = depth + inner, np.append(inner[1:], 2 * depth), 0
    chain = Tree(column, np.where(column == 0, np.arange(nodes), 0.0), left, right, np.ones((nodes, 2)))
    table = Ensemble((chain,), 1, np.zeros(2), "argmax", (0, 1))
    with pytest.raises(ModelError, match="tree 0 has leaves 250 tests deep"):
        to_program(table, ["x"])
