"""Fitted models of the families beyond single trees, forests and networks, and what their own library says of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.thresholds import largest_passing
from mace.tables.table import Ensemble, Floats, decided, decision_of

Rows = NDArray[Any]


@dataclass(frozen=True)
class Family:
    """How to fit one model, and what it decides: labels, or numbers for a regressor."""

    name: str
    fit: Callable[[Floats, Rows], Any]
    classes: int  # 0 for a regressor
    categories: int = 0  # this many last columns hold codes, -1 (never seen) and 7 (never seen) among those asked
    missing: bool = False  # NaN among the rows


def gradient_boosting(**options: Any) -> Callable[[Floats, Rows], Any]:
    from sklearn.ensemble import GradientBoostingClassifier

    return lambda X, y: GradientBoostingClassifier(n_estimators=25, random_state=0, **options).fit(X, y)


def number_boosting(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=25, random_state=0).fit(X, y)


def hist_boosting(**options: Any) -> Callable[[Floats, Rows], Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return lambda X, y: HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5, **options).fit(X, y)


def hist_numbers(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5, categorical_features=[4, 5]).fit(X, y)


def adaboost(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    return AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=15, random_state=0).fit(X, y)


def bagging(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import BaggingClassifier
    from sklearn.tree import DecisionTreeClassifier

    return BaggingClassifier(
        DecisionTreeClassifier(max_depth=5), n_estimators=7, max_features=0.6, max_samples=0.3, random_state=0
    ).fit(X, y)


def bagged_numbers(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import BaggingRegressor

    return BaggingRegressor(n_estimators=7, max_features=3, random_state=0).fit(X, y)


def voting(voting: str, weights: Any = None) -> Callable[[Floats, Rows], Any]:
    from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    members = [("a", DecisionTreeClassifier(max_depth=4)), ("b", ExtraTreeClassifier(max_depth=6, random_state=1))]
    last = (
        RandomForestClassifier(6, max_depth=4, random_state=2)
        if voting == "soft"
        else DecisionTreeClassifier(max_depth=2)
    )
    return lambda X, y: VotingClassifier([*members, ("c", last)], voting=voting, weights=weights).fit(X, y)


def isolation(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import IsolationForest

    return IsolationForest(n_estimators=12, contamination=0.2, max_features=0.8, random_state=0).fit(X)


def calibrated(method: str, base: str, frozen: bool = False) -> Callable[[Floats, Rows], Any]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.frozen import FrozenEstimator

    made = {"forest": RandomForestClassifier(8, max_depth=5, random_state=0),
            "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0)}[base]  # fmt: skip
    if frozen:
        return lambda X, y: CalibratedClassifierCV(FrozenEstimator(made.fit(X, y)), method=method).fit(X, y)
    return lambda X, y: CalibratedClassifierCV(made, method=method, ensemble=False, cv=3).fit(X, y)


def calibrated_trees(method: str) -> Callable[[Floats, Rows], Any]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.tree import DecisionTreeClassifier

    return lambda X, y: CalibratedClassifierCV(DecisionTreeClassifier(max_depth=4), method=method, cv=3).fit(X, y)


def thresholded(base: str, **options: Any) -> Callable[[Floats, Rows], Any]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.model_selection import FixedThresholdClassifier

    forest = RandomForestClassifier(8, max_depth=5, random_state=0)
    made = {
        "forest": forest,
        "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
        "histograms": HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5),
        "isotonic": CalibratedClassifierCV(forest, method="isotonic", ensemble=False, cv=3),
    }[base]
    return lambda X, y: FixedThresholdClassifier(made, **options).fit(X, y)


def tuned(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import TunedThresholdClassifierCV

    forest = RandomForestClassifier(6, max_depth=4, random_state=0)
    return TunedThresholdClassifierCV(forest, cv=3, random_state=0).fit(X, np.array(["no", "yes"])[y])


def searched(X: Floats, y: Rows) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(GradientBoostingClassifier(n_estimators=5), {"max_depth": [1, 3]}, cv=2).fit(X, y)


def bernoulli(X: Floats, y: Rows) -> Any:
    from sklearn.naive_bayes import BernoulliNB

    return BernoulliNB(binarize=0.3).fit(X, y)


def thresholded_booster(booster: Callable[[Floats, Rows], Any], **options: Any) -> Callable[[Floats, Rows], Any]:
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import FixedThresholdClassifier

    return lambda X, y: FixedThresholdClassifier(FrozenEstimator(booster(X, y)), **options).fit(X, y)


def plain(name: str, **options: Any) -> Callable[[Floats, Rows], Any]:
    import sklearn.ensemble
    import sklearn.tree

    kind = getattr(sklearn.tree, name, None) or getattr(sklearn.ensemble, name)
    return lambda X, y: kind(random_state=0, **options).fit(X, y)


SKLEARN = (
    Family("GradientBoostingClassifier-2", gradient_boosting(), 2),
    Family("GradientBoostingClassifier-2-zero", gradient_boosting(init="zero", learning_rate=0.3), 2),
    Family("GradientBoostingClassifier-2-exponential", gradient_boosting(loss="exponential"), 2),
    Family("GradientBoostingClassifier-3", gradient_boosting(subsample=0.7), 3),
    Family("GradientBoostingRegressor", number_boosting, 0),
    Family("HistGradientBoostingClassifier-2", hist_boosting(), 2, missing=True),
    Family("HistGradientBoostingClassifier-2-codes", hist_boosting(categorical_features=[4, 5]), 2, 2, missing=True),
    Family("HistGradientBoostingClassifier-3-categories", hist_boosting(categorical_features=[5]), 3, 1),
    Family("HistGradientBoostingRegressor-categories", hist_numbers, 0, 2, missing=True),
    Family("AdaBoostClassifier-2", adaboost, 2),
    Family("AdaBoostClassifier-3", adaboost, 3),
    Family("BaggingClassifier-2", bagging, 2),
    Family("BaggingClassifier-3", bagging, 3),
    Family("BaggingRegressor", bagged_numbers, 0),
    Family("VotingClassifier-hard", voting("hard"), 3),
    Family("VotingClassifier-hard-weights", voting("hard", [1, 2.5, 1.6]), 3),
    Family("VotingClassifier-soft", voting("soft"), 3),
    Family("VotingClassifier-soft-weights", voting("soft", [1, 2.5, 1.6]), 2),
    Family("IsolationForest", isolation, 2),
    Family("CalibratedClassifierCV-sigmoid", calibrated("sigmoid", "forest"), 2),
    Family("CalibratedClassifierCV-isotonic", calibrated("isotonic", "forest"), 2),
    Family("CalibratedClassifierCV-trees-sigmoid", calibrated_trees("sigmoid"), 2),
    Family("CalibratedClassifierCV-trees-isotonic-3", calibrated_trees("isotonic"), 3),
    Family("CalibratedClassifierCV-isotonic-frozen", calibrated("isotonic", "forest", True), 2),
    Family("CalibratedClassifierCV-temperature", calibrated("temperature", "forest"), 2),
    Family("CalibratedClassifierCV-sigmoid-boosting", calibrated("sigmoid", "boosting"), 2),
    Family("CalibratedClassifierCV-isotonic-boosting", calibrated("isotonic", "boosting"), 2),
    Family("FixedThresholdClassifier-forest", thresholded("forest", threshold=0.25), 2),
    Family("FixedThresholdClassifier-forest-first", thresholded("forest", threshold=0.25, pos_label=0), 2),
    Family("FixedThresholdClassifier-boosting", thresholded("boosting", threshold=0.7), 2),
    Family("FixedThresholdClassifier-boosting-first", thresholded("boosting", threshold=0.7, pos_label=0), 2),
    Family(
        "FixedThresholdClassifier-boosting-score",
        thresholded("boosting", threshold=-0.4, response_method="decision_function"), 2,
    ),
    Family("FixedThresholdClassifier-histograms", thresholded("histograms", threshold=0.4), 2, missing=True),
    Family(
        "FixedThresholdClassifier-histograms-score-first",
        thresholded("histograms", threshold=0.3, response_method="decision_function", pos_label=0), 2, missing=True,
    ),
    Family("FixedThresholdClassifier-isotonic", thresholded("isotonic", threshold=0.3), 2),
    Family("TunedThresholdClassifierCV-forest", tuned, 2),
    Family("GridSearchCV-boosting", searched, 2),
    Family("BernoulliNB-2", bernoulli, 2),
    Family("BernoulliNB-3", bernoulli, 3),
    Family("DecisionTreeClassifier-missing", plain("DecisionTreeClassifier", max_depth=6), 3, missing=True),
    Family("RandomForestClassifier-missing", plain("RandomForestClassifier", n_estimators=9), 2, missing=True),
    Family("DecisionTreeRegressor", plain("DecisionTreeRegressor", max_depth=6), 0),
    Family("ExtraTreeRegressor", plain("ExtraTreeRegressor", max_depth=6), 0),
    Family("RandomForestRegressor", plain("RandomForestRegressor", n_estimators=9, max_depth=5), 0),
    Family("ExtraTreesRegressor", plain("ExtraTreesRegressor", n_estimators=9, max_depth=5), 0),
)  # fmt: skip


def xgboost(name: str = "XGBClassifier", **options: Any) -> Callable[[Floats, Rows], Any]:
    def fit(X: Floats, y: Rows) -> Any:
        import xgboost

        return getattr(xgboost, name)(n_estimators=30, max_depth=4, **options).fit(X, y)

    return fit


def lightgbm(name: str = "LGBMClassifier", categories: list[int] | None = None, **options: Any) -> Any:
    def fit(X: Floats, y: Rows) -> Any:
        import lightgbm

        small = {"num_leaves": 15, "min_child_samples": 5, "min_data_per_group": 5, "cat_smooth": 1, "verbose": -1}
        model = getattr(lightgbm, name)(n_estimators=30, **small, **options)
        return model.fit(X, y, categorical_feature=categories or "auto")

    return fit


def calibrated_booster(booster: Callable[[Floats, Rows], Any], method: str) -> Callable[[Floats, Rows], Any]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    return lambda X, y: CalibratedClassifierCV(FrozenEstimator(booster(X, y)), method=method).fit(X, y)


_CODES: dict[str, Any] = {"feature_types": ["q"] * 4 + ["c", "c"], "enable_categorical": True}
XGBOOST = (
    Family("XGBClassifier-2", xgboost(), 2, missing=True),
    Family("XGBClassifier-2-base_score", xgboost(base_score=0.3), 2),
    Family("XGBClassifier-2-categories", xgboost(**_CODES), 2, 2, missing=True),
    Family("XGBClassifier-3", xgboost(num_parallel_tree=3, subsample=0.5), 3),
    Family("XGBClassifier-3-softmax", xgboost(objective="multi:softmax"), 3),
    Family("XGBClassifier-3-categories", xgboost(max_cat_to_onehot=1, **_CODES), 3, 2),
    Family("CalibratedClassifierCV-XGBClassifier-sigmoid", calibrated_booster(xgboost(), "sigmoid"), 2),
    Family("FixedThresholdClassifier-XGBClassifier", thresholded_booster(xgboost(), threshold=0.3), 2),
    Family(
        "FixedThresholdClassifier-XGBClassifier-first", thresholded_booster(xgboost(), threshold=0.3, pos_label=0), 2
    ),
    Family("XGBRegressor", xgboost("XGBRegressor"), 0, missing=True),
    Family("XGBRegressor-absolute", xgboost("XGBRegressor", objective="reg:absoluteerror"), 0),
    Family("XGBRegressor-huber", xgboost("XGBRegressor", objective="reg:pseudohubererror"), 0),
)
LIGHTGBM = (
    Family("LGBMClassifier-2", lightgbm(), 2, missing=True),
    Family("LGBMClassifier-2-sigmoid", lightgbm(sigmoid=0.5), 2),
    Family("LGBMClassifier-2-without-missing", lightgbm(use_missing=False), 2, missing=True),
    Family("LGBMClassifier-2-categories", lightgbm(categories=[4, 5]), 2, 2, missing=True),
    Family("LGBMClassifier-3", lightgbm(), 3, missing=True),
    Family("LGBMClassifier-3-categories", lightgbm(categories=[5]), 3, 1),
    Family("CalibratedClassifierCV-LGBMClassifier-sigmoid", calibrated_booster(lightgbm(sigmoid=0.7), "sigmoid"), 2),
    Family("CalibratedClassifierCV-LGBMClassifier-isotonic", calibrated_booster(lightgbm(), "isotonic"), 2),
    Family("FixedThresholdClassifier-LGBMClassifier", thresholded_booster(lightgbm(sigmoid=0.5), threshold=0.6), 2),
    Family("LGBMRegressor", lightgbm("LGBMRegressor"), 0),
    Family("LGBMRegressor-l1", lightgbm("LGBMRegressor", objective="l1"), 0, missing=True),
)


def catboost(name: str = "CatBoostClassifier", **options: Any) -> Callable[[Floats, Rows], Any]:
    def fit(X: Floats, y: Rows) -> Any:
        import catboost

        small: dict[str, Any] = {"iterations": 20, "depth": 4, "verbose": 0, "allow_writing_files": False}
        return getattr(catboost, name)(thread_count=1, **small, **options).fit(X, y)

    return fit


def machine(kind: str = "Classifier", **options: Any) -> Callable[[Floats, Rows], Any]:
    def fit(X: Floats, y: Rows) -> Any:
        from interpret import glassbox

        small: dict[str, Any] = {"outer_bags": 1, "max_rounds": 40, "max_bins": 24, "max_interaction_bins": 8}
        return getattr(glassbox, f"ExplainableBoosting{kind}")(n_jobs=1, **{**small, **options}).fit(X, y)

    return fit


CATBOOST = (
    Family("CatBoostClassifier-2", catboost(nan_mode="Max"), 2, missing=True),
    Family("CatBoostClassifier-3-grown", catboost(grow_policy="Lossguide"), 3),
    Family("CatBoostRegressor", catboost("CatBoostRegressor"), 0, missing=True),
)
INTERPRET = (
    Family("ExplainableBoostingClassifier-2", machine(interactions=2), 2, missing=True),
    Family("ExplainableBoostingClassifier-3", machine(interactions=0), 3),
    Family("ExplainableBoostingRegressor", machine("Regressor", interactions=[(0, 1, 2)]), 0, missing=True),
)
CATBOOST += (
    Family("CalibratedClassifierCV-CatBoostClassifier", calibrated_booster(catboost(), "isotonic"), 2),
    Family("FixedThresholdClassifier-CatBoostClassifier", thresholded_booster(catboost(), threshold=0.3), 2),
)
INTERPRET += (Family("CalibratedClassifierCV-EBM", calibrated_booster(machine(interactions=0), "sigmoid"), 2),)
EXTRA = {"xgboost": XGBOOST, "lightgbm": LIGHTGBM, "catboost": CATBOOST, "interpret": INTERPRET}
EVERY = (*SKLEARN, *(family for families in EXTRA.values() for family in families))


def needed(family: Family) -> str | None:
    """The package that a family needs, where mace does not depend on it itself."""
    return next((package for package, families in EXTRA.items() if family in families), None)


def data(family: Family, rows: int = 400) -> tuple[Floats, Rows]:
    """Rows of 6 columns of different scales, the last two codes 0..5, and labels or numbers."""
    rng = np.random.default_rng(family.classes + 10 * family.categories)
    X = rng.normal(size=(rows, 6)) * [1, 10, 0.1, 1000, 1, 1] + [0, 5, 0, 300, 0, 0]
    X[:, 4:] = rng.integers(0, 6, size=(rows, 2))
    score = X[:, 0] + X[:, 1] / 10 + (X[:, 4] % 3 == 1) - (X[:, 5] == 3) + rng.normal(size=rows) / 2
    y = (
        score
        if not family.classes
        else np.digitize(score, np.quantile(score, np.arange(1, family.classes) / family.classes))
    )
    if family.missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def asked(family: Family, table: Ensemble, rows: Floats, random: int = 10_000, near: int = 1_000) -> Floats:
    """Random rows, rows on, just below and just above thresholds, categories never seen, missing values."""
    rng = np.random.default_rng(1)
    spread = np.nan_to_num(rows)
    found = spread[rng.integers(0, len(rows), random)] + rng.normal(size=(random, rows.shape[1])) * spread.std(axis=0)
    found[: random // 2] = rows[rng.integers(0, len(rows), random // 2)]
    close: dict[int, list[float]] = {}
    for tree in table.trees:
        for node, (column, threshold) in enumerate(zip(tree.column.tolist(), tree.threshold.tolist(), strict=True)):
            if column >= 0 and node not in tree.members:
                for value in {
                    threshold,
                    largest_passing(threshold, table.cast, table.test),
                    float(np.float32(threshold)),
                }:
                    if abs(value) < 1e30:
                        close.setdefault(column, []).extend(
                            [value, float(np.nextafter(value, np.inf)), float(np.nextafter(value, -np.inf))]
                        )
    edges = spread[rng.integers(0, len(rows), near)]
    for row in edges:
        for column, values in close.items():
            if rng.random() < 0.7:
                row[column] = values[rng.integers(0, len(values))]
    found = np.concatenate([found, edges])
    if family.categories:
        columns = slice(6 - family.categories, 6)
        found[:, columns] = rng.integers(-1, 8, size=(len(found), family.categories))
    if family.missing:
        found[rng.random(found.shape) < 0.05] = np.nan
    return found


def scores(table: Ensemble, rows: Floats) -> Floats:
    """`Ensemble.scores` of many rows, shape (rows, outputs), through `goes_left` of each node once."""
    total = np.tile(table.start.astype(table.dtype), (len(rows), 1))
    for tree in table.trees:
        node = np.zeros(len(rows), dtype=np.int64)
        while (inner := np.flatnonzero(tree.column[node] >= 0)).size:
            here = node[inner]
            value = rows[inner, tree.column[here]]
            missing = False if tree.missing_left is None else tree.missing_left[here]
            left = table.passes(value, tree.threshold[here], missing)
            for one in set(here.tolist()) & tree.members.keys():
                place = here == one
                seen, which = np.unique(value[place], return_inverse=True)
                left[place] = np.array([table.goes_left(tree, one, float(v)) for v in seen])[which]
            node[inner] = np.where(left, tree.left[here], tree.right[here])
        total = total + tree.value[node].astype(table.dtype)
    if table.divide != 1:
        total = total / np.asarray(table.divide, dtype=table.dtype)
    return total.astype(np.float64)


def decisions(table: Ensemble, found: Floats) -> list[Any]:
    """The class of each row of scores, as the table decides."""
    every = [decision_of(table, index) for index in range(len(table.classes))]
    said = []
    for row in found:
        which = [label for label, decision in zip(table.classes, every, strict=True) if decided(decision, row)]
        assert len(which) == 1
        said.append(which[0])
    return said
