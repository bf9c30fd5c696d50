"""Models that predict the exponential of a score: goals on the number are those that the library meets."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mace
from mace import Feature, Space
from mace.compilers import deployed, read
from mace.compilers.deployed import decide
from mace.errors import GoalError, ModelError
from mace.problem.goal_decision import lower
from mace.problem.goals import Between, Value
from mace.tables import leaves
from mace.tables.decide import decides
from mace.tables.table import Ensemble, predicted
from tests.checkers import accepted_by_all

NAMES = ["a", "b", "c"]
EVERY = np.array(list(itertools.product(range(5), repeat=3)), dtype=np.float64)


def linear(name: str, **options: Any) -> Callable[[], Any]:
    def made() -> Any:
        import sklearn.linear_model

        return getattr(sklearn.linear_model, name)(**options)

    return made


def of(package: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(pytest.importorskip(package, reason="an extra that is not installed"), name)(**options)


def histograms(loss: str) -> Callable[[], Any]:
    return of("sklearn.ensemble", "HistGradientBoostingRegressor", loss=loss, max_iter=5, min_samples_leaf=5)


def transformed(inner: Callable[[], Any], *pair: Any) -> Callable[[], Any]:
    def made() -> Any:
        from sklearn.compose import TransformedTargetRegressor

        return TransformedTargetRegressor(inner(), func=pair[0], inverse_func=pair[1])

    return made


XGB: dict[str, Any] = {"n_estimators": 4, "max_depth": 2, "n_jobs": 1}
LIGHT: dict[str, Any] = {"n_estimators": 4, "num_leaves": 4, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
CAT: dict[str, Any] = {"iterations": 4, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
MODELS: dict[str, Callable[[], Any]] = {
    "PoissonRegressor": linear("PoissonRegressor"),
    "GammaRegressor": linear("GammaRegressor"),
    "TweedieRegressor": linear("TweedieRegressor", power=1.5),
    **{f"HistGradientBoosting-{loss}": histograms(loss) for loss in ("poisson", "gamma")},
    **{f"XGB-{o}": of("xgboost", "XGBRegressor", objective=o, **XGB)
       for o in ("count:poisson", "reg:gamma", "reg:tweedie")},
    **{f"LGBM-{o}": of("lightgbm", "LGBMRegressor", objective=o, **LIGHT) for o in ("poisson", "gamma", "tweedie")},
    **{f"CatBoost-{loss[:7]}": of("catboost", "CatBoostRegressor", loss_function=loss, **CAT)
       for loss in ("Poisson", "Tweedie:variance_power=1.5")},
    "EBM": of("interpret.glassbox", "ExplainableBoostingRegressor", objective="poisson_deviance", outer_bags=1,
              max_rounds=10, interactions=0, n_jobs=1),
    "target-log": transformed(linear("LinearRegression"), np.log, np.exp),
    "target-log1p": transformed(of("sklearn.ensemble", "GradientBoostingRegressor", n_estimators=4), np.log1p,
                                np.expm1),
}  # fmt: skip


def fitted(name: str) -> Any:
    model = MODELS[name]()
    rng = np.random.default_rng(0)
    X = EVERY[rng.integers(0, len(EVERY), 150)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, np.exp(X[:, 0] / 3 - X[:, 1] / 4) + rng.random(150) / 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_goal_on_the_number_is_enclosed_by_its_comparisons(name: str) -> None:
    model = fitted(name)
    table: Any = read(model)
    assert table.link is not None
    ask = deployed(model).predict
    import pandas as pd

    said = np.asarray(ask(pd.DataFrame(EVERY)), dtype=np.float64)
    scores = leaves.scores(table, EVERY) if isinstance(table, Ensemble) else table.scores(EVERY)
    assert np.allclose(predicted(table, scores), said, rtol=1e-6 if table.dtype == "float32" else 1e-13)
    assert decide(table, EVERY[7]) == pytest.approx(said[7], rel=1e-6)
    place = float(np.sort(said)[len(said) // 3])  # a number that the model does predict
    for between in (Between(low=place), Between(high=place), Between(low=place, low_strict=True)):
        goal, asked = lower(Value(between), table)
        assert goal.enclosed and asked is table
        for row, met in zip(EVERY, between.holds(said), strict=True):
            assert not met or decides(table, goal.decision, row) is not False


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PoissonRegressor", "XGB-count:poisson", "CatBoost-Poisson", "EBM", "target-log1p"])
def test_the_nearest_number_is_that_of_the_enumeration(name: str) -> None:
    import pandas as pd

    model = fitted(name)
    space = Space([Feature(feature, "integer", 0, 4) for feature in NAMES])
    said = np.asarray(deployed(model).predict(pd.DataFrame(EVERY)), dtype=np.float64)
    for row, share in ((EVERY[3], 0.9), (EVERY[100], 0.2)):
        place = float(np.sort(said)[int(share * len(said))])
        start = dict(zip(NAMES, row.astype(int).tolist(), strict=True))
        text = f"y >= {place!r}" if share > 0.5 else f"y <= {place!r}"
        met = said >= place if share > 0.5 else said <= place
        expected = np.abs(EVERY[met] - row).sum(axis=1).min() / 12
        answer = mace.explain(model, space, start, goal=text)
        assert float(answer.exact_distance) == pytest.approx(expected), (answer.status, answer.why)
        assert answer.status == "optimal" and answer.certificate.check().accepted


def test_a_goal_that_no_exponential_meets_is_infeasible_and_what_is_not_asked_of_it_is_refused() -> None:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import MinMaxScaler

    model = fitted("PoissonRegressor")
    table = read(model)
    with pytest.raises(GoalError, match="every input"):
        lower(Value(Between(low=-1.0)), table)
    space = Space([Feature(name, "integer", 0, 4) for name in NAMES])
    never = mace.explain(model, space, dict.fromkeys(NAMES, 0), goal="y <= -1")
    assert never.status == "infeasible" and accepted_by_all([never.certificate])
    with pytest.raises(GoalError, match="exponential"):
        mace.explain(model, space, dict.fromkeys(NAMES, 0), goal="y >= 99", objectives=["shortfall", "l1"])
    with pytest.raises(GoalError, match="exponential"):
        mace.verify(model, space, "bounded(0, 1)")
    wrapped = TransformedTargetRegressor(LinearRegression(), transformer=MinMaxScaler()).fit(EVERY, EVERY[:, 0])
    with pytest.raises(ModelError, match="MinMaxScaler"):
        read(wrapped)


@pytest.mark.parametrize("trees", [False, True])
def test_a_scaled_target_is_within_its_margin(trees: bool) -> None:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    inner = RandomForestRegressor(4, random_state=0) if trees else Ridge()
    model = TransformedTargetRegressor(inner, transformer=StandardScaler()).fit(EVERY, EVERY @ [1.0, -2.0, 0.3])
    table: Any = read(model)
    scores = leaves.scores(table, EVERY) if trees else table.scores(EVERY)
    assert np.abs(scores[:, 0] - model.predict(EVERY)).max() < 1e-12
