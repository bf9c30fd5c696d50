"""Families of models that `python -m tests.held` holds to their libraries: wrappers, boosters, machines, links, steps.

Single trees, forests, boosting, linear models and networks by themselves have their own, in `test_families_agree.py`.
"""

from __future__ import annotations

import importlib
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mace.compilers.pipeline.steps import CATEGORY_ENCODERS
from mace.space.feature import Feature
from tests.compilers.pmml_files import KINDS, NUMBERS, SHAPES
from tests.held_boxes import BOXES
from tests.roads import Family, Rng
from tests.test_families_agree import (
    BAYES,
    DECIDE,
    GRAPHS,
    LIGHT,
    MEANS,
    NUMBER,
    ONE_VS_REST,
    THRESHOLDED,
    Make,
    of,
    sklearn,
)

BOOSTING = ("ensemble.GradientBoostingClassifier", {"n_estimators": 4, "max_depth": 2})
FOREST = ("ensemble.RandomForestClassifier", {"n_estimators": 4, "max_depth": 3})
LOGISTIC = ("linear_model.LogisticRegression", {})
ODDS = ("another", "class", "probability")


def made(name: str, options: dict[str, Any], rng: Rng) -> Any:
    """An unfitted model with a seed by chance, where it takes one."""
    model = sklearn(name, **options)
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(10**6)))
    return model


def over(wrapper: str, member: tuple[str, dict[str, Any]], **options: Any) -> Make:
    """A wrapper of scikit-learn over one model."""
    return lambda X, y, rng: sklearn(wrapper, estimator=made(*member, rng), **options).fit(X.to_numpy(), y)


def searched(X: Any, y: Any, rng: Rng) -> Any:
    search = sklearn("model_selection.GridSearchCV", estimator=made(*BOOSTING, rng), param_grid={"max_depth": [1, 2]})
    return search.set_params(cv=2).fit(X, y)


def several(wrapper: str, *members: tuple[str, dict[str, Any]], **options: Any) -> Make:
    """A wrapper of scikit-learn over several models."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        listed = [(f"m{k}", made(name, some, rng)) for k, (name, some) in enumerate(members)]
        return sklearn(wrapper, estimators=listed, **options).fit(X.to_numpy(), y)

    return fit


def transformed(regressor: tuple[str, dict[str, Any]], **options: Any) -> Make:
    return lambda X, y, rng: sklearn(
        "compose.TransformedTargetRegressor", regressor=made(*regressor, rng), **options
    ).fit(X.to_numpy(), y - y.min() + 0.5)


WRAPPERS = (
    *THRESHOLDED,
    Family(
        "TunedThreshold-forest", over("model_selection.TunedThresholdClassifierCV", FOREST, cv=3), 2,
        ("another", "class"), exact=False,
    ),
    *(
        Family(
            f"calibrated-{method}-{name}", over("calibration.CalibratedClassifierCV", member, method=method, cv=3), 2,
            ODDS, exact=False,
        )
        for name, member, method in (
            ("boosting", BOOSTING, "sigmoid"),
            ("forest", FOREST, "isotonic"),
            ("logistic", LOGISTIC, "sigmoid"),
            ("boosting", BOOSTING, "temperature"),
        )
    ),
    Family(
        "calibrated-trees",
        over("calibration.CalibratedClassifierCV", ("tree.DecisionTreeClassifier", {"max_depth": 3}), method="isotonic",
             cv=3), 3, DECIDE,
    ),
    *(
        Family(
            f"stacking-forests-{classes}",
            several("ensemble.StackingClassifier", FOREST, ("tree.DecisionTreeClassifier", {"max_depth": 3}), cv=2),
            classes, DECIDE, exact=False,
        )
        for classes in (2, 3)
    ),
    Family(
        "stacking-lines",
        several("ensemble.StackingClassifier", ("svm.LinearSVC", {}), ("linear_model.RidgeClassifier", {}), cv=2), 2,
        DECIDE, exact=False,
    ),
    Family(
        "stacking-number",
        several(
            "ensemble.StackingRegressor", ("ensemble.GradientBoostingRegressor", {"n_estimators": 4, "max_depth": 2}),
            ("ensemble.RandomForestRegressor", {"n_estimators": 3, "max_depth": 3}), cv=2,
        ), 0, NUMBER, exact=False,
    ),
    Family(
        "voting-soft",
        several("ensemble.VotingClassifier", FOREST, ("tree.DecisionTreeClassifier", {"max_depth": 3}), voting="soft"),
        3, DECIDE, exact=False,
    ),
    Family(
        "voting-hard",
        several("ensemble.VotingClassifier", *[("tree.DecisionTreeClassifier", {"max_depth": k}) for k in (2, 3, 4)]),
        3, DECIDE,
    ),
    Family(
        "voting-number",
        several("ensemble.VotingRegressor", ("linear_model.LinearRegression", {}), ("linear_model.Ridge", {})), 0,
        NUMBER, exact=False,
    ),
    *ONE_VS_REST,
    Family(
        "transformed-scaled",
        transformed(
            ("linear_model.Ridge", {}), transformer=sklearn("preprocessing.StandardScaler"),
        ), 0, NUMBER, exact=False,
    ),
    Family(
        "transformed-log",
        transformed(
            ("ensemble.GradientBoostingRegressor", {"n_estimators": 4, "max_depth": 2}), func=np.log,
            inverse_func=np.exp,
        ), 0, NUMBER, exact=False,
    ),
    Family("GridSearchCV", searched, 2, DECIDE),
)  # fmt: skip

SOFTMAX = tuple(
    Family(f"softmax-{name}", make, 3, ("likely",), exact=False)
    for name, make in (
        ("histograms", of("ensemble.HistGradientBoostingClassifier", max_iter=3, max_leaf_nodes=3, min_samples_leaf=3)),
        ("XGBoost", of("xgboost.XGBClassifier", n_estimators=3, max_depth=2, n_jobs=1)),
        ("LightGBM", of("lightgbm.LGBMClassifier", **{**LIGHT, "n_estimators": 3})),
        ("logistic", of("linear_model.LogisticRegression")),
        ("MLP", of("neural_network.MLPClassifier", hidden_layer_sizes=(3,))),
    )
)


def catboost(kind: str = "CatBoostClassifier", *categories: str, **options: Any) -> Make:
    def fit(X: Any, y: Any, rng: Rng) -> Any:
        library: Any = importlib.import_module("catboost")
        small: dict[str, Any] = {"iterations": 4, "depth": 2, "verbose": 0, "allow_writing_files": False}
        if categories:
            small |= {"cat_features": list(categories), "one_hot_max_size": 255}
        return getattr(library, kind)(thread_count=1, **small, **options).fit(X, y)

    return fit


def machine(kind: str = "Classifier", **options: Any) -> Make:
    def fit(X: Any, y: Any, rng: Rng) -> Any:
        library: Any = importlib.import_module("interpret.glassbox")
        small: dict[str, Any] = {"outer_bags": 1, "max_rounds": 30, "max_bins": 12, "max_interaction_bins": 6}
        small["random_state"] = int(rng.integers(10**6))
        return getattr(library, f"ExplainableBoosting{kind}")(n_jobs=1, **{**small, **options}).fit(X, y)

    return fit


LEVELS = (
    Feature("age", "integer", 0, 5),
    Feature("income", "real", 0, 3000, step=500),
    Feature("region", "categorical", levels=["north", "east", "south"]),
    Feature("grade", "categorical", levels=["low", "middle", "high"]),
)
BOOSTERS = (
    Family("CatBoost-2", catboost(), 2, DECIDE),
    Family("CatBoost-3", catboost(grow_policy="Lossguide"), 3, DECIDE),
    Family("CatBoost-number", catboost("CatBoostRegressor"), 0, NUMBER),
    Family(
        "CatBoost-levels", catboost("CatBoostClassifier", "region", "grade"), 2, (*DECIDE, "probability"), raw=True,
        exact=False, features=LEVELS,
    ),
    Family("EBM-2", machine(interactions=1), 2, (*DECIDE, "probability"), exact=False),
    Family("EBM-3", machine(interactions=0), 3, DECIDE, exact=False),
    Family("EBM-number", machine("Regressor", interactions=1), 0, NUMBER, exact=False),
    Family("EBM-levels", machine(interactions=1), 2, DECIDE, raw=True, exact=False, features=LEVELS),
)  # fmt: skip


def counted(name: str, **options: Any) -> Make:
    """A model of positive numbers."""
    return lambda X, y, rng: of(name, **options)(X, np.exp(y / 2), rng)


def boosted(objective: str) -> Make:
    """A Booster of XGBoost for survival, ranks or quantiles."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        library: Any = importlib.import_module("xgboost")
        times = np.exp(y / 2)
        data = library.DMatrix(X, label=y > 0 if objective.startswith("rank") else times)
        if objective.startswith("rank"):
            data.set_group([len(y)])
        if objective == "survival:aft":
            data.set_float_info("label_lower_bound", times)
            data.set_float_info("label_upper_bound", times)
        options = {"objective": objective, "max_depth": 2, "nthread": 1}
        return library.train(options | ({"quantile_alpha": 0.3} if "quantile" in objective else {}), data, 4)

    return fit


def ranked(module: str, kind: str, **options: Any) -> Make:
    """A model that ranks the rows of two groups."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        made = getattr(importlib.import_module(module), kind)(**options)
        half = len(y) // 2
        return made.fit(X.to_numpy(), (y > 0).astype(int), group=[half, len(y) - half])

    return fit


LINKS = (
    *(
        Family(f"XGBoost-{link}", counted("xgboost.XGBRegressor", n_estimators=4, max_depth=2, n_jobs=1,
                                         objective=objective), 0, NUMBER, exact=False)
        for link, objective in (("Poisson", "count:poisson"), ("Gamma", "reg:gamma"), ("Tweedie", "reg:tweedie"))
    ),
    *(
        Family(f"XGBoost-{name}", boosted(f"{kind}:{objective}"), 0, NUMBER, exact=False)
        for name, kind, objective in (
            ("Cox", "survival", "cox"), ("AFT", "survival", "aft"), ("rank", "rank", "ndcg"),
            ("quantile", "reg", "quantileerror"),
        )
    ),
    *(
        Family(f"XGBoost-dart-{classes or 'number'}", of(f"xgboost.XGB{kind}", booster="dart", rate_drop=0.5,
               n_estimators=4, max_depth=2, n_jobs=1, random_state=0), classes, goals, exact=False)
        for kind, classes, goals in (("Classifier", 2, DECIDE), ("Classifier", 3, DECIDE), ("Regressor", 0, NUMBER))
    ),
    *(
        Family(f"LightGBM-forest-{classes or 'number'}", of(f"lightgbm.LGBM{kind}", boosting_type="rf", bagging_freq=1,
               bagging_fraction=0.6, **LIGHT), classes, goals, exact=False)
        for kind, classes, goals in (("Classifier", 2, DECIDE), ("Classifier", 3, DECIDE), ("Regressor", 0, NUMBER))
    ),
    Family("LightGBM-rank", ranked("lightgbm", "LGBMRanker", **LIGHT), 0, NUMBER),
    Family("XGBoost-ranker", ranked("xgboost", "XGBRanker", n_estimators=4, max_depth=2, n_jobs=1), 0, NUMBER),
    *(
        Family(f"LightGBM-{link}", counted("lightgbm.LGBMRegressor", objective=link.lower(), **LIGHT), 0, NUMBER,
               exact=False)
        for link in ("Poisson", "Gamma", "Tweedie")
    ),
    *(
        Family(name, counted(f"linear_model.{name}"), 0, NUMBER, exact=False)
        for name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
    ),
)  # fmt: skip


def results(kind: str) -> Make:
    """A fitted model of statsmodels, on a matrix with a constant."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        sm: Any = importlib.import_module("statsmodels.api")
        matrix = sm.add_constant(X.astype(float))
        match kind:
            case "OLS":
                return sm.OLS(y, matrix).fit()
            case "Poisson":
                return sm.GLM(np.exp(y / 2), matrix, family=sm.families.Poisson()).fit()
            case "GLM":
                return sm.GLM(y, matrix, family=sm.families.Binomial()).fit_regularized(alpha=0.02)
            case _:
                return getattr(sm, kind)(y, matrix).fit_regularized(alpha=1.0, disp=0)

    return fit


def formula(text: str = "y ~ age + income + C(region) + grade") -> Make:
    def fit(X: Any, y: Any, rng: Rng) -> Any:
        smf: Any = importlib.import_module("statsmodels.formula.api")
        return smf.logit(text, X.assign(y=y)).fit_regularized(alpha=0.5, disp=0)

    return fit


RESULTS = (
    Family("statsmodels-Logit", results("Logit"), 2, ODDS, exact=False),
    Family("statsmodels-Probit", results("Probit"), 2, ("another", "class"), exact=False),
    Family("statsmodels-OLS", results("OLS"), 0, NUMBER, exact=False),
    Family("statsmodels-Poisson", results("Poisson"), 0, NUMBER, exact=False),
    Family("statsmodels-formula", formula(), 2, ODDS, raw=True, exact=False, features=LEVELS),
    Family(
        "statsmodels-interactions",
        formula("y ~ C(region) * age + income + region:grade"),
        2,
        ODDS,
        raw=True,
        exact=False,
        features=LEVELS,
    ),
)


def piped(numbers: Callable[[], list[Any]], last: tuple[str, dict[str, Any]], levels: Any = None, **more: Any) -> Make:
    """A pipeline over the columns of `LEVELS`, all numbers together."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import make_pipeline

        one_hot = levels or sklearn("preprocessing.OneHotEncoder", handle_unknown="ignore", sparse_output=False)
        columns = ColumnTransformer(
            [("numbers", make_pipeline(*numbers()), ["age", "income"]), ("levels", one_hot, ["region", "grade"])]
        )
        behind = [sklearn("decomposition.PCA", n_components=3)] if more.get("projected") else []
        return make_pipeline(columns, *behind, made(*last, rng)).fit(X, y)

    return fit


MLP = ("neural_network.MLPClassifier", {"hidden_layer_sizes": (3,)})


def multiplied(X: Any, y: Any, rng: Rng) -> Any:
    """Products of dummies, and of dummies and one number, before a linear model."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    one_hot = sklearn("preprocessing.OneHotEncoder", handle_unknown="ignore", sparse_output=False)
    scaler = sklearn("preprocessing.StandardScaler")
    columns = ColumnTransformer([("n", scaler, ["income"]), ("l", one_hot, ["region", "grade"])])
    products = sklearn("preprocessing.PolynomialFeatures", interaction_only=True, degree=int(rng.integers(2, 4)))
    return make_pipeline(columns, products, made(*LOGISTIC, rng)).fit(X, y)


def _scaler() -> list[Any]:
    return [sklearn("preprocessing.StandardScaler")]


STEPS = tuple(
    Family(f"steps-{name}", make, 2, DECIDE, raw=True, exact=exact, features=LEVELS)
    for name, make, exact in (
        ("PCA-logistic", piped(_scaler, LOGISTIC, projected=True), False),
        ("products-logistic", multiplied, False),
        ("PCA-MLP", piped(_scaler, MLP, projected=True), False),
        ("quantiles-boosting", piped(lambda: [sklearn("preprocessing.QuantileTransformer", n_quantiles=6)], BOOSTING),
         True),
        ("powers-forest", piped(lambda: [sklearn("preprocessing.PowerTransformer")], FOREST), True),
        ("targets-forest", piped(_scaler, FOREST, sklearn("preprocessing.TargetEncoder", cv=2)), True),
        ("bins-MLP", piped(lambda: [sklearn("preprocessing.KBinsDiscretizer", n_bins=3, encode="onehot-dense",
                                            strategy="uniform")], MLP), False),
    )
)  # fmt: skip
NEW = "new"
"""A level that no training row has."""
ENCODED = (
    Feature("age", "integer", 0, 5),
    Feature("region", "categorical", levels=["north", "east", "south", NEW], missing=True),
    Feature("income", "real", 0, 3000, step=1000),
    Feature("grade", "categorical", levels=["low", "middle", "high"]),
)


def behind_encoder(name: str, last: tuple[str, dict[str, Any]]) -> Make:
    """A pipeline of one of category_encoders' steps and a model, which have not seen every level."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.pipeline import make_pipeline

        library: Any = importlib.import_module("category_encoders")
        encoder = getattr(library, f"{name}Encoder")()
        seen = (X["region"] != NEW).to_numpy()
        return make_pipeline(encoder, made(*last, rng)).fit(X[seen], y[seen])

    return fit


ENCODERS = tuple(
    Family(f"encoders-{name}", behind_encoder(name, LOGISTIC if place % 2 else FOREST), 2, DECIDE, raw=True,
           exact=False, features=ENCODED)
    for place, name in enumerate(CATEGORY_ENCODERS)
)  # fmt: skip
MACHINES = (
    *(Family(f"SVC-{k}", of("svm.SVC", kernel="linear"), k, DECIDE, exact=False) for k in (2, 3)),
    Family("NuSVC-2", of("svm.NuSVC", kernel="linear", nu=0.3), 2, DECIDE, exact=False),
    Family("SVR", of("svm.SVR", kernel="linear"), 0, NUMBER, exact=False),
    *BAYES,
)


def opened(make: Make, save: Callable[[Any, Path], None], name: str) -> Make:
    """A model through its file."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        from mace.compilers import load_model

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            save(make(X, y, rng), path)
            return load_model(path)

    return fit


WRITTEN = (
    Feature("a", "integer", 0, 9),
    Feature("b", "real", 0.0, 2.0, step=0.25),
    Feature("k", "categorical", levels=[*KINDS, "other"]),
)


def written(shape: str) -> Make:
    """A model of PMML by chance, in a file as programs write them; what the standard says stands for a library."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        kind = "regression" if shape in NUMBERS else "classification"
        texts = (SHAPES[shape](rng) for _ in itertools.count())
        text = next(text for text in texts if f'{kind}" ' in text.partition("<TargetValue")[0] or shape != "general")
        return opened(lambda *_: text, lambda text, path: path.write_text(text), "m.pmml")(X, y, rng)

    return fit


FILES = (
    Family("CatBoost-json", opened(catboost(), lambda m, path: m.save_model(str(path), format="json"), "m.json"), 2,
           DECIDE, exact=False),
    Family("XGBoost-json", opened(of("xgboost.XGBClassifier", n_estimators=4, max_depth=2, n_jobs=1),
                                  lambda m, path: m.save_model(path), "m.json"), 2, DECIDE, exact=False),
    Family("XGBoost-dart-json", opened(of("xgboost.XGBClassifier", booster="dart", rate_drop=0.5, n_estimators=4,
                                          max_depth=2, n_jobs=1, random_state=0),
                                       lambda m, path: m.save_model(path), "m.json"), 2, DECIDE, exact=False),
    Family("LightGBM-forest-text", opened(of("lightgbm.LGBMClassifier", boosting_type="rf", bagging_freq=1,
                                             bagging_fraction=0.6, **LIGHT),
                                          lambda m, path: m.booster_.save_model(path), "m.txt"), 2, DECIDE,
           exact=False),
    *(
        Family(f"PMML-{shape.replace(' ', '-')}", written(shape), 0 if shape in NUMBERS else 2,
               ("interval",) if shape in NUMBERS else ("another",), raw=True, exact=False,
               features=WRITTEN)
        for shape in SHAPES
    ),
    *GRAPHS,
)  # fmt: skip


def sequential(end: str, outputs: int) -> Make:
    """A module of PyTorch with random weights, and a median of every score at 0."""

    def fit(X: pd.DataFrame, y: Any, rng: Rng) -> Any:
        torch: Any = importlib.import_module("torch")
        nn = torch.nn
        torch.manual_seed(int(rng.integers(10**6)))
        rows = torch.from_numpy(X.to_numpy(dtype=np.float64))
        norm = nn.BatchNorm1d(rows.shape[1]).double()
        scores = nn.Sequential(
            norm, nn.Linear(rows.shape[1], 4), nn.ReLU(), nn.Linear(4, 3), nn.LeakyReLU(0.1), nn.Linear(3, outputs)
        ).double()
        for _ in range(20):
            scores(rows)
        with torch.no_grad():
            scores[-1].bias -= scores.eval()(rows).median(dim=0).values
        return nn.Sequential(scores, *([nn.Sigmoid()] if end == "sigmoid" else [])).eval()

    return fit


MODULES = (
    Family("torch-2", sequential("sigmoid", 1), 2, ODDS, exact=False),
    Family("torch-3", sequential("scores", 3), 3, DECIDE, exact=False),
)
GROUPS: dict[str, tuple[Family, ...]] = {
    "wrappers": WRAPPERS, "means": MEANS, "softmax": SOFTMAX, "boosters": BOOSTERS, "links": LINKS,
    "results": RESULTS, "steps": STEPS, "encoders": ENCODERS, "machines": MACHINES, "files": FILES,
    "modules": MODULES, "boxes": BOXES,
}  # fmt: skip
