"""Read scikit-learn's calibrated classifiers: the calibration is monotone, so it moves the goal and not the model.

In:  CalibratedClassifierCV for two classes with one calibrated model (`ensemble=False`, or a prefitted one), by
     "sigmoid" or "isotonic", over trees, forests, bagging or boosting.
Out: the table of that model with `decisions`: class 1 where its score reaches the place at which the library's own
     calibrator turns, found by bisection over the floats; `error` allows for the calibrator's last bits.
Promise: several calibrated models are averaged, which is not monotone in one score: a ModelError.
How the library decides (sklearn/calibration.py, checked in 1.7 to 1.9): p1 = calibrator(decision_function, or
predict_proba where there is none), p0 = 1 - p1, class 1 where p1 > p0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.read_sklearn import fitted, labels_of, name_of
from mace.compilers.read_sklearn_ensembles import first_holding
from mace.errors import ModelError
from mace.tables import Compare, Decision, Ensemble, Link, Table

_UNIT = 2.0**-53
_BOOSTED = ("GradientBoostingClassifier", "HistGradientBoostingClassifier")
_FRACTIONS = (
    "DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier",
    "BaggingClassifier",
)  # fmt: skip


def read_calibrated(read: Callable[[object], Table], model: Any) -> Ensemble:
    """The table of CalibratedClassifierCV; `read` reads the model inside."""
    inside, classes = fitted(model, "calibrated_classifiers_"), labels_of(model)
    if len(inside) != 1 or len(classes) != 2:
        raise ModelError(
            f"{name_of(model)} averages {len(inside)} calibrated models for {len(classes)} classes; "
            "supported are one model and two classes",
            hint="Fit it with ensemble=False.",
        )
    estimator, calibrators = inside[0].estimator, inside[0].calibrators
    if type(estimator).__name__ == "FrozenEstimator":
        estimator = estimator.estimator
    if inside[0].method not in ("sigmoid", "isotonic") or len(calibrators) != 1:
        raise ModelError(f"{name_of(model)} calibrates by {inside[0].method!r}; supported are 'sigmoid' and 'isotonic'")
    table = read(estimator)
    kind = type(estimator).__name__
    if not isinstance(table, Ensemble) or kind not in (*_BOOSTED, *_FRACTIONS):
        raise ModelError(
            f"{name_of(model)} over a {name_of(estimator)} is not supported",
            hint="Supported are trees, forests, bagging and gradient boosting of scikit-learn.",
        )
    score = 0 if kind in _BOOSTED else 1
    if tuple(table.classes) != classes:
        raise ModelError(f"{name_of(model)} is damaged: it and its {name_of(estimator)} know other classes")
    turn, rising, error = _turn(calibrators[0], 0.0 if score else -1e9, 1.0 if score else 1e9)
    one: Decision = ((Compare(score, None, turn) if rising else Compare(None, score, -turn),),)
    none: Decision = (
        (Compare(None, score, -turn, strict=True) if rising else Compare(score, None, turn, strict=True),),
    )
    name, link = f"{name_of(model)} of {table.name}", _link(calibrators[0], score)
    return replace(table, rule="value", decisions=(none, one), error=error * table.divide, name=name, link=link)


def _turn(calibrator: Any, low: float, high: float) -> tuple[float, bool, float]:
    """The least (falling: the largest) score of class 1, whether p1 rises with it, and the doubt about the place."""

    def one(score: float) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = float(np.asarray(calibrator.predict(np.array([score])))[0])
        return p > 1.0 - p

    if one(low) == one(high):
        raise ModelError("the calibration gives every score the same class: no input has another decision")
    rising = one(high)
    turn = first_holding(one if rising else lambda score: not one(score), low, high)
    return turn, rising, _doubt(calibrator, turn)


def _link(calibrator: Any, score: int) -> Link | None:
    """The calibrator as a function of the score; None where it computes in float32."""
    if hasattr(calibrator, "a_"):
        return Link("logistic", -float(calibrator.a_), -float(calibrator.b_), score)
    if calibrator.X_thresholds_.dtype != np.float64:
        return None
    ends = zip(calibrator.X_thresholds_.tolist(), calibrator.y_thresholds_.tolist(), strict=True)
    return Link("steps", score=score, knots=tuple(ends))


def _doubt(calibrator: Any, turn: float) -> float:
    """How far from the place of the turn the last bits of p may still decide otherwise."""
    if hasattr(calibrator, "a_"):
        a, b = abs(float(calibrator.a_)), abs(float(calibrator.b_))
        return 32 * _UNIT * ((a * abs(turn) + b + 1.0) / a)
    x, y = (np.asarray(array, dtype=np.float64) for array in (calibrator.X_thresholds_, calibrator.y_thresholds_))
    after = int(np.searchsorted(x, turn))
    slopes = [
        (y[k] - y[k - 1]) / (x[k] - x[k - 1])
        for k in (after - 1, after, after + 1)
        if 0 < k < len(x) and y[k] > y[k - 1]
    ]
    unit = _UNIT if calibrator.X_thresholds_.dtype == np.float64 else 2.0**-24
    return 32 * unit * (abs(turn) + 1.0 / min(slopes, default=1.0))
