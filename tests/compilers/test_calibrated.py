"""Calibrated models: the table decides as the library does, on, just below and just above the places where it turns."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.exact import exact
from mace.compilers import load_model, read
from mace.errors import ModelError, UnreadableError
from mace.tables.margins import compare_slack, squashed_between, turns_of
from mace.tables.table import Ensemble, Floats, Network, decided, decision_of, runs
from tests.compilers import cases

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

METHODS = ("sigmoid", "isotonic", *(("temperature",) if "temperature" in str(CalibratedClassifierCV.__doc__) else ()))
LINEAR = (
    LogisticRegression(max_iter=2000),
    LinearSVC(),
    RidgeClassifier(),
    SGDClassifier(random_state=0),
    Perceptron(),
)
NETWORKS = (*LINEAR, MLPClassifier((10,), max_iter=60, random_state=0))
TREES = (
    DecisionTreeClassifier(max_depth=4, random_state=0),
    RandomForestClassifier(8, max_depth=4, random_state=0),
    BaggingClassifier(n_estimators=5, random_state=0),
    GradientBoostingClassifier(n_estimators=8, random_state=0),
    HistGradientBoostingClassifier(max_iter=8),
)


def name_of(value: object) -> str:
    return value if isinstance(value, str) else type(value).__name__


def calibrated(model: Any, method: str, X: Any, y: Any, *, frozen: bool = False) -> Any:
    """A model with one calibration, `frozen` if it was fitted before; whether it converged does not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if frozen:
            return CalibratedClassifierCV(FrozenEstimator(model.fit(X, y)), method=method).fit(X, y)
        return CalibratedClassifierCV(model, method=method, ensemble=False, cv=3).fit(X, y)


def between(model: Any, rows: Floats, count: int) -> Floats:
    """Pairs of rows as near to each other as floats allow that the model decides differently."""
    rng, said = np.random.default_rng(0), model.predict(rows)
    one, other = (rng.choice(np.flatnonzero(said == label), count // 2) for label in model.classes_)
    low, high = rows[one], rows[other]
    for _ in range(70):
        middle = low + (high - low) / 2
        same = (model.predict(middle) == model.classes_[0])[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.concatenate([low, high])


@pytest.mark.parametrize("frozen", [False, True], ids=["ensemble=False", "frozen"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", NETWORKS, ids=name_of)
def test_networks_decide_as_the_library_but_within_the_margin(base: Any, method: str, frozen: bool) -> None:
    X, y = cases.sample(2)
    model = calibrated(base, method, X, y, frozen=frozen)
    table = read(model)
    assert isinstance(table, Network)
    rng = np.random.default_rng(1)
    random = X[rng.integers(0, len(X), 10_000)] + rng.normal(size=(10_000, X.shape[1])) * X.std(axis=0)
    near = between(model, X, 1_000)
    rows = np.concatenate([random, near])
    scores, bound, said = table.scores(rows), cases.bounds(rows), model.predict(rows)
    for index, label in enumerate(table.classes):
        ((compare,),) = decision_of(table, index)
        slack = float(compare_slack(table, compare, bound).possible)
        turn = compare.than if compare.plus == 0 else -compare.than
        decides = np.array([compare.holds(score) for score in scores])
        assert np.all((decides == (said == label)) | (np.abs(scores[:, 0] - turn) <= 2 * slack))
        # The margin leaves hardly any row open but those that were made to lie on the boundary.
        assert (np.abs(scores[:10_000, 0] - turn) <= 2 * slack).sum() <= 1
        for row, decision in list(zip(rows, said, strict=True))[-1_000::20]:
            possibly, surely = cases.enclosure(table, decision_of(table, index), row, bound)
            assert possibly >= (decision == label) >= surely


@pytest.mark.parametrize("frozen", [False, True], ids=["ensemble=False", "frozen"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", TREES, ids=name_of)
def test_every_score_of_trees_has_the_class_of_the_calibrator(base: Any, method: str, frozen: bool) -> None:
    X, y = cases.sample(2)
    model = calibrated(base, method, X, y, frozen=frozen)
    table = read(model)
    assert isinstance(table, Ensemble)
    assert table.decisions is not None
    place = (
        table.decisions[0][0][0].plus if table.decisions[0][0][0].plus is not None else table.decisions[0][0][0].minus
    )
    assert place is not None
    probable = hasattr(table.link, "kind") and place == 1
    low, high = (0.0, 1.0) if probable else (-5.0, 5.0)
    turns = {
        abs(c.than) * (1 if c.plus is not None else -np.sign(c.than)) for d in table.decisions for p in d for c in p
    }
    near = [np.nextafter(turn, side) if side else turn for turn in turns for side in (None, -9.0, 9.0)]
    scores = np.concatenate([np.random.default_rng(0).uniform(low, high, 10_000), near])
    scores = np.concatenate([scores, [t + k * max(abs(t), 1e-3) * 2.0**-50 for t in turns for k in range(-500, 500)]])
    scores = scores[(scores >= low) & (scores <= high)]
    calibrator = model.calibrated_classifiers_[0].calibrators[0]
    if method != "temperature":
        p = calibrator.predict(scores)
        one = p > 1 - p
    else:
        p = calibrator.predict(np.stack([1 - scores, scores], axis=1) if probable else scores[:, None])
        one = p[:, 1] > p[:, 0]
    for score, is_one in zip(scores, one, strict=True):
        row = np.full(table.outputs, score)
        if not table.error or min(abs(score - turn) for turn in turns) > table.error:
            assert decided(table.decisions[1], row) == is_one
            assert decided(table.decisions[0], row) != is_one
    assert table.certain or table.error < 1e-12


def handmade(x: list[float], y: list[float]) -> Any:
    """An isotonic calibration with these knots."""
    found = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    found.X_thresholds_, found.y_thresholds_ = np.array(x), np.array(y)
    found._build_f(found.X_thresholds_, found.y_thresholds_)
    return found


def test_a_plateau_at_one_half_belongs_to_the_first_class_with_both_its_ends() -> None:
    X, y = cases.sample(2)
    model = calibrated(DecisionTreeClassifier(max_depth=4, random_state=0), "isotonic", X, y, frozen=True)
    model.calibrated_classifiers_[0].calibrators[0] = handmade([0.0, 0.25, 0.75, 1.0], [0.0, 0.5, 0.5, 1.0])
    table = read(model)
    assert isinstance(table, Ensemble)
    assert table.certain
    assert table.decisions == runs([float(np.nextafter(0.75, 1))], 1)


def test_a_sum_that_rounds_beyond_its_knot_is_a_run_of_its_own() -> None:
    rng, bumps = np.random.default_rng(0), 0
    known = map(float.fromhex, ("-0x1.87e404f561202p-2", "0x1.e07034f946757p-1", "0x1.331dd2eb32204p-5"))
    for x0, x1, y0 in [tuple(known), *(rng.random((100, 3)) * [-0.9, 1.0, 0.25]).tolist()]:
        isotonic = handmade(x := [x0, x1, 2.0, 3.0], [y0, 0.5, 0.5, 1.0])

        def one(scores: Floats, isotonic: Any = isotonic) -> NDArray[np.bool_]:
            p = isotonic.predict(scores)
            return np.asarray(p > 1 - p, dtype=np.bool_)

        first, turns = turns_of(one, isotonic.X_thresholds_)
        assert (first, len(turns) % 2) == (False, 1)
        bumps += len(turns) > 1
        near = [knot + k * np.spacing(knot) for knot in x for k in range(-8, 9)]
        asked = np.concatenate([rng.uniform(-1, 3, 100), near])
        zero_when, one_when = runs(turns, 0)
        for score, is_one in zip(asked, one(asked), strict=True):
            assert decided(one_when, np.array([score])) == is_one
            assert decided(zero_when, np.array([score])) != is_one
    assert bumps  # They are there: just below its knot a sloped piece may give 0.5 and an ulp.


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("place", [5e-324, 1e-200, 1e-9, 0.3, 0.5, 0.9, 1 - 1e-12, 1 - 2**-53, 1.0])
def test_a_rounded_sigmoid_lies_on_the_right_side_of_a_place(place: float, dtype: Any) -> None:
    from scipy.special import expit

    low, high = squashed_between(place, dtype)
    assert -800 <= low < high <= 40
    kind = np.dtype(dtype).type
    for away in (0.0, 1e-12, 1e-6, 0.01, 1.0, 50.0):
        assert float(expit(kind(low - away) if kind(low - away) <= low else kind(low - 1e-4 - away))) < place
        assert float(expit(kind(high + away) if kind(high + away) >= high else kind(high + 1e-4 + away))) >= place


# ---------------------------------------------------------------------------------------------- answers


def small() -> tuple[pd.DataFrame, NDArray[Any], pd.DataFrame]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.integers(0, 12, 240), "b": rng.integers(0, 9, 240), "c": rng.integers(0, 5, 240)})
    y = np.where(2 * X.a + X.b - X.c + rng.normal(0, 3, len(X)) > 14, "good", "bad")
    return X, y, pd.DataFrame(list(itertools.product(range(12), range(9), range(5))), columns=list("abc"))


X, Y, WHOLE = small()
SPACE = mace.Space.from_frame(X)


def nearest(model: Any, row: pd.Series, label: object) -> float | None:
    reached = WHOLE[model.predict(WHOLE) == label]
    ranges = (X.max() - X.min()).to_numpy()
    return float(((reached - row).abs() / ranges).sum(axis=1).min() / 3) if len(reached) else None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", [*NETWORKS, TREES[0], TREES[3]], ids=name_of)
def test_the_nearest_of_all_points_is_found_and_proved(base: Any, method: str) -> None:
    for frozen in (False, True):
        model = calibrated(base, method, X, Y, frozen=frozen)
        explainer = mace.Explainer(model, SPACE)
        for place, label in itertools.product((0, 1, 2), ("good", "bad")):
            best = nearest(model, X.iloc[place], label)
            answer = explainer.explain(X.iloc[place], goal=label)
            assert answer.status == ("infeasible" if best is None else "optimal"), answer.why
            assert answer.distance == pytest.approx(best, abs=1e-8)
            if answer.proof is not None:
                assert answer.certificate.check().accepted
            elif best:
                raise AssertionError("no proof")
    best = nearest(model, X.iloc[0], "good")
    assert explainer.explain(X.iloc[0], goal="good", oracle="z3").distance == pytest.approx(best, abs=2e-6)


@pytest.mark.parametrize(
    "base", [LinearSVC(), MLPClassifier((5,), max_iter=400, random_state=0), TREES[1]], ids=name_of
)
def test_a_calibration_that_turns_the_order_round_moves_the_goal_to_the_other_side(base: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = FrozenEstimator(base.fit(X, Y))
        model = CalibratedClassifierCV(inside).fit(X, np.where(Y == "good", "bad", "good"))
    assert (model.predict(WHOLE) == inside.predict(WHOLE)).mean() < 0.2
    for goal in ("good", "bad"):
        answer = mace.explain(model, SPACE, X.iloc[1], goal=goal)
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(nearest(model, X.iloc[1], goal), abs=1e-8)


@pytest.mark.parametrize(
    "base", [LogisticRegression(), MLPClassifier((4,), max_iter=50, random_state=0), TREES[1], TREES[3]], ids=name_of
)
def test_a_class_that_the_calibration_never_gives_is_infeasible_and_proved(base: Any) -> None:
    rare = (np.random.default_rng(0).random(len(X)) < 0.04 + 0.02 * X.a).astype(int)
    model = calibrated(base, "sigmoid", X, rare)
    p = model.predict_proba(WHOLE)[:, 1]
    assert p.max() < 0.5
    answer = mace.explain(model, SPACE, X.iloc[0])
    assert answer.status == "infeasible"
    assert answer.certificate.check().accepted
    goal = float(np.quantile(p, 0.9, method="nearest"))
    answer = mace.explain(model, SPACE, X.iloc[0], goal=f"p(1) >= {goal!r}")
    best = (((WHOLE - X.iloc[0]).abs() / (X.max() - X.min())).sum(axis=1)[p >= goal]).min() / 3
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(best, abs=1e-8)


# The solver takes ten seconds for all that eight trees may sum to, where there is nothing to be found.
@pytest.mark.parametrize(
    "base",
    [
        LogisticRegression(),
        MLPClassifier((4,), max_iter=400, random_state=0),
        RandomForestClassifier(4, max_depth=4, random_state=0),
        pytest.param(TREES[1], marks=pytest.mark.exhaustive),
        TREES[3],
    ],
    ids=name_of,
)
def test_a_calibration_that_knows_one_class_only_is_infeasible_and_proved(base: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = FrozenEstimator(base.fit(X, Y))
        model = CalibratedClassifierCV(inside, method="isotonic").fit(X, Y)
    model.calibrated_classifiers_[0].calibrators[0] = handmade([0.0, 1.0], [0.25, 0.25])
    assert set(model.predict(WHOLE)) == {"bad"}
    for oracle in ("auto", "z3"):
        answer = mace.explain(model, SPACE, X.iloc[0], goal="good", oracle=oracle)
        assert answer.status == "infeasible", answer.why
    assert mace.explain(model, SPACE, X.iloc[0], goal="good").certificate.check().accepted
    assert mace.explain(model, SPACE, X.iloc[0], goal="bad").exact_distance == 0


# ---------------------------------------------------------------------------------------------- refusals


def test_what_is_not_supported_says_what_to_do() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        three = np.digitize(X.a, [4, 8])
        wrong = [
            (CalibratedClassifierCV(make_pipeline(StandardScaler(), LinearSVC()), cv=3).fit(X, Y), "a pipeline"),
            (calibrated(LinearSVC(), "sigmoid", X, three), "has 3 classes.*without its calibration"),
            (calibrated(GaussianNB(), "sigmoid", X, Y), "GaussianNB"),
            (
                calibrated(make_pipeline(StandardScaler(), LinearSVC()), "sigmoid", X, Y),
                "CalibratedClassifierCV over a pipeline is read over the columns of a space",
            ),
            (calibrated(LogisticRegression(), "isotonic", X.astype(np.float32), Y), "calibrates in float32.*float64"),
            (CalibratedClassifierCV(LinearSVC()), "not fitted"),
        ]
    for model, message in wrong:
        with pytest.raises(ModelError, match=f"(?s){message}") as raised:
            read(model)
        if "float32" in message:  # nothing is wrong with it, so that it is asked
            assert isinstance(raised.value, UnreadableError)


@pytest.mark.parametrize(
    ("method", "attribute", "value", "message"),
    [
        ("sigmoid", "a_", float("nan"), "a_"),
        ("sigmoid", "b_", None, "b_"),
        ("isotonic", "X_thresholds_", np.array([1.0, 0.0]), "do not rise"),
        ("isotonic", "y_thresholds_", np.array([1.0]), "do not rise"),
        ("isotonic", "out_of_bounds", "nan", "do not rise"),
    ],
)
def test_a_damaged_calibration_is_named(method: str, attribute: str, value: object, message: str) -> None:
    model = calibrated(LinearSVC(), method, X, Y)
    setattr(model.calibrated_classifiers_[0].calibrators[0], attribute, value)
    with pytest.raises(ModelError, match=message):
        read(model)


def test_members_that_number_categories_by_themselves_are_asked_and_named() -> None:
    frame = pd.DataFrame({"a": range(60), "b": pd.Categorical(list("xyz") * 20)})
    booster = HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=2, categorical_features="from_dtype")
    model = CalibratedClassifierCV(booster, cv=2).fit(frame, (frame.a > 30).astype(int))
    with pytest.raises(UnreadableError, match="its HistGradientBoostingClassifier numbers categories by itself"):
        mace.Explainer(model, mace.Space.from_frame(frame))
    answer = mace.explain(model, frame, frame.iloc[0], goal=1, timeout=5)
    assert answer.counterfactuals[0].values["a"] > 29 and any("numbers categories" in note for note in answer.notes)


def test_one_split_or_a_fitted_model_needs_no_ensemble_false() -> None:
    half = np.arange(len(X)) % 2 == 0
    one = CalibratedClassifierCV(LinearSVC(), cv=[(np.flatnonzero(half), np.flatnonzero(~half))]).fit(X, Y)
    assert len(one.calibrated_classifiers_) == 1
    answer = mace.explain(one, SPACE, X.iloc[0], goal="good")
    assert answer.distance == pytest.approx(nearest(one, X.iloc[0], "good"), abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_a_calibrated_model_is_read_from_a_skops_file(method: str, tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io", reason="an extra that is not installed")
    model = calibrated(LinearSVC(), method, X, Y)
    skops.dump(model, tmp_path / "model.skops")
    one, other = read(load_model(tmp_path / "model.skops")), read(model)
    assert isinstance(one, Network)
    assert isinstance(other, Network)
    assert (one.decisions, one.link) == (other.decisions, other.link)


def test_scores_shrink_until_the_margin_holds_the_doubt() -> None:
    X, y = cases.sample(2)
    table = read(calibrated(MLPClassifier((10,), max_iter=60, random_state=0), "isotonic", X, y))
    assert isinstance(table, Network)
    assert table.rule == "sigmoid"
    ((compare,),) = decision_of(table, 1)
    assert compare_slack(table, compare, [exact(0.0)] * 5).possible >= exact(2.0**-49)


@pytest.mark.parametrize("base", [LinearSVC(), NETWORKS[-1], TREES[1], TREES[3]], ids=name_of)
@pytest.mark.parametrize("method", METHODS)
def test_properties_of_calibrated_models_agree_with_trying_every_pair(base: Any, method: str) -> None:
    model, other = calibrated(base, method, X, Y), calibrated(base, "sigmoid", X, np.where(X.a > 5, "good", "bad"))
    said = model.predict(WHOLE).reshape(12, 9, 5)
    falls = bool(((said[:-1] == "good") & (said[1:] == "bad")).any())
    verdict = mace.verify(model, SPACE, "monotone(a, increasing)")
    assert verdict.status == ("violated" if falls else "proved"), str(verdict)
    same = bool((model.predict(WHOLE) == other.predict(WHOLE)).all())
    assert mace.verify(model, SPACE, mace.verify.equivalent(other)).status == ("proved" if same else "violated")
    assert mace.verify(model, SPACE, mace.verify.equivalent(model)).status == "proved"
