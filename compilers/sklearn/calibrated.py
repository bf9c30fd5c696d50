"""Read scikit-learn's calibrated classifiers: the calibration is monotone, so it moves the goal and not the model.

In:  CalibratedClassifierCV for two classes, by "sigmoid", "isotonic" or "temperature", over linear models, perceptrons,
     trees, forests, bagging or boosting of scikit-learn, and the classifiers of XGBoost, LightGBM, CatBoost and
     interpret.
Out: with one calibrated model (`ensemble=False`, a prefitted or frozen one, or a single split) the table of that model
     with `decisions`: the runs of its score between the floats at which the library's own calibrator turns, and a
     margin where a libm has a say in these (`turns.py`). Several, which are averaged, are one table with a score for
     each (`means.py`), behind the steps of each where they are pipelines; or, of single trees, with what
     their leaves say (`calibrated_members.py`).
How the library decides (sklearn/calibration.py, checked in 1.7 to 1.9): p1 = calibrator(s), where s is the
decision_function, or p1 of `predict_proba` where there is none; p0 = 1 - p1; class 1 where p1 > p0. "temperature" has
p0, p1 = softmax(beta * (-s, s)), or, of probabilities, softmax(beta * log((1 - s, s) + 1e-12)).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mace.base.exact import first_float, float_to_rank
from mace.compilers.sklearn.calibrated_members import is_tree, read_members
from mace.compilers.sklearn.common import fitted, labels_of, name_of, numbers
from mace.compilers.sklearn.means import Member, mean_of
from mace.compilers.sklearn.turns import Turns, through_sigmoid, unit_of, with_turns
from mace.errors import ModelError, UnreadableError
from mace.tables.margins import turns_of
from mace.tables.table import Bools, Ensemble, Floats, Link, Network, Table

_BOOSTED = ("GradientBoostingClassifier", "HistGradientBoostingClassifier")
_SIGMOIDS = ("CatBoostClassifier", "ExplainableBoostingClassifier", "DPExplainableBoostingClassifier")
"""Of other libraries, with a score whose sigmoid is the probability."""
_FRACTIONS = (
    "DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier",
    "BaggingClassifier",
)  # fmt: skip
_FARTHEST = 1e300
_ASKED = 200_000
"""So many floats around a turn are asked one by one whether they lie on the right side of it."""


def inside(model: Any) -> Any:
    """The one model that is calibrated; None where several are. Raises ModelError for too many classes."""
    if len(fitted(model, "calibrated_classifiers_")) > 1:
        return None
    return _calibrated(model)[0].estimator


def members(model: Any) -> list[Any]:
    """The several models that are calibrated; none where one is, or where they are single trees."""
    found = [calibrated.estimator for calibrated in fitted(model, "calibrated_classifiers_")]
    return [] if len(found) == 1 or all(map(is_tree, found)) else found


def read_calibrated(
    model: Any,
    estimator: Any = None,
    inner: Table | None = None,
    tables: Sequence[Table] = (),
    finals: Sequence[Any] = (),
) -> Ensemble | Network:
    """The table of CalibratedClassifierCV, given the model inside and its table; of several, given their tables.

    finals: of several the models that are given the matrix, inside of pipelines and searches.
    """
    if tables:
        return _mean(model, tables, finals)
    if inner is None:
        return read_members(model)
    (calibrated,), classes = _calibrated(model), labels_of(model)
    given = _given(model, calibrated, estimator, inner)
    unit, table = unit_of(given.table), given.table
    found = _turns(model, calibrated, probable=given.probable, unit=unit)
    assert found.link is not None
    found = found._replace(link=replace(found.link, score=given.score, dtype=table.dtype))
    if given.squashed:
        assert table.link is not None
        found = through_sigmoid(found, table.link, table)
    return with_turns(table, found, given.score, classes, f"{name_of(model)} of {table.name}")


def _mean(model: Any, tables: Sequence[Table], finals: Sequence[Any]) -> Ensemble | Network:
    """The table of several calibrated models."""
    found = []
    for calibrated, inner, final in zip(_calibrated(model), tables, finals, strict=True):
        given = _given(model, calibrated, final, inner)
        link = _link(model, calibrated, probable=given.probable)
        inside = given.table.link if given.squashed else None
        link = replace(link, score=given.score, dtype=given.table.dtype, inside=inside)
        found.append(Member(given.table, (link,)))
    return mean_of(model, found, labels_of(model))


class _Given(NamedTuple):
    """A member's table, which of its scores the calibrator is given, and whether as its sigmoid (`squashed`).

    probable: whether it is given a probability.
    """

    table: Ensemble | Network
    score: int
    squashed: bool
    probable: bool


def _given(model: Any, calibrated: Any, estimator: Any, inner: Table) -> _Given:
    """What a calibrator is given; raises ModelError for a member that is not known to have it."""
    classes, table = labels_of(model), _readable(model, estimator, inner)
    known = (0, 1) if calibrated.method == "temperature" else classes  # it may number the classes for the model inside
    if tuple(table.classes) not in (classes, known):
        raise ModelError(f"{name_of(model)} is damaged: it and its {name_of(estimator)} know other classes")
    # scikit-learn looks for the method: LightGBM has it since 4.7, XGBoost, CatBoost and perceptrons have not.
    sigmoid = table.rule == "sigmoid" or name_of(estimator) in _SIGMOIDS
    squashed = sigmoid and not hasattr(estimator, "decision_function")
    if sigmoid and not squashed and isinstance(table, Ensemble):
        table = replace(table, divide=1)  # LightGBM divides the sums of a random forest for probabilities alone
    score = 1 if name_of(estimator) in _FRACTIONS else 0
    return _Given(table, score, squashed, squashed or score == 1)


def _calibrated(model: Any) -> Sequence[Any]:
    """The calibrated models, of two classes."""
    inside, classes = fitted(model, "calibrated_classifiers_"), labels_of(model)
    if len(classes) != 2:
        raise UnreadableError(
            f"{name_of(model)} has {len(classes)} classes; supported are two",
            hint="With more, each class is calibrated by itself and the results are scaled to add up to 1: that is no "
            "comparison of scores. Explain the model inside, without its calibration.",
        )
    for one in inside:
        if one.method not in ("sigmoid", "isotonic", "temperature") or len(one.calibrators) != 1:
            raise UnreadableError(
                f"{name_of(model)} calibrates by {one.method!r}, which is not supported",
                hint='Supported are "sigmoid", "isotonic" and "temperature".',
            )
    found: Sequence[Any] = inside
    return found


def _readable(model: Any, estimator: Any, table: Table) -> Ensemble | Network:
    """The table of the model inside, if it has one score that is all that the calibrator is given."""
    if isinstance(table, Ensemble) and (
        name_of(estimator) in _BOOSTED
        or (name_of(estimator) in _FRACTIONS and table.link == Link("fraction"))
        or (name_of(estimator) in _SIGMOIDS and table.rule == "positive" and table.link == Link("logistic"))
        or (table.rule == "sigmoid" and table.link is not None and table.decisions is not None)
    ):
        return table
    if isinstance(table, Network) and table.rule in ("positive", "sigmoid") and table.decisions is None:
        return table
    raise UnreadableError(
        f"{name_of(model)} over a {name_of(estimator)} is not supported",
        hint="Supported are linear models, perceptrons, trees, forests, bagging and gradient boosting of scikit-learn, "
        "and the classifiers of XGBoost, LightGBM, CatBoost and interpret.",
    )


# ---------------------------------------------------------------------------------------------- where it turns


def _turns(model: Any, calibrated: Any, *, probable: bool, unit: float) -> Turns:
    """The turns of the decision over what the calibrator is given: `probable` if that is a probability."""
    calibrator, link = calibrated.calibrators[0], _link(model, calibrated, probable=probable)
    if link.kind == "steps":
        knots = np.array([x for x, _ in link.knots])
        return Turns(*turns_of(lambda s: _above_half(calibrator.predict(s)), knots), 0.0, link)
    if calibrated.method == "sigmoid":
        found = _once(lambda s: _above_half(calibrator.predict(s)), -_FARTHEST, _FARTHEST)
        # slope * s + shift rounds, and so does the sigmoid, which leaves 1/2 within a few units of 0.
        return _sure(*found, lambda s: 32 * unit * (abs(s) + (abs(link.shift) + 1) / abs(link.slope)), link)
    if link.kind == "odds":
        found = _once(lambda s: _second(calibrator.predict(np.stack([1 - s, s], axis=1))), 0.0, 1.0)
        # It turns at 1/2, where the difference of the logarithms has the slope 4.
        return _sure(*found, lambda s: 32 * unit * (1 + 1 / link.slope), link)
    found = _once(lambda s: _second(calibrator.predict(s[:, None])), -_FARTHEST, _FARTHEST)
    return _sure(*found, lambda s: 32 * unit * (abs(s) + 2 / link.slope), link)


def _link(model: Any, calibrated: Any, *, probable: bool) -> Link:
    """What the calibrator makes of what it is given: `probable` if that is a probability."""
    calibrator = calibrated.calibrators[0]
    if calibrated.method == "isotonic":
        return Link("steps", knots=tuple(map(tuple, _knots(model, calibrator).tolist())), exact=True)
    if calibrated.method == "sigmoid":
        slope, shift = (-float(numbers(model, name, getattr(calibrator, name, None), ())) for name in ("a_", "b_"))
        return Link("logistic", slope, shift)
    beta = float(numbers(model, "beta_", getattr(calibrator, "beta_", None), ()))
    if not beta > 0:
        raise ModelError(f"{name_of(model)} is damaged: its inverse temperature is {beta}")
    return Link("odds", beta) if probable else Link("logistic", 2 * beta)


def _above_half(p: Any) -> Bools:
    p = np.asarray(p, dtype=np.float64)
    return np.asarray(p > 1.0 - p, dtype=np.bool_)


def _second(p: Any) -> Bools:
    return np.asarray(p[:, 1] > p[:, 0], dtype=np.bool_)


def _knots(model: Any, calibrator: Any) -> Floats:
    """The knots of an isotonic calibration, shape (n, 2)."""
    given = [np.asarray(getattr(calibrator, name, None)) for name in ("X_thresholds_", "y_thresholds_")]
    x, y = (numbers(model, "its isotonic calibration", side, (side.size,)) for side in given)
    if len(x) != len(y) or not len(x) or not np.all(np.diff(x) > 1e-200) or calibrator.out_of_bounds != "clip":
        raise ModelError(f"{name_of(model)} is damaged: the knots of its isotonic calibration do not rise")
    if any(side.dtype != np.float64 for side in given):
        raise UnreadableError(
            f"{name_of(model)} calibrates in float32, by steps",
            hint='Fit it on rows of float64, or, over XGBoost, with method="sigmoid".',
        )
    return np.stack([x, y], axis=1)


def _once(one: Callable[[Floats], Bools], low: float, high: float) -> tuple[Callable[[Floats], Bools], list[float]]:
    """The place where a decision that turns at most once does so."""

    def quiet(scores: Floats) -> Bools:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return one(scores)

    first, last = quiet(np.array([low, high])).tolist()
    turned = [] if first == last else [first_float(lambda s: quiet(np.array([s]))[0] == last, low, high)]
    return quiet, turned


def _sure(one: Callable[[Floats], Bools], turned: list[float], doubt: Callable[[float], float], link: Link) -> Turns:
    """The turn, and its doubt: none if all the floats in question lie on the right side, which are asked for it."""
    lowest = bool(one(np.array([0.0 if link.kind == "odds" else -_FARTHEST]))[0])
    if not turned:
        return Turns(lowest, (), 0.0, link)
    width, turn = doubt(turned[0]), turned[0]
    ends = [float_to_rank(turn - width), float_to_rank(turn + width)]
    if ends[1] - ends[0] < _ASKED:
        ranks = np.arange(ends[0], ends[1] + 1)
        asked = np.where(ranks < 0, -1.0, 1.0) * np.abs(ranks).view(np.float64)  # `rank_to_float` of all
        if np.array_equal(one(asked), (asked >= turn) != lowest):
            width = 0.0
    return Turns(lowest, (turn,), width, link)
