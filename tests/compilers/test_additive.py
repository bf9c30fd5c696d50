"""Linear models of bins: one tree a feature, held to the library and to enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

import mace
from mace.compilers.pipeline.reader import compile_pipeline
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.margins import exact_scores
from mace.tables.table import Ensemble, Network
from tests.checkers import accepted_by_all

AGES, SIZES, GRADES = range(18, 30), (0.5, 1.0, 2.5, 3.0, 4.5, 6.0), ("low", "middle", "high")


def binned(count: int, strategy: str = "quantile") -> KBinsDiscretizer:
    """Bins, one column each."""
    return KBinsDiscretizer(count, strategy=strategy, quantile_method="averaged_inverted_cdf")


def table() -> pd.DataFrame:
    """All people there are."""
    return pd.DataFrame(list(itertools.product(AGES, SIZES, GRADES)), columns=["age", "size", "grade"])


def space(**missing: Any) -> Space:
    """Their features."""
    return Space([
        Feature("age", "integer", 18, 29),
        Feature("size", "real", 0.5, 6, step="0.5", missing=missing.get("size", "keep")),
        Feature("grade", "categorical", levels=GRADES),
    ])  # fmt: skip


def labels(frame: pd.DataFrame) -> Any:
    """Three classes, of which none is a sum of terms."""
    return ((frame.age % 5) * frame["size"] + 3 * (frame.grade == "high") > 6).astype(int) + (frame.age > 26)


def before(*numbers: Any) -> Any:
    """Numbers through these steps, grades as dummies."""
    return make_column_transformer(
        (make_pipeline(*numbers) if numbers else "drop", ["age", "size"]), (OneHotEncoder(), ["grade"])
    )


PIPELINES = {
    "bins": lambda: before(binned(4)),
    "scaled bins": lambda: before(StandardScaler(), binned(3, "kmeans"), StandardScaler(with_mean=False)),
    "ordinal bins": lambda: before(KBinsDiscretizer(5, encode="ordinal", strategy="uniform")),
    "a whole number as it is": lambda: make_column_transformer(
        (StandardScaler(), ["age"]), (binned(3), ["size"]), (OneHotEncoder(), ["grade"])
    ),
    "a whole number and its bins": lambda: make_column_transformer(
        (make_union(binned(3), "passthrough"), ["age"]), (binned(3), ["size"]), (OneHotEncoder(), ["grade"])
    ),
    "two cuts of a number": lambda: before(make_union(binned(3), make_pipeline(StandardScaler(), binned(4)))),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_the_library(name: str, classes: int) -> None:
    frame = table()
    model = make_pipeline(PIPELINES[name](), LogisticRegression()).fit(frame, np.minimum(labels(frame), classes - 1))
    compiled = compile_pipeline(model, space())
    ensemble = compiled.table
    assert isinstance(ensemble, Ensemble)
    assert len(ensemble.trees) == 3
    wide = pd.DataFrame(list(itertools.product(AGES, np.arange(1, 13) / 2, GRADES)), columns=list(frame.columns))
    scores = model.decision_function(wide).reshape(len(wide), -1)
    for row, expected in zip(wide.to_dict("records"), scores, strict=True):
        found = exact_scores(ensemble, compiled.row(row))
        for one, other in zip(found, expected.tolist(), strict=True):
            assert abs(float(one) - other) <= ensemble.error + 1e-300
    assert ensemble.error < 1e-13


@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
def test_answers_are_the_nearest_of_all_rows_and_their_proofs_stand(distance: str) -> None:
    frame = table()
    model = make_pipeline(before(binned(4)), LogisticRegression()).fit(frame, np.minimum(labels(frame), 1))
    asked = mace.Explainer(model, space(), distance=distance)
    rows = pd.DataFrame(list(itertools.product(AGES, np.arange(1, 13) / 2, GRADES)), columns=list(frame.columns))
    other = rows[model.predict(rows) == 1]
    refused = frame[model.predict(frame) == 0].iloc[::23]
    assert len(refused) > 3

    def far(start: Any) -> float:
        parts = np.array([
            np.abs(other.age - start.age) / 11, np.abs(other["size"] - start["size"]) / 5.5, other.grade != start.grade
        ], dtype=float)  # fmt: skip
        each = {"l0": (parts > 0).mean(axis=0), "l1": parts.mean(axis=0), "linf": parts.max(axis=0)}[distance]
        return float(each.min())

    for _, start in refused.iterrows():
        answer = asked.explain(start, goal=1)
        assert answer.status == "optimal"
        assert answer.oracle == "ensembles"
        assert answer.distance == pytest.approx(far(start), abs=1e-12)
        accepted_by_all([answer.certificate])


def test_a_number_that_may_be_missing_has_a_piece_of_its_own() -> None:
    frame = table().astype({"size": float})
    frame.loc[::7, "size"] = np.nan
    model = make_pipeline(before(SimpleImputer(), binned(3)), LogisticRegression()).fit(frame, labels(frame) > 0)
    compiled = compile_pipeline(model, space(size="any"))
    assert isinstance(compiled.table, Ensemble)
    scores = model.decision_function(frame)
    for row, expected in zip(frame.to_dict("records"), scores.tolist(), strict=True):
        held = {name: None if value != value else value for name, value in row.items()}
        assert float(exact_scores(compiled.table, compiled.row(held))[0]) == pytest.approx(expected, abs=1e-12)
    lacking = frame[frame["size"].isna() & ~model.predict(frame)]
    answer = mace.explain(model, space(size="any"), lacking.iloc[0], goal=True)
    assert answer.status == "optimal"
    accepted_by_all([answer.certificate])


def test_whether_a_number_is_missing_is_a_step_too() -> None:
    frame = table().astype({"size": float})
    frame.loc[::7, "size"] = np.nan
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), binned(3)), ["age", "size"]), (MissingIndicator(), ["size"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(frame, labels(frame) > 0)
    lacking = frame[frame["size"].isna() & ~model.predict(frame)]
    answer = mace.explain(model, space(size="any"), lacking.iloc[0], goal=True)
    assert answer.status == "optimal"
    assert answer.oracle == "ensembles"
    accepted_by_all([answer.certificate])


def test_a_number_that_predicts_a_number() -> None:
    frame = table()
    model = make_pipeline(before(binned(4)), Ridge()).fit(frame, frame.age * 2.0 - frame["size"])
    answer = mace.explain(model, space(), frame.iloc[0], goal="y >= 50")
    assert answer.status == "optimal"
    assert answer.oracle == "ensembles"
    assert model.predict(pd.DataFrame([answer.counterfactuals[0].values]))[0] >= 50
    accepted_by_all([answer.certificate])


def test_where_a_number_stays_a_line_the_model_stays_linear() -> None:
    frame = table()
    mixed = make_column_transformer((binned(3), ["age"]), (StandardScaler(), ["size"]), (OneHotEncoder(), ["grade"]))
    for steps in (mixed, before(StandardScaler())):
        model = make_pipeline(steps, LogisticRegression()).fit(frame, labels(frame) > 0)
        assert isinstance(compile_pipeline(model, space()).table, Network)


@pytest.mark.parametrize("gap", [1e-12, 1e-6, 0.01, 0.05])
def test_what_a_gap_leaves_open_is_no_wider_than_the_gap(gap: float) -> None:
    frame = table()
    model = make_pipeline(before(binned(5)), LogisticRegression()).fit(frame, np.minimum(labels(frame), 1))
    asked = mace.Explainer(model, space())
    for _, start in frame[model.predict(frame) == 0].iloc[::17].iterrows():
        best, answer = asked.explain(start, goal=1), asked.explain(start, goal=1, gap=gap)
        assert answer.status == best.status == "optimal"
        assert answer.exact_lower_bound <= best.exact_lower_bound
        assert answer.exact_distance is not None
        assert answer.exact_distance - answer.exact_lower_bound <= gap
        accepted_by_all([answer.certificate])
