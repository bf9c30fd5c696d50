"""Read scikit-learn's classifiers with a threshold of their own: it moves the goal and not the model.

In:  FixedThresholdClassifier and TunedThresholdClassifierCV over a classifier of two classes that is read; pipelines
     too, over the columns of a space.
Out: the table of that classifier with `decisions` that turn where its probability, or its score, crosses the threshold,
     and a margin where a libm has a say in that (`turns.py`). Fractions of forests and exact scores have none.
Promise: a threshold on what is no function of one score is a ModelError.
How the library decides (model_selection/_classification_threshold.py, metrics/_scorer.py, checked in 1.7 to 1.9): the
positive class, `pos_label` or else the second one, where y >= threshold; y is its column of `predict_proba`, or the
`decision_function`, times -1 for the first class; "auto" takes the first of these two that the classifier has, and the
threshold 1/2 or 0. A Python float is compared with float32 numbers in float32, a float64 in float64.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.sklearn.common import fitted, labels_of, name_of
from mace.compilers.sklearn.turns import Turns, through_sigmoid, unit_of, with_turns
from mace.errors import ModelError, UnreadableError
from mace.tables.margins import SATURATED, squashed_between, turns_of
from mace.tables.table import Bools, Compare, Decision, Ensemble, Floats, Link, Network, Table

_BOOSTED = ("GradientBoostingClassifier", "HistGradientBoostingClassifier", "LGBMClassifier")
_HINGE = ((-1.0, 0.0), (1.0, 1.0))  # probabilities of SGDClassifier(loss="modified_huber")


def inside(model: Any) -> Any:
    """The classifier whose answer is compared with the threshold."""
    if name_of(model) == "TunedThresholdClassifierCV":
        return fitted(model, "estimator_")
    return getattr(model, "estimator_", model.estimator)


def read_threshold(model: Any, estimator: Any, table: Table) -> Ensemble | Network:
    """The table of a classifier with a threshold, given the classifier inside and its table."""
    classes = labels_of(model)
    if not isinstance(table, (Ensemble, Network)) or len(classes) != 2 or tuple(table.classes) != classes:
        raise ModelError(f"{name_of(model)} is damaged: it and its {name_of(estimator)} know other classes")
    method, place, threshold = _asked(model, estimator, classes)
    name = f"{name_of(model)} of {table.name}"
    if method == "decision_function":
        return with_turns(table, _of_score(model, estimator, table, place, threshold), 0, classes, name)
    link = table.link
    if link is None:
        other = 'use response_method="decision_function", or ' if _scored(estimator, table) else ""
        raise UnreadableError(
            f"{name_of(model)}: the probabilities of the {name_of(estimator)} are no known function of one score",
            hint=f"Instead {other}explain the {name_of(estimator)}, and ask for its class.",
        )
    if link.kind == "fraction":
        assert isinstance(table, Ensemble)
        decisions = _of_fraction(place, threshold)
        return replace(table, rule="value", decisions=decisions, name=name)
    found = _of_link(table, link, place, threshold)
    if found is None:
        what = "a mean of what several members say" if link.kind == "mean" else "none that a threshold is read over"
        label = classes[place]
        raise UnreadableError(
            f"{name_of(model)}: the probabilities of the {name_of(estimator)} are {what}",
            hint=f"Explain the {name_of(estimator)} instead, with the goal `p({label}) >= {threshold!r}`, or with "
            f"`p({label}) < {threshold!r}`: that is the same question.",
        )
    return with_turns(table, found, link.score, classes, name)


def _asked(model: Any, estimator: Any, classes: tuple[Any, ...]) -> tuple[str, int, float]:
    """What is compared, the place of the positive class, and the threshold."""
    method, tuned = model.response_method, name_of(model) == "TunedThresholdClassifierCV"
    if method == "auto":
        method = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
    if method not in ("predict_proba", "decision_function"):
        raise UnreadableError(f"{name_of(model)} has the response_method {method!r}, which is not supported")
    label = model._curve_scorer._get_pos_label() if tuned else model.pos_label
    given = model.best_threshold_ if tuned else model.threshold
    if isinstance(given, str) and given == "auto":
        given = 0.5 if method == "predict_proba" else 0.0
    threshold = float(given)
    if label is not None and label not in classes or math.isnan(threshold):
        raise ModelError(f"{name_of(model)} is damaged: its pos_label is {label!r}, its threshold {threshold}")
    return method, 1 if label is None else classes.index(label), threshold


def _of_score(model: Any, estimator: Any, table: Ensemble | Network, place: int, threshold: float) -> Turns:
    """Where the score itself crosses the threshold."""
    if not _scored(estimator, table):
        other = 'use response_method="predict_proba", or ' if table.link is not None else ""
        raise UnreadableError(
            f"{name_of(model)} over the decision_function of the {name_of(estimator)} is not supported",
            hint=f"Instead {other}explain the {name_of(estimator)}, and ask for its class.",
        )
    if math.isinf(threshold):  # class `place` never, or always
        return Turns((threshold < 0) == (place == 1), (), 0.0, table.link)
    doubt = unit_of(table) * abs(threshold) if table.dtype == "float32" else 0.0
    # -s >= t is s <= -t: the second class begins at the next float.
    turn = threshold if place else math.nextafter(-threshold, math.inf)
    return Turns(one_first=False, places=(turn,), doubt=doubt, link=table.link)


def _scored(estimator: Any, table: Ensemble | Network) -> bool:
    """Whether where the `decision_function` crosses a threshold is known."""
    linear = isinstance(table, Network) and table.rule == "positive"
    return linear or isinstance(table, Ensemble) and name_of(estimator) in _BOOSTED


def _of_fraction(place: int, threshold: float) -> tuple[Decision, Decision]:
    """The decisions where a score is itself the probability, to the last bit."""
    chosen: Decision = ((Compare(place, None, threshold),),)
    other: Decision = ((Compare(None, place, -threshold, strict=True),),)
    if not 0 < threshold <= 1:
        chosen, other = (((),), ()) if threshold <= 0 else ((), ((),))
    return (other, chosen) if place else (chosen, other)


def _of_link(table: Ensemble | Network, link: Link, place: int, threshold: float) -> Turns | None:
    """Where the probability that follows from a score crosses the threshold; None where that is not known."""
    if link.kind != "mean" and not 0 < threshold <= 1:
        return Turns((threshold <= 0) == (place == 1), (), 0.0, link)
    unit = unit_of(table)
    if link.kind == "logistic" and link.slope:
        found = _of_logistic(link, table.dtype, unit, place, threshold)
    elif link.kind == "steps" and link.exact:
        found = _of_steps(link, place, threshold)
    elif link.kind == "steps" and link.knots == _HINGE:
        turn = 2 * threshold - 1 if place else 1 - 2 * threshold
        found = Turns(one_first=False, places=(turn,), doubt=8 * unit, link=link)
    else:
        return None
    return found if link.inside is None else through_sigmoid(found, link.inside, table)


def _of_logistic(link: Link, dtype: str, unit: float, place: int, threshold: float) -> Turns:
    """Between which scores 1 / (1 + exp(-(slope * s + shift))) crosses the threshold, whatever the libm."""
    near = (threshold, float(np.float32(threshold))) if dtype == "float32" else (threshold,)
    ends = (min(near), max(near))
    if not place:  # One minus it is rounded once more.
        ends = (1.0 - ends[1] - 4 * unit, 1.0 - ends[0] + 4 * unit)
    low = squashed_between(ends[0], dtype)[0] if ends[0] > 0 else SATURATED[0]
    high = squashed_between(min(ends[1], 1.0), dtype)[1]
    turn = ((low + high) / 2 - link.shift) / link.slope
    # slope * s + shift rounds, and so did what stands here.
    doubt = ((high - low) / 2 + 8 * unit * (abs(low) + abs(high) + abs(link.shift))) / abs(link.slope)
    return Turns(link.slope < 0, (turn,), doubt, link)


def _of_steps(link: Link, place: int, threshold: float) -> Turns:
    """The floats at which `numpy.interp` crosses the threshold."""
    x, y = np.array(link.knots, dtype=np.float64).T

    def second(given: Floats) -> Bools:
        p = np.interp(given, x, y)
        return np.asarray(p >= threshold if place else ~(1.0 - p >= threshold), dtype=np.bool_)

    return Turns(*turns_of(second, x), 0.0, link)
