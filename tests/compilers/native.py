"""Boosters fitted on a frame with categories, and rows of such frames to ask them about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from mace.space.feature import Feature
from mace.space.space import Space

REGIONS = ["north", "east", "south, or so", "west"]
TRADES = [f"trade {k}" for k in range(11)]
GRADES = ["low", "middle", "high"]
CODES = [10, 20, 30]
CATEGORIES = ["region", "trade", "code", "grade"]


def people(rows: int = 600, *, seed: int = 3) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """A table with texts, whole numbers, ordered and plain categories, gaps, and a score to be learned."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": pd.Categorical(rng.choice(REGIONS, rows), rng.permutation(REGIONS)),
            "income": np.round(rng.lognormal(10, 0.6, rows), 2),
            "trade": pd.Categorical(rng.choice(TRADES, rows)),
            "age": rng.integers(18, 80, rows),
            "code": pd.Categorical(rng.choice(CODES, rows)),
            "owner": rng.random(rows) < 0.5,
            "grade": pd.Categorical(rng.choice(GRADES, rows), GRADES, ordered=True),
        }
    )
    score = frame["income"] / 25000 + frame["region"].isin(["west", "east"]) + 0.7 * (frame["grade"] == "high")
    score += 0.02 * (frame["age"] - 40) + (frame["code"] == 20) - frame["trade"].isin(TRADES[2:9:3]) + 0.4 * frame.owner
    noisy = score.to_numpy(dtype=np.float64) + rng.normal(0, 0.3, rows)
    for name in ("income", "region", "trade"):
        frame.loc[rng.random(rows) < 0.08, name] = np.nan
    return frame, noisy


def space_of(*, unseen: bool = True, missing: bool = True, step: Any = None) -> Space:
    """The table's space; `unseen`: with a level of `region` that nobody had."""
    return Space(
        [
            Feature("age", "integer", 16, 90),
            Feature("income", "real", 500.0, 250000.0, step=step, missing=missing),
            Feature("region", "categorical", levels=["moon", *REGIONS] if unseen else REGIONS, missing=missing),
            Feature("trade", "categorical", levels=TRADES, missing=missing),
            Feature("code", "categorical", levels=CODES, missing=missing),  # nobody lacked it in training
            Feature("owner", "binary", levels=[False, True]),
            Feature("grade", "ordinal", levels=GRADES),
        ]
    )


def frame_of(rows: Sequence[Mapping[str, Any]], like: pd.DataFrame) -> pd.DataFrame:
    """Rows as a user would hold them: the columns and types of the training frame, None for what is missing.

    Categories stand in another order than in training, with those that training did not have.
    """
    out = {}
    for name in like.columns:
        values = [row[name] for row in rows]
        if isinstance(like[name].dtype, pd.CategoricalDtype):
            known = like[name].cat.categories.tolist()
            more = sorted({value for value in values if value is not None} - set(known))
            out[name] = pd.Series(pd.Categorical(values, [*more, *known[::-1]]))
        elif like[name].dtype == object:
            out[name] = pd.Series([np.nan if value is None else value for value in values], dtype=object)
        elif like[name].dtype == np.float64:
            out[name] = pd.Series([np.nan if value is None else float(value) for value in values])
        else:
            out[name] = pd.Series(values, dtype=like[name].dtype)
    return pd.DataFrame(out)


@dataclass(frozen=True)
class Native:
    """How to fit a booster on a frame with categories, and the library's own raw scores of rows.

    classes: 0 for a regressor.    refuses: the library fails for categories that training did not have.
    objects: fitted on columns of type `object` instead.
    """

    name: str
    fit: Callable[[pd.DataFrame, Any], Any]
    scores: Callable[[Any, pd.DataFrame], Any]
    classes: int = 2
    refuses: bool = False
    objects: bool = False

    def target(self, score: NDArray[np.float64]) -> NDArray[Any]:
        """What is learned from the score."""
        if not self.classes:
            return score
        return np.digitize(score, np.quantile(score, np.arange(1, self.classes) / self.classes))

    @cache  # noqa: B019
    def fitted(self) -> tuple[Any, pd.DataFrame]:
        """The model, and the frame that it was fitted on."""
        frame, score = people()
        if self.objects:
            frame = frame.astype(dict.fromkeys(CATEGORIES, object))
        return self.fit(frame, self.target(score)), frame


def hist(name: str = "HistGradientBoostingClassifier", **options: Any) -> Callable[[pd.DataFrame, Any], Any]:
    def fit(frame: pd.DataFrame, y: Any) -> Any:
        import sklearn.ensemble

        return getattr(sklearn.ensemble, name)(max_iter=15, min_samples_leaf=5, **options).fit(frame, y)

    return fit


def hist_scores(model: Any, frame: pd.DataFrame) -> Any:
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(frame)


LIGHT = {"num_leaves": 15, "min_child_samples": 5, "min_data_per_group": 5, "cat_smooth": 1, "verbose": -1, "n_jobs": 1}


def light(name: str = "LGBMClassifier", **options: Any) -> Callable[[pd.DataFrame, Any], Any]:
    def fit(frame: pd.DataFrame, y: Any) -> Any:
        lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
        return getattr(lightgbm, name)(n_estimators=15, **LIGHT, **options).fit(frame, y)

    return fit


def light_booster(frame: pd.DataFrame, y: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    return lightgbm.train({"objective": "binary", **LIGHT}, lightgbm.Dataset(frame, y), 15)


def xgb(name: str = "XGBClassifier", **options: Any) -> Callable[[pd.DataFrame, Any], Any]:
    def fit(frame: pd.DataFrame, y: Any) -> Any:
        xgboost = pytest.importorskip("xgboost", "3.1", reason="older ones do not store categories")
        made = getattr(xgboost, name)(n_estimators=15, max_depth=4, enable_categorical=True, n_jobs=1, **options)
        return made.fit(frame, y)

    return fit


def xgb_booster(frame: pd.DataFrame, y: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", "3.1", reason="older ones do not store categories")
    data = xgboost.DMatrix(frame, y, enable_categorical=True)
    return xgboost.train({"objective": "binary:logistic", "max_depth": 4}, data, 15)


def xgb_scores(model: Any, frame: pd.DataFrame) -> Any:
    import xgboost

    if isinstance(model, xgboost.Booster):
        return model.predict(xgboost.DMatrix(frame, enable_categorical=True), output_margin=True)
    return model.predict(frame, output_margin=True)


def light_scores(model: Any, frame: pd.DataFrame) -> Any:
    return model.predict(frame, raw_score=True)


NATIVE = (
    Native("HistGradientBoostingClassifier-2", hist(), hist_scores),
    Native("HistGradientBoostingClassifier-2-named", hist(categorical_features=CATEGORIES), hist_scores, objects=True),
    Native("HistGradientBoostingClassifier-3", hist(), hist_scores, 3),
    Native("HistGradientBoostingRegressor", hist("HistGradientBoostingRegressor"), hist_scores, 0),
    Native("LGBMClassifier-2", light(), light_scores),
    Native("LGBMClassifier-3", light(), light_scores, 3),
    Native("LGBMRegressor", light("LGBMRegressor"), light_scores, 0),
    Native("lightgbm.Booster", light_booster, light_scores),
    Native("XGBClassifier-2", xgb(), xgb_scores, refuses=True),
    Native("XGBClassifier-3-sets", xgb(max_cat_to_onehot=1), xgb_scores, 3, refuses=True),
    Native("XGBRegressor", xgb("XGBRegressor"), xgb_scores, 0, refuses=True),
    Native("xgboost.Booster", xgb_booster, xgb_scores, refuses=True),
)


def saved(model: Any, folder: Path, ending: str) -> Path:
    """The model as a file of its library."""
    path = folder / f"model{ending}"
    getattr(model, "booster_", model).save_model(str(path))
    return path
