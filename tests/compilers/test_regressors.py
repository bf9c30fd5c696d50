"""Linear and network regressors: `predict` lies within the margin of the exact score."""

from __future__ import annotations

import warnings
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from mace.compilers import read
from mace.compilers.sklearn.linear import REGRESSORS
from mace.tables.margins import exact_scores, network_error
from mace.tables.table import Network, class_decision
from tests.compilers import cases
from tests.compilers.families import Family, data

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared


def models() -> list[Any]:
    from sklearn.linear_model import RANSACRegressor
    from sklearn.neural_network import MLPRegressor

    lines = [getattr(import_module(f"sklearn.{room}"), name)() for room, name in (one.split(".") for one in REGRESSORS)]
    slight = {"Lasso": 0.01, "ElasticNet": 0.01, "LassoLars": 0.01, "QuantileRegressor": 0.01}  # else all weights are 0
    for line in lines:
        line.set_params(**{"alpha": slight[type(line).__name__]} if type(line).__name__ in slight else {})
    return [*lines, RANSACRegressor(random_state=0), MLPRegressor(hidden_layer_sizes=(8, 5))]


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_a_regressor_predicts_within_its_margin(model: Any) -> None:
    X, y = data(Family("numbers", lambda X, y: None, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    table = read(model)
    assert isinstance(table, Network)
    assert table.rule == "value"
    assert table.classes == ()
    (error,) = network_error(table, [Fraction(float(value)) for value in np.abs(X).max(axis=0)])
    for row, said in zip(X, model.predict(X), strict=True):
        assert abs(Fraction(float(said)) - exact_scores(table, row)[0]) <= error


def test_a_machine_of_one_class_sees_outliers_where_its_table_does() -> None:
    from sklearn.linear_model import SGDOneClassSVM

    rows, _ = cases.sample(2)
    model = SGDOneClassSVM(nu=0.3, random_state=0).fit(rows)
    table = read(model)
    assert isinstance(table, Network)
    assert (table.classes, table.rule) == ((-1, 1), "nonnegative")
    asked = np.concatenate([rows, cases.on_boundary(model, rows, 40)])
    bound = cases.bounds(asked)
    for row, said in zip(asked, (model.predict(row[None])[0] for row in asked), strict=True):
        for index, label in enumerate(table.classes):
            possibly, surely = cases.enclosure(table, class_decision(table.rule, 1, index), row, bound)
            assert possibly >= (said == label) >= surely
