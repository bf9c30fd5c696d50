"""Stacking and votes of regressors: the table is the library's weighted sum within its margin, decisions and all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mace.compilers import read
from mace.errors import ModelError
from mace.tables import leaves
from mace.tables.decide import class_of
from mace.tables.table import Ensemble
from tests.compilers.families import Family, asked, data


def trees(classes: int) -> list[tuple[str, Any]]:
    from sklearn.ensemble import (
        BaggingClassifier,
        ExtraTreesRegressor,
        GradientBoostingRegressor,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
    )
    from sklearn.tree import DecisionTreeClassifier

    if classes:
        return [
            ("forest", RandomForestClassifier(5, max_depth=4, random_state=0)),
            ("tree", DecisionTreeClassifier(max_depth=3)),
            ("bagging", BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, random_state=0)),
        ]
    return [
        ("forest", ExtraTreesRegressor(5, max_depth=4, random_state=0)),
        ("boosting", GradientBoostingRegressor(n_estimators=5)),
        ("histograms", HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5)),
    ]


def lines(classes: int) -> list[tuple[str, Any]]:
    from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
    from sklearn.svm import LinearSVC

    if classes:
        return [("svm", LinearSVC()), ("ridge", RidgeClassifier())]
    return [("line", LinearRegression()), ("ridge", Ridge(10.0))]


def stacking(classes: int, members: Callable[[int], list[tuple[str, Any]]], **options: Any) -> Any:
    from sklearn.ensemble import StackingClassifier, StackingRegressor

    return (StackingClassifier if classes else StackingRegressor)(members(classes), cv=2, **options)


def voting(_: int, members: Callable[[int], list[tuple[str, Any]]]) -> Any:
    from sklearn.ensemble import VotingRegressor

    listed = members(0)
    return VotingRegressor(listed, weights=[1, 2.5, 0.3][: len(listed)])


MODELS: dict[str, tuple[int, Callable[..., Any], Callable[[int], list[tuple[str, Any]]]]] = {
    "two classes of trees": (2, stacking, trees),
    "three classes of trees": (3, stacking, trees),
    "a number of trees": (0, stacking, trees),
    "votes": (0, voting, trees),
    "votes of lines": (0, voting, lines),
    "two classes of lines": (2, stacking, lines),
    "three classes of lines": (3, stacking, lines),
    "a number of lines": (0, stacking, lines),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_stack_decides_as_the_library(name: str) -> None:
    classes, made, members = MODELS[name]
    family = Family(name, lambda X, y: made(classes, members).fit(X, y), classes)
    X, y = data(family, 200)
    model = family.fit(X, np.array(["u", "v", "w"])[y] if classes else y)
    table: Any = read(model)
    rows = asked(family, table, X, 600, 300) if isinstance(table, Ensemble) else np.concatenate([X, X * 1.5])
    said = model.predict(rows)
    scores = leaves.scores(table, rows) if isinstance(table, Ensemble) else table.scores(rows)
    if not classes:
        assert np.abs(scores[:, 0] - said).max() <= (table.error if isinstance(table, Ensemble) else 1e-9)
        return
    sure = 0
    for row, label in zip(rows, said.tolist(), strict=True):
        found = class_of(table, row)
        assert found is None or table.classes[found] == label
        sure += found is not None
    assert sure > 0.9 * len(rows)


def test_what_is_no_weighted_sum_is_refused_by_name() -> None:
    from sklearn.ensemble import GradientBoostingClassifier, VotingRegressor
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    sigmoid = [("boosting", GradientBoostingClassifier(n_estimators=2))]
    for model, what in (
        (stacking(2, lambda _: sigmoid), "GradientBoostingClassifier"),
        (stacking(2, lambda _: [("near", KNeighborsClassifier())]), "KNeighborsClassifier"),
        (stacking(2, trees, passthrough=True), "passthrough"),
        (stacking(2, trees, final_estimator=DecisionTreeClassifier()), "final estimator DecisionTreeClassifier"),
        (stacking(0, lambda _: [*trees(0), *lines(0)]), "together"),
        (VotingRegressor([*trees(0), *lines(0)]), "together"),
    ):
        fitted = model.fit(X, y)
        with pytest.raises(ModelError, match=what):
            read(fitted)
