"""Goals: texts mean what they say, and every answer agrees with the library's own numbers on all points."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import mace
from mace.base.exact import exact
from mace.errors import EverywhereError, GoalError
from mace.problem.goal_decision import lower, lower_or_all
from mace.problem.goal_scores import linked_between
from mace.problem.goal_softmax import at_least, directions, inside
from mace.problem.goal_text import about_classes, parse, wanted
from mace.problem.goals import Between, Classes, Margin, Probability, Value, Wanted
from mace.problem.shortfall import measured
from mace.tables.table import Layer, Link, Network
from mace.tables.validity import validate
from tests.marks import slow_unless

LABELS = ("bad", "good", "a or b, c", ">50K", "not")


# ---------------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("good", Classes(frozenset({"good"}))),
        (">50K", Classes(frozenset({">50K"}))),
        ("'bad'", Classes(frozenset({"bad"}))),
        ("not", Classes(frozenset({"not"}))),
        ("a or b, c", Classes(frozenset({"a or b, c"}))),
        ("good, bad", Classes(frozenset({"good", "bad"}))),
        ("good or >50K", Classes(frozenset({"good", ">50K"}))),
        ("not bad", Classes(frozenset(LABELS) - {"bad"}, "bad")),
        ("anything but 'bad'", Classes(frozenset(LABELS) - {"bad"}, "bad")),
        ("not good, bad", Classes(frozenset(LABELS) - {"bad", "good"})),
        ("p(good) >= 0.7", Probability("good", Between(0.7))),
        ("p( good )>70%", Probability("good", Between(0.7, low_strict=True))),
        ("0.3 <= p(>50K) < .6", Probability(">50K", Between(0.3, 0.6, high_strict=True))),
        ("0.6 >= p(good) >= 0.3", Probability("good", Between(0.3, 0.6))),
        ("0.2 > p(a or b, c)", Probability("a or b, c", Between(None, 0.2, high_strict=True))),
        ("good by 0.1", Margin("good", 0.1)),
        ("good by 10%", Margin("good", 0.1)),
        ("good by 2 in score", Margin("good", 2.0, in_score=True)),
    ],
)
def test_a_text_is_read_as_what_it_says(text, meaning):
    found = parse(text, LABELS)
    assert found == meaning
    assert parse(str(found), LABELS) == found


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("300 <= price <= 350", Value(Between(300.0, 350.0), "price")),
        ("price >= 300", Value(Between(300.0), "price")),
        ("-1e3 > monthly price", Value(Between(None, -1000.0, high_strict=True), "monthly price")),
        ("price within 5% of 320", Value(Between(304.0, 336.0), "price")),
        ("price within 10 of 320", Value(Between(310.0, 330.0), "price")),
        ("price within 10% of -0.1", Value(Between(-0.11, -0.09), "price")),
        ("price within 5% of 0.6", Value(Between(0.57, 0.63), "price")),  # As if `0.57 <= price <= 0.63` were written.
        ("price within 5% of 0", Value(Between(-0.05, 0.05, low_strict=True, high_strict=True), "price")),
    ],
)
def test_a_text_about_a_number_is_read_as_what_it_says(text, meaning):
    found = parse(text, ())
    assert found == meaning
    assert parse(str(found), ()) == found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("price >= 300.0", "price >= 300"),
        ("price >= 0.5", "price >= 0.5"),
        ("price <= 1e300", "price <= 1e+300"),
        ("price >= -9007199254740991", "price >= -9007199254740991"),
    ],
)
def test_a_number_in_a_goal_is_shown_as_people_write_it(text, shown):
    assert str(parse(text, ())) == shown


@given(
    st.sampled_from(LABELS), st.floats(0, 1), st.floats(0, 1), st.booleans(), st.booleans(), st.sampled_from([0, 1, 2])
)
def test_probabilities_survive_their_own_text(label, one, two, low_strict, high_strict, sides):
    low, high = min(one, two), max(one, two)
    if low == high:
        low_strict = high_strict = False
    between = Between(low if sides != 1 else None, high if sides != 2 else None, low_strict, high_strict)
    between = Between(
        between.low, between.high, low_strict and between.low is not None, high_strict and between.high is not None
    )
    assert parse(str(Probability(label, between)), LABELS) == Probability(label, between)


@pytest.mark.parametrize(("label", "text"), [(1, "1"), (1.0, "1"), (True, "True"), (np.int64(1), "1")])
def test_labels_of_any_type_are_named_by_their_text(label, text):
    other = type(label)(0)
    assert parse(text, (other, label)) == Classes(frozenset({label}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("great", "'great' is not a class of this model"),
        ("", "'' is not a class"),
        ("good, great", "'great' is not a class"),
        ("p(great) >= 0.7", "'great' is not a class"),
        ("great by 0.1", "'great by 0.1' is not a class"),
        ("p(good) >= 1.2", "lies between 0 and 1"),
        ("0.6 <= p(good) <= 0.3", "holds for no number"),
        ("0.3 <= p(good) < 0.3", "holds for no number"),
        ("0.3 < p(good) <= 0.3", "holds for no number"),
        ("p(good, great) >= 0.7", "'good, great' is not a class"),
        ("p(good or bad) >= 0.7", "'good or bad' is not a class"),
        ("0.3 <= p(good) >= 0.4", "bounds the same side twice"),
        ("p(good)", "says nothing about"),
        ("good by 0", "must be > 0"),
        ("price >= 300", "is not a class"),
        ("not good, bad, 'not', >50K, a or b, c", "not a class"),
    ],
)
def test_a_text_that_names_no_goal_is_a_clear_error(text, message):
    with pytest.raises(GoalError, match="(?s)" + message.replace("(", r"\(").replace(")", r"\)")):
        parse(text, LABELS)


def test_a_goal_that_names_no_class_lists_the_classes():
    with pytest.raises(GoalError, match="Its classes are 'bad', 'good'"):
        parse("great", ("bad", "good"))
    for number in (7, 0.5, None, True):
        with pytest.raises(GoalError, match="is not a class of this model"):
            wanted([number], ("bad", "good"))
    with pytest.raises(GoalError, match="names no class"):
        wanted([], ("bad", "good"))
    with pytest.raises(GoalError, match="names no class"):
        parse("not bad, good", ("bad", "good"))
    with pytest.raises(GoalError, match="300 <= y <= 350"):
        parse("good", ())
    with pytest.raises(GoalError, match="needs a goal"):
        wanted(None, ())


def test_a_goal_that_names_a_feature_is_refused():
    with pytest.raises(GoalError, match="bmi is a feature, and a goal is about the number") as caught:
        wanted("bmi <= 30", (), features=["age", "bmi"])
    assert caught.value.hint is not None and "`bmi <= 30`" in caught.value.hint
    assert wanted("y <= 30", (), features=["age", "bmi"]) == Value(Between(high=30.0), "y")
    number = Value(Between(high=30.0))  # nobody called it anything
    assert wanted(number, (), features=["y"]) is number


def test_a_hint_begins_with_a_word():
    with pytest.raises(GoalError) as caught:
        wanted("p(1) >= 2", (0, 1), called={"0": "refused", "1": "approved"})
    assert caught.value.hint == "People call them refused, approved."


# ---------------------------------------------------------------------------------------------- thresholds of scores


def expit(score: float, link: Link) -> float:
    from scipy.special import expit as library

    return float(library(link.slope * score + link.shift))


@given(
    st.floats(1e-6, 1 - 1e-6), st.sampled_from([0, 1]), st.booleans(),
    st.sampled_from([Link("logistic", *line) for line in ((1.0, 0.0), (2.0, 0.0), (-3.25, 0.75), (0.3, -4.0))]),
)  # fmt: skip
def test_a_score_whose_probability_is_wanted_passes_its_comparison(end, place, is_low, link):
    (compare,) = linked_between(link, "float64", place, end if is_low else None, None if is_low else end, "goal")
    turn = compare.than if compare.plus == 0 else -compare.than
    near = [turn + k * math.ulp(turn) for k in range(-400, 400, 3)]
    wide = 0
    for score in near:
        p = expit(score, link) if place else 1.0 - expit(score, link)
        has = p >= end if is_low else p <= end
        passes = compare.holds(np.array([score]))
        assert passes or not has
        wide += passes and not has
    # And not much wider: far from the turn the two agree.
    for score in (turn - 1e-6 * (1 + abs(turn)), turn + 1e-6 * (1 + abs(turn))):
        p = expit(score, link) if place else 1.0 - expit(score, link)
        if 1e-4 < end < 1 - 1e-4:
            assert compare.holds(np.array([score])) == (p >= end if is_low else p <= end)


def by_library(score: np.ndarray, link: Link) -> np.ndarray:
    """The probability of class 1 as scikit-learn and scipy compute it."""
    from scipy.special import expit as library
    from scipy.special import softmax

    given = by_library(score, link.inside) if link.inside is not None else score
    if link.kind == "steps":
        return np.interp(given, *np.array(link.knots).T)
    if link.kind == "odds":
        return softmax(link.slope * np.log(np.stack([1 - given, given], axis=1) + 1e-12), axis=1)[:, 1]
    return library(link.slope * given + link.shift)


PLATEAU = ((0.1, 0.05), (0.4, 0.5), (0.6, 0.5), (0.9, 0.97))


@pytest.mark.parametrize(
    ("link", "reach"), [
        (Link("logistic", -4.0, 1.75, inside=Link("logistic", 4.0)), 40.0),
        (Link("logistic", 1000.0, -999.0, inside=Link("logistic")), 60.0),
        (Link("steps", knots=PLATEAU, inside=Link("logistic", 0.7)), 60.0),
        (Link("steps", knots=PLATEAU), 1.0),
        (Link("odds", 0.3, inside=Link("logistic", 0.7)), 60.0),
        (Link("odds", 30.0, inside=Link("logistic")), 40.0),
        (Link("odds", 2.5), 1.0),
    ], ids=lambda value: getattr(value, "kind", None),
)  # fmt: skip
def test_a_probability_of_a_probability_passes_its_comparison(link, reach):
    rng, asked = np.random.default_rng(0), 0
    lowest = 0.0 if link.inside is None else -reach
    for place, is_low in itertools.product((0, 1), (True, False)):
        # Ends anywhere, and those that some score has to the last bit.
        had = by_library(rng.uniform(lowest, reach, 30), link)
        for end in [0.5, *rng.uniform(1e-6, 1, 30), *(had if place else 1.0 - had)]:
            try:
                compares = linked_between(link, "float64", place, end if is_low else None, None if is_low else end, "")
            except GoalError:
                continue
            asked += 1
            turns = [c.than if c.plus == 0 else -c.than for c in compares]
            near = [t + k * math.ulp(t) for t in turns for k in range(-400, 400, 7)]
            scores = np.clip(np.concatenate([rng.uniform(lowest, reach, 50), near]), lowest, reach)
            p = by_library(scores, link) if place else 1.0 - by_library(scores, link)
            has = p >= end if is_low else p <= end
            passes = np.array([all(c.holds(np.array([score])) for c in compares) for score in scores])
            assert not np.any(has & ~passes)
            # Where 1 - s has few digits left, so has what becomes of it.
            assert np.all(np.abs(p[passes & ~has] - end) < (1e-6 if link.kind == "odds" else 1e-9))
    assert asked > 100


def test_probabilities_that_floats_cannot_tell_are_an_error():
    with pytest.raises(GoalError, match="never exactly 0 or 1"):
        linked_between(Link("logistic"), "float64", 1, 1.0, None, "p(good) >= 1")
    with pytest.raises(GoalError, match="no input has the goal"):
        linked_between(Link("steps", knots=((0.0, 0.1), (1.0, 0.8))), "float64", 1, 0.9, None, "p(good) >= 0.9")
    with pytest.raises(GoalError, match="every input has the goal"):
        linked_between(Link("steps", knots=((0.0, 0.1), (1.0, 0.8))), "float64", 1, 0.05, None, "p(good) >= 0.05")


# ---------------------------------------------------------------------------------------------- answers


def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {"a": rng.integers(0, 16, 240), "b": rng.integers(0, 12, 240), "c": rng.integers(0, 6, 240)}
    )  # fmt: skip
    whole = pd.DataFrame(list(itertools.product(range(16), range(12), range(6))), columns=list("abc"))
    return X, whole


X, WHOLE = data()
SPACE = mace.Space.from_frame(X)
NOISE = np.random.default_rng(5).normal(0, 3, len(X))
NUMBER = 2.0 * X.a + X.b - X.c + NOISE
TWO = np.where(NUMBER > 18, "good", "bad")
THREE = np.digitize(NUMBER, [12, 24])
ROWS = (0, 1, 5)

CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
    "bagging": BaggingClassifier(n_estimators=5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "exponential": GradientBoostingClassifier(n_estimators=8, loss="exponential", random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "logistic": LogisticRegression(max_iter=5000),
    "huber": SGDClassifier(loss="modified_huber", random_state=0),
    "mlp": MLPClassifier((5,), max_iter=400, random_state=0),
    "sigmoid": CalibratedClassifierCV(RandomForestClassifier(4, max_depth=3, random_state=0), ensemble=False),
    "isotonic": CalibratedClassifierCV(
        RandomForestClassifier(4, max_depth=3, random_state=0), method="isotonic", ensemble=False
    ),
} | {
    f"{method} {name}": CalibratedClassifierCV(model, method=method, ensemble=False)
    for method in ("sigmoid", "isotonic", "temperature")
    for name, model in (
        ("svc", LinearSVC()),
        ("mlp", MLPClassifier((5,), max_iter=400, random_state=0)),
        ("boosting", GradientBoostingClassifier(n_estimators=8, random_state=0)),
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
    )
}


def fitted(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def distances(row: pd.Series) -> np.ndarray:
    """l1 as mace has it: the mean of the changes, each a part of its range."""
    ranges = (X.max() - X.min()).to_numpy()
    return (np.abs(WHOLE.to_numpy() - row.to_numpy()) / ranges).sum(axis=1) / 3


def check(explainer: mace.Explainer, goal: object, fits: np.ndarray, oracle: str = "auto") -> None:
    """Answers for some rows are the nearest of all points whose own numbers have the goal."""
    for place in ROWS:
        row = X.iloc[place]
        answer = explainer.explain(row, goal=goal, oracle=oracle)
        if not fits.any():
            assert answer.status == "infeasible", answer.why
            continue
        assert answer.status == "optimal", answer.why
        best = distances(row)[fits].min()
        assert answer.distance == pytest.approx(best, abs=2e-6 if oracle != "auto" else 1e-8)
        found = answer.counterfactuals[0].values
        at = WHOLE.index[(pd.Series(found) == WHOLE).all(axis=1)][0]
        assert fits[at]
        if answer.proof is not None:
            assert answer.certificate.check().accepted


@pytest.mark.parametrize(
    "name", slow_unless(lambda name: name in ("tree", "boosting", "huber", "isotonic"), CLASSIFIERS)
)
def test_probabilities_are_those_of_the_library(name):
    model = fitted(CLASSIFIERS[name], TWO)
    explainer = mace.Explainer(model, SPACE, background=X)
    p = model.predict_proba(WHOLE)
    assert list(model.classes_) == ["bad", "good"]
    check(explainer, "p(good) >= 0.7", p[:, 1] >= 0.7)
    check(explainer, "p(bad) < 0.25", p[:, 0] < 0.25)
    check(explainer, "0.35 <= p(good) <= 0.45", (p[:, 1] >= 0.35) & (p[:, 1] <= 0.45))
    check(explainer, "good by 0.5", p[:, 1] - p[:, 0] >= 0.5 - 2**-40)
    # A probability that a point has, to the last bit, is reached.
    for value in np.quantile(p[:, 1], [0.6, 0.9], method="nearest"):
        if 1e-6 < value < 1 - 1e-6 and value < p[:, 1].max():
            check(explainer, f"p(good) >= {float(value)!r}", p[:, 1] >= value)
            check(explainer, f"p(good) <= {float(value)!r}", p[:, 1] <= value)


@pytest.mark.parametrize("name", slow_unless(lambda _: False, ["boosting", "logistic"]))
def test_probabilities_of_several_classes_are_those_of_the_library(name):
    model = fitted(CLASSIFIERS[name], THREE)
    explainer, p = mace.Explainer(model, SPACE, background=X), model.predict_proba(WHOLE)
    for value in (0.6, float(np.quantile(p[:, 2], 0.9, method="nearest"))):
        check(explainer, f"p(2) >= {value!r}", p[:, 2] >= value)


@pytest.mark.parametrize("count", range(1, 6))
def test_weights_of_classes_add_up_to_one_without_rounding(count):
    assert all(sum(map(Fraction, row.tolist())) == 1 and (row >= 0).all() for row in directions(count))


@pytest.mark.parametrize("classes", [2, 3, 4, 6])
def test_half_spaces_hold_all_scores_with_the_probability(classes):
    rng = np.random.default_rng(classes)
    scores = rng.normal(size=(20_000, classes)) * rng.choice([0.1, 1, 8], (20_000, 1))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = powers / powers.sum(axis=1, keepdims=True)
    layer = Layer(np.eye(classes), np.zeros(classes), "identity")
    table = Network((layer,), classes, "softmax", tuple(range(classes)), link=Link("softmax"))
    validate(table)
    for least in (0.01, 0.5, 0.83):
        (part,), wide = at_least(table, 1, least, "")
        said = scores @ wide.layers[1].weights + wide.layers[1].bias
        held = np.all([said[:, c.plus] >= said[:, c.minus] for c in part], axis=0)
        assert held[p[:, 1] >= least].all()
        inner = inside(least, classes - 1)
        (part,), wide = at_least(table, 1, inner, "")
        said = scores @ wide.layers[1].weights + wide.layers[1].bias
        assert np.all([said[:, c.plus] >= said[:, c.minus] for c in part], axis=0).sum() > 0
        if classes <= 3:  # hardly more than these
            assert p[held, 1].min() > least - 0.002


ISOTONIC = ["isotonic", "isotonic tree", "isotonic boosting", "isotonic svc", "isotonic mlp"]
SOLVED = ["forest", "logistic", "boosting", "isotonic svc", "isotonic mlp", "temperature mlp"]


@pytest.mark.parametrize("name", slow_unless(lambda name: name in ("isotonic", "isotonic tree"), ISOTONIC))
def test_a_probability_that_many_points_share_is_excluded_at_once(name):
    model = fitted(CLASSIFIERS[name], TWO)
    p = model.predict_proba(WHOLE)
    explainer = mace.Explainer(model, SPACE)
    for value in np.unique(p[:, 1])[1:-1:3].tolist():
        check(explainer, f"p(good) > {value!r}", p[:, 1] > value)
        check(explainer, f"p(good) < {value!r}", p[:, 1] < value)
        other = float(np.unique(p[p[:, 1] == value, 0])[0])
        check(explainer, f"p(bad) > {other!r}", p[:, 0] > other)
        answer = explainer.explain(X.iloc[0], goal=f"p(good) > {value!r}")
        assert not any("refused" in note for note in answer.notes)


@pytest.mark.parametrize("name", slow_unless(lambda name: name in ("forest", "logistic"), SOLVED))
def test_solvers_agree_on_probabilities(name):
    model = fitted(CLASSIFIERS[name], TWO)
    p = model.predict_proba(WHOLE)
    check(mace.Explainer(model, SPACE), "p(good) >= 0.7", p[:, 1] >= 0.7, oracle="z3")


@pytest.mark.parametrize(
    "model", [
        DecisionTreeRegressor(max_depth=5), RandomForestRegressor(7, max_depth=4, random_state=0), LinearRegression(),
        MLPRegressor(hidden_layer_sizes=(5,), max_iter=500, random_state=0),
    ], ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_numbers_are_those_of_the_library(model):
    model = fitted(model, NUMBER)
    explainer = mace.Explainer(model, SPACE, background=X)
    said = model.predict(WHOLE)
    check(explainer, "20 <= y <= 21", (said >= 20) & (said <= 21))
    check(explainer, "y > 30", said > 30)
    check(explainer, "y within 5% of 15", np.abs(said - 15) <= 0.75)
    check(explainer, "y within 50% of 0", np.abs(said) < 0.5)
    value = float(np.quantile(said, 0.8, method="nearest"))
    if not isinstance(model, (LinearRegression, MLPRegressor)):  # their last bits depend on the batch
        check(explainer, f"y >= {value!r}", said >= value)


def test_margins_over_several_runners_up():
    for model in (
        RandomForestClassifier(10, max_depth=4, random_state=0), DecisionTreeClassifier(max_depth=4, random_state=0),
    ):  # fmt: skip
        model = fitted(model, THREE)
        p = model.predict_proba(WHOLE)
        lead = p[:, 1] - np.maximum(p[:, 0], p[:, 2])
        for by in (0.2, 0.5):
            check(mace.Explainer(model, SPACE, background=X), f"1 by {by}", lead >= by - 2**-40)
    for model in (LogisticRegression(max_iter=5000), GradientBoostingClassifier(n_estimators=5, random_state=0)):
        model = fitted(model, THREE)
        s = model.decision_function(WHOLE)
        lead = s[:, 1] - np.maximum(s[:, 0], s[:, 2])
        by = float(np.quantile(lead, 0.8))
        check(mace.Explainer(model, SPACE, background=X), f"1 by {by} in score", lead >= by)


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two classes", "three"])
def test_leads_of_boosted_votes_are_in_the_unit_of_the_library(labels):
    """Its sums of weights are divided by all weights after the trees, and of two classes are half the difference."""
    stump = DecisionTreeClassifier(max_depth=2)
    model = fitted(AdaBoostClassifier(stump, n_estimators=6, random_state=0), labels)
    explainer = mace.Explainer(model, SPACE, background=X)
    s = model.decision_function(WHOLE)
    lead = s if s.ndim == 1 else s[:, 1] - np.maximum(s[:, 0], s[:, 2])
    steps = np.unique(lead.round(9))
    for place in (len(steps) // 2, -2):
        by = float(steps[place] + steps[place + 1]) / 2
        if by > 0:
            check(explainer, f"{model.classes_[1]} by {by} in score", lead >= by)
    reached = explainer.explain(X.iloc[0], goal=f"{model.classes_[1]} by {float(lead.max()) + 0.1} in score")
    assert reached.status == "infeasible"
    missed = reached.nearest_miss()
    assert missed.counterfactuals and abs(float(missed.levels[0].value) - 0.1) < 1e-6


def test_sets_of_classes_and_anything_but():
    model = fitted(RandomForestClassifier(5, max_depth=4, random_state=0), THREE)
    said = model.predict(WHOLE)
    explainer = mace.Explainer(model, SPACE, background=X)
    check(explainer, "0 or 2", said != 1)
    check(explainer, {0, 2}, said != 1)
    check(explainer, "not 1", said != 1)
    check(explainer, "2", said == 2)
    check(explainer, Classes(frozenset({2})), said == 2)
    assert explainer.explain(X.iloc[0], goal="not 1").goal == "anything but 1"


@pytest.mark.parametrize(
    "model", [LogisticRegression(max_iter=5000), GradientBoostingClassifier(n_estimators=10, random_state=0)]
)
def test_a_lead_of_a_single_score_is_asked_for_on_either_side(model):
    explainer = mace.Explainer(fitted(model, TWO), SPACE, background=X)
    score = model.decision_function(WHOLE)  # of "good"; that of "bad" is what it lacks
    check(explainer, "good by 0.25 in score", score >= 0.25)
    check(explainer, "bad by 0.25 in score", -score >= 0.25)


def test_what_a_model_cannot_say_is_an_error_that_says_so():
    row = X.iloc[0]
    softmax = mace.Explainer(fitted(LogisticRegression(max_iter=5000), THREE), SPACE)
    unknown = replace(softmax.table, link=None)

    def asked(least):
        return lower(Probability(2, Between(least)), unknown)

    with pytest.raises(GoalError, match="3 classes the probabilities of LogisticRegression compare no two scores"):
        asked(0.7)
    with pytest.raises(GoalError) as refused:  # log(2 p / (1 - p)) = 1.5404.., log(p / (1 - p)) = 0.8472..
        asked(0.7)
    assert "`2 by 1.55 in score` is enough, and `2 by 0.84 in score` is needed" in str(refused.value)
    with pytest.raises(GoalError, match=r"`2 by 0\.29 in score` is enough"):  # log(4 / 3) = 0.2876..
        asked(0.4)
    with pytest.raises(GoalError, match="a probability leads by less than 1"):
        softmax.explain(row, goal="2 by 1")
    for text in ("p(2) <= 0.7", "p(2) >= 0", "0.5 <= p(2) <= 0.6"):
        with pytest.raises(GoalError, match=r"(?s)only that a probability is at least a number.*p\(2\) >= 0\.6"):
            softmax.explain(row, goal=text)
    with pytest.raises(GoalError, match="so near to 0 or 1"):
        softmax.explain(row, goal="p(2) >= 1")
    with pytest.raises(GoalError, match="probability of several classes"):
        measured(Probability(2, Between(0.6)), softmax.table)
    with pytest.raises(GoalError, match=r"`2 by 0\.1 in score`"):
        softmax.explain(row, goal="2 by 0.1")
    without = mace.Explainer(fitted(LinearSVC(), TWO), SPACE)
    with pytest.raises(
        GoalError, match=r"(?s)LinearSVC.*Calibrate it, as CalibratedClassifierCV\(model, ensemble=False"
    ):
        without.explain(row, goal="p(good) >= 0.7")
    regressor = mace.Explainer(fitted(DecisionTreeRegressor(), NUMBER), SPACE)
    for goal in (None, "good", 3.5, {1, 2}):
        with pytest.raises(GoalError, match=r"number|interval"):
            regressor.explain(row, goal=goal)
    with pytest.raises(GoalError, match="is a goal for a number"):
        softmax.explain(row, goal=Value(Between(3.0)))
    with pytest.raises(GoalError, match="every input has the goal"):
        mace.Explainer(fitted(CLASSIFIERS["forest"], TWO), SPACE).explain(row, goal="p(good) >= 0")


@pytest.mark.parametrize(
    "model", [
        LogisticRegression(max_iter=5000), GradientBoostingClassifier(n_estimators=8, random_state=0),
        HistGradientBoostingClassifier(max_iter=8, random_state=0), MLPClassifier((5,), max_iter=400, random_state=0),
    ], ids=lambda m: type(m).__name__,
)  # fmt: skip
@pytest.mark.parametrize("p", slow_unless(lambda p: p in (0.34, 0.7), [0.2, 0.34, 0.6, 0.7, 0.99]))
def test_the_leads_that_are_named_instead_of_a_probability_are_enough_and_needed(model, p):
    model = fitted(model, THREE)
    table, said = replace(mace.Explainer(model, SPACE).table, link=None), model.predict_proba(WHOLE)
    with pytest.raises(GoalError) as refused:
        lower(Probability(1, Between(p)), table)
    named = dict(
        reversed(part.split("` is ")) for part in re.findall(r"`([^`]*` is (?:enough|needed))", str(refused.value))
    )
    assert "enough" in named
    logs = np.log(said)  # the differences of scores are those of the logarithms of their softmax
    lead = logs[:, 1] - np.maximum(logs[:, 0], logs[:, 2])
    least = {word: float(text.split(" ")[2]) if " by " in text else 0.0 for word, text in named.items()}
    assert np.all(said[lead >= least["enough"] + 1e-9, 1] >= p)
    assert np.all(lead[said[:, 1] >= p] >= least.get("needed", -np.inf) - 1e-9)


def test_the_goal_in_a_certificate_is_the_one_that_was_asked():
    model = fitted(CLASSIFIERS["forest"], TWO)
    answer = mace.explain(model, SPACE, X.iloc[1], goal="0.7 <= p(good) <= 0.9")
    parts = answer.certificate.data["statement"]["goal"]
    assert parts == [[[1, None, (0.7).hex(), False], [None, 1, (-0.9).hex(), False]]]
    assert answer.goal == "0.7 <= p(good) <= 0.9"
    assert exact(answer.exact_distance) > 0


def test_the_command_line_takes_a_goal_as_a_text(tmp_path):
    import joblib
    from typer.testing import CliRunner

    from mace.cli import app

    joblib.dump(fitted(CLASSIFIERS["forest"], TWO), tmp_path / "model.joblib")
    X.to_csv(tmp_path / "x.csv", index=False)
    SPACE.save(tmp_path / "space.toml")
    given = ["explain", "--model", str(tmp_path / "model.joblib"), "--trust-pickle", "--data", str(tmp_path / "x.csv")]
    given += ["--space", str(tmp_path / "space.toml"), "--row", "1", "--format", "json"]
    done = CliRunner().invoke(app, [*given, "--goal", "p(good) >= 0.7"])
    assert done.exit_code == 0, done.output
    assert '"goal": "p(good) >= 0.7"' in done.stdout
    refused = CliRunner().invoke(app, [*given, "--goal", "great"])
    assert isinstance(refused.exception, GoalError)
    assert "Its classes are 'bad', 'good'" in str(refused.exception)


@pytest.mark.slow
def test_probabilities_of_boosters_and_pipelines_are_those_of_the_library():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    two = (TWO == "good").astype(int)
    boosted = fitted(xgboost.XGBClassifier(n_estimators=6, max_depth=2), two)
    models = [
        (boosted, boosted),
        (boosted.get_booster(), boosted),
        (light := fitted(lightgbm.LGBMClassifier(n_estimators=6, verbose=-1), two), light),
        (sure := fitted(CalibratedClassifierCV(light, ensemble=False), two), sure),
        (steps := fitted(CalibratedClassifierCV(light, method="isotonic", ensemble=False), two), steps),
        (tempered := fitted(CalibratedClassifierCV(light, method="temperature", ensemble=False), two), tempered),
        (slow := fitted(CalibratedClassifierCV(boosted, ensemble=False), two), slow),
        (piped := fitted(make_pipeline(StandardScaler(), LogisticRegression()), two), piped),
    ]
    for model, says in models:
        p = says.predict_proba(WHOLE).astype(np.float64)
        explainer = mace.Explainer(model, SPACE, background=X)
        check(explainer, "p(1) >= 0.7", p[:, 1] >= 0.7)
        check(explainer, "p(0) <= 0.4", p[:, 0] <= 0.4)
        value = float(np.quantile(p[:, 1], 0.8, method="nearest"))
        check(explainer, f"p(1) >= {value!r}", p[:, 1] >= value)


def test_one_score_is_the_lead_of_the_second_class_and_turned_round_that_of_the_first():
    said, classes = np.array([[2.0], [-2.0], [0.5]]), ("bad", "good")
    assert Margin("good", 1.0, in_score=True).met(said, classes).tolist() == [True, False, False]
    assert Margin("bad", 1.0, in_score=True).met(said, classes).tolist() == [False, True, False]


@pytest.mark.parametrize(("between", "asked"), [
    (Between(high=0.7), True), (Between(low=0.2), True), (Between(high=1.0), False), (Between(low=0.0), False),
])  # fmt: skip
def test_what_every_input_has_but_for_last_bits_is_asked_of_the_model(between: Between, asked: bool) -> None:
    steps = Link("steps", knots=((0.0, 0.2), (1.0, 0.7)))
    layer = Layer(np.array([[1.0]]), np.array([0.0]), "identity")
    table = Network((layer,), 1, "positive", (0, 1), link=steps)
    with pytest.raises(EverywhereError):
        lower(Probability(1, between), table)
    goal, same = lower_or_all(Probability(1, between), table)
    assert same is table
    assert goal.enclosed is asked  # no comparison of scores settles it then
    assert goal.labels == (frozenset() if asked else {0, 1})


@pytest.mark.parametrize(
    ("goal", "classes"),
    [
        (Classes(frozenset({1})), True),
        (Classes(frozenset({"it's a", "b or c"})), True),
        (Classes(frozenset({-0.5, True})), True),
        (parse("p(1) >= 0.7", (0, 1)), False),
        (parse("300 <= price <= 350", ()), False),
        (parse("1 by 0.1", (0, 1)), False),
        (parse("not 0", (0, 1)), True),
    ],
)
def test_the_text_of_a_goal_tells_whether_it_is_about_classes(goal: Wanted, classes: bool) -> None:
    assert about_classes(str(goal)) is classes
