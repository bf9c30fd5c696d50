"""Linear and network regressors: `predict` lies within the margin of the exact score."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mace.compilers import read
from mace.tables.margins import exact_scores, network_error
from mace.tables.table import Network
from tests.compilers.families import Family, data

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared


def models() -> list[Any]:
    from sklearn.linear_model import ElasticNet, HuberRegressor, Lasso, LinearRegression, Ridge
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import LinearSVR

    return [
        LinearRegression(), Ridge(), Lasso(0.01), ElasticNet(0.01), HuberRegressor(), LinearSVR(),
        MLPRegressor(hidden_layer_sizes=(8, 5)),
    ]  # fmt: skip


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
