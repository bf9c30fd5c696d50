"""How near boxes can have a goal: changes are bounded at every point of a ball, and distances are never too large."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

import mace
from mace.base.deadline import NEVER
from mace.compilers.enclosures import functions
from mace.compilers.enclosures.bounds import over
from mace.compilers.enclosures.ranges import Ball, Floats, Range
from mace.compilers.enclosures.registry import enclosed
from mace.explain.explainers import explainer_of
from mace.explain.unread.enclosed import NEAR, Boxes, Said
from mace.explain.unread.explainer import Unread
from mace.problem.around import Neighbourhood
from mace.problem.distance import norm
from mace.problem.goals import Classes
from mace.search.aims import GoalAim
from mace.search.asked import AskedModel
from mace.search.blackbox import Calls
from mace.search.box_distances import Nearness
from mace.search.chart import Chart
from mace.search.protocol import Run, Task
from mace.search.tabu import Tabu
from mace.solve.protocol import NEARLY, Gap
from mace.space.feature import Feature
from mace.space.space import Space
from tests.held_boxes import BOXES
from tests.test_families_agree import sklearn

FEATURES = 4


def fitted(name: str, rng: np.random.Generator) -> Any:
    """A model of a family, fitted to four numbers."""
    family = next(one for one in BOXES if one.name == name)
    X = pd.DataFrame(rng.normal(size=(60, FEATURES)), columns=list("abcd"))
    y = X.a + X.b * X.c - X.d**2 + 1
    if family.classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, family.classes) / family.classes))
    return family.make(X, np.asarray(y), rng)


def some_balls(rng: np.random.Generator, count: int) -> tuple[Range, Floats, Ball, Floats]:
    """Boxes, a row in each, what changes may cost, and 20 rows of each box that cost no more."""
    low = rng.normal(size=(count, FEATURES)) - rng.choice([0.01, 0.3, 3.0], (count, 1))
    high = low + rng.choice([0.02, 0.6, 6.0], (count, 1)) * rng.random((count, FEATURES))
    centre = np.where(rng.random(low.shape) < 0.3, low, low + (high - low) * rng.random(low.shape))
    prices = rng.choice([0.0, 1.0, 2.0], (count, FEATURES))
    ball = Ball((centre - low) * prices, (high - centre) * prices, rng.random(count) * (high - low).sum(axis=1))
    ways = rng.choice([0.0, 1.0, 0.5], (20, count, FEATURES)) * rng.choice([-1.0, 1.0], (20, count, FEATURES))
    moved = np.where(ways < 0, ways * (centre - low), ways * (high - centre))
    cost = (np.abs(moved) * prices).sum(axis=2, keepdims=True)
    return Range(low, high), centre, ball, centre + moved * np.minimum(1.0, ball.left[:, None] / (cost + 1e-300))


@pytest.mark.parametrize(
    "name",
    ["boxes-tanh-2", "boxes-logistic", "boxes-SVC-rbf-2", "boxes-SVC-poly", "boxes-GaussianNB", "boxes-QDA",
     "boxes-products-logistic", "boxes-splines", "boxes-votes", "boxes-neighbours", "boxes-hard-votes-2",
     "boxes-calibrated-isotonic", "boxes-stacking-columns"],
)  # fmt: skip
def test_changes_from_a_centre_hold_in_a_ball(name: str) -> None:
    rng = np.random.default_rng(5)
    model = enclosed(fitted(name, rng))
    columns, centre, ball, rows = some_balls(rng, 40)
    tight = over(model.scores, columns, centre, ball)
    slack = 1e-9 * (1 + np.abs(tight.said.high) + np.abs(tight.said.low))
    for at in rows:
        said = over(model.scores, Range(at, at)).said
        moved = np.einsum("bk,bkn->bn", at - centre, tight.slopes)
        # NaN bounds nothing.
        assert not (said.low > np.fmin(tight.said.high, tight.at.high + moved) + slack).any()
        assert not (said.high < np.fmax(tight.said.low, tight.at.low + moved) - slack).any()


@pytest.mark.parametrize(
    "curve", [functions.hyperbolic, functions.logistic, functions.exponential, functions.reciprocal]
)
@pytest.mark.parametrize("far", [3.0, 300.0, 1e9, 1e17, 1e30])
def test_changes_hold_where_curves_are_all_but_flat(curve: Any, far: float) -> None:
    # Of tanh from -5 to 1e17 the chord is so flat that 1 less its slope is 1: the turn at 20 was not looked at.
    low, high = (-5.0, far) if curve in (functions.hyperbolic, functions.logistic) else (1.0, far)
    columns, centre = Range(np.array([[low]]), np.array([[high]])), np.array([[low]])
    tight = over(curve, columns, centre)
    for at in (low, 1.5, 20.0, 100.0, high / 2, high):
        if low <= at <= high and (exact := over(curve, Range(np.array([[at]]), np.array([[at]]))).said):
            moved = (at - low) * tight.slopes[0, 0, 0]
            assert not exact.low[0, 0] > tight.at.high[0, 0] + moved + 1e-9 * abs(moved)
            assert not exact.high[0, 0] < tight.at.low[0, 0] + moved - 1e-9 * abs(moved)


def test_a_ball_brings_what_is_best_for_its_price() -> None:
    ball = Ball(np.array([[0.0, 1.0, 4.0]]), np.array([[2.0, 1.0, 4.0]]), np.array([2.0]))
    down, up = np.zeros((1, 4, 1)), np.array([[[2.0], [4.0], [12.0], [0.5]]])
    # The last costs nothing; of the others the second brings 4 for each unit, and the third 3.
    assert ball.most(down, up)[0, 0] == pytest.approx(0.5 + 4 + 3)


SPACE = Space(
    [
        Feature("a", "integer", 0, 8), Feature("b", "real", 0, 2, step="0.25"),
        Feature("k", "categorical", levels=["u", "v", "w"]), Feature("o", "ordinal", levels=["low", "mid", "high"]),
        Feature("z", "binary"),
    ]
)  # fmt: skip


def small_model(rng: np.random.Generator) -> tuple[Any, pd.DataFrame]:
    """A curved model of numbers, one of them through a logarithm, and of levels; and the rows that it was fitted on."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    rows = pd.DataFrame(
        {
            "a": rng.integers(0, 9, 80), "b": rng.integers(0, 9, 80) / 4, "k": rng.choice(["u", "v", "w"], 80),
            "o": rng.choice(["low", "mid", "high"], 80), "z": rng.integers(0, 2, 80),
        }
    )  # fmt: skip
    y = rows.a / 4 + rows.b * (rows.k == "v") - (rows.o == "high") + rows.z + rng.normal(size=80) > 2
    columns = ColumnTransformer(
        [
            ("l", sklearn("preprocessing.FunctionTransformer", func=np.log1p), ["a"]),
            ("n", sklearn("preprocessing.StandardScaler"), ["b", "z"]),
            ("c", sklearn("preprocessing.OneHotEncoder", sparse_output=False), ["k"]),
            ("o", sklearn("preprocessing.OrdinalEncoder", categories=[["low", "mid", "high"]]), ["o"]),
        ]
    )
    last = (
        sklearn("svm.SVC", C=float(rng.choice([0.3, 3.0]))), sklearn("naive_bayes.GaussianNB"),
        sklearn("neural_network.MLPClassifier", hidden_layer_sizes=(3,), activation="tanh", max_iter=150),
        sklearn("neighbors.KNeighborsClassifier", n_neighbors=3),
    )[int(rng.integers(4))]  # fmt: skip
    return make_pipeline(columns, last).fit(rows, y.astype(int)), rows


def all_points() -> pd.DataFrame:
    """Every point of the space."""
    values = [range(9), [k / 4 for k in range(9)], ["u", "v", "w"], ["low", "mid", "high"], [0, 1]]
    return pd.MultiIndex.from_product(values, names=list(SPACE.names)).to_frame(index=False)


def by_boxes(explainer: Unread, place: Neighbourhood, wanted: int) -> Said:
    """What bounds over boxes prove without a limit."""
    calls = Calls(explainer.box, Chart(place), NEVER)
    aim = GoalAim(Classes(frozenset({wanted})), (0, 1), None)
    task = Task(place, AskedModel(lambda given: aim.said(calls, given), None, NEVER))
    assert explainer.enclosure is not None
    return Boxes(Run(Tabu(), task), aim, explainer.enclosure, Gap()).bounded(NEVER)


def explained(model: Any, rows: pd.DataFrame, row: pd.Series, name: str, most: int) -> Said:
    """What so many boxes prove of a row that a model of numbers refuses, beside a descent from all rows."""
    space = Space([Feature(column, "real", rows[column].min(), rows[column].max()) for column in rows.columns])
    explainer = explainer_of(model, space)
    assert isinstance(explainer, Unread) and explainer.enclosure is not None
    place = Neighbourhood(space, space.axes(row.to_dict()), norm(name, len(space.features)))
    calls = Calls(explainer.box, Chart(place), NEVER)
    aim = GoalAim(Classes(frozenset({1})), (0, 1), None)
    task = Task(place, AskedModel(lambda given: aim.said(calls, given), None, NEVER), space.numbers(rows))
    return Boxes(Run(Tabu(), task), aim, explainer.enclosure, Gap(NEARLY, NEAR)).bounded(NEVER, most)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(12))
def test_levels_and_logarithms_are_answered_as_by_every_point(seed: int) -> None:
    from mace.space.axes import LevelAxis

    rng = np.random.default_rng(seed)
    model, rows = small_model(rng)
    points = all_points()
    said = model.predict(points)
    explainer = explainer_of(model, SPACE)
    assert isinstance(explainer, Unread) and explainer.enclosure is not None
    for name in ("l0", "l1", "linf", {"l0": "1/4", "l1": "1/2", "linf": "1/4"}):
        row = rows.iloc[int(rng.integers(80))]
        decision = int(model.predict(rows.loc[[row.name]])[0])
        place = Neighbourhood(SPACE, SPACE.axes(row.to_dict()), norm(name, len(SPACE.features)))
        found = by_boxes(explainer, place, 1 - decision)
        indices = [
            axis.levels() if isinstance(axis, LevelAxis) else list(range(axis.lower, axis.upper + 1))
            for axis in place.axes
        ]
        there = pd.MultiIndex.from_product(indices).to_frame(index=False).to_numpy()[said != decision]
        nearest = min((place.distance_of(tuple(map(int, point))) for point in there), default=None)
        assert found.status == ("infeasible" if nearest is None else "optimal")
        assert nearest is None or found.lower == nearest == place.distance_of(found.point)


def test_a_perceptron_of_ten_numbers_is_proved() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    y = (X[:, 0] + np.tanh(X[:, 1] * 2) + X[:, 2] * X[:, 3] / 2 > 0).astype(int)
    names = [f"x{k}" for k in range(10)]
    frame = pd.DataFrame(X, columns=names)
    model = sklearn("neural_network.MLPClassifier", hidden_layer_sizes=(4,), activation="tanh", max_iter=2000,
                    random_state=0).fit(frame, y)  # fmt: skip
    space = Space([Feature(name, "real", -4, 4) for name in names])
    row = frame.iloc[int(np.argmin(model.decision_function(frame) if hasattr(model, "decision_function")
                                   else model.predict_proba(frame)[:, 1]))]  # fmt: skip
    answer = mace.explain(model, space, row, goal=1, distance="linf", background=frame, timeout=None)
    assert answer.status == "optimal" and answer.oracle == "search (boxes)"


@pytest.mark.parametrize("missing", ["keep", "any"])
def test_a_category_that_may_be_missing_is_bounded_as_long_as_it_is_there(missing: Any) -> None:
    """That a column knows fewer levels than its feature has ended in a ValueError."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=80), "k": rng.choice(["u", "v", "w"], 80)})
    coded = make_pipeline(SimpleImputer(strategy="most_frequent"), sklearn("preprocessing.OneHotEncoder"))
    columns = ColumnTransformer([("n", "passthrough", ["a"]), ("k", coded, ["k"])], sparse_threshold=0.0)
    model = make_pipeline(columns, sklearn("svm.SVC")).fit(rows, rows.a + (rows.k == "v") > 0.5)
    space = Space([Feature("a", "real", -4, 4), Feature("k", "categorical", levels=["u", "v", "w"], missing=missing)])
    answer = mace.explain(model, space, {"a": -1.0, "k": "u"}, timeout=None if missing == "keep" else 0.2)
    assert answer.oracle == ("search (boxes)" if missing == "keep" else "search (tabu)")
    assert answer.status == ("optimal" if missing == "keep" else "bounded")


@pytest.mark.parametrize("name", ["naive_bayes.GaussianNB", "products"])
def test_numbers_that_are_large_beside_their_range_move_their_columns_by_steps(name: str) -> None:
    """They were taken to move in proportion, and a bound was proved beyond the nearest point."""
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(2)
    unit, wide = 2.0**-7, 100  # of the floats there, and how many of them lie in the range
    places = rng.integers(0, wide + 1, (100, 2))
    rows = pd.DataFrame(1.4 * 2.0**45 + places * unit, columns=["a", "b"])
    curved = places @ rng.normal(size=2) / wide + 0.3 * np.sin(5 * places[:, 0] / wide)
    products = (sklearn("preprocessing.PolynomialFeatures"), sklearn("linear_model.LogisticRegression"))
    last = products if name == "products" else (sklearn(name),)
    model = make_pipeline(sklearn("preprocessing.MinMaxScaler"), *last).fit(rows, curved > np.median(curved))
    space = Space([Feature(column, "real", rows[column].min(), rows[column].max()) for column in rows])
    explainer = explainer_of(model, space)
    assert isinstance(explainer, Unread)
    values = [np.arange(feature.lower, feature.upper + unit, unit) for feature in space.features]
    points = pd.DataFrame(np.stack(np.meshgrid(*values), axis=-1).reshape(-1, 2), columns=["a", "b"])
    said = model.predict(points)
    widths = np.array([feature.upper - feature.lower for feature in space.features])
    for at in (1, 19):
        row, away = rows.iloc[at], said != model.predict(rows.iloc[[at]])[0]
        place = Neighbourhood(space, space.axes(row.to_dict()), norm("l1", 2))
        nearest = (np.abs(points[away] - row).to_numpy() / widths).mean(axis=1).min()
        found = by_boxes(explainer, place, not said[~away][0])
        assert float(found.lower) == pytest.approx(nearest, rel=1e-9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", ["naive_bayes.GaussianNB", "svm.SVC"])
def test_changes_that_all_cost_nothing_are_answered(name: str) -> None:
    """Infinity times the largest distance, 0, was the distance within which sums were bounded."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    model = sklearn(name).fit(rows, rows.a + rows.b**2 > 1)
    space = Space([Feature(column, "real", -4, 4) for column in rows])
    for spec in ("l0", "l1", "linf"):
        answer = mace.explain(model, space, rows.iloc[0], distance=spec, weights={"a": 0, "b": 0})
        assert (answer.status, answer.distance) == ("optimal", 0)


def test_weights_that_differ_much_are_told_apart() -> None:
    """Of a weight of 10^9 beside others of a thousandth, points that were nearer in the last digits were left out."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: rng.integers(0, 11, 200) for name in "abc"})
    slopes = np.random.default_rng(9).normal(size=3)
    labels = (rows - 5) @ [2.0, *slopes[:2]] > 1 + slopes[2]
    model = sklearn("svm.SVC", C=10.0).fit(rows, labels)
    space = Space([Feature(name, "integer", 0, 10) for name in rows])
    points = pd.DataFrame(np.indices((11, 11, 11)).reshape(3, -1).T, columns=list("abc"))
    said = model.predict(points)
    explainer = explainer_of(model, space)
    assert isinstance(explainer, Unread)
    for at in range(12):
        decision = model.predict(rows.iloc[[at]])[0]
        spec = norm({"l0": "1/2", "l1": "1/2"}, 3, [10**9, "1e-3", "1e-3"])
        place = Neighbourhood(space, space.axes(rows.iloc[at].to_dict()), spec)
        found = by_boxes(explainer, place, not decision)
        assert found.lower == min(
            place.distance_of(tuple(point)) for point in points[said != decision].to_numpy().tolist()
        )


@pytest.mark.parametrize("diversity", ["features", "points", 0.05])
def test_further_answers_are_bounded_as_the_first_one_is(diversity: Any) -> None:
    """Boxes were not used where anything is excluded: later answers were found by search alone, and one was missed."""
    from mace.explain.unread import explainer

    rng, n = np.random.default_rng(1), range(9)
    rows = pd.DataFrame(itertools.product(n, n, n), columns=["a", "b", "c"])
    labels = (rows.a - 4) ** 2 + (rows.b - 5) ** 2 + 3 * (rows.c - 2) + rng.normal(size=len(rows)) > 22
    some = rng.choice(len(rows), 80, replace=False)
    model = sklearn("svm.SVC", C=10.0).fit(rows.iloc[some].to_numpy(), labels[some])
    space = Space([Feature(name, "integer", 0, 8) for name in rows])
    start = {"a": 4, "b": 5, "c": 3}
    with mock.patch.object(explainer, "MOST", 0):
        answer = mace.explain(
            model, space, start, goal=True, count=4, diversity=diversity, rules=["a + b <= 11 or c == 3"]
        )
    assert answer.oracle == "search (boxes)"
    good = rows[model.predict(rows.to_numpy()) & ((rows.a + rows.b <= 11) | (rows.c == 3))]
    left = list(good.itertuples(index=False))

    def far(one: Any, other: Any) -> Fraction:
        return Fraction(sum(abs(x - y) for x, y in zip(one, other, strict=True)), 24)

    def changed(point: Any) -> set[int]:
        return {k for k, (x, y) in enumerate(zip(point, start.values(), strict=True)) if x != y}

    for found in answer.counterfactuals:
        point = tuple(found.values[name] for name in rows)
        nearest = min(far(other, start.values()) for other in left)
        assert found.status == "optimal" and found.exact_lower_bound <= nearest == far(point, start.values())
        if diversity == "features":
            left = [other for other in left if not changed(point) <= changed(other)]
        else:
            left = [o for o in left if far(o, point) >= diversity] if diversity != "points" else [
                o for o in left if tuple(o) != point]  # fmt: skip
    assert len(answer.counterfactuals) == 4 or not left


def test_rules_close_boxes_of_which_the_model_says_nothing() -> None:
    """Each point of them was looked at: rules without any point left outlasted every time limit."""
    X = pd.DataFrame(np.random.default_rng(0).uniform(0, 1, size=(60, 6)), columns=list("abcdef"))
    model = sklearn("svm.SVC").fit(X.to_numpy(), (X.a * X.b + X.c > 0.7).astype(int))
    space = Space([Feature(name, "real", 0, 1, step="0.001") for name in X])
    row = X[model.predict(X.to_numpy()) == 0].iloc[0].round(3)
    rules = ["a + b >= 1.5", "a + b <= 1.4"]
    answer = mace.explain(model, space, row, goal=1, rules=rules, timeout=20)
    assert (answer.status, answer.oracle) == ("infeasible", "search (boxes)")


def test_a_need_of_many_parts_of_a_goal_is_looked_at_once() -> None:
    """Votes of duels between four classes are hundreds of parts, of a dozen needs: two columns took ten seconds."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.integers(0, 10, 80), "h": rng.integers(0, 12, 80)})
    model = sklearn("svm.SVC").fit(X.to_numpy(), rng.permutation(80) % 4)
    space = Space([Feature("n", "integer", 0, 10**6), Feature("h", "integer", 0, 12)])
    asked = list[tuple[int, int, float]]()
    one = Nearness._one

    def counted(self: Nearness, sides: Any, tight: Any, number: int, least: float, *others: Any) -> Any:
        asked.append((id(tight), number, least))
        kept.append(tight)
        return one(self, sides, tight, number, least, *others)

    kept = list[Any]()  # so that no other one is given its number
    with mock.patch.object(Nearness, "_one", counted):
        answer = mace.explain(model, space, X.iloc[0], timeout=20)
    assert answer.oracle == "search (boxes)" and asked
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("weight", ["1e-12", "1e12"])
def test_how_close_bounds_come_is_told_in_the_size_of_the_distances(weight: str) -> None:
    rows, target = load_breast_cancer(return_X_y=True)
    rows = np.round(rows[:, :2] / rows[:, :2].max(axis=0), 2)
    model = SVC().fit(rows, target)
    space = Space([Feature(name, "real", 0, 1, step=0.01) for name in ("a", "b")])
    row = rows[model.predict(rows) == 0][0]
    usual = mace.explain(model, space, row, goal=1)
    answer = mace.explain(model, space, row, goal=1, weights={"a": weight, "b": weight})
    assert (usual.status, answer.status) == ("optimal", "optimal")
    assert answer.exact_distance is not None
    assert answer.exact_distance / Fraction(weight) == usual.exact_distance
    assert answer.exact_lower_bound * 1001 > answer.exact_distance * 1000


def test_one_dear_feature_leaves_the_others_as_close() -> None:
    rows, target = load_breast_cancer(return_X_y=True)
    rows = np.round(rows[:, :2] / rows[:, :2].max(axis=0), 2)
    model = SVC().fit(rows, target)
    space = Space([Feature(name, "real", 0, 1, step=0.01) for name in ("a", "b")])
    row = rows[model.predict(rows) == 0][0]
    fixed = mace.explain(model, space.change(b="fixed"), row, goal=1)
    answer = mace.explain(model, space, row, goal=1, weights={"b": 10**12})
    assert (fixed.status, answer.status) == ("optimal", "optimal")
    assert answer.exact_distance == fixed.exact_distance
    assert answer.exact_lower_bound > 0
