"""Pipelines that were fitted on a small raw table with missing values, and rows to try them on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from mace.compilers.pipeline.reader import CompiledPipeline
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble

REGIONS = ["north", "east", "south", "west"]
GRADES = ["low", "middle", "high"]
TRADES = [f"trade {k}" for k in range(9)]
NUMBERS = ["age", "income", "debt"]
LEVELS = ["region", "grade", "trade", "owner"]


def people(rows: int = 400, *, missing: bool = True) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """A raw table of mixed types, and a noisy decision."""
    rng = np.random.default_rng(7)
    trade = np.minimum(rng.geometric(0.35, rows) - 1, 8)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows).astype(np.float64 if missing else np.int64),
            "income": np.round(rng.lognormal(10, 0.6, rows), 2),
            "debt": np.where(rng.random(rows) < 0.3, 0.0, rng.exponential(9000.0, rows)),
            "region": rng.choice(REGIONS, rows),
            "grade": rng.choice(GRADES, rows),
            "trade": np.array(TRADES)[trade],
            "owner": rng.integers(0, 2, rows),
        }
    )
    score = frame["income"] / 25000 - frame["debt"] / 9000 + (frame["grade"] == "high") + 0.5 * frame["owner"]
    score = score + 0.02 * (frame["age"] - 40) + 0.3 * (frame["region"] == "west") - 0.2 * (trade > 2)
    decision = (score + rng.normal(0, 0.3, rows) > 1).to_numpy().astype(np.int64)
    if missing:
        for name in ("age", "income", "region"):
            frame.loc[rng.random(rows) < 0.1, name] = np.nan
    return frame, decision


def space_of(*, missing: bool = True) -> Space:
    """The space of the table, with ranges a little wider than what was seen."""
    return Space(
        [
            Feature("age", "integer", 16, 90, missing=missing),
            Feature("income", "real", 500.0, 250000.0, missing=missing),
            Feature("debt", "real", 0.0, 120000.0),
            Feature("region", "categorical", levels=REGIONS, missing=missing),
            Feature("grade", "ordinal", levels=GRADES),
            Feature("trade", "categorical", levels=TRADES),
            Feature("owner", "binary"),
        ]
    )


def columns(numbers: Any, levels: Any, **settings: Any) -> ColumnTransformer:
    """One transformer for the numbers and one for the rest."""
    return ColumnTransformer([("numbers", numbers, NUMBERS), ("levels", levels, LEVELS)], **settings)


def _impute(*then: Any, **settings: Any) -> Pipeline:
    return make_pipeline(SimpleImputer(**settings), *then)


def _filled(then: Any) -> Pipeline:
    return _impute(then, strategy="most_frequent")


PREPARATIONS: dict[str, Callable[[], Any]] = {
    "scale, one-hot": lambda: columns(_impute(StandardScaler()), _filled(OneHotEncoder())),
    "indicators, robust, drop": lambda: columns(
        _impute(RobustScaler(), strategy="median", add_indicator=True), OneHotEncoder(drop="if_binary")
    ),
    "min-max with clip, ordinal": lambda: columns(
        _impute(MinMaxScaler(clip=True)), _filled(OrdinalEncoder(categories=[REGIONS, GRADES, TRADES, [0, 1]]))
    ),
    "groups of rare levels": lambda: columns(
        _impute(MaxAbsScaler(), strategy="constant", fill_value=-1.0),
        OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"),
    ),
    "sparse, then scaled": lambda: make_pipeline(
        columns(_impute(), OneHotEncoder(), sparse_threshold=1.0), StandardScaler(with_mean=False)
    ),
    "bins as columns": lambda: columns(
        _impute(KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")), OneHotEncoder()
    ),
    "bins as numbers, scaled": lambda: columns(
        _impute(KBinsDiscretizer(6, encode="ordinal", strategy="uniform"), StandardScaler()), OneHotEncoder()
    ),
    "scale, then bins": lambda: columns(
        _impute(StandardScaler(), KBinsDiscretizer(4, strategy="kmeans", random_state=0)),
        OneHotEncoder(max_categories=4),
    ),
    "by hand": lambda: ColumnTransformer(
        [
            ("age", FeatureUnion([("as is", SimpleImputer()), ("gone", MissingIndicator())]), ["age"]),
            ("gone", "drop", ["owner"]),
            ("levels", OneHotEncoder(handle_unknown="ignore"), ["trade", "region"]),
            ("grade", OrdinalEncoder(categories=[GRADES]), ["grade"]),
            ("income", _impute(), ["income"]),
        ],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ),
}
FUNCTIONS: dict[str, Callable[[], Any]] = {
    "logarithm, scale": lambda: columns(_impute(FunctionTransformer(np.log1p), StandardScaler()), OneHotEncoder()),
    "power, standardized": lambda: columns(_impute(PowerTransformer()), TargetEncoder(random_state=0)),
    "power of positive numbers": lambda: columns(
        _impute(MinMaxScaler((1, 2)), PowerTransformer("box-cox", standardize=False)), OneHotEncoder()
    ),
    "quantiles": lambda: columns(_impute(QuantileTransformer(n_quantiles=40)), OneHotEncoder()),
    "normal quantiles, scaled": lambda: columns(
        _impute(QuantileTransformer(n_quantiles=40, output_distribution="normal"), StandardScaler()), OneHotEncoder()
    ),
    "root": lambda: columns(_impute(FunctionTransformer(np.sqrt), FunctionTransformer()), OneHotEncoder()),
}
MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=7, random_state=0),
    "forest": lambda: RandomForestClassifier(12, max_depth=6, random_state=0),
    "logistic": lambda: LogisticRegression(max_iter=3000),
    "mlp": lambda: MLPClassifier((6, 6), random_state=0, max_iter=200),
}


def fitted(preparation: str, model: str, *, missing: bool = True) -> Pipeline:
    """A pipeline fitted on the table."""
    frame, decision = people(missing=missing)
    pipeline = Pipeline([("prepare", {**PREPARATIONS, **FUNCTIONS}[preparation]()), ("model", MODELS[model]())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small network need not converge
        return pipeline.fit(frame, decision)


def random_rows(space: Space, count: int, *, missing: float = 0.1) -> list[dict[str, Any]]:
    """Rows anywhere in the space, some values missing where that is allowed."""
    rng = np.random.default_rng(count)
    out: list[dict[str, Any]] = []
    for _ in range(count):
        row: dict[str, Any] = {}
        for feature in space.features:
            if feature.numeric:
                low, high = map(float, feature.bounds())
                value = low + (high - low) * float(rng.random()) ** 3
                row[feature.name] = int(value) if feature.kind == "integer" else value
            else:
                row[feature.name] = feature.levels[int(rng.integers(len(feature.levels)))]
            if feature.missing and rng.random() < missing:
                row[feature.name] = None
        out.append(row)
    return out


def adversarial_rows(compiled: CompiledPipeline, count: int) -> list[dict[str, Any]]:
    """Rows on, just below and just above thresholds and edges of bins, and at the ends of ranges."""
    rng = np.random.default_rng(1)
    rows = random_rows(compiled.space, count, missing=0.05)
    critical: dict[int, set[float]] = {}
    for place, column in enumerate(compiled.columns):
        feature = compiled.space.features[column.feature]
        if column.values is not None:
            continue
        found = {float(end) for end in feature.bounds()}
        if isinstance(compiled.table, Ensemble):
            for tree in compiled.table.trees:
                found |= set(tree.threshold[tree.column == place].tolist())
        for step in column.chain:
            if step[0] == "steps":
                found |= set(step[1][0])
        critical.setdefault(column.feature, set()).update(found)
    for row in rows:
        for j, values in critical.items():
            feature = compiled.space.features[j]
            low, high = map(float, feature.bounds())
            inside = sorted(value for value in values if low <= value <= high)
            if row[feature.name] is None or rng.random() < 0.3:
                continue
            value = inside[int(rng.integers(len(inside)))]
            if feature.kind == "integer":
                row[feature.name] = int(min(max(np.floor(value) + rng.integers(0, 2), low), high))
            else:
                near = float(rng.choice([value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]))
                row[feature.name] = min(max(near, low), high)
    return rows
