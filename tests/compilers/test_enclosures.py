"""Models without a table: their bounds hold for the library, and prove what asking about all points proves."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import mace
from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.compilers.enclosures import functions
from mace.compilers.enclosures.bounds import Bounds, over
from mace.compilers.enclosures.enclosed import softmax
from mace.compilers.enclosures.ranges import Range
from mace.compilers.enclosures.reader import ends_of
from mace.compilers.enclosures.registry import ENCLOSED, enclosed
from mace.compilers.enclosures.steps import step_function
from mace.compilers.library import is_a
from mace.errors import UnreadableError
from mace.explain.answer import Answer
from mace.explain.explainers import explainer_of
from mace.explain.unread.enclosed import Said, agrees
from mace.explain.unread.explainer import Unread
from mace.problem.around import Neighbourhood
from mace.problem.distance import norm
from mace.search.blackbox import Calls
from mace.search.chart import Chart
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.space.space import Space
from tests.held import compared
from tests.held_boxes import BOXES, misses
from tests.roads import agree
from tests.test_families_agree import sklearn

QUICK = ("boxes-GaussianNB", "boxes-SVC-poly", "boxes-splines")
SPACE = Space(
    [
        Feature("a", "integer", 0, 60),
        Feature("b", "real", 0, 2, step="0.1"),
        Feature("c", "real", -1, 1, step="0.1"),
        Feature("k", "categorical", levels=["u", "v"]),
    ]
)
ROW = {"a": 5, "b": 0.5, "c": 0.2, "k": "u"}
FAMILIES = {family.name: family for family in BOXES}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.integers(0, 61, 120).astype(float), "b": rng.integers(0, 21, 120) / 10,
            "c": rng.integers(-10, 11, 120) / 10, "k": rng.choice(["u", "v"], 120),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def labels(rows: pd.DataFrame) -> Any:
    return ((rows.a - 30) / 15 + (rows.b - 1) * rows.c + (rows.k == "v") > 0).astype(int).to_numpy()


def machine(rows: pd.DataFrame, labels: Any, last: Any) -> Any:
    """A pipeline over raw columns, categories among them."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    one_hot = sklearn("preprocessing.OneHotEncoder", sparse_output=False)
    scaler = sklearn("preprocessing.StandardScaler")
    columns = ColumnTransformer([("numbers", scaler, ["a", "b", "c"]), ("levels", one_hot, ["k"])])
    return make_pipeline(columns, last).fit(rows, labels)


def nearest(model: Any, answer: Answer) -> float:
    """The least l1 distance by what the model says of every point."""
    values = [range(61), *([k / 10 for k in range(low, low + 21)] for low in (0, -10)), ["u", "v"]]
    points = pd.DataFrame(list(itertools.product(*values)), columns=list(SPACE.names)).astype({"a": float})
    has = model.predict(points) != answer.decision
    away = [(points[n] - ROW[n]).abs() / scale for n, scale in (("a", 60), ("b", 2), ("c", 2))]  # type: ignore[operator]
    return float(((sum(away) + (points.k != "u")) / 4)[has].min())


@pytest.mark.parametrize("name", QUICK)
def test_bounds_hold_for_what_the_library_says(name: str) -> None:
    assert compared(FAMILIES[name], 60, 5).rows == 60


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(FAMILIES) - set(QUICK)))
def test_bounds_of_the_other_families_hold(name: str) -> None:
    assert compared(FAMILIES[name], 110, 5).rows == 110


def test_bounds_that_are_too_narrow_are_seen() -> None:
    def narrow(self: Bounds) -> Range:
        middle = (self.values.low + self.values.high) / 2
        return Range(*(middle + (side - middle) * 0.3 for side in self.values))

    with mock.patch.object(Bounds, "said", property(narrow)), pytest.raises(AssertionError, match="exclude"):
        compared(FAMILIES["boxes-splines"], 60, 5)


def test_a_machine_over_raw_columns_is_answered_as_by_every_point(rows: pd.DataFrame, labels: Any) -> None:
    model = machine(rows, labels, sklearn("svm.SVC"))
    answer = mace.explain(model, SPACE, ROW, gap=0, rgap=0)
    assert (answer.status, answer.oracle) == ("optimal", "search (boxes)")
    assert answer.distance == answer.lower_bound == pytest.approx(nearest(model, answer))
    assert "without a certificate" in str(answer)
    assert "nothing nearer reaches the goal" in str(answer)
    loose = mace.explain(model, SPACE, ROW, gap=answer.distance)
    assert loose.exact_lower_bound < loose.exact_distance
    assert "nothing that is nearer by more than the gap reaches the goal" in str(loose)


@pytest.mark.slow
def test_problems_end_as_asking_about_every_point() -> None:
    with mock.patch("mace.explain.unread.explainer.MOST", 0):
        ended = agree(FAMILIES["boxes-SVC-poly"], range(200, 203), ("auto",))
    assert sum(ended.values()) == 3


def test_a_logarithm_of_a_real_number_before_a_linear_model(rows: pd.DataFrame, labels: Any) -> None:
    from sklearn.pipeline import make_pipeline

    space, numbers = Space(SPACE.features[:3]), rows[["a", "b", "c"]]
    squeeze = sklearn("preprocessing.FunctionTransformer", func=np.log1p)
    model = make_pipeline(
        sklearn("compose.ColumnTransformer", transformers=[("l", squeeze, ["a", "b"])], remainder="passthrough"),
        sklearn("linear_model.LogisticRegression"),
    ).fit(numbers, labels)
    answer = mace.explain(model, space, {name: ROW[name] for name in space.names}, goal="p(1) >= 0.7")
    assert (answer.status, answer.oracle) == ("optimal", "search (boxes)")
    assert ("nearer by more than the gap" in str(answer)) == (answer.exact_distance != answer.exact_lower_bound)


def test_what_cannot_be_reached_is_infeasible(rows: pd.DataFrame, labels: Any) -> None:
    model = machine(rows, labels + rows.b.to_numpy(), sklearn("svm.SVR"))
    answer = mace.explain(model, SPACE, ROW, goal="y >= 1000")
    assert (answer.status, answer.oracle) == ("infeasible", "search (boxes)")


def test_what_boxes_proved_is_told_while_the_search_goes_on(rows: pd.DataFrame, labels: Any) -> None:
    model = machine(rows, labels, sklearn("svm.SVC"))
    told: list[float] = []
    said = Said(None, "unknown", Fraction(1, 1024), "time limit", "")
    with mock.patch("mace.explain.unread.enclosed.Boxes.bounded", return_value=said):
        answer = mace.explain(model, SPACE, ROW, callback=lambda bracket: told.append(float(bracket.lower)))
    assert answer.exact_lower_bound == Fraction(1, 1024) and told and set(told) == {1 / 1024}


def test_a_limit_of_calls_leaves_a_model_to_the_search(rows: pd.DataFrame, labels: Any) -> None:
    model = machine(rows, labels, sklearn("svm.SVC"))
    answer = mace.explain(model, SPACE, ROW, max_calls=50)
    assert answer.lower_bound == 0 and answer.oracle == "search (tabu)"


def test_bounds_that_the_model_contradicts_are_not_used(rows: pd.DataFrame, labels: Any) -> None:
    model = machine(rows, labels, sklearn("svm.SVC"))
    explainer = explainer_of(model, SPACE)
    assert isinstance(explainer, Unread) and explainer.enclosure is not None
    calls = Calls(explainer.box, Chart(Neighbourhood(SPACE, SPACE.axes(ROW), norm("l1", 4))))
    assert agrees(explainer.enclosure, calls, NEVER)
    turned = replace(explainer.enclosure.model, decisions=explainer.enclosure.model.decisions[::-1])
    assert not agrees(replace(explainer.enclosure, model=turned), calls, NEVER)


def test_bounds_are_compared_with_the_model_within_the_time_limit(rows: pd.DataFrame, labels: Any) -> None:
    # Of 256 rows at once, as they were: of a machine of 1,300 stored rows six seconds, whatever the limit.
    model = machine(rows, labels, sklearn("svm.SVC"))
    explainer = explainer_of(model, SPACE)
    assert isinstance(explainer, Unread) and explainer.enclosure is not None
    looks = iter(range(2))
    late = Deadline(1.0, 0.0, lambda: -1.0 if next(looks, None) is not None else 1.0)
    calls = Calls(explainer.box, Chart(Neighbourhood(SPACE, SPACE.axes(ROW), norm("l1", 4))))
    with pytest.raises(TimeOverError, match="comparing the bounds"):
        agrees(explainer.enclosure, calls, late)
    with mock.patch("mace.explain.unread.explainer.agrees", side_effect=TimeOverError("time limit (1 s)")):
        answer = mace.explain(model, SPACE, ROW)
    assert answer.status == "bounded" and answer.lower_bound == 0
    assert any("are not used: time limit (1 s)" in note for note in answer.notes)


def test_products_of_many_columns_are_bounded_all_at_once() -> None:
    """One by one, those of 200 columns took 30 seconds, whatever the time limit was."""
    rows = np.random.default_rng(0).normal(size=(5, 30))
    step = sklearn("preprocessing.PolynomialFeatures", degree=3).fit(rows)
    with mock.patch.object(Bounds, "times", autospec=True, side_effect=Bounds.times) as multiplied:
        found = over(step_function(step), Range(rows, rows)).said
    said = step.transform(rows)
    assert ((found.low <= said) & (said <= found.high)).all()
    assert multiplied.call_count < 10


def test_rows_are_compared_without_looking_for_changes() -> None:
    """Changes of 400 columns took all of the time limit, and the bounds were not used."""
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    space = Space([Feature(name, "real", -4, 4) for name in numbers])
    explainer = explainer_of(sklearn("naive_bayes.GaussianNB").fit(numbers, numbers.a > 0), space)
    assert isinstance(explainer, Unread) and explainer.enclosure is not None
    calls = Calls(explainer.box, Chart(Neighbourhood(space, space.axes(numbers.iloc[0].to_dict()), norm("l1", 2))))
    with mock.patch.object(Bounds, "of_columns", side_effect=Bounds.of_columns) as asked:
        assert agrees(explainer.enclosure, calls, NEVER, likely=True)
    assert asked.call_args_list and all(len(call.args) == 1 for call in asked.call_args_list)


def test_what_a_function_rounds_is_carried_on_by_what_comes_behind_it() -> None:
    """Of a logarithm less its mean the margin was a part of what was left, which is less than it had rounded."""
    axis = Feature("a", "real", 0, 40).axis(20.0)
    chain: Any = (("log1p", None), ("sub", math.log1p(20)), ("div", 1e-3))
    close = (axis.start, axis.start + 1)
    ends = ends_of(Column("a", 0, None, chain), axis, close)
    assert ends.low < -1e-10 < 0 < 1e-10 < ends.high < 1e-8
    quantiles = tuple(np.linspace(0, 40, 11).tolist())
    for normal, least in ((False, 1e-13), (True, 1e-9)):
        chain = (("quantile", (quantiles, tuple(np.linspace(0, 1, 11).tolist()), normal)),)
        ends = ends_of(Column("a", 0, None, chain), axis, close)
        assert least < ends.high - ends.low < 1e-7


def test_overflow_bounds_nothing() -> None:
    far = Range(np.array([[-1e200, 1.0]]), np.array([[1e200, 2.0]]))
    for function in (functions.exponential, functions.squared, lambda x: functions.exponential(x).times(x)):
        said = over(function, far).said
        assert not said.high[0, 0] < np.inf and 0 < said.high[0, 1] < 20
    assert not over(functions.reciprocal, far).said.high[0, 0] < np.inf


@pytest.mark.parametrize("count", [2, 3])
def test_probabilities_are_bounded_where_odds_overflow(count: int) -> None:
    """They were NaN, and of a class far away in a corner no question about probabilities had bounds."""
    scores = Range(np.array([[0.0, -3.0, -1e5][:count]]), np.array([[1.0, 50.0, 1e5][:count]]))
    said = over(softmax, scores).said
    assert (said.low > -1e-6).all() and (said.high < 1 + 1e-6).all()
    at = np.array([[0.0, 50.0, -1e5][:count]]), np.array([[0.0, -3.0, 1e5][:count]])
    for row in at:
        found = over(softmax, Range(row, row)).said
        assert np.isfinite(found.low).all() and found.low.sum() == pytest.approx(1, abs=1e-6) == found.high.sum()
    narrow = Range(np.array([[4.0, 0.0, -800.0][:count]]), np.array([[60.0, 0.0, 0.0][:count]]))
    assert over(softmax, narrow).said.high[0, 1] < 0.02
    model = sklearn("naive_bayes.GaussianNB").fit(np.array([[0.0], [1e-3], [50.0], [50.1]]), [0, 0, 1, 1])
    own = model.predict_proba([[0.0], [50.0]])
    assert not misses(enclosed(model), *2 * [np.array([[0.0], [50.0]])], np.array([0, 1]), own).any()


def test_splines_of_numbers_that_are_large_beside_their_distance_are_bounded() -> None:
    """How far the ends of a box were from its middle was half of its width, and the middle is rounded."""
    start, unit = 2.0**30, 2.0**-22  # and the floats there
    X = start + np.linspace(0, 1, 30)[:, None]
    step = sklearn("preprocessing.SplineTransformer").fit(X)
    low = start + 0.3 + unit * np.arange(40)[:, None]
    for wide in (1, 3):
        found = over(step_function(step), Range(low, low + wide * unit)).said
        for place in range(wide + 1):
            said = step.transform(low + place * unit)
            assert ((found.low <= said) & (said <= found.high)).all()


def test_splines_of_what_is_not_known_bound_nothing() -> None:
    X = np.linspace(0, 1, 30)[:, None]
    curves = step_function(sklearn("preprocessing.SplineTransformer").fit(X))
    found = over(curves, Range(np.array([[np.nan], [0.2]]), np.array([[np.nan], [0.3]]))).said
    assert np.isnan(found.high[0]).all() and np.isfinite(found.high[1]).all()


def test_distances_that_overflow_bound_nothing() -> None:
    X = np.array([[-1e200], [0.0], [1e200]])
    scores = enclosed(sklearn("neighbors.KNeighborsRegressor", n_neighbors=2).fit(X, [1.0, 2.0, 3.0])).scores
    low, high = over(scores, Range(X, X)).said
    assert (low <= 1.5).all() and (high >= 2.5).all()


def test_kernels_of_the_users_own_are_refused(rows: pd.DataFrame, labels: Any) -> None:
    numbers = rows[["a", "b", "c"]].to_numpy()
    own = sklearn("svm.SVC", kernel=lambda a, b: a @ b.T).fit(numbers, labels)
    near = sklearn("neighbors.KNeighborsClassifier", weights="distance").fit(numbers, labels)
    for model in (own, near):
        with pytest.raises(UnreadableError):
            enclosed(model)


def test_scores_of_members_have_the_scale_of_the_library() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    for count in (2, 3):
        y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [0.0, 0.7][: count - 1])
        quadratic = sklearn("discriminant_analysis.QuadraticDiscriminantAnalysis", reg_param=0.1).fit(X, y)
        scoring = enclosed(quadratic).scoring
        assert scoring is not None
        low, high = over(scoring, Range(X, X)).said
        own = quadratic.decision_function(X).reshape(60, -1)
        assert low.shape == own.shape and ((low <= own) & (own <= high)).all()
        assert enclosed(sklearn("ensemble.AdaBoostClassifier", n_estimators=3).fit(X, y)).scoring is None


def test_projections_without_a_mean_and_of_tiny_components_are_bounded() -> None:
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 1.0, 1e-10]
    y = (X[:, 0] + 1e10 * X[:, 2] > 0).astype(int)
    for name, options in (("TruncatedSVD", {}), ("PCA", {"whiten": True})):
        model = make_pipeline(sklearn(f"decomposition.{name}", **options), sklearn("svm.SVC")).fit(X, y)
        assert not misses(enclosed(model), X, X, model.predict(X)).any(), name


def test_what_jumps_and_what_decides_by_itself_is_refused() -> None:
    from sklearn.pipeline import make_pipeline

    X = np.random.default_rng(0).random((30, 2))
    y = (X[:, 0] > 0.5).astype(int)
    jumps = make_pipeline(sklearn("preprocessing.SplineTransformer", degree=0), sklearn("svm.SVC")).fit(X, y)
    own = sklearn("svm.SVC").fit(X, y)
    own.predict = lambda rows: np.zeros(len(rows), dtype=int)
    for model in (jumps, own):
        with pytest.raises(UnreadableError):
            enclosed(model)


def test_models_that_compute_in_float32_are_refused() -> None:
    X = np.random.default_rng(0).random((30, 2)).astype(np.float32)
    y = (X[:, 0] > 0.5).astype(int)
    for name, options in (("naive_bayes.GaussianNB", {}), ("discriminant_analysis.QuadraticDiscriminantAnalysis", {})):
        with pytest.raises(UnreadableError, match="float32"):
            enclosed(sklearn(name, **options).fit(X, y))
    with pytest.raises(UnreadableError, match="float32"):
        enclosed(sklearn("neighbors.KNeighborsRegressor").fit(X.astype(np.float64), X[:, 0]))


@pytest.mark.parametrize(("objective", "count"), [("count:poisson", 0), ("multi:softprob", 3)])
def test_exponentials_in_float32_of_members_are_within_their_bounds(objective: str, count: int) -> None:
    library = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    y = rng.integers(0, count, 60) if count else 1 + 1e-4 * X[:, 0]
    kind = library.XGBClassifier if count else library.XGBRegressor
    member = kind(n_estimators=1, max_depth=2, n_jobs=1, objective=objective)
    wrapper = "VotingClassifier" if count else "BaggingRegressor"
    given = {"estimators": [("m", member)], "voting": "soft"} if count else {"estimator": member, "n_estimators": 9}
    model = sklearn(f"ensemble.{wrapper}", **given).fit(X, y)
    said, bounded = model.predict(X), enclosed(model)
    assert not misses(bounded, X, X, said, model.predict_proba(X) if count else None).any()


@pytest.mark.slow
def test_every_class_that_is_bounded_has_a_family() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((40, 4)), columns=list("nxtd"))
    made = [family.make(X, rng.integers(0, family.classes, 40) if family.classes else rng.random(40), rng)
            for family in BOXES]  # fmt: skip
    seen = [getattr(model, "steps", [("", model)])[-1][1] for model in made]
    missing = [path for path in ENCLOSED if not any(is_a(model, path) for model in seen)]
    assert missing == ["sklearn.svm.NuSVR", "sklearn.ensemble.BaggingRegressor"]
