"""What a wrapper's parameters change about `predict` is read as it is, or refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mace.compilers import read
from mace.compilers.deployed import decide
from mace.errors import ModelError
from mace.tables.table import Ensemble

rng = np.random.default_rng(0)
X = rng.integers(0, 10, (300, 2)).astype(float)
Y = (X.sum(axis=1) + rng.integers(-2, 3, 300) > 9).astype(int)


def lightgbm(**parameters: Any) -> Any:
    wrapper = pytest.importorskip("lightgbm").LGBMClassifier
    return wrapper(n_estimators=12, num_leaves=4, verbose=-1, n_jobs=1, **parameters).fit(X, Y)


def xgboost(**parameters: Any) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=12, max_depth=2, n_jobs=1, **parameters).fit(X, Y)


def decides_alike(model: Any) -> bool:
    table = read(model)
    assert isinstance(table, Ensemble)
    return [decide(table, row) for row in X] == model.predict(X).tolist()


@pytest.mark.parametrize("value", [True, "true", "+"])
def test_a_prediction_that_stops_early_is_refused(value: object) -> None:
    with pytest.raises(ModelError, match="pred_early_stop"):
        read(lightgbm(pred_early_stop=value, pred_early_stop_freq=1, pred_early_stop_margin=0.05))
    with pytest.raises(ModelError, match="pred_early_stop"):
        read(lightgbm().set_params(pred_early_stop=value))


@pytest.mark.parametrize(
    "parameters",
    [
        {"pred_early_stop": False},
        {"pred_early_stop": "false"},
        {"num_iteration_predict": 1},
        {"start_iteration_predict": 5},
        {"pred_leaf": True},
        {"pred_contrib": True},
        {"raw_score": True},
        {"predict_raw_score": True},
        {"n_iter": 3},
    ],
)
def test_lightgbm_decides_by_all_trees_whatever_its_constructor_was_told(parameters: dict[str, Any]) -> None:
    assert decides_alike(lightgbm().set_params(**parameters))


def test_the_best_round_of_lightgbm_is_the_last_that_counts() -> None:
    model = lightgbm()
    model.booster_.best_iteration = 4
    table = read(model)
    assert isinstance(table, Ensemble)
    assert len(table.trees) == 4
    assert decides_alike(model)


@pytest.mark.parametrize(("best", "trees"), [("-1", 12), ("0", 1), ("4", 5)])
def test_the_best_round_of_xgboost_is_the_last_that_counts(best: str, trees: int) -> None:
    model = xgboost()
    model.get_booster().set_attr(best_iteration=best)
    table = read(model)
    assert isinstance(table, Ensemble)
    assert len(table.trees) == trees
    assert decides_alike(model)


def test_a_best_round_that_is_no_number_is_refused() -> None:
    model = xgboost()
    model.get_booster().set_attr(best_iteration="best")
    with pytest.raises(ModelError, match="best_iteration"):
        read(model)


@pytest.mark.parametrize("parameters", [{"base_score": 0.9}, {"num_parallel_tree": 5}, {"n_estimators": 3}])
def test_what_is_set_after_the_fit_counts_as_xgboost_counts_it(parameters: dict[str, Any]) -> None:
    assert decides_alike(xgboost().set_params(**parameters))


def test_another_number_for_what_is_missing_is_refused() -> None:
    with pytest.raises(ModelError, match=r"takes 3\.0 as missing"):
        read(xgboost(missing=3.0))


def test_a_regressor_fitted_for_classes_is_refused() -> None:
    for package, kind, objective in (
        ("lightgbm", "LGBMRegressor", "binary"),
        ("xgboost", "XGBRegressor", "binary:logistic"),
    ):
        model = getattr(pytest.importorskip(package), kind)(n_estimators=3, objective=objective, n_jobs=1).fit(X, Y)
        with pytest.raises(ModelError, match="predicts a probability"):
            read(model)
