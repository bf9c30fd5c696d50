"""Every family of models that mace reads, drawn small and hostile: ties, constants, few bits, threads, missing values.

Out: `FAMILIES`, name -> `Family`. `Family.make(draw, X, y, rng)` gives a fitted model.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.fuzz.spaces import Draw, pick

Rng = np.random.Generator
Make = Callable[[Draw, pd.DataFrame, NDArray[Any], Rng], Any]
DECIDE = ("another", "class", "set")


@dataclass(frozen=True)
class Family:
    """How to fit a model of one kind, and what may be asked of it.

    classes: how many classes there may be; 0 for a model that predicts a number.
    goals:   beyond classes (or intervals), as in `tests.roads.random_goal`.
    missing: whether rows may lack numbers.
    exact:   whether answers are exact; else within `tests.roads.CLOSE`.
    """

    make: Make
    classes: tuple[int, ...] = (2, 3)
    goals: tuple[str, ...] = ()
    missing: bool = False
    exact: bool = True


def sklearn(path: str, **options: Any) -> Any:
    """An unfitted `sklearn.module.Class`, or a class of xgboost or lightgbm."""
    module, kind = path.rsplit(".", 1)
    library = importlib.import_module(module if module in ("xgboost", "lightgbm") else f"sklearn.{module}")
    return getattr(library, kind)(**options)


def of(path: str, **choices: Any) -> Make:
    """Fits `module.Class`; an option given as a list is drawn."""

    def make(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
        options = {k: pick(draw, v) if isinstance(v, list) else v for k, v in choices.items()}
        if options.get("n_jobs") == 2:  # Threads add trees in any order: of more than two, ties depend on it.
            options["n_estimators"] = min(2, options["n_estimators"])
        made = sklearn(path, **options)
        if "random_state" in made.get_params() and path.split(".")[0] not in ("xgboost", "lightgbm"):
            made.set_params(random_state=int(rng.integers(10**6)))
        # Some models know the names of their columns, some do not; LightGBM refuses names with commas.
        named = draw(st.booleans()) and not path.startswith("lightgbm")
        return made.fit(X if named else X.to_numpy(), y)

    return make


TREE = {"max_depth": [2, 1, 4, None], "min_samples_leaf": [1, 3]}
FEW = {"n_estimators": [1, 2, 3, 6], "max_depth": [1, 2, 4], "n_jobs": [None, None, 2]}


def bagging(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import DecisionTreeClassifier

    return BaggingClassifier(
        DecisionTreeClassifier(max_depth=pick(draw, [1, 3])), n_estimators=pick(draw, [1, 3, 4]),
        max_features=pick(draw, [1.0, 0.6]), n_jobs=pick(draw, [None, 2]), random_state=int(rng.integers(99)),
    ).fit(X, y)  # fmt: skip


def adaboost(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    return AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=pick(draw, [1, 2])), n_estimators=pick(draw, [1, 3, 6]),
        random_state=int(rng.integers(99)),
    ).fit(X, y)  # fmt: skip


def voting(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
    from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    how = pick(draw, ["hard", "soft"])
    members: list[tuple[str, Any]] = [
        ("a", DecisionTreeClassifier(max_depth=2)),
        ("b", ExtraTreeClassifier(max_depth=3, random_state=int(rng.integers(99)))),
    ]
    if draw(st.booleans()):
        third = RandomForestClassifier(3, max_depth=2, random_state=0) if how == "soft" else DecisionTreeClassifier()
        members.append(("c", third))
    weights = pick(draw, [None, [1, 2, 1][: len(members)], [0.3, 0.7, 0.4][: len(members)]])
    return VotingClassifier(members, voting=how, weights=weights).fit(X, y)


def isolation(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
    from sklearn.ensemble import IsolationForest

    return IsolationForest(
        n_estimators=pick(draw, [1, 2, 5]), contamination=pick(draw, [0.2, "auto"]), max_samples=pick(draw, [4, 16]),
        random_state=int(rng.integers(999)),
    ).fit(X)  # fmt: skip


def calibrated(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
    from sklearn.calibration import CalibratedClassifierCV

    inner = pick(draw, ["tree.DecisionTreeClassifier", "ensemble.RandomForestClassifier",
                        "ensemble.GradientBoostingClassifier", "linear_model.LogisticRegression"])  # fmt: skip
    options: dict[str, Any] = {} if "Logistic" in inner else {"max_depth": 2, "random_state": int(rng.integers(99))}
    if inner.startswith("ensemble"):
        options["n_estimators"] = 3
    return CalibratedClassifierCV(
        sklearn(inner, **options), method=pick(draw, ["isotonic", "sigmoid"]), ensemble=False, cv=2
    ).fit(X, y)


def calibrated_trees(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
    from sklearn.calibration import CalibratedClassifierCV

    inner = sklearn("tree.DecisionTreeClassifier", max_depth=pick(draw, [1, 2]), random_state=int(rng.integers(99)))
    return CalibratedClassifierCV(inner, method=pick(draw, ["isotonic", "sigmoid"]), cv=2).fit(X, y)


def perceptron(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng, number: bool = False) -> Any:
    """A small network, its weights sometimes cut to few bits, so that its scores tie."""
    kind = "MLPRegressor" if number else "MLPClassifier"
    model = sklearn(
        f"neural_network.{kind}", hidden_layer_sizes=pick(draw, [(2,), (4,), (3, 2)]), max_iter=20, solver="lbfgs",
        activation=pick(draw, ["relu", "identity"]), random_state=int(rng.integers(999)),
    ).fit(X, y)  # fmt: skip
    if draw(st.booleans()):
        cut = pick(draw, [4, 2])
        model.coefs_ = [np.round(w * cut) / cut for w in model.coefs_]
        model.intercepts_ = [np.round(b * cut) / cut for b in model.intercepts_]
    return model


def linear(path: str, **choices: Any) -> Make:
    """A linear model, its weights sometimes cut to few bits."""
    fit = of(path, **choices)

    def make(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
        model = fit(draw, X, y, rng)
        if draw(st.booleans()):
            model.coef_ = np.round(model.coef_ * 4) / 4
            model.intercept_ = np.round(np.asarray(model.intercept_) * 4) / 4
            if np.ndim(model.intercept_) == 0:
                model.intercept_ = float(model.intercept_)
        return model

    return make


def xgboost(kind: str) -> Make:
    return of(
        f"xgboost.{kind}", n_estimators=[1, 3, 5], max_depth=[1, 2, 3], n_jobs=1, tree_method="exact",
        min_child_weight=0.1, reg_lambda=[1.0, 0.0],
    )  # fmt: skip


def lightgbm(kind: str) -> Make:
    return of(
        f"lightgbm.{kind}", n_estimators=[1, 3, 5], num_leaves=[2, 4, 7], n_jobs=1, min_child_samples=2, verbose=-1,
        min_data_in_bin=1,
    )  # fmt: skip


def graph(draw: Draw, X: pd.DataFrame, y: NDArray[Any], rng: Rng) -> Any:
    """A float32 ONNX network written by hand: dense layers with ReLU, and a logistic end."""
    from onnx import TensorProto, helper, numpy_helper

    width, hidden = X.shape[1], pick(draw, [2, 4])
    parts = [rng.normal(size=size) for size in ((width, hidden), hidden, (hidden, 1), 1)]
    if draw(st.booleans()):
        parts = [np.round(part * 2) / 2 for part in parts]
    names = ("W1", "b1", "W2", "b2")
    nodes = [
        helper.make_node("Gemm", ["x", "W1", "b1"], ["h"]), helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("Gemm", ["a", "W2", "b2"], ["s"]), helper.make_node("Sigmoid", ["s"], ["p"]),
    ]  # fmt: skip
    made = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(part.astype(np.float32), name) for part, name in zip(parts, names, strict=True)],
    )  # fmt: skip
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


AVERAGE, LOGIT, NUMBER = ("probability", "margin"), ("score",), (0,)
BOTH = (2,)
FAMILIES: dict[str, Family] = {
    "tree": Family(of("tree.DecisionTreeClassifier", **TREE), goals=AVERAGE, missing=True),
    "extra-tree": Family(of("tree.ExtraTreeClassifier", **TREE), goals=AVERAGE),
    "forest": Family(of("ensemble.RandomForestClassifier", **FEW), goals=AVERAGE, missing=True),
    "extra-trees": Family(of("ensemble.ExtraTreesClassifier", **FEW), goals=AVERAGE),
    "boosting": Family(of("ensemble.GradientBoostingClassifier", n_estimators=[1, 2, 5], max_depth=[1, 2, 3])),
    "boosting-probability": Family(
        of("ensemble.GradientBoostingClassifier", n_estimators=[1, 4], max_depth=2), BOTH, AVERAGE, exact=False
    ),
    "hist-boosting": Family(
        of("ensemble.HistGradientBoostingClassifier", max_iter=[1, 3], max_leaf_nodes=[2, 4], min_samples_leaf=2),
        missing=True,
    ),
    "bagging": Family(bagging),
    "adaboost": Family(adaboost, exact=False),
    "voting": Family(voting, exact=False),
    "isolation": Family(isolation, BOTH, exact=False),
    "calibrated": Family(calibrated, BOTH, exact=False),
    "calibrated-trees": Family(calibrated_trees, (2, 3)),
    "xgboost": Family(xgboost("XGBClassifier"), missing=True),
    "lightgbm": Family(lightgbm("LGBMClassifier"), missing=True),
    "logistic": Family(linear("linear_model.LogisticRegression"), goals=LOGIT, exact=False),
    "ridge-classifier": Family(linear("linear_model.RidgeClassifier"), goals=LOGIT, exact=False),
    "sgd": Family(linear("linear_model.SGDClassifier", loss=["hinge", "log_loss"]), exact=False),
    "perceptron": Family(linear("linear_model.Perceptron"), exact=False),
    "linear-svc": Family(linear("svm.LinearSVC"), goals=LOGIT, exact=False),
    "mlp": Family(perceptron, exact=False),
    "onnx": Family(graph, BOTH, exact=False),
    "tree-number": Family(of("tree.DecisionTreeRegressor", **TREE), NUMBER, missing=True),
    "forest-number": Family(of("ensemble.RandomForestRegressor", **FEW), NUMBER, missing=True),
    "boosting-number": Family(of("ensemble.GradientBoostingRegressor", n_estimators=[1, 3], max_depth=2), NUMBER),
    "hist-number": Family(
        of("ensemble.HistGradientBoostingRegressor", max_iter=[1, 3], max_leaf_nodes=4, min_samples_leaf=2), NUMBER,
        missing=True,
    ),
    "xgboost-number": Family(xgboost("XGBRegressor"), NUMBER, missing=True),
    "lightgbm-number": Family(lightgbm("LGBMRegressor"), NUMBER, missing=True),
    "linear-number": Family(linear("linear_model.LinearRegression"), NUMBER, exact=False),
    "ridge-number": Family(linear("linear_model.Ridge"), NUMBER, exact=False),
    "huber-number": Family(of("linear_model.HuberRegressor"), NUMBER, exact=False),
    "mlp-number": Family(lambda *given: perceptron(*given, number=True), NUMBER, exact=False),
}  # fmt: skip
