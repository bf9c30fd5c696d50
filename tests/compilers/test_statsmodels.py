"""statsmodels' results: linear predictors within their margin, links that decide at one half, formulas as columns."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mace
from mace.compilers import deployed, read
from mace.compilers.pipeline.reader import CompiledPipeline, compile_raw
from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.decide import class_of, decides
from mace.tables.margins import exact_scores, network_error
from mace.tables.table import Network
from tests.compilers.pipelines import random_rows

sm = pytest.importorskip("statsmodels.api", reason="an extra that is not installed")
smf = pytest.importorskip("statsmodels.formula.api", reason="an extra that is not installed")

SPACE = Space(
    [
        Feature("age", "real", -3.0, 3.0),
        Feature("region", "categorical", levels=["a", "b", "c"]),
        Feature("code", "categorical", levels=[0, 1, 2]),
        Feature("owner", "binary", levels=[False, True]),
    ]
)


def people(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=rows),
            "region": rng.choice(["a", "b", "c"], rows),
            "code": rng.integers(0, 3, rows),
            "owner": rng.random(rows) < 0.5,
        }
    )
    frame["score"] = frame["age"] + (frame["region"] == "b") - frame["owner"] + rng.normal(size=rows)
    frame["good"] = (frame["score"] > 0).astype(int)
    return frame


def binomial(link: str) -> Callable[[Any, Any, Any], Any]:
    def fit(good: Any, _: Any, matrix: Any) -> Any:
        family = sm.families.Binomial(link=getattr(sm.families.links, link)())
        return sm.GLM(good, matrix, family=family).fit()

    return fit


MODELS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Logit": lambda good, _, matrix: sm.Logit(good, matrix).fit(disp=0),
    "Probit": lambda good, _, matrix: sm.Probit(good, matrix).fit(disp=0),
    "L1": lambda good, _, matrix: sm.Logit(good, matrix).fit_regularized(disp=0),
    **{f"GLM-{link}": binomial(link) for link in ("Logit", "Probit", "Cauchy", "CLogLog", "LogLog")},
    "GLM-Gaussian": lambda _, score, matrix: sm.GLM(score, matrix).fit(),
    "OLS": lambda _, score, matrix: sm.OLS(score, matrix).fit(),
    "RLM": lambda _, score, matrix: sm.RLM(score, matrix).fit(),
    "QuantReg": lambda _, score, matrix: sm.QuantReg(score, matrix).fit(0.3),
}


@pytest.mark.parametrize("named", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_a_result_says_what_its_table_says(name: str, named: bool) -> None:
    frame = people()
    matrix = sm.add_constant(frame[["age", "code"]].astype(float))
    given = [frame["good"], frame["score"], matrix] if named else [frame["good"].to_numpy(), frame["score"].to_numpy(),
                                                                  matrix.to_numpy()]  # fmt: skip
    model = MODELS[name](*given)
    table = read(model)
    assert isinstance(table, Network) and table.columns == 2
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(size=(80, 2)) * 3, near_half(table, rng)])
    said = deployed(model).predict(pd.DataFrame(rows, columns=["age", "code"]))
    for row, one in zip(rows, said.tolist(), strict=True):
        if table.classes:
            assert (found := class_of(table, row)) is None or table.classes[found] == one
            continue
        (error,) = network_error(table, [Fraction(abs(float(x))) for x in row])
        assert abs(Fraction(one) - exact_scores(table, row)[0]) <= error


def near_half(table: Network, rng: Any) -> Any:
    """Rows whose score lies by a few units of rounding from where the class changes."""
    layer = table.layers[0]
    weights, bias = layer.weights[:, 0], layer.bias[0]
    turn = table.decisions[1][0][0].than if table.decisions else 0.0
    rows = rng.normal(size=(80, 2))
    rows[:, 0] = (turn - bias - rows[:, 1] * weights[1]) / weights[0]
    return rows * (1 + rng.integers(-40, 41, size=(80, 1)) * 2.0**-52 * [1, 0])


def compiled(model: Any) -> CompiledPipeline:
    found = compile_raw(model, SPACE)
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "right",
    [
        "age + C(region) + owner + C(code, Treatment(2))",
        "0 + region + age",
        "owner + Q('age') + code",
    ],
)
@pytest.mark.parametrize("fit", ["logit", "ols"])
def test_a_formula_of_columns_and_dummies_is_followed(right: str, fit: str) -> None:
    frame = people()
    if fit == "logit":
        model = smf.logit(f"good ~ {right}", frame).fit(disp=0)
    else:
        model = smf.ols(f"score ~ {right}", frame).fit()
    names = [name for name in SPACE.names if name in right]
    found = compile_raw(model, Space([SPACE[name] for name in names]))
    assert found is not None and isinstance(found.table, Network)
    rows = random_rows(found.space, 60)
    said = found.predict(found.frame(rows)).tolist()
    for row, one in zip(rows, said, strict=True):
        vector = found.row(row)
        if fit == "logit":
            known = class_of(found.table, vector)
            assert known is None or found.table.classes[known] == one
        else:
            assert abs(float(exact_scores(found.table, vector)[0]) - one) < 1e-9


@pytest.mark.parametrize(
    ("right", "why"),
    [
        ("np.exp(age)", "function of a column"),
        ("np.abs(age)", "function of a column"),
        ("age:code + age", "multiplies two numbers"),
        ("C(region, Sum) + age", "no dummies"),
        ("I(age**2) + age", "function of a column"),
    ],
)
def test_a_term_that_is_no_column_is_refused_by_name(right: str, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        compiled(smf.ols(f"score ~ {right}", people()).fit())


def test_functions_of_integers_are_followed_and_their_answers_are_those_of_trying_all() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"k": rng.integers(1, 40, 400), "region": rng.choice(["a", "b", "c"], 400)})
    score = np.log(frame["k"]) + (frame["region"] == "b") - 2.8 + rng.normal(size=400) / 2
    space = Space([Feature("k", "integer", 1, 39), Feature("region", "categorical", levels=["a", "b", "c"])])
    grid = pd.DataFrame([(k, region) for k in range(1, 40) for region in "abc"], columns=["k", "region"])
    for right in ("np.log(k) + C(region)", "np.sqrt(k) + np.log1p(k) + k + region"):
        model = smf.logit(f"good ~ {right}", frame.assign(good=(score > 0).astype(int))).fit(disp=0)
        row = {"k": 2, "region": "a"}
        good = grid[np.asarray(model.predict(grid)) > 0.5]
        least = ((good["k"] - 2).abs() / 38 + (good["region"] != "a")).min() / 2
        answer = mace.explain(model, space, row, goal=1)
        assert answer.status == "optimal" and answer.distance == pytest.approx(least)
        assert not any("only asked" in note for note in answer.notes)
        assert answer.certificate.check().accepted


@pytest.mark.parametrize("right", ["bs(age, df=4) + C(region)", "np.log(age) * region", "I(age / 10) + code"])
def test_a_formula_that_is_not_followed_is_asked(right: str) -> None:
    frame = people().assign(age=lambda known: known["age"].abs() + 0.1)
    frame["age"] = frame["age"].round(1)
    ends = float(frame["age"].min()), float(frame["age"].max())
    space = Space([Feature("age", "real", *ends, step="0.1"), *(SPACE[name] for name in SPACE.names[1:])])
    model = smf.logit(f"good ~ {right}", frame).fit(disp=0)
    row = frame[np.asarray(model.predict(frame)) < 0.5].iloc[0][space.names]
    answer = mace.explain(model, space, row, goal="p(1) >= 0.505", timeout=20)
    assert answer.oracle.startswith("search") and "only asked" in answer.notes[0]
    found = pd.DataFrame([answer.counterfactuals[0].values])
    assert np.asarray(model.predict(found))[0] >= 0.505
    line = smf.ols(f"score ~ {right}", frame).fit()
    wanted = float(line.predict(frame).max()) - 0.5
    assert mace.explain(line, space, row, goal=f"y >= {wanted}", timeout=20).counterfactuals


def test_other_models_families_and_offsets_are_refused_by_name() -> None:
    frame = people()
    matrix = sm.add_constant(frame[["age"]])
    for model, name in (
        (sm.NegativeBinomial(frame["code"], matrix).fit(disp=0), "NegativeBinomial"),
        (sm.GLM(frame["code"] + 1, matrix, family=sm.families.Gamma()).fit(), "family Gamma"),
        (sm.MNLogit(frame["code"], matrix).fit(disp=0), "MNLogit"),
        (sm.GLM(frame["good"], matrix, family=sm.families.Binomial(), offset=frame["age"]).fit(), "offset"),
    ):
        with pytest.raises(ModelError, match=name):
            read(model)


@pytest.mark.slow
def test_a_probability_of_logit_is_a_goal() -> None:
    import mace

    frame = people()
    model = smf.logit("good ~ age + C(region)", frame).fit(disp=0)
    space = Space([Feature("age", "integer", -3, 3), SPACE["region"]])
    answer = mace.explain(model, space, {"age": -1, "region": "a"}, goal="p(1) >= 0.7")
    best = min(
        abs(age + 1) / 12 + (region != "a") / 2
        for age in range(-3, 4)
        for region in "abc"
        if model.predict(pd.DataFrame({"age": [age], "region": [region]}))[0] >= 0.7
    )
    assert answer.status == "optimal" and float(answer.exact_distance) == pytest.approx(best)
    table = compile_raw(model, space)
    assert table is not None and isinstance(table.table, Network)
    assert decides(table.table, ((),), table.row({"age": 0, "region": "a"}))
