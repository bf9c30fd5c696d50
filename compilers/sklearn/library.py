"""All that is known of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mace.base.classes import module_of
from mace.compilers.deployed import Deployed, Given, Rows, as_estimator
from mace.compilers.library import Categories, FileType, Library, Opening, Reader, is_a
from mace.compilers.sklearn import calibrated, thresholded, transformed
from mace.compilers.sklearn.boosting import read_boosting, read_hist_boosting
from mace.compilers.sklearn.categories import step_of, takes_raw, types_of
from mace.compilers.sklearn.common import fitted
from mace.compilers.sklearn.ensembles import read_adaboost, read_isolation
from mace.compilers.sklearn.linear import (
    REGRESSORS,
    SEVERAL_OUTPUTS,
    read_exponential,
    read_line,
    read_linear,
    read_one_class,
)
from mace.compilers.sklearn.mlp import read_mlp
from mace.compilers.sklearn.naive_bayes import read_bernoulli, read_complement, read_multinomial
from mace.compilers.sklearn.one_vs_rest import read_one_vs_rest
from mace.compilers.sklearn.outputs import read_sum
from mace.compilers.sklearn.stacking import read_stacking, read_votes
from mace.compilers.sklearn.svm import read_svm
from mace.compilers.sklearn.trees import read_forest, read_tree
from mace.compilers.sklearn.votes import bagged, read_bagged, read_soft, voters


def _open_skops(path: Path, opening: Opening) -> object:
    from mace.compilers.sklearn.skops_model import open_skops  # late: most models come in other files

    return open_skops(path, opening)


def _small(frame: Any, labels: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(3, max_depth=2, random_state=0).fit(frame, labels)


def _passing_on(attribute: str) -> Reader:
    """The reader of a class that only hands its rows to a model that it holds."""
    return Reader(
        lambda _, __, table: table,
        "as the model inside",
        inside=lambda model: fitted(model, attribute),
        passes_on=True,
    )


_BOXES = "`mace.explain` bounds it over boxes, without a certificate."
_QUADRATIC = f"Its scores are quadratic. {_BOXES} LinearDiscriminantAnalysis has linear ones."
_NEIGHBOURS = f"Its votes depend on distances to all stored rows. {_BOXES} Or fit an ensemble of trees to them."
_KERNELS = "Its scores are sums of kernels over stored rows: use a linear model, or trees."
_CERTAIN = "probabilities of 0 and 1 (`alpha=0`)"
_LABELS = "several labels a row"
_MEMBERS = "members other than trees"
_STACKED = "members with sigmoids, networks, pipelines; trees and linear models together"
_FINAL = f"final estimators that are not linear; `passthrough`; {_STACKED}"
_EXPONENTIAL = Reader(read_exponential, "margin")
_LINEAR = Reader(read_linear, "margin")
_RIDGE = Reader(read_linear, "margin", _LABELS)
_LINEAR_CLASSES = {
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": _LINEAR,
    "sklearn.linear_model.LogisticRegression": _LINEAR,
    "sklearn.linear_model.LogisticRegressionCV": _LINEAR,
    "sklearn.linear_model.RidgeClassifier": _RIDGE,
    "sklearn.linear_model.RidgeClassifierCV": _RIDGE,
    "sklearn.linear_model.SGDClassifier": _LINEAR,
    "sklearn.linear_model.Perceptron": _LINEAR,
    "sklearn.svm.LinearSVC": _LINEAR,
}
_MACHINE = Reader(read_svm, "margin", "kernels that are not linear; four classes and more; sparse rows")
_TREE = Reader(read_tree, "exact", SEVERAL_OUTPUTS)
_FOREST = Reader(read_forest, "exact", SEVERAL_OUTPUTS)
_BOOSTING = Reader(read_boosting, "exact", "an `init` that is a model")
_HISTOGRAMS = Reader(read_hist_boosting, "exact; margin for logarithmic links")
_MEANS = (
    "more than two classes, but for means of trees and forests; members whose probability is no known function of one "
    "score; several members that number categories by themselves"
)
_BAGGING = "exact over trees, else margin"
_CHOSEN = "members that are pipelines and are given some of the columns"
_MLP = Reader(read_mlp, "margin", f"hidden layers that are neither relu nor identity; {_LABELS}")
_THRESHOLD = Reader(
    thresholded.read_threshold,
    "as the model inside; margin where a libm has a say",
    "scores that are neither linear nor of gradient boosting; probabilities that are means, of AdaBoost, naive Bayes, "
    "of calibrations by temperature",
    inside=thresholded.inside,
)
_TRANSFORMED = Reader(
    transformed.read_transformed,
    "as the model inside; margin",
    "transformers that are neither a StandardScaler nor a logarithm",
    inside=transformed.inside,
)


def _deployed(model: Any, given: Given) -> Deployed:
    """A model as it is asked by its users; of a forest, or of calibrated ones, under one filter of warnings.

    A forest hands each tree to joblib, and for each compiles all filters of the process anew: half of its time for a
    few rows. Of trees alone no warning is to be expected.
    """
    found = as_estimator(model, given)
    if not all(module_of(type(one)) == "sklearn.ensemble._forest" for one in _asked_inside(model)):
        return found
    return replace(
        found, predict=_alone(found.predict), probabilities=found.probabilities and _alone(found.probabilities)
    )


def _asked_inside(model: Any) -> list[Any]:
    """The models whose trees are asked, where a model is one of them or averages calibrated ones; else itself."""
    if not is_a(model, "sklearn.calibration.CalibratedClassifierCV"):
        return [model]
    return [one.estimator for one in fitted(model, "calibrated_classifiers_")]


def _alone(ask: Callable[[Any], Rows]) -> Callable[[Any], Rows]:
    """A question to a model, under the one filter that ignores all warnings."""

    def asked(frame: Any) -> Rows:
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.simplefilter("ignore")
            return ask(frame)

    return asked


LIBRARY = Library(
    name="scikit-learn",
    package="sklearn",
    distributions={"scikit-learn": ("scikit-learn",)},
    deployed=_deployed,
    readers={
        "sklearn.tree.DecisionTreeClassifier": _TREE,
        "sklearn.tree.DecisionTreeRegressor": _TREE,
        "sklearn.tree.ExtraTreeClassifier": _TREE,
        "sklearn.tree.ExtraTreeRegressor": _TREE,
        "sklearn.ensemble.RandomForestClassifier": _FOREST,
        "sklearn.ensemble.RandomForestRegressor": _FOREST,
        "sklearn.ensemble.ExtraTreesClassifier": _FOREST,
        "sklearn.ensemble.ExtraTreesRegressor": _FOREST,
        "sklearn.ensemble.GradientBoostingClassifier": _BOOSTING,
        "sklearn.ensemble.GradientBoostingRegressor": _BOOSTING,
        "sklearn.ensemble.HistGradientBoostingClassifier": _HISTOGRAMS,
        "sklearn.ensemble.HistGradientBoostingRegressor": _HISTOGRAMS,
        "sklearn.ensemble.AdaBoostClassifier": Reader(read_adaboost, "exact for two classes, else margin", _MEMBERS),
        "sklearn.ensemble.BaggingClassifier": Reader(read_bagged, _BAGGING, f"{_MEANS}; {_CHOSEN}", members=bagged),
        "sklearn.ensemble.BaggingRegressor": Reader(
            read_bagged, _BAGGING, f"members that predict an exponential; {_CHOSEN}", members=bagged
        ),
        "sklearn.ensemble.VotingClassifier": Reader(
            read_soft,
            "exact for hard votes, else margin",
            f"hard votes of other models than trees; {_MEANS}; trees and linear models together",
            members=voters,
        ),
        "sklearn.ensemble.VotingRegressor": Reader(read_votes, "margin", _STACKED),
        "sklearn.ensemble.StackingClassifier": Reader(read_stacking, "margin", _FINAL),
        "sklearn.ensemble.StackingRegressor": Reader(read_stacking, "margin", _FINAL),
        "sklearn.ensemble.IsolationForest": Reader(read_isolation, "margin"),
        "sklearn.calibration.CalibratedClassifierCV": Reader(
            calibrated.read_calibrated,
            "as the model inside; margin where a libm has a say",
            "more than two classes, but for several single trees; several members that number categories by themselves",
            inside=calibrated.inside,
            members=calibrated.members,
        ),
        "sklearn.frozen.FrozenEstimator": _passing_on("estimator"),
        "sklearn.model_selection.GridSearchCV": _passing_on("best_estimator_"),
        "sklearn.model_selection.RandomizedSearchCV": _passing_on("best_estimator_"),
        "sklearn.model_selection.HalvingGridSearchCV": _passing_on("best_estimator_"),
        "sklearn.model_selection.HalvingRandomSearchCV": _passing_on("best_estimator_"),
        "sklearn.model_selection.FixedThresholdClassifier": _THRESHOLD,
        "sklearn.model_selection.TunedThresholdClassifierCV": _THRESHOLD,
        "sklearn.multiclass.OneVsRestClassifier": Reader(
            lambda model: read_one_vs_rest(model, _LINEAR_CLASSES), "margin", f"members that are not linear; {_LABELS}"
        ),
        "sklearn.naive_bayes.MultinomialNB": Reader(read_multinomial, "margin", _CERTAIN),
        "sklearn.naive_bayes.ComplementNB": Reader(read_complement, "margin", _CERTAIN),
        "sklearn.naive_bayes.BernoulliNB": Reader(read_bernoulli, "margin", _CERTAIN),
        **_LINEAR_CLASSES,
        **{f"sklearn.{name}": Reader(read_line, "margin", refused) for name, refused in REGRESSORS.items()},
        "sklearn.linear_model.RANSACRegressor": _passing_on("estimator_"),
        "sklearn.linear_model.SGDOneClassSVM": Reader(read_one_class, "margin"),
        "sklearn.linear_model.PoissonRegressor": _EXPONENTIAL,
        "sklearn.linear_model.GammaRegressor": _EXPONENTIAL,
        "sklearn.linear_model.TweedieRegressor": _EXPONENTIAL,
        "sklearn.svm.SVC": _MACHINE,
        "sklearn.svm.NuSVC": _MACHINE,
        "sklearn.svm.SVR": _MACHINE,
        "sklearn.svm.NuSVR": _MACHINE,
        "sklearn.compose.TransformedTargetRegressor": _TRANSFORMED,
        "mace.compilers.sklearn.outputs.OneOutput": _passing_on("asked"),
        "mace.compilers.sklearn.outputs.SumOfOutputs": Reader(read_sum, "margin", "regressors that are not linear"),
        "sklearn.neural_network.MLPClassifier": _MLP,
        "sklearn.neural_network.MLPRegressor": _MLP,
    },
    unread={
        "sklearn.naive_bayes.GaussianNB": _QUADRATIC,
        "sklearn.naive_bayes.CategoricalNB": "Encode its columns by OneHotEncoder, before a MultinomialNB.",
        "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": _QUADRATIC,
        "sklearn.neighbors.KNeighborsClassifier": _NEIGHBOURS,
        "sklearn.neighbors.KNeighborsRegressor": _NEIGHBOURS,
        "sklearn.neighbors.NearestCentroid": f"It compares distances. {_BOXES} LinearDiscriminantAnalysis has scores.",
        "sklearn.gaussian_process.GaussianProcessClassifier": _KERNELS,
        "sklearn.gaussian_process.GaussianProcessRegressor": _KERNELS,
        "sklearn.multiclass.OneVsOneClassifier": "OneVsRestClassifier over linear models has one score a class.",
        "sklearn.multiclass.OutputCodeClassifier": "OneVsRestClassifier over linear models has one score a class.",
        "sklearn.multioutput.ClassifierChain": "Fit one model for each output.",
        "sklearn.multioutput.RegressorChain": "Fit one model for each output.",
        "sklearn.multioutput.MultiOutputClassifier": "Explain one of its outputs: mace.OneOutput(model, 0).",
        "sklearn.multioutput.MultiOutputRegressor": "Explain one of its outputs: mace.OneOutput(model, 0).",
    },
    files=(FileType((".skops",), _open_skops),),
    categories=Categories(step_of, takes_raw, types_of),
    small=_small,
)
