"""Products of dummies and a number before linear models: exact layers, with certificates."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mace
from mace.compilers.pipeline.reader import compile_raw
from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from tests.test_families_agree import sklearn

SPACE = Space(
    [
        Feature("a", "real", -3, 5, step="0.5"),
        Feature("k", "categorical", levels=["u", "v", "w"]),
        Feature("m", "binary", levels=["p", "q"]),
    ]
)
POINTS = pd.DataFrame(
    list(itertools.product(np.arange(-6, 11) / 2, ["u", "v", "w"], ["p", "q"])), columns=list(SPACE.names)
)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = POINTS.iloc[rng.integers(0, len(POINTS), 150)].reset_index(drop=True)
    part = np.where(frame.k == "v", 1, -0.5) * frame.a + (frame.m == "q") * (frame.k == "w") * 2
    return frame.assign(y=part + rng.normal(size=150) / 2)


@pytest.mark.parametrize("text", ["y ~ C(k) * a + m", "y ~ k * m * a", "y ~ 0 + a:k + k:m", "y ~ a:k:m"])
def test_a_formula_with_interactions_is_its_table(text: str, rows: pd.DataFrame) -> None:
    formulas: Any = pytest.importorskip("statsmodels.formula.api", reason="an extra that is not installed")
    model = formulas.ols(text, rows).fit()
    compiled = compile_raw(model, SPACE)
    assert compiled is not None
    table: Any = compiled.table
    said = [table.scores(compiled.row(row))[0] for row in POINTS.to_dict("records")]
    assert np.asarray(model.predict(POINTS)) == pytest.approx(said, abs=1e-9)


def test_an_interaction_is_answered_with_a_certificate(rows: pd.DataFrame) -> None:
    formulas: Any = pytest.importorskip("statsmodels.formula.api", reason="an extra that is not installed")
    model = formulas.ols("y ~ C(k) * a + m", rows).fit()
    answer = mace.explain(model, SPACE, {"a": 1, "k": "u", "m": "p"}, goal="y >= 2")
    assert answer.status == "optimal" and answer.certificate.check().accepted
    has = np.asarray(model.predict(POINTS)) >= 2
    away = (POINTS.a - 1).abs() / 8 + (POINTS.k != "u") + (POINTS.m != "p")
    assert answer.distance == pytest.approx(float(away[has].min()) / 3)


def test_products_of_two_numbers_are_refused(rows: pd.DataFrame) -> None:
    formulas: Any = pytest.importorskip("statsmodels.formula.api", reason="an extra that is not installed")
    model = formulas.ols("y ~ a:b", rows.assign(b=rows.a**2)).fit()
    with pytest.raises(ModelError, match="multiplies two numbers"):
        compile_raw(model, Space([SPACE["a"], Feature("b", "real", 0, 25)]))


def test_products_of_scikit_learn_are_layers_and_powers_are_bounded(rows: pd.DataFrame) -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    one_hot = sklearn("preprocessing.OneHotEncoder", sparse_output=False)
    columns = [("l", one_hot, ["k", "m"]), ("n", sklearn("preprocessing.StandardScaler"), ["a"])]
    for once, oracle in ((True, "networks"), (False, "search (every point)")):
        products = sklearn("preprocessing.PolynomialFeatures", interaction_only=once)
        model = make_pipeline(ColumnTransformer(columns), products, sklearn("linear_model.Ridge"))
        model.fit(rows[list(SPACE.names)], rows.y)
        answer = mace.explain(model, SPACE, {"a": 1, "k": "u", "m": "p"}, goal="y >= 2")
        assert (answer.status, answer.oracle) == ("optimal", oracle)
