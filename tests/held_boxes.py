"""Families of models that have no table and are bounded over boxes, and what holds their bounds to their libraries.

Of each row a library's word must be possible by the bounds of the box of that row alone, and of boxes by chance the
library's words at points in them must be possible by the bounds of the whole box.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mace.compilers import deployed
from mace.compilers.enclosures.enclosed import Enclosed, numbers, possible, probabilities
from mace.compilers.enclosures.ranges import Range
from mace.compilers.enclosures.reader import enclose
from mace.explain.explainers import explainer_of
from mace.explain.unread.explainer import Unread
from mace.space.feature import Feature
from mace.space.space import Space
from tests.roads import Family, Rng
from tests.test_families_agree import DECIDE, NUMBER, Make, of, scaled, sklearn

LOGISTIC = ("linear_model.LogisticRegression", {})
FOREST = ("ensemble.RandomForestClassifier", {"n_estimators": 3, "max_depth": 3})
BOOSTING = ("ensemble.GradientBoostingClassifier", {"n_estimators": 3, "max_depth": 2})


def piped(*steps: tuple[str, dict[str, Any]]) -> Make:
    """A pipeline of all of these."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.pipeline import make_pipeline

        made = [sklearn(name, **options) for name, options in steps]
        for one in made:
            if "random_state" in one.get_params():
                one.set_params(random_state=int(rng.integers(10**6)))
        return make_pipeline(*made).fit(X.to_numpy(), y)

    return fit


def joined(wrapper: str, *members: tuple[str, dict[str, Any]], **options: Any) -> Make:
    """A wrapper over several members, the first behind a scaler."""

    def fit(X: Any, y: Any, rng: Rng) -> Any:
        from sklearn.pipeline import make_pipeline

        made = [sklearn(name, **some) for name, some in members]
        made[0] = make_pipeline(sklearn("preprocessing.StandardScaler"), made[0])
        named = [(f"m{k}", one) for k, one in enumerate(made)]
        return sklearn(wrapper, estimators=named, **options).fit(X.to_numpy(), y)

    return fit


def over(wrapper: str, member: tuple[str, dict[str, Any]], **options: Any) -> Make:
    return lambda X, y, rng: sklearn(wrapper, estimator=sklearn(member[0], **member[1]), **options).fit(X.to_numpy(), y)


PRODUCTS = ("preprocessing.PolynomialFeatures", {"degree": 2})
SCALER: tuple[str, dict[str, Any]] = ("preprocessing.StandardScaler", {})
LIKELY = (*DECIDE, "probability")
MANY = (*DECIDE, "likely")


# A pipeline is given the features themselves: these are numbers.
NUMBERS = (
    Feature("n", "integer", 0, 5),
    Feature("x", "real", 0, 2, step="0.25"),
    Feature("t", "real", -1, 1, step="0.1"),
    Feature("d", "integer", 0, 4),
)


def boxed(name: str, make: Make, classes: int, goals: Sequence[str]) -> Family:
    return Family(f"boxes-{name}", make, classes, tuple(goals), exact=False, boxed=True, features=NUMBERS)


BOXES = (
    boxed("tanh-2", scaled("neural_network.MLPClassifier", hidden_layer_sizes=(4,), activation="tanh"), 2, LIKELY),
    boxed("logistic", scaled("neural_network.MLPClassifier", hidden_layer_sizes=(4,), activation="logistic"), 3, MANY),
    boxed("tanh-number", scaled("neural_network.MLPRegressor", hidden_layer_sizes=(4,), activation="tanh"), 0, NUMBER),
    boxed("SVC-rbf-2", scaled("svm.SVC"), 2, DECIDE),
    boxed("SVC-rbf-4", scaled("svm.SVC", C=10.0), 4, DECIDE),
    boxed("SVC-poly", scaled("svm.SVC", kernel="poly", degree=3, coef0=1.0), 3, DECIDE),
    boxed("SVC-sigmoid", scaled("svm.SVC", kernel="sigmoid"), 2, DECIDE),
    boxed("NuSVC-rbf", scaled("svm.NuSVC", nu=0.3), 2, DECIDE),
    boxed("SVR-rbf", scaled("svm.SVR"), 0, NUMBER),
    boxed("GaussianNB", of("naive_bayes.GaussianNB"), 3, MANY),
    boxed("QDA", of("discriminant_analysis.QuadraticDiscriminantAnalysis", reg_param=0.1), 3, MANY),
    boxed("centroids", scaled("neighbors.NearestCentroid", shrink_threshold=0.1), 3, MANY),
    boxed("centroids-priors", of("neighbors.NearestCentroid", priors="empirical"), 2, LIKELY),
    boxed("neighbours", scaled("neighbors.KNeighborsClassifier", n_neighbors=5), 3, MANY),
    boxed("neighbours-l1", scaled("neighbors.KNeighborsClassifier", n_neighbors=4, p=1), 2, DECIDE),
    boxed("neighbours-number", scaled("neighbors.KNeighborsRegressor", n_neighbors=3), 0, NUMBER),
    boxed("products-logistic", piped(PRODUCTS, SCALER, LOGISTIC), 2, LIKELY),
    boxed("products-forest", piped(PRODUCTS, FOREST), 2, DECIDE),
    boxed("splines-1", piped(("preprocessing.SplineTransformer", {"degree": 1, "n_knots": 4}), LOGISTIC), 2, LIKELY),
    boxed("splines", piped(("preprocessing.SplineTransformer", {"n_knots": 4}), ("linear_model.Ridge", {})), 0, NUMBER),
    boxed("PCA-forest", piped(SCALER, ("decomposition.PCA", {"n_components": 3}), FOREST), 3, DECIDE),
    boxed("PCA-whiten", piped(SCALER, ("decomposition.PCA", {"n_components": 3, "whiten": True}), LOGISTIC), 2, LIKELY),
    boxed("hard-votes-2", joined("ensemble.VotingClassifier", LOGISTIC, FOREST, BOOSTING, LOGISTIC), 2, DECIDE),
    boxed(
        "hard-votes-3", joined("ensemble.VotingClassifier", LOGISTIC, FOREST, BOOSTING, weights=[2, 1, 1]), 3, DECIDE
    ),
    boxed("votes", joined("ensemble.VotingClassifier", LOGISTIC, FOREST, BOOSTING, voting="soft"), 2, LIKELY),
    boxed("stacking", joined("ensemble.StackingClassifier", LOGISTIC, FOREST, BOOSTING, cv=2), 2, LIKELY),
    boxed(
        "stacking-columns",
        joined("ensemble.StackingRegressor", ("linear_model.Ridge", {}), ("svm.SVR", {}), cv=2, passthrough=True), 0,
        NUMBER,
    ),
    boxed("one-vs-rest", over("multiclass.OneVsRestClassifier", ("svm.SVC", {})), 3, DECIDE),
    boxed("one-vs-rest-forest", over("multiclass.OneVsRestClassifier", FOREST), 3, DECIDE),
    *(
        boxed(
            f"calibrated-{method}", over("calibration.CalibratedClassifierCV", member, method=method, cv=2), 3, MANY
        )
        for method, member in (("sigmoid", BOOSTING), ("isotonic", FOREST))
    ),
    boxed("bagging", over("ensemble.BaggingClassifier", LOGISTIC, n_estimators=3, random_state=0), 3, MANY),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Boxed:
    """A model without a table.

    bounds: what bounds it.    columns: what it is given.
    """

    space: Space
    model: Enclosed
    deployed: Any
    columns: Sequence[Any]

    def frame(self, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
        """Rows as the library is given them."""
        return pd.DataFrame(list(rows), dtype=np.float64)[list(self.space.names)]

    def matrix(self, rows: Sequence[dict[str, Any]]) -> NDArray[np.float64]:
        """The columns of rows."""
        return self.columns_of(self.frame(rows).to_numpy())

    def columns_of(self, given: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns of raw numbers, shape (rows, features)."""
        return np.column_stack([column.of_many(given[:, column.feature]) for column in self.columns])


def boxed_model(family: Family, space: Space, given: Sequence[dict[str, Any]], y: Any, rng: Rng) -> Boxed:
    """The family's model, fitted to rows of a space of numbers."""
    model = family.make(pd.DataFrame(list(given), dtype=np.float64), y, rng)
    explainer = explainer_of(model, space)
    assert isinstance(explainer, Unread)
    found = enclose(model, space, raw=explainer.box.given == "frame")
    return Boxed(space, found.model, deployed(model), found.columns)


def misses(model: Enclosed, low: Any, high: Any, said: NDArray[Any], probable: Any = None) -> NDArray[np.bool_]:
    """The boxes whose bounds exclude what the library says of a row in them; shape (boxes,)."""
    columns = Range(low, high)
    if not model.classes:
        least, most = numbers(model, columns)
        return np.asarray((said < least[:, 0]) | (said > most[:, 0]))
    places = [model.classes.index(label) for label in said.tolist()]
    wrong = ~possible(model, columns)[np.arange(len(said)), places]
    if probable is not None and model.probable is not None:
        least, most = probabilities(model, columns)
        wrong |= ((probable < least) | (probable > most)).any(axis=1)
    return np.asarray(wrong)


def doubts(model: Enclosed, low: Any) -> int:
    """Rows of whose class the bounds of the row alone are in doubt."""
    return int((possible(model, Range(low, low)).sum(axis=1) > 1).sum()) if model.classes else 0


def some_boxes(matrix: NDArray[np.float64], rng: Rng, count: int) -> tuple[Any, Any, Callable[[], Any]]:
    """Boxes by chance between rows, of all sizes, and points in each of them."""
    one, other = (matrix[rng.integers(0, len(matrix), count)] for _ in range(2))
    other = one + (other - one) * rng.choice([1.0, 0.1, 1e-3, 1e-9], (count, 1))
    low, high = np.minimum(one, other), np.maximum(one, other)

    def point() -> Any:
        return np.clip(low + (high - low) * rng.choice([0.0, 1.0, rng.random()], low.shape), low, high)

    return low, high, point


def in_boxes(boxed: Boxed, raw: NDArray[np.float64], seed: int = 0, count: int = 300) -> int:
    """How often the library says of a point in a box what the bounds of the box exclude."""
    rng = np.random.default_rng(seed)
    low, high, point = some_boxes(raw, rng, count)
    ends = boxed.columns_of(low), boxed.columns_of(high)  # of monotone functions
    wrong, names = 0, boxed.deployed.names
    for _ in range(5):
        at = point()
        frame = pd.DataFrame(at, columns=None if names is None else pd.Index(names))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = np.asarray(boxed.deployed.predict(frame))
            own = boxed.deployed.probabilities
            probable = np.asarray(own(frame)) if own is not None and boxed.model.probable is not None else None
        wrong += int(misses(boxed.model, np.minimum(*ends), np.maximum(*ends), said, probable).sum())
    return wrong
