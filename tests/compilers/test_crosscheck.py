"""A table that does not say what its library says is refused, with the row on which they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import mace
from mace.compilers import deployed, read
from mace.compilers.crosscheck import cross_check_matrix
from mace.compilers.deployed import Deployed
from mace.compilers.pipeline.reader import compile_pipeline
from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables import leaves
from mace.tables.members import equal_to
from mace.tables.table import Ensemble, Layer, Network, Tree
from tests.compilers.families import LIGHTGBM, SKLEARN, XGBOOST, Family, asked, data

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(300, 4)) * [1, 10, 0.1, 100], 3)
X[:, 3] = rng.integers(0, 6, 300)
Y = (X[:, 0] + X[:, 1] / 10 + np.isin(X[:, 3], [1, 4]) > 0.3).astype(int)


def lightgbm() -> Any:
    wrapper = pytest.importorskip("lightgbm").LGBMClassifier
    small = {"min_child_samples": 5, "min_data_per_group": 5, "cat_smooth": 1, "verbose": -1, "n_jobs": 1}
    return wrapper(n_estimators=10, num_leaves=8, **small).fit(X, Y, categorical_feature=[3])


def xgboost() -> Any:
    wrapper = pytest.importorskip("xgboost").XGBClassifier
    kinds = {"feature_types": ["q", "q", "q", "c"], "enable_categorical": True}
    return wrapper(n_estimators=10, max_depth=4, n_jobs=1, **kinds).fit(X, Y)


MODELS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(10, max_depth=6, random_state=0).fit(X, Y),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, Y),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=10, categorical_features=[3]).fit(X, Y),
    "numbers": lambda: RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, X[:, 0] * Y),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}


def changed(table: Ensemble, how: Callable[[Tree], Tree]) -> Ensemble:
    return replace(table, trees=tuple(how(tree) for tree in table.trees))


def one_leaf(table: Ensemble) -> Ensemble:
    tree = table.trees[0]
    value = tree.value.copy()
    value[np.flatnonzero(tree.column < 0)] += 1e-4
    return replace(table, trees=(replace(tree, value=value), *table.trees[1:]))


def next_thresholds(table: Ensemble) -> Ensemble:
    up = np.float32(np.inf) if table.cast == "float32" else np.inf
    kind = np.float32 if table.cast == "float32" else np.float64
    return changed(table, lambda t: replace(t, threshold=np.nextafter(t.threshold.astype(kind), up).astype(np.float64)))


WRONG: dict[str, Callable[[Ensemble], Ensemble]] = {
    "test": lambda table: replace(table, test="<" if table.test == "<=" else "<="),
    "thresholds": next_thresholds,
    "sides": lambda table: changed(table, lambda t: replace(t, left=t.right, right=t.left)),
    "start": lambda table: replace(table, start=table.start + 1e-3),
    "one leaf": one_leaf,
    "order of classes": lambda table: replace(table, classes=table.classes[::-1]),
    "a tree too few": lambda table: replace(table, trees=table.trees[:-1]),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", MODELS)
def test_a_wrong_table_is_refused(name: str, wrong: str) -> None:
    if name == "numbers" and wrong == "order of classes":
        pytest.skip("a regressor has none")
    model = MODELS[name]()
    table = read(model)
    assert isinstance(table, Ensemble)
    with pytest.raises(ModelError, match=r"the model's own library says .* for the row column 0="):
        cross_check_matrix(WRONG[wrong](table), deployed(model))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram"])
def test_a_table_that_looks_another_category_up_is_refused(name: str) -> None:
    model = MODELS[name]()
    table = read(model)
    assert isinstance(table, Ensemble)
    for codes in ([], [0.0, 1.5], [float(k) for k in range(9)]):
        with pytest.raises(ModelError, match="own library says"):
            cross_check_matrix(
                changed(table, lambda t, c=codes: replace(t, members=dict.fromkeys(t.members, equal_to(c)))),  # type: ignore[misc]
                deployed(model),
            )


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_a_table_that_takes_no_number_between_two_for_a_category_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"mace.compilers.{name}.reader.truncated", lambda codes, *_, **__: equal_to(codes))
    with pytest.raises(ModelError, match="own library says"):
        read(MODELS[name]())


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram", "forest"])
def test_a_table_that_sends_missing_values_to_the_other_side_is_refused(name: str) -> None:
    model = MODELS[name]()
    table = read(model)
    assert isinstance(table, Ensemble)

    def turned(tree: Tree) -> Tree:
        missing = np.zeros(tree.nodes, dtype=bool) if tree.missing_left is None else tree.missing_left
        return replace(tree, missing_left=~missing & (tree.column >= 0))

    with pytest.raises(ModelError, match="=nan"):
        cross_check_matrix(changed(table, turned), deployed(model))


def test_a_prediction_that_stops_early_is_no_sum_of_all_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mace.compilers.lightgbm.reader._switched_on", lambda _: False)
    model = lightgbm().set_params(pred_early_stop=True, pred_early_stop_freq=1, pred_early_stop_margin=0.05)
    with pytest.raises(ModelError, match="own library says"):
        read(model)


def test_a_library_that_decides_a_row_otherwise_alone_is_refused() -> None:
    model = MODELS["forest"]()
    table, own = read(model), deployed(model)
    alone = Deployed(lambda frame: own.predict(frame) if len(frame) > 1 else 1 - own.predict(frame))
    with pytest.raises(ModelError, match="own library says"):
        cross_check_matrix(table, alone)


def test_rows_that_a_library_does_not_take_do_not_count_unless_they_are_all() -> None:
    model = MODELS["forest"]()
    table, own = read(model), deployed(model)

    def picky(frame: pd.DataFrame) -> Any:
        if (frame.to_numpy() < -1e9).any():
            raise RuntimeError("too small")
        return own.predict(frame)

    cross_check_matrix(table, Deployed(picky))

    def never(frame: pd.DataFrame) -> Any:
        raise RuntimeError("not today")

    with pytest.raises(ModelError, match=r"own `predict` fails \(RuntimeError: not today\)"):
        cross_check_matrix(table, Deployed(never))


def test_decisions_of_a_shape_that_is_no_decision_a_row_are_refused() -> None:
    table = read(MODELS["forest"]())
    with pytest.raises(ModelError, match=r"numbers of shape \(\d+, 2\)"):
        cross_check_matrix(table, Deployed(lambda frame: np.zeros((len(frame), 2))))


def test_a_wrong_network_is_refused_and_a_right_one_is_not_for_its_last_bits() -> None:
    model = LogisticRegression().fit(X, Y)
    table, own = read(model), deployed(model)
    assert isinstance(table, Network)
    only = table.layers[-1]
    cross_check_matrix(replace(table, layers=(Layer(only.weights, np.nextafter(only.bias, 9), "identity"),)), own)
    with pytest.raises(ModelError, match="own library says"):
        cross_check_matrix(replace(table, layers=(Layer(only.weights, only.bias + 1e-3, "identity"),)), own)


@pytest.mark.parametrize("final", [RandomForestClassifier(5, max_depth=4, random_state=0), LogisticRegression()])
def test_a_wrong_table_at_the_end_of_a_pipeline_is_refused(final: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"a": rng.choice(["x", "y", "z"], 200), "b": rng.choice(["u", "v"], 200)})
    model = make_pipeline(OneHotEncoder(), final).fit(frame, (frame.a == "x") ^ (frame.b == "u"))
    space = Space([Feature("a", "categorical", levels=["x", "y", "z"]), Feature("b", "categorical", levels=["u", "v"])])
    compile_pipeline(model, space)
    monkeypatch.setattr(type(final), "predict", lambda self, X: np.zeros(X.shape[0], dtype=bool))
    with pytest.raises(ModelError, match=r"own library says False .* for the row a="):
        compile_pipeline(model, space)


@pytest.mark.parametrize("family", SKLEARN[::4] + XGBOOST[2:6:3] + LIGHTGBM[3:6:2], ids=lambda family: family.name)
def test_scores_of_many_rows_are_those_of_each(family: Family) -> None:
    X, y = data(family)
    table = read(family.fit(X, y))
    assert isinstance(table, Ensemble)
    rows = asked(family, table, X, random=150, near=150)
    each = [table.scores(row).tolist() for row in rows]
    assert leaves.scores(table, rows).tolist() == each
    assert [leaves.one(table, row).tolist() for row in rows[::4]] == each[::4]


def test_the_levels_and_ranges_of_a_space_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr("mace.compilers.reading.cross_check_matrix", lambda table, own, known=None: given.append(known))
    model = RandomForestClassifier(3, random_state=0).fit(X[:, 2:], Y)
    space = Space([Feature("c", "real", lower=-3, upper=2.5), Feature("d", "ordinal", levels=[0, 1, 2, 3, 4, 5])])
    mace.explain(model, space, [0.0, 1])
    assert given[0] == [[-3.0, 2.5], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]
