"""For each family: the provers, z3 and the library's own word at every point agree, and certificates are accepted.

Tree ensembles that classify have their own file, `tests/compilers/test_families_proved.py`; here are the others: what
predicts numbers, linear models, networks, pipelines, graphs, scorecards, and every kind of goal and of rule.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.roads import Family, Rng, agree

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

Make = Callable[[Any, Any, Rng], Any]


def of(name: str, **options: Any) -> Make:
    """Fits `module.Class` with some options."""
    module, kind = name.rsplit(".", 1)

    def make(X: Any, y: Any, rng: Rng) -> Any:
        library = importlib.import_module(module if module in ("xgboost", "lightgbm") else f"sklearn.{module}")
        made = getattr(library, kind)(**options)
        if "random_state" in made.get_params():
            made.set_params(random_state=int(rng.integers(10**6)))
        # Some models know the names of their columns, some do not.
        return made.fit(X if rng.random() < 0.5 else X.to_numpy(), y)

    return make


def scaled(name: str, **options: Any) -> Make:
    """Fits a scaler and `module.Class`."""

    def make(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        last = sklearn(name, **options)
        if "random_state" in last.get_params():
            last.set_params(random_state=int(rng.integers(10**6)))
        return make_pipeline(StandardScaler(), last).fit(X.to_numpy(), y)

    return make


def sklearn(name: str, **options: Any) -> Any:
    """An unfitted `sklearn.module.Class`."""
    module, kind = name.rsplit(".", 1)
    return getattr(importlib.import_module(f"sklearn.{module}"), kind)(**options)


def one_of(*makes: Make) -> Make:
    """One of some models, by chance."""
    return lambda X, y, rng: makes[int(rng.integers(len(makes)))](X, y, rng)


def thresholded(make: Make, **options: Any) -> Make:
    """Fits a model, and gives it a threshold between 0.2 and 0.8."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.frozen import FrozenEstimator
        from sklearn.model_selection import FixedThresholdClassifier

        inner, threshold = make(X, y, rng), float(rng.uniform(0.2, 0.8))
        rows = X if hasattr(inner, "feature_names_in_") else X.to_numpy()
        first = sorted(set(y))[0] if rng.random() < 0.5 else None
        return FixedThresholdClassifier(FrozenEstimator(inner), threshold=threshold, pos_label=first, **options).fit(
            rows, y
        )

    return fit


def on_magnitudes(name: str, **options: Any) -> Make:
    """Fits `module.Class` on magnitudes, for counts are not negative; it decides for any rows."""
    return lambda X, y, rng: of(name, **options)(X.abs(), y, rng)


LIGHT: dict[str, Any] = {"n_jobs": 1, "n_estimators": 5, "num_leaves": 5, "min_child_samples": 3, "verbose": -1}
DECIDE = ("another", "class", "set")
NUMBER = ("interval", "within")
TREES = (
    Family("DecisionTreeRegressor", of("tree.DecisionTreeRegressor", max_depth=4), 0, NUMBER),
    Family("RandomForestRegressor", of("ensemble.RandomForestRegressor", n_estimators=4, max_depth=3), 0, NUMBER),
    Family("ExtraTreesRegressor", of("ensemble.ExtraTreesRegressor", n_estimators=4, max_depth=3), 0, NUMBER),
    Family("BaggingRegressor", of("ensemble.BaggingRegressor", n_estimators=3, max_samples=0.3), 0, NUMBER),
    Family(
        "GradientBoostingRegressor", of("ensemble.GradientBoostingRegressor", n_estimators=5, max_depth=2), 0, NUMBER
    ),
    Family(
        "HistGradientBoostingRegressor",
        of("ensemble.HistGradientBoostingRegressor", max_iter=5, max_leaf_nodes=4, min_samples_leaf=3), 0, NUMBER,
    ),
    Family("XGBRegressor", of("xgboost.XGBRegressor", n_estimators=5, max_depth=2, n_jobs=1), 0, NUMBER),
    Family("LGBMRegressor", of("lightgbm.LGBMRegressor", **LIGHT), 0, NUMBER),
)  # fmt: skip
THRESHOLDED = (
    Family(
        "threshold-forest", thresholded(of("ensemble.RandomForestClassifier", n_estimators=4, max_depth=3)), 2,
        ("another", "class"),
    ),
    Family(
        "threshold-boosting",
        thresholded(of("ensemble.GradientBoostingClassifier", n_estimators=4, max_depth=2)), 2, ("another", "class"),
        exact=False,
    ),
    Family(
        "threshold-logistic", thresholded(of("linear_model.LogisticRegression")), 2, ("another", "class"), exact=False
    ),
    Family(
        "threshold-score",
        thresholded(of("linear_model.RidgeClassifier"), response_method="decision_function"), 2, ("another", "class"),
        exact=False,
    ),
)  # fmt: skip


def one_vs_rest(X: Any, y: Any, rng: Rng) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(LogisticRegression()).fit(X, y)


ONE_VS_REST = tuple(Family(f"OneVsRest-{classes}", one_vs_rest, classes, DECIDE, exact=False) for classes in (2, 3))
BAYES = tuple(
    Family(f"{name.rsplit('.', 1)[1]}-{classes}", make(name, **options), classes, DECIDE, exact=False)
    for name, make, options in (
        ("discriminant_analysis.LinearDiscriminantAnalysis", of, {}),
        ("naive_bayes.MultinomialNB", on_magnitudes, {}),
        ("naive_bayes.ComplementNB", on_magnitudes, {}),
        ("naive_bayes.BernoulliNB", of, {"binarize": 1.0}),
    )
    for classes in (2, 3)
)
LINEAR = (
    *(
        Family(f"{name.rsplit('.', 1)[1]}-{classes}", of(name, **options), classes, goals, exact=False)
        for name, options, goals in (
            ("linear_model.LogisticRegression", {}, (*DECIDE, "score")),
            ("linear_model.RidgeClassifier", {}, (*DECIDE, "score")),
            ("linear_model.SGDClassifier", {"loss": "hinge"}, DECIDE),
            ("linear_model.Perceptron", {}, DECIDE),
            ("svm.LinearSVC", {}, (*DECIDE, "score")),
        )
        for classes in (2, 3)
    ),
    *(
        Family(name.rsplit(".", 1)[1], of(name, **options), 0, NUMBER, exact=False)
        for name, options in (
            ("linear_model.LinearRegression", {}),
            ("linear_model.Ridge", {}),
            ("linear_model.Lasso", {"alpha": 0.05}),
            ("linear_model.ElasticNet", {"alpha": 0.05}),
            ("linear_model.HuberRegressor", {}),
            ("linear_model.BayesianRidge", {}),
            ("linear_model.QuantileRegressor", {"alpha": 0.01}),
            ("linear_model.LassoLars", {"alpha": 0.01}),
            ("linear_model.RANSACRegressor", {}),
            ("svm.LinearSVR", {}),
        )
    ),
    Family("SGDOneClassSVM", of("linear_model.SGDOneClassSVM", nu=0.3), 2, DECIDE, exact=False),
)
NETWORKS = (
    Family("MLPClassifier-2", of("neural_network.MLPClassifier", hidden_layer_sizes=(4,)), 2, DECIDE, exact=False),
    Family("MLPClassifier-3", of("neural_network.MLPClassifier", hidden_layer_sizes=(4, 3)), 3, DECIDE, exact=False),
    Family("MLPRegressor", of("neural_network.MLPRegressor", hidden_layer_sizes=(4,)), 0, NUMBER, exact=False),
)


def unfitted(name: str, rng: Rng, **options: Any) -> Any:
    """A model of scikit-learn or of another library, each time with another seed."""
    module, kind = name.rsplit(".", 1)
    library = importlib.import_module(module if module in ("xgboost", "lightgbm") else f"sklearn.{module}")
    made = getattr(library, kind)(**options)
    return made.set_params(random_state=int(rng.integers(10**6))) if "random_state" in made.get_params() else made


def votes(*members: tuple[str, dict[str, Any]]) -> Make:
    """Soft votes of members, by chance with weights, one of which may be 0."""

    def make(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.ensemble import VotingClassifier

        listed = [(f"m{k}", unfitted(name, rng, **options)) for k, (name, options) in enumerate(members)]
        weights = [1.5, *rng.integers(0, 4, len(members) - 1).tolist()] if rng.random() < 0.6 else None
        return VotingClassifier(listed, voting="soft", weights=weights).fit(X.to_numpy(), y)

    return make


def bagged(kind: str, *members: tuple[str, dict[str, Any]]) -> Make:
    """Bagging of one of some members, by chance over some of the columns, or over some of them twice."""

    def make(X: Any, y: Any, rng: Rng) -> Any:
        name, options = members[int(rng.integers(len(members)))]
        chosen = {"max_features": float(rng.uniform(0.5, 1)), "bootstrap_features": bool(rng.integers(2))}
        made = unfitted(f"ensemble.{kind}", rng, n_estimators=3, **(chosen if rng.random() < 0.6 else {}))
        return made.set_params(estimator=unfitted(name, rng, **options)).fit(X.to_numpy(), y)

    return make


BOOSTED: dict[str, Any] = {"n_estimators": 4, "max_depth": 2}
SOME_BOOSTING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ensemble.GradientBoostingClassifier", BOOSTED),
    ("xgboost.XGBClassifier", {**BOOSTED, "n_jobs": 1}),
    ("lightgbm.LGBMClassifier", LIGHT),
    ("ensemble.HistGradientBoostingClassifier", {"max_iter": 4, "max_leaf_nodes": 4, "min_samples_leaf": 3}),
)
SOME_FORESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ensemble.RandomForestClassifier", {"n_estimators": 4, "max_depth": 3}),
    ("ensemble.ExtraTreesClassifier", {"n_estimators": 3, "max_depth": 3}),
)
SOME_LINEAR: tuple[tuple[str, dict[str, Any]], ...] = (
    ("linear_model.LogisticRegression", {}),
    ("linear_model.SGDClassifier", {"loss": "modified_huber", "alpha": 0.01}),
    ("neural_network.MLPClassifier", {"hidden_layer_sizes": (3,)}),
)
LIKELY = ("another", "class", "probability")
MEANS = (
    Family("votes-boosting", votes(*SOME_BOOSTING[:3]), 2, LIKELY, exact=False),
    Family(
        "votes-forests-boosting", votes(SOME_BOOSTING[0], SOME_FORESTS[0], SOME_BOOSTING[3]), 2, LIKELY, exact=False
    ),
    Family("votes-linear", votes(*SOME_LINEAR), 2, LIKELY, exact=False),
    Family("votes-forests", votes(*SOME_FORESTS), 3, LIKELY, exact=False),
    Family("bagging-boosting", bagged("BaggingClassifier", *SOME_BOOSTING), 2, LIKELY, exact=False),
    Family("bagging-linear", bagged("BaggingClassifier", *SOME_LINEAR), 2, LIKELY, exact=False),
    Family("bagging-forests", bagged("BaggingClassifier", *SOME_FORESTS), 3, LIKELY, exact=False),
    Family(
        "bagging-numbers-of-trees",
        bagged(
            "BaggingRegressor", ("ensemble.RandomForestRegressor", BOOSTED),
            ("ensemble.GradientBoostingRegressor", BOOSTED), ("xgboost.XGBRegressor", {**BOOSTED, "n_jobs": 1}),
        ), 0, NUMBER, exact=False,
    ),
    Family(
        "bagging-numbers-of-lines",
        bagged(
            "BaggingRegressor", ("linear_model.Ridge", {}),
            ("neural_network.MLPRegressor", {"hidden_layer_sizes": (3,)}),
        ), 0, NUMBER, exact=False,
    ),
)  # fmt: skip

# --- pipelines over raw columns ---------------------------------------------------------------------------------------


def number_steps(rng: Rng, smooth: bool, whole: bool) -> list[Any]:
    """What a column of numbers goes through; `smooth`: nothing but arithmetic; roots of `whole` numbers only."""
    fill = str(rng.choice(["mean", "median", "most_frequent", "constant"]))
    first = sklearn("impute.SimpleImputer", strategy=fill, add_indicator=bool(rng.integers(2)))
    scalers = [
        [],
        [sklearn("preprocessing.StandardScaler")],
        [sklearn("preprocessing.RobustScaler")],
        [sklearn("preprocessing.MinMaxScaler")],
        [sklearn("preprocessing.MaxAbsScaler"), sklearn("preprocessing.StandardScaler")],
    ]
    steps = [
        [sklearn("preprocessing.MinMaxScaler", feature_range=(0.1, 0.8), clip=True)],
        [sklearn("preprocessing.KBinsDiscretizer", n_bins=3, encode="onehot-dense", strategy="uniform")],
        [sklearn("preprocessing.KBinsDiscretizer", n_bins=4, encode="ordinal", strategy="uniform")],
        [sklearn("preprocessing.FunctionTransformer", func=np.sqrt), sklearn("preprocessing.StandardScaler")],
    ]
    known = scalers if smooth else steps if whole else steps[:-1]
    then = known[int(rng.integers(len(known)))]
    if any(type(step).__name__ == "KBinsDiscretizer" for step in then):
        first.set_params(add_indicator=False)
    return [first, *then]


def level_steps(rng: Rng) -> list[Any]:
    """What a column of levels goes through."""
    known = [
        [sklearn("preprocessing.OneHotEncoder", handle_unknown="ignore")],
        [sklearn("impute.SimpleImputer", strategy="most_frequent"), sklearn("preprocessing.OneHotEncoder")],
        [sklearn("preprocessing.OneHotEncoder", drop="first")],
        [sklearn("preprocessing.OneHotEncoder", min_frequency=20, handle_unknown="infrequent_if_exist")],
        [
            sklearn("impute.SimpleImputer", strategy="most_frequent"),
            sklearn("preprocessing.OrdinalEncoder", handle_unknown="use_encoded_value", unknown_value=-1),
        ],
    ]
    return known[int(rng.integers(len(known)))]


def piped(*models: tuple[str, dict[str, Any]], smooth: bool = True) -> Make:
    """A whole pipeline: transformers of the columns, then one of some models."""

    def make(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import make_pipeline

        name, options = models[int(rng.integers(len(models)))]
        last = sklearn(name, **options)
        if "random_state" in last.get_params():
            last.set_params(random_state=int(rng.integers(10**6)))
        columns = ColumnTransformer(
            [
                ("age", make_pipeline(*number_steps(rng, smooth, True)), ["age"]),
                ("levels", make_pipeline(*level_steps(rng)), ["region", "grade"]),
                ("income", make_pipeline(*number_steps(rng, smooth or rng.random() < 0.5, False)), ["income"]),
            ]
        )
        return make_pipeline(columns, last).fit(X, y)

    return make


SOME_TREES = (
    ("tree.DecisionTreeClassifier", {"max_depth": 4}),
    ("ensemble.RandomForestClassifier", {"n_estimators": 4, "max_depth": 3}),
    ("ensemble.GradientBoostingClassifier", {"n_estimators": 4, "max_depth": 2}),
    ("ensemble.HistGradientBoostingClassifier", {"max_iter": 4, "max_leaf_nodes": 4, "min_samples_leaf": 3}),
)
NUMBER_TREES = (
    ("tree.DecisionTreeRegressor", {"max_depth": 4}),
    ("ensemble.GradientBoostingRegressor", {"n_estimators": 4, "max_depth": 2}),
)
LINEARS = (
    ("linear_model.LogisticRegression", {}),
    ("linear_model.RidgeClassifier", {}),
    ("svm.LinearSVC", {}),
)
NUMBER_LINEARS = (("linear_model.Ridge", {}), ("linear_model.HuberRegressor", {}))
MLP = (("neural_network.MLPClassifier", {"hidden_layer_sizes": (3,)}),)
NUMBER_MLP = (("neural_network.MLPRegressor", {"hidden_layer_sizes": (3,)}),)
PIPELINES = tuple(
    Family(
        f"pipeline-{'scaled' if smooth else 'steps'}-{name}-{classes}",
        piped(*models, smooth=smooth),
        classes,
        goals,
        ("none", "implies"),
        True,
        exact,
    )
    for name, models, goals, exact in (
        ("trees", SOME_TREES, DECIDE, True),
        ("linear", LINEARS, DECIDE, False),
        ("MLP", MLP, DECIDE, False),
        ("trees", NUMBER_TREES, NUMBER, True),
        ("linear", NUMBER_LINEARS, NUMBER, False),
        ("MLP", NUMBER_MLP, NUMBER, False),
    )
    for classes in ((2, 3) if goals is DECIDE else (0,))
    for smooth in (True, False)
)

# --- ONNX graphs, scorecards ------------------------------------------------------------------------------------------


def graph(make: Make) -> Make:
    """Fits a model and exports it to ONNX."""

    def export(X: Any, y: Any, rng: Rng) -> Any:
        skl2onnx = pytest.importorskip("skl2onnx", reason="an extra that is not installed")
        pytest.importorskip("onnxruntime", reason="an extra that is not installed")
        rows = X.to_numpy().astype(np.float32)
        model = make(X.astype(np.float32), y, rng)
        options = {"zipmap": False} if hasattr(model, "classes_") else None
        return skl2onnx.to_onnx(model, rows[:1], options=options)

    return export


def greater(make: Make) -> Make:
    """The same graph with tests x > t, as CatBoost writes them."""

    def turn(X: Any, y: Any, rng: Rng) -> Any:
        model = make(X, y, rng)
        (trees,) = (node for node in model.graph.node if node.op_type.startswith("TreeEnsemble"))
        given = {one.name: one for one in trees.attribute}
        given["nodes_modes"].strings[:] = [
            b"BRANCH_GT" if mode == b"BRANCH_LEQ" else mode for mode in given["nodes_modes"].strings
        ]
        given["nodes_truenodeids"].name, given["nodes_falsenodeids"].name = "nodes_falsenodeids", "nodes_truenodeids"
        return model

    return turn


def scorecard(X: Any, y: Any, rng: Rng) -> Any:
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    bins = BinningProcess(list(X.columns), min_prebin_size=0.1)
    return Scorecard(bins, LogisticRegression(C=float(rng.uniform(0.1, 10)))).fit(X, y)


GRAPHS = (
    Family("onnx-tree-2", graph(of("tree.DecisionTreeClassifier", max_depth=4)), 2, DECIDE, exact=False),
    Family(
        "onnx-forest-3", graph(of("ensemble.RandomForestClassifier", n_estimators=4, max_depth=3)), 3, DECIDE,
        exact=False,
    ),
    Family(
        "onnx-boosting-2", graph(of("ensemble.GradientBoostingClassifier", n_estimators=4, max_depth=2)), 2,
        DECIDE, exact=False,
    ),
    Family(
        "onnx-greater-2", greater(graph(of("ensemble.GradientBoostingClassifier", n_estimators=4, max_depth=2))), 2,
        DECIDE, exact=False,
    ),
    Family("onnx-logistic-3", graph(scaled("linear_model.LogisticRegression")), 3, DECIDE, exact=False),
    Family("onnx-network-2", graph(scaled("neural_network.MLPClassifier", hidden_layer_sizes=(4,))), 2, DECIDE,
           exact=False),
    Family("onnx-network-3", graph(scaled("neural_network.MLPClassifier", hidden_layer_sizes=(3,))), 3, DECIDE,
           exact=False),
)  # fmt: skip
SCORECARDS = (Family("OptBinning", scorecard, 2, DECIDE, exact=False),)

# --- kinds of goals and of rules, each over models of several kinds ---------------------------------------------------

AVERAGES = one_of(
    of("tree.DecisionTreeClassifier", max_depth=3),
    of("ensemble.RandomForestClassifier", n_estimators=4, max_depth=3),
    of("ensemble.ExtraTreesClassifier", n_estimators=4, max_depth=3),
    of("ensemble.BaggingClassifier", n_estimators=3, max_samples=0.4),
)
SQUASHED = one_of(
    of("ensemble.GradientBoostingClassifier", n_estimators=4, max_depth=2),
    of("ensemble.HistGradientBoostingClassifier", max_iter=4, max_leaf_nodes=4, min_samples_leaf=3),
    of("xgboost.XGBClassifier", n_estimators=4, max_depth=2, n_jobs=1),
    of("lightgbm.LGBMClassifier", **LIGHT),
)
SMOOTH = one_of(of("linear_model.LogisticRegression"), of("neural_network.MLPClassifier", hidden_layer_sizes=(4,)))
ANY_TREES = one_of(AVERAGES, of("ensemble.GradientBoostingClassifier", n_estimators=4, max_depth=2))
PROBABLE = ("probability",)
GOALS = (
    Family("probability-of-averages", AVERAGES, 3, PROBABLE),
    Family("probability-of-boosting", SQUASHED, 2, PROBABLE, exact=False),
    Family("probability-of-networks", SMOOTH, 2, PROBABLE, exact=False),
    Family("margin-of-averages-2", AVERAGES, 2, ("margin",)),
    Family("margin-of-averages-3", AVERAGES, 3, ("margin",)),
    Family("margin-of-boosting", SQUASHED, 2, ("margin",), exact=False),
    Family("margin-of-networks", SMOOTH, 2, ("margin",), exact=False),
    Family(
        "score-margin-of-boosting", of("ensemble.GradientBoostingClassifier", n_estimators=3, max_depth=2), 3,
        ("score",),
    ),
    Family("score-margin-of-linear", of("linear_model.LogisticRegression"), 3, ("score",), exact=False),
    Family("set-of-trees", ANY_TREES, 3, ("set",)),
    Family("set-of-networks", SMOOTH, 3, ("set",), exact=False),
)  # fmt: skip
RULED = tuple(
    Family(f"{kind.replace(' ', '-')}-rule-{name}", make, 2, DECIDE, (kind,), exact=exact)
    for kind in ("linear", "implies", "rises", "follows", "seen", "one change", "changes")
    for name, make, exact in (("trees", ANY_TREES, True), ("networks", SMOOTH, False))
)
EVERY = (*TREES, *LINEAR, *THRESHOLDED, *BAYES, *ONE_VS_REST, *NETWORKS, *MEANS, *PIPELINES, *GRAPHS, *GOALS, *RULED)


def checked(family: Family, numbers: range, oracles: tuple[str, ...] = ("auto", "z3")) -> Counter[str]:
    for library in ("xgboost", "lightgbm"):
        if family.name.lower().startswith(library[:3]) or family.make is SQUASHED:
            pytest.importorskip(library, reason="an extra that is not installed")
    return agree(family, numbers, oracles)


# A search by a solver takes ten times as long as one by a prover: of each family it answers one problem here, and
# fifty in `make exhaustive`; `make fuzz` leaves one question of sixty to it.
@pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)
def test_provers_solver_and_library_agree_on_a_few_problems(family: Family) -> None:
    assert checked(family, range(2), ("auto",)).total() == 2
    assert checked(family, range(1), ("z3",)).total() == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)
def test_provers_solver_and_library_agree_on_50_problems(family: Family) -> None:
    ended = checked(family, range(100, 150))
    print(family.name, dict(ended))
    assert sum(ended.values()) == 100
    # A perceptron's weights are whole on whole columns, so that many of its scores are ties.
    assert sum(count for how, count in ended.items() if "rounding decides" in how) <= 30
    # Bins of a number before a network, and distances and rules that are programs, are answered by the solvers.
    assert sum(count for how, count in ended.items() if how.startswith("auto: optimal, ")) >= 10


CHILD = """
import warnings
warnings.simplefilter("ignore")
from tests.roads import agree
from tests.test_families_agree import SCORECARDS
for family in SCORECARDS:
    print(family.name, dict(agree(family, range({first}, {last}))))
"""


@pytest.mark.parametrize(("first", "last"), [(0, 3), pytest.param(100, 150, marks=pytest.mark.exhaustive)])
def test_scorecards_too(first: int, last: int) -> None:
    # In a process of their own: the library brings a solver that shares none with others.
    if importlib.util.find_spec("optbinning") is None:
        pytest.skip("an extra that is not installed: optbinning")
    code = CHILD.format(first=first, last=last)
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    print(done.stdout)


def test_whole_numbers_that_may_be_missing_are_floats_for_a_pipeline_as_they_were_when_it_was_fitted() -> None:
    # One row has no gap, so that its column came as int64: imputers that fill in a constant refuse that.
    import pandas as pd
    from sklearn.pipeline import make_pipeline

    import mace
    from mace.space.feature import Feature
    from mace.space.space import Space

    X = pd.DataFrame({"age": [1, 2, None, 4, 5, None], "owner": [0, 1, 1, None, 0, 1]})
    space = Space([Feature("age", "integer", 0, 9, missing=True), Feature("owner", "binary", missing=True)])
    fill = sklearn("impute.SimpleImputer", strategy="constant")
    model = make_pipeline(fill, sklearn("tree.DecisionTreeClassifier")).fit(X, [0, 0, 1, 1, 1, 0])
    answer = mace.explain(model, space, {"age": 1, "owner": 0})
    assert answer.status == "optimal"
    assert answer.counterfactuals[0].values["age"] == 4


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_choice_of_two_that_nothing_reads_stays_as_it_is(solver: str) -> None:
    # Neither the model nor the distance mentions `b`, so that the solver did not know it: there was no verdict.
    from sklearn.tree import DecisionTreeClassifier

    import mace
    from mace.space.feature import Feature
    from mace.space.space import Space

    space = Space([Feature("n", "integer", 0, 4), Feature("b", "binary")])
    model = DecisionTreeClassifier().fit([[0, 0], [1, 1], [3, 0], [4, 1]], [0, 0, 1, 1])
    answer = mace.explain(model, space, {"n": 0, "b": 1}, weights={"b": 0}, oracle=solver)
    assert answer.status == "optimal", answer.why
    assert answer.counterfactuals[0].values == {"n": 3, "b": 1}


def test_floats_that_lie_far_apart_are_told_apart_before_networks() -> None:
    # Steps of float32 were taken for a continuum, which left a gap of 1e-8 and blamed rounding for it.
    from sklearn.linear_model import LogisticRegression

    import mace
    from mace.space.feature import Feature
    from mace.space.space import Space

    rng = np.random.default_rng(0)
    X = rng.random((80, 2)).astype(np.float32).astype(np.float64)
    model = LogisticRegression(C=100).fit(X, X @ [1.0, 0.7] > 0.9)
    space = Space([Feature("a", "real", 0.0, 1.0, grid="float32"), Feature("b", "real", 0.0, 1.0, grid="float32")])
    for row in X[:6]:
        answer = mace.explain(model, space, row.tolist(), distance={"l0": 0.5, "l1": 0.5})
        assert answer.status == "optimal", answer.why
        assert answer.exact_distance is not None and answer.exact_distance - answer.exact_lower_bound <= 1e-9
        assert answer.certificate.check().accepted
        (feature,) = answer.counterfactuals[0].changes
        before, after = answer.counterfactuals[0].changes[feature]
        back = dict(answer.counterfactuals[0].values)
        back[feature] = float(np.nextafter(np.float32(after), np.float32(before)))
        assert model.predict([list(back.values())])[0] == answer.decision


def test_a_network_s_nearest_point_is_found_where_every_change_has_a_price_of_its_own() -> None:
    # Points were moved nearer to the start as if such a price were paid bit by bit on the way: half of these stayed
    # `bounded`, with gaps of up to a third, and rounding was blamed.
    from sklearn.linear_model import LogisticRegression

    import mace
    from mace.space.feature import Feature
    from mace.space.space import Space

    space = Space([Feature(f"x{j}", "real", 0.0, 1.0) for j in range(3)])
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.random((80, 3))
        score = X @ rng.normal(size=3) + rng.normal(size=80) * 0.1
        model = LogisticRegression(C=10).fit(X, np.digitize(score, np.quantile(score, [0.33, 0.66])))
        answer = mace.explain(model, space, X[0].tolist(), distance={"l0": "1/3", "l1": "1/3", "linf": "1/3"})
        assert answer.status == "optimal", (seed, answer.distance, answer.lower_bound)
        assert answer.certificate.check().accepted
