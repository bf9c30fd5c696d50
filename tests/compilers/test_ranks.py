"""Scores of survival and ranking, through their files: the table says what the library says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import deployed, load_model, read
from mace.tables.table import predicted

ROWS = np.random.default_rng(0).normal(size=(60, 3))
SCORES = ROWS.sum(axis=1)
OBJECTIVES: dict[str, dict[str, Any]] = {
    "rank:ndcg": {"lambdarank_unbiased": True}, "rank:map": {}, "survival:cox": {}, "survival:aft": {},
    "reg:quantileerror": {"quantile_alpha": 0.3}, "reg:squaredlogerror": {},
}  # fmt: skip


def boosted(objective: str) -> Any:
    xgboost: Any = pytest.importorskip("xgboost", reason="an extra that is not installed")
    times = np.exp(SCORES)
    data = xgboost.DMatrix(ROWS, label=SCORES > 0 if objective.startswith("rank") else times)
    if objective.startswith("rank"):
        data.set_group([30, 30])
    if objective == "survival:aft":
        data.set_float_info("label_lower_bound", times)
        data.set_float_info("label_upper_bound", times)
    return xgboost.train({"objective": objective, "max_depth": 2, "nthread": 1, **OBJECTIVES[objective]}, data, 3)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_an_objective_of_xgboost_through_its_file(objective: str, ending: str, tmp_path: Path) -> None:
    booster = boosted(objective)
    booster.save_model(path := tmp_path / f"m.{ending}")
    model = load_model(path)
    said, table = deployed(model).predict(pd.DataFrame(ROWS)), read(model)
    assert np.array_equal(said, booster.predict(_matrix(ROWS)))
    assert not isinstance(table, str) and table.classes == ()
    scores = np.array([table.scores(row) for row in ROWS])  # type: ignore[union-attr]
    assert predicted(table, scores) == pytest.approx(said, rel=1e-6)  # type: ignore[arg-type]


def _matrix(rows: Any) -> Any:
    import xgboost

    return xgboost.DMatrix(rows)


def test_a_ranker_of_lightgbm_through_its_file(tmp_path: Path) -> None:
    lightgbm: Any = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    ranker = lightgbm.LGBMRanker(n_estimators=3, num_leaves=4, verbose=-1, n_jobs=1)
    ranker.fit(ROWS, (SCORES > 0).astype(int), group=[30, 30])
    ranker.booster_.save_model(path := tmp_path / "m.txt")
    table: Any = read(load_model(path))
    assert np.array_equal([table.scores(row)[0] for row in ROWS], ranker.predict(ROWS))
