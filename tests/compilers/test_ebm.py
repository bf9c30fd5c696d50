"""interpret's machines: bins of numbers and of categories, grids for pairs, and what is refused by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import read
from mace.compilers.pipeline.reader import CompiledPipeline, compile_raw
from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble
from tests.compilers import families
from tests.compilers.pipelines import adversarial_rows, random_rows

glassbox = pytest.importorskip("interpret.glassbox", reason="an extra that is not installed")

SMALL: dict[str, Any] = {"outer_bags": 1, "max_rounds": 20, "n_jobs": 1, "max_bins": 16, "max_interaction_bins": 6}
SPACE = Space(
    [
        Feature("age", "integer", 0, 60),
        Feature("region", "categorical", levels=["never seen", "north", "wést"], missing=True),
        Feature("code", "categorical", levels=[10, 20, 30, 99]),
        Feature("owner", "binary", levels=[False, True]),
        Feature("income", "real", 0.0, 9.0, missing=True),
    ]
)


def people(rows: int = 200) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": np.where(rng.random(rows) < 0.1, np.nan, rng.random(rows) * 9),
            "region": rng.choice(["north", "wést"], rows).astype(object),
            "age": rng.integers(0, 61, rows),
            "code": rng.choice([10, 20, 30], rows),
            "owner": rng.random(rows) < 0.5,
        }
    )
    score = frame["age"] / 20 + frame["income"].fillna(4) * (frame["region"] == "wést") + 2 * (frame["code"] == 20)
    frame.loc[rng.random(rows) < 0.1, "region"] = None
    return frame, score.to_numpy()


def fitted(classes: int = 2, **options: Any) -> Any:
    frame, score = people()
    kinds = {"feature_types": [None, None, None, "nominal", None], "interactions": [("region", "income")], **SMALL}
    if classes:
        y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
        return glassbox.ExplainableBoostingClassifier(**{**kinds, **options}).fit(frame, y)
    return glassbox.ExplainableBoostingRegressor(**{**kinds, **options}).fit(frame, score)


def compiled(model: Any) -> CompiledPipeline:
    found = compile_raw(model, SPACE)
    assert found is not None
    return found


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_machine_over_a_frame_scores_as_the_library(classes: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of pairs with several classes
        model = fitted(classes, **({"interactions": 0} if classes == 3 else {}))
    found = compiled(model)
    rows = [*random_rows(SPACE, 300), *adversarial_rows(found, 100)]
    frame = found.frame(rows)
    assert isinstance(found.table, Ensemble) and found.table.certain
    mine = families.scores(found.table, np.array([found.row(row) for row in rows]))
    assert np.array_equal(mine, model._predict_score(frame).reshape(len(rows), -1))
    if classes:
        assert families.decisions(found.table, mine) == model.predict(frame).tolist()


def test_columns_without_names_are_read_from_arrays() -> None:
    frame, score = people()
    matrix = frame[["income", "age"]].to_numpy(dtype=np.float64)
    model = glassbox.ExplainableBoostingRegressor(**SMALL, interactions=1).fit(matrix, score)
    table: Any = read(model)
    assert np.array_equal(families.scores(table, matrix)[:, 0], model.predict(matrix))


def test_a_missing_fit_and_other_categories_are_refused() -> None:
    with pytest.raises(ModelError, match="not fitted"):
        read(glassbox.ExplainableBoostingClassifier())
    model = fitted(feature_types=[None, None, None, None, "nominal"])
    with pytest.raises(ModelError, match="`owner` is nominal"):
        compile_raw(model, SPACE)


def test_a_damaged_machine_says_what_is_wrong() -> None:
    model = fitted(0)
    model.term_scores_ = [model.term_scores_[0][:-1], *model.term_scores_[1:]]
    with pytest.raises(ModelError, match="term 0 has scores of shape"):
        compile_raw(model, SPACE)
    model = fitted(0)
    model.term_features_ = [(7,), *model.term_features_[1:]]
    with pytest.raises(ModelError, match="of the features"):
        compile_raw(model, SPACE)
