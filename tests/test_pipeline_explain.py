"""explain takes the pipeline that people have; its answers are in raw columns, confirmed by it, proved and checked."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.datasets import load
from mace.errors import RowError
from mace.explain.answer import Answer
from mace.explain.explainer import Explainer
from mace.problem.question import Question
from mace.space.axes import GridAxis
from mace.space.feature import Feature
from mace.space.space import Space
from tests.compilers.pipelines import GRADES, MODELS, REGIONS, TRADES, fitted, people, random_rows, space_of

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

PROVED = Fraction(1, 10**9)


def small_space() -> Space:
    """Some thousand points of the table's space."""
    return Space(
        [
            Feature("age", "integer", 18, 80, change="fixed", missing=True),
            Feature("income", "real", 0, 120000, step=6000, missing=True),
            Feature("debt", "real", 0, 40000, step=5000),
            Feature("region", "categorical", levels=REGIONS, missing=True),
            Feature("grade", "ordinal", levels=GRADES),
            Feature("trade", "categorical", levels=TRADES, change="fixed"),
            Feature("owner", "binary"),
        ]
    )


def every_point(question: Question) -> Iterator[tuple[int, ...]]:
    sides = [range(a.lower, a.upper + 1) if isinstance(a, GridAxis) else a.levels() for a in question.axes]
    return itertools.product(*sides)


def true_distance(explainer: Explainer, row: Mapping[str, Any]) -> Fraction | None:
    """By the deployed pipeline on every point of the space."""
    question, decision = explainer.question(row)
    points = list(every_point(question))
    assert explainer.pipeline is not None
    said = explainer.pipeline.predict(explainer.pipeline.frame([question.values(point) for point in points]))
    other = [point for point, label in zip(points, said, strict=True) if label != decision]
    return min((question.distance_of(point) for point in other), default=None)


def flips(model: Any, frame: pd.DataFrame, answer: Answer) -> bool:
    """The witness, put into a frame of the user's own types, gets another decision than the start."""
    witness = pd.DataFrame([answer.counterfactuals[0].values]).reindex(columns=frame.columns)
    for name in frame.columns:
        witness[name] = witness[name].astype(frame[name].dtype)
    return bool(model.predict(witness)[0] != answer.decision)


def agree_with_all_points(preparation: str, model: str, rows: int) -> None:
    """The bound and the witness, from some rows of a small space."""
    space = small_space()
    pipeline = fitted(preparation, model)
    explainer = Explainer(pipeline, space)
    frame, _ = people()
    for start in random_rows(space, rows, missing=0.3):
        row = {**start, "income": None if start["income"] is None else 6000 * int(start["income"] // 6000)}
        expected = true_distance(explainer, row)
        answer = explainer.explain(row, gap=PROVED)
        if expected is None:
            assert answer.status == "infeasible"
            continue
        assert answer.status == "optimal", answer.why
        assert answer.exact_lower_bound <= expected <= (answer.exact_distance or -1)
        assert answer.exact_distance is not None
        assert answer.exact_distance - answer.exact_lower_bound <= PROVED
        assert flips(pipeline, frame, answer)
        if answer.oracle in ("ensembles", "networks"):
            assert answer.certificate.check().accepted


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("preparation", ["scale, one-hot", "indicators, robust, drop", "bins as columns", "by hand"])
def test_the_bound_and_the_witness_agree_with_all_points_of_a_small_space(preparation: str, model: str) -> None:
    # Bins before a network are left to the solvers, who take seconds a row.
    agree_with_all_points(preparation, model, 1 if (preparation, model) == ("bins as columns", "mlp") else 4)


@pytest.mark.exhaustive
def test_bins_before_a_network_agree_with_all_points_from_more_rows() -> None:
    agree_with_all_points("bins as columns", "mlp", 4)


@pytest.mark.parametrize("model", ["tree", "forest", "logistic"])
def test_provers_and_solvers_agree_on_a_pipeline(model: str) -> None:
    explainer = Explainer(fitted("scale, one-hot", model), small_space())
    row = {**random_rows(small_space(), 1, missing=0)[0], "income": 24000}
    proved, solved = explainer.explain(row), explainer.explain(row, oracle="z3", gap=PROVED)
    assert proved.status == solved.status == "optimal"
    assert proved.exact_distance is not None and solved.exact_distance is not None
    assert proved.exact_lower_bound <= solved.exact_distance
    assert solved.exact_lower_bound <= proved.exact_distance


def test_numbers_on_the_float_grid_are_found_to_the_last_bit() -> None:
    pipeline = fitted("scale, one-hot", "tree")
    frame, _ = people()
    explainer = Explainer(pipeline, space_of(), background=frame)
    answers = [explainer.explain(row) for row in random_rows(space_of(), 10)]
    for answer in answers:
        assert answer.status == "optimal"
        assert answer.exact_distance == answer.exact_lower_bound
        assert flips(pipeline, frame, answer)
        assert answer.certificate.check().accepted
        for name, (before, after) in answer.counterfactuals[0].changes.items():
            if name in ("income", "debt"):
                back = {**answer.counterfactuals[0].values, name: float(np.nextafter(after, before))}
                assert explainer.pipeline is not None
                assert explainer.pipeline.predict(explainer.pipeline.frame([back]))[0] == answer.decision


def test_a_rule_about_a_number_that_is_missing_is_refused_with_its_name() -> None:
    explainer = Explainer(fitted("scale, one-hot", "tree"), space_of(), rules=["income >= debt"])
    row = {**random_rows(space_of(), 1, missing=0)[0], "income": None}
    with pytest.raises(RowError, match=r"the rule `income >= debt` reads `income`, which is missing in this row"):
        explainer.explain(row)


def raw_pipeline(space: Space, model: Any) -> Pipeline:
    """Impute, scale, one-hot, as people write it."""
    numbers = [f.name for f in space.features if f.numeric]
    levels = [f.name for f in space.features if not f.numeric]
    return Pipeline(
        [
            (
                "columns",
                ColumnTransformer(
                    [
                        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
                        ("levels", OneHotEncoder(handle_unknown="ignore"), levels),
                    ]
                ),
            ),
            ("model", model),
        ]
    )


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=8, random_state=0),
        RandomForestClassifier(50, max_depth=6, random_state=0),
        LogisticRegression(),
        MLPClassifier((10, 10), random_state=0, max_iter=150),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_loan_is_explained_in_raw_columns(model: Any) -> None:
    data = load("loans")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = raw_pipeline(data.space, model).fit(data.X, data.y)
    assert pipeline.score(data.X, data.y) > 0.85
    row = data.X[pipeline.predict(data.X) == 0].iloc[5]
    answer = mace.explain(pipeline, data.space, row, goal=1, background=data.X)
    assert answer.status == "optimal", answer.why
    assert set(answer.counterfactuals[0].values) == set(data.space.names)
    assert flips(pipeline, data.X, answer)
    assert answer.certificate.check().accepted


@pytest.mark.data
def test_adult_is_explained_in_raw_columns() -> None:
    data = load("adult")
    pipeline = raw_pipeline(data.space, RandomForestClassifier(30, max_depth=8, random_state=0)).fit(data.X, data.y)
    row = data.X[pipeline.predict(data.X) == 0].iloc[0]
    answer = mace.explain(pipeline, data.space, row, goal=1, background=data.X)
    assert answer.status == "optimal", answer.why
    assert flips(pipeline, data.X, answer)
    assert answer.certificate.check().accepted


def test_columns_chosen_by_type_are_the_same_pipeline() -> None:
    data = load("loans")
    model = make_pipeline(
        ColumnTransformer(
            [
                ("numbers", StandardScaler(), make_column_selector(dtype_include="number")),
                ("levels", OneHotEncoder(), make_column_selector(dtype_exclude="number")),
            ]
        ),
        LogisticRegression(),
    ).fit(data.X, data.y)
    row = data.X[model.predict(data.X) == 0].iloc[0]
    assert mace.explain(model, data.space, row).status == "optimal"
