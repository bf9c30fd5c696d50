"""Honest small models in files of every native format, each with a space, some rows and a goal."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mace.space.feature import Feature
from mace.space.space import Space


@dataclass(frozen=True, eq=False)
class Honest:
    """A file that loads, and what is asked of its model."""

    name: str
    data: bytes
    space: Space
    rows: pd.DataFrame
    goal: Any


NUMBERS = Space(
    [Feature("a", "integer", 0, 4), Feature("b", "integer", 0, 4), Feature("c", "real", 0.0, 1.0, step=0.25)]
)
LEVELS = Space(
    [Feature("a", "integer", 0, 4), Feature("b", "real", 0.0, 1.0, step=0.5, missing=True),
     Feature("k", "categorical", levels=["red", "green", "blue"])]
)  # fmt: skip


def plain() -> tuple[pd.DataFrame, Any]:
    """Rows of numbers, and a score."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 120), "b": rng.integers(0, 5, 120), "c": rng.integers(0, 5, 120) / 4})
    return frame, (frame["a"] - frame["b"] * (frame["c"] > 0.4)).to_numpy(dtype=float)


def mixed() -> tuple[pd.DataFrame, Any]:
    """Rows with categories and missing numbers, and a score."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 5, 120),
            "b": np.where(rng.random(120) < 0.2, np.nan, rng.integers(0, 3, 120) / 2),
            "k": pd.Categorical(rng.choice(["red", "green", "blue"], 120), ["red", "green", "blue"]),
        }
    )
    return frame, frame["a"].to_numpy(dtype=float) - 2 * (frame["k"] == "red") + frame["b"].fillna(1)


def target(score: Any, classes: int) -> Any:
    """The score itself, or its class."""
    if not classes:
        return score
    return np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def honest_files(kind: str) -> list[Honest]:
    """The models of a format; those whose library is missing are left out."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*MAKERS[kind](Path(folder) / f"model.{kind}")]


def _asked(name: str, path: Path, frame: pd.DataFrame, classes: int) -> Honest:
    space = LEVELS if "k" in frame else NUMBERS
    return Honest(name, path.read_bytes(), space, frame.iloc[:8], "0 <= y <= 1" if not classes else None)


def _xgboost(path: Path) -> Iterator[Honest]:
    import xgboost

    cases: list[tuple[str, int, bool, dict[str, Any]]] = [
        ("binary", 2, False, {"objective": "binary:logistic"}),
        ("classes", 3, False, {"objective": "multi:softprob", "num_class": 3}),
        ("labels", 3, False, {"objective": "multi:softmax", "num_class": 3, "num_parallel_tree": 2}),
        ("number", 0, False, {"objective": "reg:squarederror"}),
        ("pruned", 2, False, {"objective": "binary:logistic", "tree_method": "exact", "gamma": 1.0}),
        ("categories", 2, True, {"objective": "binary:logistic"}),
        ("sets", 2, True, {"objective": "binary:logistic", "max_cat_to_onehot": 1}),
    ]
    for name, classes, raw, options in cases:
        frame, score = mixed() if raw else plain()
        data = xgboost.DMatrix(frame, target(score, classes), enable_categorical=raw)
        xgboost.train({"max_depth": 3, "nthread": 1, **options}, data, 2).save_model(path)
        yield _asked(name, path, frame, classes)


def _lightgbm(path: Path) -> Iterator[Honest]:
    import lightgbm

    cases: list[tuple[str, int, bool, dict[str, Any]]] = [
        ("binary", 2, False, {"objective": "binary"}),
        ("steep", 2, False, {"objective": "binary", "sigmoid": 0.5}),
        ("classes", 3, False, {"objective": "multiclass", "num_class": 3}),
        ("number", 0, False, {"objective": "regression"}),
        ("categories", 2, True, {"objective": "binary"}),
        ("stump", 2, False, {"objective": "binary", "min_child_samples": 1000}),
    ]
    common = {"num_leaves": 5, "min_child_samples": 3, "min_data_per_group": 2, "cat_smooth": 1, "verbose": -1}
    for name, classes, raw, options in cases:
        frame, score = mixed() if raw else plain()
        data = lightgbm.Dataset(frame, target(score, classes))
        lightgbm.train({**common, "num_threads": 1, **options}, data, 3).save_model(path)
        yield _asked(name, path, frame, classes)


def _catboost(path: Path) -> Iterator[Honest]:
    import catboost

    cases: list[tuple[str, int, bool, dict[str, Any]]] = [
        ("binary", 2, False, {}),
        ("classes", 3, False, {}),
        ("number", 0, False, {}),
        ("grown", 2, False, {"grow_policy": "Lossguide"}),
        ("categories", 2, True, {"one_hot_max_size": 255, "cat_features": ["k"]}),
    ]
    common: dict[str, Any] = {"iterations": 3, "depth": 2, "verbose": 0, "allow_writing_files": False}
    for name, classes, raw, options in cases:
        frame, score = mixed() if raw else plain()
        kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
        made = kind(thread_count=1, **common, **options).fit(frame, target(score, classes))
        made.save_model(str(path.with_suffix(".json")), format="json")
        yield _asked(name, path.with_suffix(".json"), frame, classes)


def _onnx(path: Path) -> Iterator[Honest]:
    import skl2onnx
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    cases: list[tuple[str, int, Any, bool]] = [
        ("forest", 2, RandomForestClassifier(3, max_depth=3, random_state=0), False),
        ("forest with maps", 3, RandomForestClassifier(3, max_depth=3, random_state=0), True),
        ("boosting", 2, GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0), False),
        ("boosting, a number", 0, GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0), False),
        ("logistic", 2, make_pipeline(StandardScaler(), LogisticRegression()), False),
        ("logistic with maps", 3, LogisticRegression(), True),
        ("network", 2, MLPClassifier((3,), random_state=0, max_iter=60), False),
        ("network of three classes", 3, MLPClassifier((3, 2), random_state=0, max_iter=60), True),
        ("network, a number", 0, MLPRegressor(hidden_layer_sizes=(3,), random_state=0, max_iter=60), False),
    ]
    frame, score = plain()
    matrix = frame.to_numpy(dtype=np.float32)
    for name, classes, model, maps in cases:
        model.fit(matrix, target(score, classes))
        options = {"zipmap": maps} if classes else None
        path.write_bytes(skl2onnx.to_onnx(model, matrix[:1], options=options).SerializeToString())
        yield _asked(name, path, frame, classes)
    yield from _onnx_trees(path)
    yield from _onnx_of_catboost(path)


def _onnx_trees(path: Path) -> Iterator[Honest]:
    """Trees of every comparison, in the operators of both versions."""
    from tests.compilers.onnx_trees import NUMBERS, classifier, flat, regressor, trees

    frame, _ = plain()
    rng = np.random.default_rng(0)
    for name, classes, made in (("greater", 2, classifier), ("every mode", 0, regressor), ("flat", 0, flat)):
        drawn = trees(rng, "catboost" if classes else "all", NUMBERS[0], frame.shape[1])
        path.write_bytes(made(drawn, frame.shape[1]).SerializeToString())
        yield _asked(name, path, frame, classes)


def _onnx_of_catboost(path: Path) -> Iterator[Honest]:
    """What CatBoost itself writes."""
    import catboost

    frame, score = plain()
    for name, classes in (("CatBoost", 2), ("CatBoost of three classes", 3), ("CatBoost, a number", 0)):
        kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
        model = kind(iterations=3, depth=2, verbose=0, thread_count=1, allow_writing_files=False)
        model.fit(frame, target(score, classes)).save_model(str(path), format="onnx")
        yield _asked(name, path, frame, classes)


def _skops(path: Path) -> Iterator[Honest]:
    import skops.io
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import TransformedTargetRegressor, make_column_transformer
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        IsolationForest,
        RandomForestRegressor,
        StackingClassifier,
        VotingClassifier,
    )
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        KBinsDiscretizer,
        OneHotEncoder,
        PolynomialFeatures,
        QuantileTransformer,
        StandardScaler,
    )
    from sklearn.svm import SVC, SVR
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]), (OneHotEncoder(), ["k"])
    )
    bins = make_column_transformer(
        (make_pipeline(SimpleImputer(), KBinsDiscretizer(2, encode="onehot-dense")), ["a", "b"]),
        (OneHotEncoder(sparse_output=False), ["k"]),
    )
    cases: list[tuple[str, int, bool, Any]] = [
        ("tree", 3, False, tree),
        ("forest", 0, False, RandomForestRegressor(3, max_depth=3, random_state=0)),
        ("boosting", 2, False, GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)),
        ("ada", 2, False, AdaBoostClassifier(n_estimators=3, random_state=0)),
        ("bagging", 2, False, BaggingClassifier(tree, 3, max_features=2, random_state=0)),
        ("voting", 2, False, VotingClassifier([("one", tree), ("two", DecisionTreeClassifier(max_depth=2))])),
        ("isolation", 2, False, IsolationForest(n_estimators=3, random_state=0)),
        ("logistic", 2, False, LogisticRegression()),
        ("network", 2, False, MLPClassifier((3,), random_state=0, max_iter=60)),
        ("calibrated", 2, False, CalibratedClassifierCV(tree, ensemble=False, cv=2)),
        ("threshold", 2, False, FixedThresholdClassifier(tree, threshold=0.3)),
        ("discriminant", 2, False, LinearDiscriminantAnalysis()),
        ("bernoulli", 2, False, BernoulliNB()),
        ("histograms", 2, False, HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4)),
        ("categories", 2, True, HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4)),
        ("pipeline", 2, True, make_pipeline(columns, LogisticRegression())),
        ("bins", 2, True, make_pipeline(bins, tree)),
        ("calibrated members", 2, False, CalibratedClassifierCV(tree, cv=2)),
        ("stacking", 2, False, StackingClassifier([("one", tree), ("two", DecisionTreeClassifier(max_depth=2))], cv=2)),
        ("soft votes", 2, False, VotingClassifier([("one", tree), ("two", tree)], voting="soft")),
        ("one against the rest", 3, False, OneVsRestClassifier(LogisticRegression())),
        ("scaled target", 0, False, TransformedTargetRegressor(LinearRegression(), transformer=StandardScaler())),
        ("machine", 3, False, SVC(kernel="linear")),
        ("kernels", 2, False, SVC()),
        ("tanh", 2, False, MLPClassifier((3,), activation="tanh", random_state=0, max_iter=60)),
        ("many kernels", 4, False, SVC(kernel="poly")),
        ("a number of kernels", 0, False, SVR()),
        ("densities", 3, False, GaussianNB()),
        ("search", 2, False, GridSearchCV(tree, {"max_depth": [1, 2]}, cv=2)),
        ("neighbours", 2, False, KNeighborsClassifier(3)),
        ("projected", 2, False, make_pipeline(StandardScaler(), PCA(2), LogisticRegression())),
        ("quantiles", 2, False, make_pipeline(QuantileTransformer(n_quantiles=5), tree)),
        ("products", 2, False, make_pipeline(PolynomialFeatures(2), LogisticRegression())),
    ]
    for name, classes, raw, model in cases:
        frame, score = mixed() if raw else plain()
        skops.io.dump(model.fit(frame, target(score, classes)), path)
        yield _asked(name, path, frame, classes)


def _pmml(path: Path) -> Iterator[Honest]:
    from tests.compilers.pmml_files import NUMBERS as WITH_NUMBERS
    from tests.compilers.pmml_files import SHAPES, SPACE

    rows = pd.DataFrame({"a": [1, 8, 3, 4], "b": [0.5, 2.0, 0.0, 1.25], "k": ["red", "blue", "other", "green"]})
    for name, make in SHAPES.items():
        path.write_text(make(np.random.default_rng(3)), encoding="utf-8")
        yield Honest(name, path.read_bytes(), SPACE, rows, "0 <= y <= 1" if name in WITH_NUMBERS else None)


MAKERS: dict[str, Callable[[Path], Iterator[Honest]]] = {
    "json": _xgboost, "ubj": _xgboost, "txt": _lightgbm, "onnx": _onnx, "skops": _skops,
    "catboost": _catboost, "pmml": _pmml,
}  # fmt: skip
