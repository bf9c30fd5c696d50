"""Pipelines drawn at random: every step that is followed, in every container, before every kind of last model.

In:  a numpy generator.    Out: a fitted pipeline, its space of few points, and all of these.
Promise: what scikit-learn or a library itself refuses is None; nothing is refused here because mace might.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mace.compilers.pipeline.rows import frame_of
from mace.space.feature import Feature
from mace.space.space import Space

MOST_POINTS = 400
Make = Callable[[], Any]


def _xgboost(name: str, **options: Any) -> Any:
    import xgboost

    return getattr(xgboost, name)(
        n_estimators=3, max_depth=3, n_jobs=1, min_child_weight=0.1, enable_categorical=False, **options
    )


def _lightgbm(name: str) -> Any:
    import lightgbm

    return getattr(lightgbm, name)(n_estimators=3, num_leaves=5, min_child_samples=2, verbose=-1, n_jobs=1)


def _calibrated(base: Any, method: str) -> Any:
    return CalibratedClassifierCV(base, method=method, ensemble=False, cv=2)


# name -> (how it is made, number of classes; 0 for a regressor)
MODELS: dict[str, tuple[Make, int]] = {
    "tree": (lambda: DecisionTreeClassifier(max_depth=4, random_state=0), 2),
    "tree of numbers": (lambda: DecisionTreeRegressor(max_depth=4, random_state=0), 0),
    "forest": (lambda: RandomForestClassifier(4, max_depth=3, random_state=0), 3),
    "extra trees": (lambda: ExtraTreesClassifier(4, max_depth=3, random_state=0), 2),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=3, random_state=0), 2),
    "hist": (lambda: HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2), 2),
    "hist of numbers": (lambda: HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2), 0),
    "ada": (lambda: AdaBoostClassifier(n_estimators=3, random_state=0), 2),
    "bagging": (lambda: BaggingClassifier(n_estimators=3, random_state=0), 2),
    "isolation": (lambda: IsolationForest(n_estimators=3, contamination=0.2, random_state=0), 2),
    "xgboost": (lambda: _xgboost("XGBClassifier"), 2),
    "xgboost of three": (lambda: _xgboost("XGBClassifier"), 3),
    "xgboost of numbers": (lambda: _xgboost("XGBRegressor"), 0),
    "xgboost forest": (lambda: _xgboost("XGBRFClassifier"), 2),
    "lightgbm": (lambda: _lightgbm("LGBMClassifier"), 2),
    "lightgbm of numbers": (lambda: _lightgbm("LGBMRegressor"), 0),
    "logistic": (lambda: LogisticRegression(), 3),
    "svc": (lambda: LinearSVC(), 2),
    "ridge": (lambda: Ridge(), 0),
    "mlp": (lambda: MLPClassifier((3,), max_iter=30, random_state=0), 2),
    "calibrated forest": (lambda: _calibrated(RandomForestClassifier(3, random_state=0), "isotonic"), 2),
    "calibrated xgboost": (lambda: _calibrated(_xgboost("XGBClassifier"), "sigmoid"), 2),
    "calibrated lightgbm": (lambda: _calibrated(_lightgbm("LGBMClassifier"), "isotonic"), 2),
    "calibrated logistic": (lambda: _calibrated(LogisticRegression(), "sigmoid"), 2),
}


@dataclass
class Draw:
    """Choices of a generator."""

    rng: np.random.Generator

    def one(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def maybe(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)


@dataclass(frozen=True)
class World:
    """A fitted pipeline and every point of its space."""

    model: Any
    space: Space
    points: list[dict[str, Any]]
    told: str


def spaces(draw: Draw) -> Space:
    """Two to four features around zero, or far from it; some may be missing."""
    features: list[Feature] = []
    for name in ("n", "m"):
        gone = draw.maybe(0.25)
        if draw.maybe():
            low = draw.one(-3, -2, 0, 0, 1, 5, 2**24 - 2, -(2**24) - 2)
            features.append(Feature(name, "integer", low, low + draw.one(2, 4, 6), missing=gone))
        else:
            step, low = draw.one((0.5, -1.0), (0.25, -0.5), (0.1, 0), (1e-3, -2e-3), (100, -200), (0.3, 0.3))
            features.append(Feature(name, "real", low, low + 4 * step, step=step, missing=gone))
    kinds = [
        lambda gone: Feature("k", "categorical", levels=["u", "v v", "w"], missing=gone),
        lambda gone: Feature("k", "categorical", levels=[0, 1, 2, 5], missing=gone),
        lambda gone: Feature("k", "binary", levels=[False, True]),
        lambda gone: Feature("k", "binary", missing=gone),
        lambda _: Feature("k", "ordinal", levels=["low", "middle", "high"]),
    ]
    features.append(draw.one(*kinds)(draw.maybe(0.25)))
    if draw.maybe(0.3):
        features.append(Feature("z z", "binary"))
    return Space([features[k] for k in draw.rng.permutation(len(features))])


def values_of(feature: Feature) -> list[Any]:
    """All values of a feature, None for missing."""
    if not feature.numeric:
        return list(feature.levels)
    axis = feature.axis(feature.lower)
    found = [feature.show(axis, index) for index in range(axis.lower, axis.upper + 1)]  # type: ignore[union-attr]
    return [*found, None] if feature.missing else found


def points_of(space: Space) -> list[dict[str, Any]]:
    """Every row of a space."""
    sides = [values_of(feature) for feature in space.features]
    return [dict(zip(space.names, row, strict=True)) for row in itertools.product(*sides)]


def _scaler(draw: Draw, *, sparse: bool) -> Any:
    if sparse:
        return draw.one(MaxAbsScaler(), StandardScaler(with_mean=False), RobustScaler(with_centering=False))
    return draw.one(
        StandardScaler(), RobustScaler(), MinMaxScaler((-1, 1), clip=draw.maybe()), MaxAbsScaler(),
        StandardScaler(with_std=False), MinMaxScaler(),
    )  # fmt: skip


def numbers(draw: Draw, feature: Feature, *, network: bool) -> Any:
    """What a column of numbers goes through."""
    steps: list[Any] = []
    if feature.missing or draw.maybe(0.3):
        strategy, indicator = draw.one("mean", "median", "most_frequent", "constant"), draw.maybe(0.3)
        steps.append(SimpleImputer(strategy=strategy, add_indicator=indicator))
        if indicator:
            return make_pipeline(*steps, *([_scaler(draw, sparse=False)] if draw.maybe() else []))
    if draw.maybe(0.2) and feature.bounds()[0] >= 0 and not network:
        steps.append(FunctionTransformer(draw.one(np.log1p, np.sqrt)))
    elif draw.maybe(0.15):
        steps.append(FunctionTransformer())
    if draw.maybe(0.3):
        steps.append(
            KBinsDiscretizer(
                draw.one(2, 3), encode=draw.one("onehot", "onehot-dense", "ordinal"),
                strategy=draw.one("uniform", "quantile"), quantile_method="averaged_inverted_cdf",
            )
        )  # fmt: skip
        if draw.maybe(0.3):
            steps.append(MaxAbsScaler())
    else:
        steps += [_scaler(draw, sparse=False) for _ in range(draw.one(0, 0, 1, 1, 2))]
    return make_pipeline(*steps) if steps else "passthrough"


def levels(draw: Draw) -> Any:
    """What columns of levels go through."""
    steps: list[Any] = [SimpleImputer(strategy="most_frequent")] if draw.maybe(0.3) else []
    steps.append(
        draw.one(
            OneHotEncoder(),
            OneHotEncoder(),
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            OneHotEncoder(drop="first", dtype=draw.one(np.float64, np.float32, np.int64)),
            OneHotEncoder(max_categories=2, sparse_output=draw.maybe()),
            OrdinalEncoder(dtype=draw.one(np.float64, np.int64, np.float32)),
        )
    )
    if draw.maybe(0.2):
        steps.append(MaxAbsScaler())
    return make_pipeline(*steps)


def preparation(draw: Draw, space: Space, *, network: bool) -> list[tuple[str, Any]]:
    """The steps before the model."""
    parts: list[Any] = []
    for feature in space.features:
        if not feature.numeric:
            parts.append((feature.name, levels(draw), [feature.name]))
        elif feature.missing or draw.maybe(0.6):
            parts.append((feature.name, numbers(draw, feature, network=network), [feature.name]))
    if draw.maybe(0.2):
        parts.append(("again", FeatureUnion([("gone", MissingIndicator(features="all", sparse=draw.one(True, False))),
                                             ("same", SimpleImputer())]), [space.features[0].name]))  # fmt: skip
        if not space.features[0].numeric:
            parts.pop()
    first: Any = ColumnTransformer(
        parts, remainder=draw.one("passthrough", "passthrough", "drop"), sparse_threshold=draw.one(0.0, 0.3, 1.0, 1.0)
    )
    if draw.maybe(0.15):
        first = FeatureUnion([("one", first), ("none", "drop")])
    steps = [("prepare", first)]
    if draw.maybe(0.2):
        steps.insert(0, ("nothing", "passthrough"))
    if draw.maybe(0.4):
        steps.append(("then", draw.one(*[_scaler(draw, sparse=True)] * 3, VarianceThreshold(), SelectKBest(k=2))))
    if draw.maybe(0.1):
        steps = [("inner", Pipeline(steps))]
    return steps


def world(rng: np.random.Generator, name: str) -> World | None:
    """A pipeline that ends in this model; None where a library refuses the combination."""
    draw = Draw(rng)
    make, classes = MODELS[name]
    space = spaces(draw)
    points = points_of(space)
    steps = preparation(draw, space, network=name in ("logistic", "svc", "ridge", "mlp", "calibrated logistic"))
    model = Pipeline([*steps, ("model", make())])
    if draw.maybe(0.15):
        model.set_output(transform="pandas")
    chosen = rng.integers(0, len(points), 60)
    rows = [points[k] for k in chosen]
    frame = frame_of(space, rows, tuple(space.names), {}, {})
    weights = rng.normal(size=frame.shape[1])
    score = sum(w * frame[c].astype("category").cat.codes for w, c in zip(weights, frame, strict=True))
    score = np.where(rng.random(60) < 0.2, rng.permutation(score), score)
    y = score if not classes else np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(frame, y)
            model.predict(frame)
        except (ValueError, TypeError, IndexError):
            return None
    return World(
        model, space, points, f"{model!r}\nover {space.features}\nfitted to\n{frame.to_dict('list')}\nwith {list(y)}"
    )
