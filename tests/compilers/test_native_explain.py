"""explain takes boosters fitted on a frame with categories; answers are in its raw columns, proved and checked."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import mace
from mace.compilers import load_model
from mace.compilers.pipeline.reader import compile_raw
from mace.datasets import load
from mace.errors import ModelError, RowError
from mace.explain.answer import Answer
from mace.explain.explainer import Explainer
from mace.space.axes import GridAxis
from mace.space.feature import Feature
from mace.space.space import Space
from tests.compilers.native import CODES, GRADES, NATIVE, REGIONS, TRADES, frame_of, hist, light, people, saved, xgb
from tests.compilers.pipelines import random_rows

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

CLASSIFIERS = [native for native in NATIVE if native.classes]


def small(*, unseen: bool) -> Space:
    """Some thousand points."""
    return Space(
        [
            Feature("age", "integer", 18, 80, change="fixed"),
            Feature("income", "real", 0, 120000, step=6000, missing="fill"),
            Feature("region", "categorical", levels=["moon", *REGIONS] if unseen else REGIONS, missing="any"),
            Feature("trade", "categorical", levels=TRADES, missing="any"),
            Feature("code", "categorical", levels=CODES),
            Feature("owner", "binary", levels=[False, True]),
            Feature("grade", "ordinal", levels=GRADES, change="increase"),
        ]
    )


def flips(model: Any, frame: pd.DataFrame, answer: Answer) -> bool:
    """The witness, in a frame of the user's own columns, order and types, gets another decision than the start."""
    rows = frame_of([answer.counterfactuals[0].values, answer.start], frame)
    said = np.asarray(model.predict(rows)).tolist()
    return bool(said[0] != said[1])


@pytest.mark.parametrize("native", CLASSIFIERS, ids=lambda native: native.name)
def test_bound_and_witness_agree_with_all_points_of_a_small_space(native: Any) -> None:
    model, frame = native.fitted()
    space = small(unseen=not native.refuses)
    explainer = Explainer(model, space)
    assert explainer.pipeline is not None
    for start, income in zip(random_rows(space, 3, missing=0.3), (12000, 48000, None), strict=True):
        row = {**start, "income": income}
        question, decision = explainer.question(row)
        sides = [range(a.lower, a.upper + 1) if isinstance(a, GridAxis) else a.levels() for a in question.axes]
        points = list(itertools.product(*sides))
        said = explainer.pipeline.predict(explainer.pipeline.frame([question.values(point) for point in points]))
        expected = min(
            (question.distance_of(p) for p, label in zip(points, said.tolist(), strict=True) if label != decision),
            default=None,
        )
        answer = explainer.explain(row)
        if expected is None:
            assert answer.status == "infeasible"
            continue
        assert answer.status == "optimal", answer.why
        assert answer.exact_lower_bound == expected == answer.exact_distance
        if hasattr(model, "fit"):
            assert flips(model, frame, answer)
        assert answer.certificate.check().accepted


@pytest.mark.parametrize(
    "fit",
    [hist(max_leaf_nodes=6), light(max_depth=3), xgb()],
    ids=["HistGradientBoosting", "LightGBM", "XGBoost"],
)
def test_solvers_agree_on_a_row_with_gaps(fit: Any) -> None:
    frame, score = people()
    model = fit(frame, (score > 1.2).astype(int))
    row = {**random_rows(small(unseen=False), 1, missing=0)[0], "income": None, "region": None}
    proved = mace.explain(model, small(unseen=False), row)
    solved = mace.explain(model, small(unseen=False), row, oracle="z3", gap=Fraction(1, 10**9))
    assert proved.status == solved.status == "optimal"
    assert solved.exact_lower_bound <= (proved.exact_distance or -1) <= (solved.exact_distance or -1)


@pytest.mark.parametrize(("name", "ending"), [("LGBMClassifier-2", ".txt"), ("XGBClassifier-2", ".json")])
def test_a_file_is_explained_without_its_library_and_says_so(
    name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, frame = next(native for native in NATIVE if native.name == name).fitted()
    space = small(unseen=False)
    path = saved(model, tmp_path, ending)
    row = {**random_rows(space, 1, missing=0)[0], "income": 24000, "region": None}
    with_it = mace.explain(load_model(path), space, row)
    assert not with_it.notes and flips(model, frame, with_it)
    import sys

    monkeypatch.setitem(sys.modules, "lightgbm" if ending == ".txt" else "xgboost", None)
    without = mace.explain(load_model(path), space, row)
    assert without.exact_distance == with_it.exact_distance == without.exact_lower_bound
    assert any("is not installed: the answer is confirmed by mace's own emulation" in note for note in without.notes)


@pytest.mark.parametrize("native", [n for n in CLASSIFIERS if n.classes == 2], ids=lambda native: native.name)
def test_a_goal_in_probabilities_is_met_by_the_library_itself(native: Any) -> None:
    model, frame = native.fitted()
    space = small(unseen=False)
    row = {**random_rows(space, 1, missing=0)[0], "income": 6000, "grade": "low"}
    answer = mace.explain(model, space, row, goal="p(1) >= 0.7")
    assert answer.status == "optimal", answer.why
    held = frame_of([answer.counterfactuals[0].values], frame)
    assert (model.predict_proba(held)[0, 1] if hasattr(model, "fit") else 1) >= 0.7


def raw_pipeline(model: Any) -> Pipeline:
    """Scale some columns, encode one, hand on the others with their type."""
    prepare = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["age", "income"]),
            ("grade", OneHotEncoder(sparse_output=False), ["grade"]),
            ("rest", "passthrough", ["trade", "owner", "region"]),
        ]
    )
    return make_pipeline(prepare, model).set_output(transform="pandas")


@pytest.mark.parametrize("native", [NATIVE[0], NATIVE[4], NATIVE[8]], ids=lambda native: native.name)
def test_a_pipeline_may_hand_categories_on_to_a_booster(native: Any) -> None:
    frame, score = people()
    pipeline = raw_pipeline(clone(native.fitted()[0])).fit(frame, native.target(score))
    space = small(unseen=not native.refuses)
    compiled = compile_raw(pipeline, space)
    assert compiled is not None
    rows = [{**row, "income": row["income"] and 6000 * int(row["income"] // 6000)} for row in random_rows(space, 500)]
    assert np.array_equal(compiled.predict(compiled.frame(rows)), pipeline.predict(frame_of(rows, frame)))
    for row in rows[:3]:
        answer = mace.explain(pipeline, space, row)
        assert answer.status == "optimal", answer.why
        assert flips(pipeline, frame, answer)
        assert answer.certificate.check().accepted


def test_a_pipeline_that_hands_on_arrays_is_refused() -> None:
    frame, score = people()
    model = raw_pipeline(clone(NATIVE[4].fitted()[0])).fit(frame, (score > 1).astype(int))
    model.set_output(transform="default")
    with pytest.raises(ModelError, match=r"set_output\(transform=.pandas.\)"):
        compile_raw(model, small(unseen=False))


@pytest.mark.parametrize("name", ["HistGradientBoostingClassifier", "LGBMClassifier", "XGBClassifier"])
def test_a_loan_is_explained_in_its_raw_columns(name: str) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    xgboost = pytest.importorskip("xgboost", "3.1", reason="older ones do not store categories")
    data = load("loans")
    frame = data.X.astype(
        {f.name: "category" for f in data.space.features if isinstance(f.levels and f.levels[0], str)}
    )
    model = {
        "HistGradientBoostingClassifier": HistGradientBoostingClassifier(max_iter=30),
        "LGBMClassifier": lightgbm.LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1),
        "XGBClassifier": xgboost.XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1, enable_categorical=True),
    }[name].fit(frame, data.y)
    row = frame[model.predict(frame) == 0].iloc[5]
    answer = mace.explain(model, data.space, row, goal=1, background=frame)
    assert answer.status == "optimal", answer.why
    assert flips(model, frame, answer)
    assert answer.certificate.check().accepted


@pytest.mark.data
@pytest.mark.slow
def test_adult_is_explained_in_its_raw_columns() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    data = load("adult")
    frame = data.X.astype({name: "category" for name in data.X.columns if not data.space[name].numeric})
    model = lightgbm.LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1).fit(frame, data.y)
    row = frame[model.predict(frame) == 0].iloc[0]
    answer = mace.explain(model, data.space, row, goal=1, background=data.X)
    assert answer.status == "optimal", answer.why
    assert flips(model, frame, answer)
    assert answer.certificate.check().accepted


def test_a_row_with_an_unknown_level_is_named() -> None:
    model, _ = NATIVE[8].fitted()
    space = small(unseen=False)
    with pytest.raises(RowError, match="`region`: 'moon' is not one of its levels"):
        mace.explain(model, space, {**random_rows(space, 1, missing=0)[0], "income": 24000, "region": "moon"})
