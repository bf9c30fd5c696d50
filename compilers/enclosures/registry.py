"""Which models are bounded over boxes, and how: everything else that holds one asks here.

In:  a fitted model that no table can hold, or one that may.
Out: `enclosed`, the model as functions of the columns that it is given; `ENCLOSED`, the classes that have their own.
Promise: a model whose class is not listed and that no reader takes is an UnreadableError; a class of the user's own is
never taken for the one that it is made from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mace.compilers.enclosures import calibrated, kernels, members, neighbours, smooth
from mace.compilers.enclosures.bounds import Bounds
from mace.compilers.enclosures.enclosed import Enclosed, Function, of_table
from mace.compilers.enclosures.steps import keeps_apart, step_function
from mace.compilers.library import is_a
from mace.compilers.pipeline.steps import is_pipeline
from mace.compilers.reading import read_coded, refuse_other_decision
from mace.compilers.registry import registered
from mace.compilers.sklearn.common import DAMAGE, name_of
from mace.errors import UnreadableError
from mace.tables.table import Formula

# Public class path -> how it is bounded, and what of it is.
ENCLOSED: dict[str, tuple[Callable[[Any], Enclosed], str]] = {
    "sklearn.neural_network.MLPClassifier": (smooth.perceptron, "tanh and logistic layers"),
    "sklearn.neural_network.MLPRegressor": (smooth.perceptron, "tanh and logistic layers"),
    "sklearn.naive_bayes.GaussianNB": (smooth.gaussians, "classes and probabilities"),
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": (smooth.quadratic, "classes and probabilities"),
    "sklearn.svm.SVC": (kernels.machine, "kernels rbf, poly, sigmoid; up to four classes"),
    "sklearn.svm.NuSVC": (kernels.machine, "kernels rbf, poly, sigmoid; up to four classes"),
    "sklearn.svm.SVR": (kernels.machine, "kernels rbf, poly, sigmoid"),
    "sklearn.svm.NuSVR": (kernels.machine, "kernels rbf, poly, sigmoid"),
    "sklearn.neighbors.NearestCentroid": (smooth.centroids, "Euclidean distances"),
    "sklearn.neighbors.KNeighborsClassifier": (neighbours.neighbours, "uniform weights; Minkowski with p of 1 or 2"),
    "sklearn.neighbors.KNeighborsRegressor": (neighbours.neighbours, "uniform weights; Minkowski with p of 1 or 2"),
    "sklearn.ensemble.VotingClassifier": (
        lambda model: members.voting(model, enclosed), "soft and hard votes of any of these",
    ),
    "sklearn.ensemble.BaggingClassifier": (lambda model: members.bagging(model, enclosed), "members of any of these"),
    "sklearn.ensemble.BaggingRegressor": (lambda model: members.bagging(model, enclosed), "members of any of these"),
    "sklearn.ensemble.StackingClassifier": (
        lambda model: members.stacking(model, enclosed), "members and final estimators of any of these, `passthrough`",
    ),
    "sklearn.ensemble.StackingRegressor": (
        lambda model: members.stacking(model, enclosed), "members and final estimators of any of these, `passthrough`",
    ),
    "sklearn.calibration.CalibratedClassifierCV": (
        lambda model: calibrated.calibrated(model, enclosed), "several classes, members of any of these",
    ),
    "sklearn.multiclass.OneVsRestClassifier": (
        lambda model: members.one_vs_rest(model, enclosed), "members of any of these",
    ),
}  # fmt: skip

# Classes whose tables have the library's own `decision_function` for scores; those of others may have another scale.
SCORED = (
    *(f"sklearn.linear_model.{name}" for name in (
        "LogisticRegression", "LogisticRegressionCV", "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier",
        "Perceptron",
    )),
    "sklearn.svm.LinearSVC", "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
    "sklearn.ensemble.GradientBoostingClassifier", "sklearn.ensemble.HistGradientBoostingClassifier",
)  # fmt: skip


def enclosed(model: Any) -> Enclosed:
    """A model over the columns that it is given; raises UnreadableError where it has no bounds, and what readers do."""
    if is_pipeline(model):
        return behind([step for _, step in model.steps[:-1]], enclosed(model.steps[-1][1]))
    found = registered(model)
    if found is not None and found.reader.passes_on and found.reader.inside is not None:
        return enclosed(found.reader.inside(model))
    for path, (read, _) in ENCLOSED.items():
        if is_a(model, path):
            refuse_other_decision(model, type(model))
            try:
                return read(model)
            except DAMAGE as error:
                raise UnreadableError(f"this {name_of(model)} cannot be bounded ({error})") from error
    table = read_coded(model)
    if isinstance(table, Formula):
        raise UnreadableError(f"{table.name} is a program")
    found_table = of_table(table)
    return found_table if any(is_a(model, path) for path in SCORED) else replace(found_table, scoring=None)


def _made_by(step: Any) -> int:
    """How many columns a step makes, where that is many."""
    return int(getattr(step, "n_features_out_", 0) or getattr(step, "n_output_features_", 0))


def behind(steps: Sequence[Any], model: Enclosed) -> Enclosed:
    """A model with steps before it, which are given the columns."""
    functions = [step_function(step) for step in steps if step is not None and not isinstance(step, str)]
    if not functions:
        return model

    def through(function: Function | None) -> Function | None:
        if function is None:
            return None

        def found(x: Bounds) -> Bounds:
            for one in functions:
                x = one(x)
            return function(x)

        return found

    scores = through(model.scores)
    assert scores is not None
    first = next(step for step in steps if step is not None and not isinstance(step, str))
    return Enclosed(
        model.name, int(first.n_features_in_), model.classes, scores, model.decisions, through(model.probable),
        through(model.scoring), max(model.width, 2 * int(first.n_features_in_), *map(_made_by, steps)),
        model.additive and all(keeps_apart(step) for step in steps if step is not None and not isinstance(step, str)),
    )  # fmt: skip
