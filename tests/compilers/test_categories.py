"""A number that a model tests as a category counts as the category that the library takes it for."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import mace
from mace.compilers import read
from mace.compilers.categories import on_thresholds
from mace.compilers.deployed import decide
from mace.compilers.thresholds import before_cast
from mace.proofs.check import check
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.members import Members, among, equal_to, truncated, whole_numbers
from mace.tables.table import Ensemble, Tree

AWKWARD = [
    -(2.0**31) - 1, -1e10, -2.0, -1.0, math.nextafter(-1, 0), -0.5, -1e-40, -0.0, 0.0, 1e-40, 0.5,
    float(np.nextafter(np.float32(1), np.float32(0))), 1 - 2**-26, math.nextafter(1, 0), 1.0, math.nextafter(1, 2), 1.5,
    math.nextafter(2, 0), 2.0, 2.5, 3.0, 3.9, 4.0, 5.0, 31.5, 32.0, 64.0, 1e3, 2.0**24, 2.0**31, 2.0**32 + 1, 2.0**53,
    1e19, 1e38, 3.5e38, 1e300, math.nan,
]  # fmt: skip


def lightgbm(X: Any, y: Any) -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=4, min_child_samples=1, min_data_per_group=1, cat_smooth=0, max_cat_to_onehot=1, verbose=-1
    ).fit(X, y, categorical_feature=[0])  # fmt: skip


def xgboost(X: Any, y: Any) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(
        n_estimators=4, max_depth=3, feature_types=["c", "q"], enable_categorical=True, max_cat_to_onehot=2, n_jobs=1
    ).fit(X, y)  # fmt: skip


def histogram(X: Any, y: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(categorical_features=[0], max_iter=4, min_samples_leaf=5).fit(X, y)


def fitted(fit: Any, seed: int, members: list[int] | None = None) -> Any:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 5, 300), rng.integers(0, 5, 300)]).astype(float)
    wanted = rng.choice(5, 2, replace=False) if members is None else members
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(X, (np.isin(X[:, 0], wanted) ^ (X[:, 1] > 3)).astype(int))


@pytest.mark.parametrize("fit", [lightgbm, xgboost, histogram])
@pytest.mark.parametrize("members", [[0], [1, 3], [0, 2], [4]])
def test_the_table_takes_an_awkward_number_for_the_category_that_the_library_does(fit: Any, members: list[int]) -> None:
    model = fitted(fit, 0, members)
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = np.array([[value, other] for value in AWKWARD for other in (0.0, 4.0)])
    assert [decide(table, row) for row in rows] == model.predict(rows).tolist()


@pytest.mark.parametrize("cast", ["float32", "float64"])
def test_runs_of_categories_are_one_interval(cast: Any) -> None:
    assert len(truncated([1, 2, 3, 7], cast, negative=False)) == 2
    assert whole_numbers(truncated([0, 1, 5], cast, negative=True)) == [0, 1, 5]
    assert truncated([0], cast, negative=True)[0][0] == math.nextafter(-1, 0)


@pytest.mark.parametrize("members", [equal_to([0, 3]), truncated([0, 2, 3], "float32", negative=False)])
def test_a_set_before_the_cast_holds_the_doubles_whose_cast_it_holds(members: Members) -> None:
    near = [end for low, high in members for end in (low, high)]
    doubles = [x + k * math.ulp(x + 1) * 2**27 / 8 for x in near for k in range(-20, 21)]
    doubles += [math.nextafter(x, way) for x in [y for ends in before_cast(members, "float32") for y in ends] for way in
                (-math.inf, math.inf, x)]  # fmt: skip
    for x in doubles:
        assert among(before_cast(members, "float32"), x) == among(members, float(np.float32(x)))


def random_tree(rng: np.random.Generator, depth: int, columns: int, cast: Any) -> Tree:
    """Tests of categories only, one below the other; NaN goes anywhere."""
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    members = {
        node: equal_to(rng.integers(-2, 7, 3)) if rng.random() < 0.4 else
        truncated(rng.integers(0, 7, int(rng.integers(5))).tolist(), cast, negative=bool(rng.integers(2)))
        for node in range(inner)
    }  # fmt: skip
    places = np.arange(nodes)
    return Tree(
        np.where(places < inner, rng.integers(0, columns, nodes), -1).astype(np.int32),
        np.zeros(nodes),
        np.where(places < inner, 2 * places + 1, -1).astype(np.int32),
        np.where(places < inner, 2 * places + 2, -1).astype(np.int32),
        rng.permutation(nodes)[:, None].astype(np.float64),
        (rng.random(nodes) < 0.5) & (places < inner),
        members,
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("cast", "test"), [("float64", "<="), ("float32", "<")])
def test_thresholds_in_the_place_of_categories_lead_every_number_to_the_same_leaf(
    cast: Any, test: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    trees = tuple(random_tree(rng, 3, 3, cast) for _ in range(2))
    table = Ensemble(trees, 3, np.zeros(1), "value", (), cast=cast, test=test)
    levels = (*rng.permutation([0.5, 1.5, 2.0, -0.5, 6.25]).tolist(), math.nan)
    features = [
        Feature("a", "real", lower=-3, upper=9),
        Feature("b", "real", lower=-3, upper=9, missing=True),
        Feature("c", "categorical", levels=levels[:-1], encoding="as-is"),
    ]
    columns = [Column("a", 0, None), Column("b", 1, None, missing=math.nan), Column("c", 2, levels)]
    found = on_thresholds(table, columns, features)
    assert all(tree.column[node] == 2 for tree in found.trees for node in tree.members)
    numbers = [x for x in AWKWARD if -3 <= x <= 9] + [math.nextafter(k, way) for k in range(8) for way in (-9, 9)]
    for _ in range(300):
        row = np.array([rng.choice(numbers), rng.choice([*numbers, math.nan]), rng.choice(levels)])
        assert found.scores(row) == table.scores(row)


def test_trees_that_would_become_too_large_keep_their_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mace.compilers.categories.MOST_NODES", 3)
    table = Ensemble((random_tree(np.random.default_rng(0), 3, 1, "float32"),), 1, np.zeros(1), "value", ())
    assert on_thresholds(table, [Column("a", 0, None)], [Feature("a", "real", lower=-3, upper=9)]) is table


@pytest.mark.parametrize("fit", [lightgbm, xgboost, histogram])
@pytest.mark.parametrize("kind", ["real", "integer", "as-is"])
def test_the_nearest_other_decision_beside_a_number_tested_as_a_category_is_found_and_certified(
    fit: Any, kind: str
) -> None:
    model = fitted(fit, 3)
    numbers = {
        "real": np.arange(-1, 7.01, 0.5),
        "integer": np.arange(-1, 8.0),
        "as-is": np.array([0.5, 1, 1.5, 3.5, 9]),
    }
    first = {
        "real": Feature("Column_0", "real", lower=-1, upper=7, step=0.5),
        "integer": Feature("Column_0", "integer", lower=-1, upper=7),
        "as-is": Feature("Column_0", "categorical", levels=numbers["as-is"].tolist(), encoding="as-is"),
    }[kind]
    space = mace.Space([first, Feature("Column_1", "integer", lower=0, upper=4)])
    points = np.array([(a, b) for a in numbers[kind] for b in range(5)])
    says = model.predict(points)
    for place in range(0, len(points), 7):
        other = points[says != says[place]]
        moved = abs(other[:, 0] - points[place, 0]) / 8 if kind != "as-is" else other[:, 0] != points[place, 0]
        nearest = ((moved + abs(other[:, 1] - points[place, 1]) / 4) / 2).min(initial=9)
        value = float(points[place, 0])
        answer = mace.explain(model, space, [int(value) if kind == "integer" else value, int(points[place, 1])])
        assert (answer.status, answer.distance or 9) == (
            "optimal" if nearest < 9 else "infeasible",
            pytest.approx(nearest),
        )
        assert check(answer.certificate.to_dict()).accepted
