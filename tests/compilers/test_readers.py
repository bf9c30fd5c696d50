"""A table repeats the library: scores bit by bit for trees, within the margin for networks, and the same decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from mace.compilers import read, readers
from mace.tables.table import Ensemble, Network, class_decision
from tests.compilers import cases

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("make", cases.TREES, ids=lambda make: make.__name__)
def test_the_scores_of_trees_are_predict_proba_bit_by_bit(make: Callable[[int], Any], dtype: str, classes: int) -> None:
    model = cases.fitted(make, classes)
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = cases.on_thresholds(table, cases.sample(classes)[0], 300).astype(dtype)
    scores = np.array([table.scores(row.astype(np.float64)) for row in rows])
    assert np.array_equal(scores, model.predict_proba(rows))
    assert [cases.classes_decided(table, score) for score in scores] == [[label] for label in model.predict(rows)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("make", cases.NETWORKS, ids=lambda make: make.__name__)
def test_predict_lies_between_surely_and_possibly(make: Callable[[int], Any], dtype: str, classes: int) -> None:
    model = cases.fitted(make, classes, dtype)
    table = read(model)
    assert isinstance(table, Network)
    rows = np.concatenate(
        [cases.sample(classes, dtype)[0][:40], cases.on_boundary(model, cases.sample(classes, dtype)[0], 40)]
    )
    bound, undecided = cases.bounds(rows), 0
    alone = [model.predict(row[None])[0] for row in rows]
    for row, *decisions in zip(rows, model.predict(rows), alone, strict=True):  # in a batch, other last bits
        for index, label in enumerate(table.classes):
            goal = class_decision(table.rule, table.outputs, index)
            possibly, surely = cases.enclosure(table, goal, row.astype(np.float64), bound)
            for decision in decisions:
                assert possibly >= (decision == label) >= surely
            undecided += possibly and not surely
    # The rows of the sample are far from the boundary, and the margin is small: it leaves few of them open.
    assert undecided <= 40 * classes


@pytest.mark.parametrize("make", cases.TREES, ids=lambda make: make.__name__)
def test_trees_surely_or_possibly_decide_as_predict(make: Callable[[int], Any]) -> None:
    model = cases.fitted(make, 3)
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = cases.on_thresholds(table, cases.sample(3)[0], 200)
    for row, decision in zip(rows, model.predict(rows), strict=True):
        for index, label in enumerate(table.classes):
            goal = class_decision(table.rule, table.outputs, index)
            possibly, surely = cases.enclosure(table, goal, row, [])
            assert possibly >= (decision == label) >= surely


def test_labels_are_plain_values_in_the_order_of_the_model() -> None:
    rows, labels = cases.sample(3)
    table = read(cases.tree(3).fit(rows, np.array(["low", "middle", "high"])[labels]))
    assert table.classes == ("high", "low", "middle")
    assert {type(label) for label in table.classes} == {str}


def test_a_subclass_that_decides_alike_is_read_as_its_base() -> None:
    from sklearn.linear_model import LogisticRegression

    class Credit(LogisticRegression):  # type: ignore[misc]
        """Only its name is new."""

    assert read(Credit(max_iter=2000).fit(*cases.sample(2))).name == "Credit"


def test_sparse_coefficients_are_read() -> None:
    model = cases.fitted(cases.descent, 3)
    dense = read(model)
    sparse = read(model.sparsify())
    assert isinstance(dense, Network)
    assert isinstance(sparse, Network)
    assert np.array_equal(dense.layers[0].weights, sparse.layers[0].weights)


def test_a_forest_that_adds_in_threads_says_so() -> None:
    model = cases.fitted(cases.forest, 2)
    one, many = read(model), read(model.set_params(n_jobs=2))
    assert isinstance(one, Ensemble)
    assert isinstance(many, Ensemble)
    assert (one.ordered, many.ordered) == (True, False)


def test_a_model_of_one_class_always_decides_it() -> None:
    rows, labels = cases.sample(2)
    table = read(cases.tree(2).fit(rows, labels * 0))
    assert class_decision("argmax", 1, 0) == ((),)
    assert table.classes == (0,)


def test_every_reader_is_of_a_class_that_the_library_has() -> None:
    import importlib

    import sklearn.experimental.enable_halving_search_cv  # noqa: F401

    for path, reader in readers().items():
        package, _, name = path.rpartition(".")
        assert reader.precision
        try:
            found = importlib.import_module(package)
        except ModuleNotFoundError:  # an extra that is not installed
            continue
        assert getattr(found, name).__qualname__ == name


def test_a_split_between_minus_infinity_and_the_rest_is_one_that_finite_numbers_do_not_see() -> None:
    rng = np.random.default_rng(0)
    for lacking in (False, True):
        X = rng.normal(size=(300, 3))
        X[rng.random(300) < 0.3, 1] = -np.inf
        X[rng.random(300) < 0.2, 1] = np.nan if lacking else -np.inf
        y = (np.isneginf(X[:, 1]) ^ (X[:, 0] > 0.5)).astype(int)
        model = HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(X, y)
        nodes = [tree.nodes for stage in model._predictors for tree in stage]
        assert any(np.isneginf(one["num_threshold"]).any() for one in nodes)
        rows = X[~np.isneginf(X[:, 1])]
        rows = np.vstack([rows, np.full((1, 3), -np.finfo(float).max), np.full((1, 3), np.nan)])
        table = read(model)
        assert [table.scores(row)[0] for row in rows] == model.decision_function(rows).tolist()
