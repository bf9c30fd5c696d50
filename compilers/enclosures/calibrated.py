"""Bound CalibratedClassifierCV of any number of classes, over any members: each class is calibrated by itself.

In:  a fitted CalibratedClassifierCV with method="sigmoid" or "isotonic", and how its members are bounded.
Out: `Enclosed`, whose scores are the probabilities.
Promise: a member that was fitted without one of the classes is an UnreadableError.
How the library decides (sklearn/calibration.py, checked in 1.9): a member's scores (its `decision_function`, or else
its probabilities) go through one curve a class, are divided by their sum, of two classes the first being what is left
of 1, and averaged over the members; the first of the largest is the class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.enclosures.bounds import Bounds, joined
from mace.compilers.enclosures.enclosed import Enclosed, Function, largest, second
from mace.compilers.enclosures.functions import logistic, reciprocal
from mace.compilers.enclosures.members import Reading, probable_of, score_of, weighted, width_of
from mace.compilers.enclosures.ranges import Floats, Range
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import UnreadableError


def calibrated(model: Any, read: Reading) -> Enclosed:
    """The mean of calibrated members."""
    classes, columns = labels_of(model), columns_of(model)
    inside = list(fitted(model, "calibrated_classifiers_"))
    members = [read(one.estimator) for one in inside]
    if any(member.classes != classes for member in members):
        raise UnreadableError(f"{name_of(model)}: a member was fitted without one of the classes")
    parts = [_member(model, one, member) for one, member in zip(inside, members, strict=True)]
    probable = weighted(parts, [list(range(columns))] * len(parts), np.full(len(parts), 1.0 / len(parts)))
    name = f"{name_of(model)} of {len(parts)} {members[0].name}"
    return Enclosed(name, columns, classes, probable, largest(len(classes)), probable, width=width_of(members))


def _member(model: Any, one: Any, member: Enclosed) -> Function:
    """The probabilities of one calibrated member."""
    count = len(member.classes)
    curves = [_curve(model, one.method, calibrator) for calibrator in one.calibrators]
    if len(curves) != (1 if count == 2 else count):
        raise UnreadableError(f"{name_of(model)} has {len(curves)} curves for {count} classes")
    by_score = hasattr(one.estimator, "decision_function")
    given = score_of(member) if by_score else probable_of(member)
    if not by_score and count == 2:
        both = given
        given = lambda x: both(x).picked([1])  # noqa: E731

    def probabilities(x: Bounds) -> Bounds:
        scores = given(x)
        made = joined([curve(scores.picked([k])) for k, curve in enumerate(curves)])
        if count == 2:
            return second(made)
        share = reciprocal(made.affine(np.ones((count, 1)), np.zeros(1)))
        return joined([made.picked([k]).times(share) for k in range(count)])

    return probabilities


def _curve(model: Any, method: str, calibrator: Any) -> Function:
    """What a score becomes."""
    if method == "sigmoid":
        slope, shift = (-float(numbers(model, name, getattr(calibrator, name, None), ())) for name in ("a_", "b_"))
        return lambda x: logistic(x.affine(np.array([[slope]]), np.array([shift])))
    if method != "isotonic" or calibrator.out_of_bounds != "clip":
        raise UnreadableError(f"{name_of(model)} calibrates by {method!r}, which is not bounded over boxes")
    at, to = (np.asarray(getattr(calibrator, name)) for name in ("X_thresholds_", "y_thresholds_"))
    if at.dtype != np.float64 or len(at) < 1 or not (np.diff(at) > 0).all() or not (np.diff(to) >= 0).all():
        raise UnreadableError(f"{name_of(model)} calibrates by steps that do not rise, or in float32")
    steepest = float(np.max(np.diff(to) / np.diff(at), initial=0.0))

    def steps(values: Floats) -> Floats:
        return np.asarray(np.interp(values, at, to))

    def slopes(values: Range) -> Range:
        return Range(np.zeros_like(values.low), np.full_like(values.high, steepest))

    return lambda x: x.rising(steps, slopes)
