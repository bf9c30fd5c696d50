"""Pipelines over raw columns, drawn at random: every step that mace follows, sparse and dense, every last model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from mace.space.feature import Feature
from mace.space.space import Space
from tests.fuzz import spaces
from tests.fuzz.models import Family, sklearn
from tests.fuzz.questions import Asked, asked_of, labels_of, several
from tests.fuzz.spaces import Draw, pick
from tests.small_spaces import encoded

SMALL_TREES = {"n_estimators": 3, "max_depth": 2}
LAST: dict[str, tuple[Family, tuple[str, dict[str, Any]]]] = {
    name: (Family(lambda *_: None, classes, exact=exact), (path, options))
    for name, classes, exact, path, options in (
        ("tree", (2, 3), True, "tree.DecisionTreeClassifier", {"max_depth": 3}),
        ("forest", (2, 3), True, "ensemble.RandomForestClassifier", SMALL_TREES),
        ("boosting", (2, 3), True, "ensemble.GradientBoostingClassifier", SMALL_TREES),
        ("hist", (2,), True, "ensemble.HistGradientBoostingClassifier",
         {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 2}),
        ("xgboost", (2, 3), True, "xgboost.XGBClassifier", {**SMALL_TREES, "n_jobs": 1, "min_child_weight": 0.1}),
        ("lightgbm", (2,), True, "lightgbm.LGBMClassifier",
         {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 2, "verbose": -1, "n_jobs": 1}),
        ("logistic", (2, 3), False, "linear_model.LogisticRegression", {}),
        ("svc", (2,), False, "svm.LinearSVC", {}),
        ("mlp", (2, 3), False, "neural_network.MLPClassifier", {"hidden_layer_sizes": (3,), "max_iter": 20}),
        ("calibrated", (2,), False, "calibration.CalibratedClassifierCV", {"ensemble": False, "cv": 2}),
        ("isolation", (2,), False, "ensemble.IsolationForest", {"n_estimators": 3, "contamination": 0.2}),
        ("tree-number", (0,), True, "tree.DecisionTreeRegressor", {"max_depth": 3}),
        ("xgboost-number", (0,), True, "xgboost.XGBRegressor", {**SMALL_TREES, "n_jobs": 1}),
        ("ridge-number", (0,), False, "linear_model.Ridge", {}),
        ("mlp-number", (0,), False, "neural_network.MLPRegressor", {"hidden_layer_sizes": (3,), "max_iter": 20}),
    )
}  # fmt: skip


def number_steps(draw: Draw, missing: bool) -> list[Any]:
    """What columns of numbers go through."""
    steps: list[Any] = []
    if missing or draw(st.booleans()):
        steps.append(
            sklearn(
                "impute.SimpleImputer", strategy=pick(draw, ["mean", "median", "most_frequent", "constant"]),
                add_indicator=draw(st.booleans()),
            )
        )  # fmt: skip
    last: list[Any] = pick(draw, [
        [],
        [sklearn("preprocessing.StandardScaler")],
        [sklearn("preprocessing.MinMaxScaler", feature_range=(-1, 1), clip=draw(st.booleans()))],
        [sklearn("preprocessing.RobustScaler")],
        [sklearn("preprocessing.MaxAbsScaler")],
        [sklearn("preprocessing.KBinsDiscretizer", n_bins=3, strategy="uniform",
                 encode=pick(draw, ["onehot", "onehot-dense", "ordinal"]))],
        [sklearn("preprocessing.StandardScaler"), sklearn("preprocessing.MinMaxScaler")],
    ])  # fmt: skip
    if any(type(step).__name__ == "KBinsDiscretizer" for step in last):
        steps = [step.set_params(add_indicator=False) for step in steps]
    return [*steps, *last]


def level_steps(draw: Draw) -> list[Any]:
    """What columns of levels go through."""
    sparse = draw(st.booleans())
    filled = [sklearn("impute.SimpleImputer", strategy="most_frequent")] if draw(st.booleans()) else []
    return [*filled, pick(draw, [
        sklearn("preprocessing.OneHotEncoder", handle_unknown="ignore", sparse_output=sparse),
        sklearn("preprocessing.OneHotEncoder", drop=pick(draw, ["first", "if_binary"]), sparse_output=sparse),
        sklearn("preprocessing.OneHotEncoder", dtype=pick(draw, [np.int64, np.float32])),
        sklearn("preprocessing.OneHotEncoder", min_frequency=20, handle_unknown="infrequent_if_exist"),
        sklearn("preprocessing.OrdinalEncoder", handle_unknown="use_encoded_value", unknown_value=-1,
                dtype=pick(draw, [np.float64, np.float32])),
    ])]  # fmt: skip


def chain(steps: list[Any]) -> Any:
    """Steps one after the other; none at all is a passthrough."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*steps) if steps else "passthrough"


def preparation(draw: Draw, space: Space) -> Any:
    """A transformer of all columns: numbers and levels apart, or some passed through."""
    from sklearn.compose import ColumnTransformer

    numbers = [f for f in space.features if f.numeric]
    levels = [f for f in space.features if not f.numeric]
    parts: list[Any] = []
    for feature in numbers:
        if draw(st.integers(0, 3)):
            parts.append((feature.name, chain(number_steps(draw, feature.missing)), [feature.name]))
    if levels:
        parts.append(("levels", chain(level_steps(draw)), [f.name for f in levels]))
    rest = "passthrough" if len(parts) < len(numbers) + bool(levels) and not any(f.missing for f in numbers) else "drop"
    return ColumnTransformer(
        parts or [("all", "passthrough", [f.name for f in numbers])], remainder=rest,
        sparse_threshold=pick(draw, [0.3, 0.0, 1.0]),
    )  # fmt: skip


def fitted(draw: Draw, name: str, space: Space, frame: pd.DataFrame, y: Any, rng: np.random.Generator) -> Any:
    """A pipeline that ends in a model of this kind."""
    from sklearn.pipeline import Pipeline

    path, options = LAST[name][1]
    last = sklearn(path, **options)
    if name == "calibrated":
        inner = sklearn("tree.DecisionTreeClassifier", max_depth=2)
        last.set_params(estimator=inner, method=pick(draw, ["isotonic", "sigmoid"]))
    if "random_state" in last.get_params() and "boost" not in path.split(".")[0] and "lightgbm" not in path:
        last.set_params(random_state=int(rng.integers(10**6)))
    steps: list[Any] = [("prepare", preparation(draw, space))]
    after = pick(draw, [None, None, "preprocessing.MaxAbsScaler", "passthrough", "preprocessing.StandardScaler"])
    if after:
        scaler = after if after == "passthrough" else sklearn(after)
        if "Standard" in after:
            scaler.set_params(with_mean=False)
        steps.append(("after", scaler))
    return Pipeline([*steps, ("model", last)]).fit(frame, y)


def pipeline_world(draw: Draw, name: str) -> Asked | None:
    """A fitted pipeline; None where scikit-learn itself refuses the combination."""
    family = LAST[name][0]
    space = spaces.space(draw, raw=True, missing=True)
    if not any(feature.numeric for feature in space.features):
        space = Space([*space.features, Feature("z", "integer", 0, 1)])
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    points = spaces.points(space)
    chosen = [points[k] for k in np.sort(rng.integers(0, len(points), 50))]
    frame = spaces.raw(space, chosen)
    classes = pick(draw, family.classes)
    y = labels_of(encoded(space, chosen), classes, rng)

    def predict(rows: pd.DataFrame) -> Any:
        return np.asarray(model.predict(rows))

    try:
        model = fitted(draw, name, space, frame, y, rng)
        predict(spaces.raw(space, points))
    except (ValueError, TypeError):
        return None
    told = f"{model!r}\nfitted to\n{frame.to_dict('list')}\nwith {y.tolist()}"
    return asked_of(
        name, family, classes, space, model, points, lambda rows: spaces.raw(space, rows), predict, told, raw=True
    )


def pipeline_questions(draw: Draw, name: str) -> Counter[str]:
    """Some questions about one pipeline; how they ended."""
    asked = pipeline_world(draw, name)
    return Counter({"scikit-learn refuses": 1}) if asked is None else several(draw, asked, 4)
