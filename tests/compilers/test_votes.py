"""Soft votes and bagging over members that are read one at a time: what is read of them, and what is refused."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.compilers import read
from mace.compilers.side_by_side import placed
from mace.compilers.sklearn.beside import beside
from mace.errors import ModelError, UnreadableError
from mace.problem.goal_means import Condition, Piece, covered, half_spaces
from mace.problem.goal_rises import functions
from mace.tables import leaves
from mace.tables.decide import class_of, mean_at
from mace.tables.margins import network_error
from mace.tables.means import around, counts
from mace.tables.table import Ensemble, Link, Network, decided
from mace.tables.validity import validate
from tests.compilers import cases
from tests.compilers.families import Family, asked, data

TWO = Family("two", lambda X, y: None, 2)
X, Y = data(TWO, 200)
BOOSTING = GradientBoostingClassifier(n_estimators=8, random_state=0)
HISTOGRAMS = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5)
FOREST = RandomForestClassifier(6, max_depth=4, random_state=0)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
LINE = LogisticRegression(max_iter=2000)
HINGE = SGDClassifier(loss="modified_huber", alpha=0.1, random_state=0)
PERCEPTRON = MLPClassifier((4, 3), max_iter=60, random_state=0)


def votes(*members: Any, **options: Any) -> Any:
    return VotingClassifier([(f"m{k}", member) for k, member in enumerate(members)], voting="soft", **options)


def bagged(member: Any, count: int = 3, **options: Any) -> Any:
    return BaggingClassifier(member, count, random_state=0, **options)


def fitted(model: Any, rows: Any = X, labels: Any = Y) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, labels)


MODELS: dict[str, Any] = {
    "boosting": votes(BOOSTING, HISTOGRAMS),
    "weights": votes(BOOSTING, HISTOGRAMS, GradientBoostingClassifier(loss="exponential"), weights=[1, 0, 2.5]),
    "forests too": votes(FOREST, BOOSTING, TREE, weights=[2, 1, 3]),
    "searched": votes(GridSearchCV(BOOSTING, {"max_depth": [1, 2]}, cv=2), BOOSTING),
    "calibrated": votes(CalibratedClassifierCV(BOOSTING, cv=2), FOREST, weights=[3, 1]),
    "lines": votes(LINE, LogisticRegression(C=0.01), HINGE, weights=[1, 1, 0.5]),
    "perceptrons": votes(LINE, PERCEPTRON, MLPClassifier((3,), activation="identity", random_state=1)),
    "calibrated lines": votes(CalibratedClassifierCV(LinearSVC(), cv=2), LINE),
    "bagged boosting": bagged(BOOSTING, max_features=0.6),
    "bagged histograms": bagged(HISTOGRAMS, bootstrap_features=True),
    "bagged lines": bagged(LINE, max_features=0.6),
    "bagged lines twice": bagged(LINE, bootstrap_features=True),
    "bagged perceptrons": bagged(PERCEPTRON, 2, bootstrap_features=True),
    "bagged votes": bagged(votes(BOOSTING, FOREST, weights=[1, 2]), 2),
}


def near(table: Any, model: Any, rows: Any, count: int = 600) -> Any:
    """Rows by chance, on thresholds and beside them, and on the boundary of the library's own decision."""
    found = (
        asked(TWO, table, rows, count, count // 3)
        if isinstance(table, Ensemble)
        else np.concatenate([rows, rows * 1.5])
    )
    return np.concatenate([found, cases.on_boundary(model, rows, 40)])


def agrees(model: Any, rows: Any) -> None:
    """Decisions and probabilities of rows in a batch, and of some alone, are those of the table within its margin."""
    table = read(model)
    assert isinstance(table, (Ensemble, Network)) and table.link is not None
    rows, sure = near(table, model, rows), 0
    said, probable = model.predict(rows), model.predict_proba(rows)
    alone = {k: (model.predict(rows[[k]])[0], model.predict_proba(rows[[k]])[0]) for k in range(0, len(rows), 9)}
    for k, row in enumerate(rows):
        low, high = mean_at(table, row) if table.link.kind == "mean" else _fraction(table, row)
        found = class_of(table, row)
        sure += found is not None
        for label, p in [(said[k], probable[k]), *([alone[k]] if k in alone else [])]:
            assert low <= p[1] <= high and 1 - high <= p[0] <= 1 - low
            assert found is None or table.classes[found] == label
    assert sure > 0.9 * len(rows)


def _fraction(table: Ensemble | Network, row: Any) -> tuple[float, float]:
    assert isinstance(table, Ensemble)
    p = float(leaves.one(table, row)[1])
    return p - 2 * table.error - 1e-15, p + 2 * table.error + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_mean_decides_as_the_library_within_its_margin(name: str) -> None:
    agrees(fitted(MODELS[name]), X)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, [1, 2, 3], np.array([0.3, 0.0, 0.7], dtype=np.float32)])
def test_votes_of_other_libraries_decide_as_they_do(weights: Any) -> None:
    xgboost = pytest.importorskip("xgboost", reason="an extra that is not installed")
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    first = xgboost.XGBClassifier(n_estimators=9, max_depth=3, n_jobs=1)
    second = xgboost.XGBClassifier(n_estimators=4, max_depth=5, n_jobs=1)
    third = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1)
    for members in ([first, second, first], [third, first, BOOSTING], [FOREST, third, second]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            agrees(fitted(votes(*members, weights=weights)), X)


@pytest.mark.slow
def test_a_mean_in_float32_of_hundreds_of_members_is_within_its_margin() -> None:
    # numpy adds them one after the other, so that there are as many roundings as members.
    xgboost = pytest.importorskip("xgboost", reason="an extra that is not installed")
    some = [xgboost.XGBClassifier(n_estimators=1, max_depth=1, n_jobs=1, learning_rate=0.01 * k) for k in range(1, 6)]
    model = fitted(votes(*some))
    model.estimators_ = model.estimators_ * 100
    model.estimators = [(f"m{k}", None) for k in range(500)]
    table = read(model)
    assert isinstance(table, Ensemble) and table.link is not None
    rows = X[:60]
    low, high = around(table.link, leaves.scores(table, rows), np.full(table.outputs, 2 * table.error))
    p = model.predict_proba(rows)
    assert p.dtype == np.float32 and ((low <= p[:, 1]) & (p[:, 1] <= high)).all()


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        bagged(FOREST), bagged(ExtraTreesClassifier(4, max_depth=3, random_state=0), max_features=0.6, max_samples=9),
        votes(bagged(TREE), FOREST, weights=[0.5, 2]), votes(FOREST, TREE, weights=[1, 3]), votes(TREE, TREE),
    ],
    ids=["forests", "few rows", "bagging", "weights", "trees"],
)  # fmt: skip
def test_means_of_fractions_are_sums_of_trees_of_any_number_of_classes(model: Any, classes: int) -> None:
    family = replace(TWO, classes=classes)
    rows, labels = data(family, 200)
    made = fitted(model, rows, np.array(["u", "v", "w"])[labels])
    table = read(made)
    assert isinstance(table, Ensemble) and table.link == Link("fraction")
    found = asked(family, table, rows, 600, 300)
    said, probable = made.predict(found), made.predict_proba(found)
    assert np.abs(leaves.scores(table, found) - probable).max() <= 2 * table.error + 1e-15
    for row, label in zip(found, said.tolist(), strict=True):
        index = class_of(table, row)
        assert index is None or table.classes[index] == label


@pytest.mark.slow
@pytest.mark.parametrize(
    "member",
    [
        RandomForestRegressor(5, max_depth=4, random_state=0), GradientBoostingRegressor(n_estimators=6),
        HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5), LinearRegression(), Ridge(3.0),
        MLPRegressor(hidden_layer_sizes=(4,), random_state=0, max_iter=50),
    ],
    ids=lambda member: type(member).__name__,
)  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"max_features": 0.6}, {"bootstrap_features": True}], ids=repr)
def test_bagged_regressors_predict_within_their_margin(member: Any, options: dict[str, Any]) -> None:
    family = Family("numbers", lambda X, y: None, 0)
    rows, numbers = data(family, 200)
    model = fitted(BaggingRegressor(member, 4, random_state=0, **options), rows, numbers)
    table: Any = read(model)
    if isinstance(table, Ensemble):
        rows = asked(family, table, rows, 300, 200)
        assert np.abs(leaves.scores(table, rows)[:, 0] - model.predict(rows)).max() <= 2 * table.error
        return
    (error,) = network_error(table, [Fraction(float(value)) for value in np.abs(rows).max(axis=0)])
    assert np.abs(table.scores(rows)[:, 0] - model.predict(rows)).max() <= 2 * error


def test_bagged_regressors_in_float32_are_added_in_float32() -> None:
    xgboost = pytest.importorskip("xgboost", reason="an extra that is not installed")
    rows, numbers = data(Family("numbers", lambda X, y: None, 0), 200)
    member = xgboost.XGBRegressor(n_estimators=4, max_depth=3, n_jobs=1)
    model = fitted(BaggingRegressor(member, 6, random_state=0), rows, 1e4 + numbers)
    table, said = read(model), model.predict(rows)
    assert isinstance(table, Ensemble) and said.dtype == np.float32
    assert np.abs(leaves.scores(table, rows)[:, 0] - said).max() <= table.error


# --- what a part counts -----------------------------------------------------------------------------------------------


PARTS = (Link("logistic", 2.0), Link("steps", score=1, knots=((-1.0, 0.1), (0.5, 0.7), (2.0, 0.9))))
WEIGHTED = Link("mean", parts=PARTS, weights=(1.0, 3.0))


def test_weights_count_as_often_as_that_many_members() -> None:
    scores = np.random.default_rng(0).uniform(-3, 3, (50, 2))
    first, second = PARTS
    four = tuple(replace(part, score=k) for k, part in enumerate((first, second, second, second)))
    spread = np.column_stack([scores[:, 0], *[scores[:, 1]] * 3])
    assert counts(WEIGHTED).tolist() == [0.5, 1.5]
    for one, other in zip(
        around(WEIGHTED, scores, np.zeros(2)),
        around(Link("mean", parts=four), spread, np.zeros(4)),
        strict=True,
    ):
        assert np.abs(one - other).max() < 1e-13


@pytest.mark.parametrize("condition", [Condition(1.0, 0.6), Condition(-1.0, -0.35), Condition(1.0, 0.97)])
def test_half_spaces_and_functions_of_a_weighted_mean_hold_all_that_meets_the_condition(condition: Condition) -> None:
    rng = np.random.default_rng(1)
    piece = Piece((-3.0, -3.0), (3.0, 3.0), (0.2, 0.4))
    scores = rng.uniform(-3, 3, (4000, 2))
    low, high = around(WEIGHTED, scores, np.zeros(2))
    meets = condition.sign * (low + high) / 2 >= condition.bound
    rise = functions(WEIGHTED, condition, piece)
    assert rise.counts.tolist() == [0.5, 1.5]
    for at in ((0.2, 0.4), (-1.5, 2.0), (2.5, -0.5)):
        halves = half_spaces(WEIGHTED, [condition], piece._replace(at=at))
        if halves is None:
            assert not meets.any()
            continue
        for weights, constant in halves:
            assert (scores[meets] @ weights + constant >= 0).all()
            assert np.abs(weights).sum() == pytest.approx(1)
    total = sum(
        np.interp(scores[:, k] * rise.turn[k], rise.at[k, : rise.places[k]], rise.left[k, : rise.places[k]])
        for k in range(2)
    )
    assert (total[meets] >= rise.need - 1e-9).all() and (total[~meets] < rise.need + 1e-2).any()


def test_weights_that_fit_no_parts_are_refused() -> None:
    table = read(fitted(votes(BOOSTING, HISTOGRAMS, weights=[1, 2])))
    assert isinstance(table, Ensemble) and table.link is not None
    assert table.link.weights == pytest.approx((1 / 3, 2 / 3))
    for weights in ((1.0,), (1.0, 0.0), (1.0, -1.0), (1.0, float("inf"))):
        with pytest.raises(ModelError, match="has the weights"):
            validate(replace(table, link=replace(table.link, weights=weights)))


def test_the_goal_of_a_weighted_mean_encloses_what_the_model_grants() -> None:
    model = fitted(votes(BOOSTING, FOREST, HISTOGRAMS, weights=[5, 1, 2]))
    table = read(model)
    assert isinstance(table, Ensemble)
    p = model.predict_proba(X)[:, 1]
    high, low = np.quantile(p, [0.8, 0.1])
    for sign, bound, granted in ((1.0, 0.5, p > 0.5), (1.0, high, p >= high), (-1.0, -low, p <= low)):
        decision, wide = covered(table, [Condition(sign, bound)], None, "it")
        held = np.array([decided(decision, row) for row in leaves.scores(wide, X)])
        assert granted.any() and not (granted & ~held).any()


# --- what is read -----------------------------------------------------------------------------------------------------


def test_forests_share_one_score_members_without_a_say_have_none_and_means_inside_of_means_are_one() -> None:
    table = read(fitted(votes(FOREST, TREE, BOOSTING, LINE, weights=[1, 2, 3, 0])))
    assert isinstance(table, Ensemble) and table.link is not None
    assert table.outputs == 2 and table.link.weights == pytest.approx((0.5, 0.5)) or not table.link.weights
    assert len(table.trees) == 6 + 1 + 8
    inside = votes(BOOSTING, HISTOGRAMS, weights=[1, 3])
    table = read(fitted(votes(inside, HISTOGRAMS, weights=[2, 1])))
    assert isinstance(table, Ensemble) and table.link is not None
    assert table.link.weights == pytest.approx((1 / 6, 1 / 2, 1 / 3))


def test_networks_of_other_depths_stand_beside_each_other_and_say_the_same() -> None:
    rows, labels = cases.sample(2)
    tables: list[Network] = []
    for model in (LINE, PERCEPTRON, MLPClassifier((3,), activation="identity", random_state=1, max_iter=40)):
        table = read(fitted(model, rows, labels))
        assert isinstance(table, Network)
        tables.append(table)
    for some in itertools.permutations(tables, 2):
        whole = replace(some[0], layers=beside(some), rule="value", classes=(), link=None)
        said = np.column_stack([table.scores(rows) for table in some])
        assert np.allclose(whole.scores(rows), said, rtol=1e-12, atol=1e-9)
        size = [Fraction(float(x)) for x in np.abs(rows).max(axis=0)]
        margins = [error for table in some for error in network_error(table, size)]
        assert all(a >= b for a, b in zip(network_error(whole, size), margins, strict=True))


def test_a_table_that_is_given_some_of_the_columns_reads_those() -> None:
    rows, labels = cases.sample(2)
    for model in (FOREST, LINE, PERCEPTRON):
        for places in ((3, 1), (0, 4, 4, 2), (2, 2)):
            table = read(fitted(model, rows[:, places], labels))
            assert isinstance(table, (Ensemble, Network))
            whole = placed(table, places, rows.shape[1])
            for row in rows[:30]:
                assert np.allclose(whole.scores(row), table.scores(row[list(places)]), rtol=1e-12)


def test_soft_votes_of_trees_have_probabilities() -> None:
    names = list("abcdef")
    space = mace.Space([mace.Feature(name, "real", -9000, 9000) for name in names])
    model = fitted(votes(FOREST, TREE, weights=[1, 2]))
    p = model.predict_proba(X)[:, 1]
    row = dict(zip(names, X[int(np.flatnonzero(p < 0.3)[0])].tolist(), strict=True))
    answer = mace.explain(model, space, row, goal="p(1) >= 0.7")
    assert answer.status == "optimal" and answer.certificate.check().accepted
    assert model.predict_proba([list(answer.counterfactuals[0].values.values())])[0, 1] >= 0.7
    higher = read(fitted(FixedThresholdClassifier(votes(FOREST, TREE, weights=[1, 2]), threshold=0.7)))
    assert isinstance(higher, Ensemble)
    assert [class_of(higher, one) for one in X[:50]] == (p[:50] >= 0.7).astype(int).tolist()


def three() -> tuple[Any, Any]:
    return X, np.digitize(X[:, 1], [0.0, 10.0])


@pytest.mark.parametrize(
    ("model", "classes", "what"),
    [
        (votes(LINE, FOREST), 2, "trees and linear models together"),
        (votes(BOOSTING, LINE, weights=[0.1, 3]), 2, "trees and linear models together"),
        (votes(BOOSTING, HISTOGRAMS), 3, "has 3 classes; supported are two"),
        (bagged(LINE), 3, "has 3 classes; supported are two"),
        (votes(LINE, GaussianNB()), 2, "GaussianNB"),
        (bagged(LinearSVC()), 2, "member 0 is a LinearSVC, whose probability is no known function"),
        (VotingClassifier([("a", BOOSTING), ("b", BOOSTING)]), 2, "only trees"),
        (CalibratedClassifierCV(bagged(LINE), cv=2), 2, "over a BaggingClassifier is not supported"),
        (CalibratedClassifierCV(bagged(BOOSTING), ensemble=False, cv=2), 2, "over a BaggingClassifier is not"),
        (FixedThresholdClassifier(votes(BOOSTING, HISTOGRAMS), threshold=0.3), 2, "a mean of what several members say"),
        (FixedThresholdClassifier(votes(LINE, PERCEPTRON), threshold=0.0), 2, "a mean of what several members say"),
        (BaggingRegressor(HistGradientBoostingRegressor(loss="poisson", max_iter=2), 2), 0, "no plain sum"),
        (votes(BOOSTING, HISTOGRAMS, weights=[1, -1]), 2, "must be >= 0"),
        (votes(BOOSTING, HISTOGRAMS, weights=[1e308, 1e308]), 2, "must be >= 0"),
    ],
)  # fmt: skip
def test_what_is_no_mean_of_known_functions_is_refused_by_name(model: Any, classes: int, what: str) -> None:
    rows, labels = three() if classes == 3 else (X, Y if classes else np.exp(X[:, 0]))
    model = fitted(model, rows, labels)
    with pytest.raises(ModelError, match=what):
        read(model)


def test_pipelines_that_are_given_some_of_the_columns_are_refused() -> None:
    space = mace.Space([mace.Feature(name, "real", -9000, 9000) for name in "abcdef"])
    with pytest.raises(UnreadableError, match="member 0 is a pipeline that is given some of the columns"):
        mace.Explainer(fitted(bagged(LOGISTIC, max_features=3)), space)


@pytest.mark.parametrize(
    "model",
    [
        bagged(LOGISTIC, 2), votes(LOGISTIC, LINE, weights=[1, 2]),
        votes(make_pipeline(StandardScaler(), TREE), FOREST), votes(make_pipeline(StandardScaler(), BOOSTING), TREE),
    ],
    ids=["bagging", "lines", "fractions", "boosting"],
)  # fmt: skip
def test_members_that_are_pipelines_are_read_over_the_columns_of_a_space(model: Any) -> None:
    names, rng = list("abc"), np.random.default_rng(0)
    space = mace.Space([mace.Feature(name, "integer", 0, 5) for name in names])
    every = pd.DataFrame(itertools.product(range(6), repeat=3), columns=names)
    frame = every.iloc[rng.integers(0, len(every), 120)].reset_index(drop=True)
    made = fitted(model, frame, (frame.a + 2 * frame.b + rng.normal(size=120) > 7).astype(int))
    said, explainer = made.predict(every), mace.Explainer(made, space, distance="l1")
    for place in (3, 100, 211):
        answer = explainer.explain(every.iloc[place])
        away = np.abs(every - every.iloc[place]).sum(axis=1)[said != said[place]].min()
        assert answer.status == "optimal" and answer.exact_distance == Fraction(int(away), 15)
        assert answer.certificate.check().accepted


def lines(*scores: tuple[list[float], float], weights: list[float]) -> Any:
    """Soft votes of logistic regressions with these coefficients."""
    model = fitted(votes(*[LINE] * len(scores), weights=weights), np.eye(3), [0, 1, 1])
    for member, (coefficients, constant) in zip(model.estimators_, scores, strict=True):
        member.coef_, member.intercept_ = np.array([coefficients]), np.array([constant])
    return model


GRID = mace.Space([mace.Feature(name, "real", 0, 10, step="0.01") for name in "abc"])


def test_a_goal_that_one_member_grants_everywhere_and_the_mean_nowhere_is_refuted_at_once() -> None:
    # All points that one member would have were excluded one by one, until the time was over.
    model = lines(([-0.1, -0.1, 0.0], -0.5), ([0.1, 0.0, 0.01], 0.2), weights=[3, 1])
    answer = mace.explain(model, GRID, [2, 2, 2], goal=1, timeout=20)
    assert answer.status == "infeasible" and not answer.notes and answer.certificate.check().accepted


@pytest.mark.parametrize("goal", ["1", "p(1) >= 0.9"])
def test_how_far_a_goal_of_a_mean_is_missed_is_bisected_by_pieces(goal: str) -> None:
    # A relaxed goal was asked by what encloses it from afar, and everything there was excluded one by one.
    model = lines(([-0.1, -0.1, 0.0], -0.5), ([0.1, 0.0, 0.01], 0.2), weights=[3, 1])
    missed = mace.explain(model, GRID, [2, 2, 2], goal=goal, timeout=20).nearest_miss()
    (p,) = model.predict_proba([[0, 0, 10]])[:, 1]  # -a is worth three times as much as a
    assert missed.status == "optimal" and [level.status for level in missed.levels] == ["optimal"] * 2
    assert missed.levels[0].value == pytest.approx(0.9 - p if goal[0] == "p" else 1 - 2 * p, abs=1e-8)
    assert missed.counterfactuals[0].values == {"a": 0, "b": 0, "c": 10}
    assert all(level.certificate.check().accepted for level in missed.levels)


def test_what_rules_alone_refute_of_a_mean_of_trees_has_a_certificate() -> None:
    # "no certificate: the search of its proof is not known": none was needed.
    model = fitted(votes(BOOSTING, HISTOGRAMS))
    space = mace.Space([mace.Feature(name, "real", -9000, 9000) for name in "abcdef"])
    row = dict(zip("abcdef", X[0].tolist(), strict=True))
    answer = mace.explain(model, space, row, rules=["a >= 1 and a <= 0"], goal=1 - int(model.predict(X[:1])[0]))
    assert answer.status == "infeasible" and answer.certificate.check().accepted


def test_a_lead_over_the_other_class_of_a_mean_is_asked_as_its_probability() -> None:
    # It was asked by what encloses it from afar: in ten seconds nothing was proved.
    model = lines(([0.4, -0.2, 0.1], -1.5), ([0.1, 0.1, 0.0], -2.0), ([-0.2, -0.3, 0.3], 0.1), weights=[1, 1, 1])
    lead, p = (mace.explain(model, GRID, [2, 6, 1], goal=goal, timeout=20) for goal in ("1 by 0.1", "p(1) >= 0.55"))
    assert lead.status == p.status == "optimal" and lead.exact_distance == p.exact_distance
    assert lead.certificate.check().accepted


def test_a_way_that_is_a_millionth_of_the_ranges_is_found() -> None:
    # What is nearest to a half-space lay within rounding of it, and so short a way led nowhere when it was made longer:
    # there was no answer at all.
    space = mace.Space([mace.Feature(name, "real", -9000, 9000) for name in "abcdef"])
    row = dict(zip("abcdef", X[0].tolist(), strict=True))
    for model in (bagged(LINE, 2), CalibratedClassifierCV(LINE, cv=2)):
        made = fitted(model)
        answer = mace.explain(made, space, row)
        assert answer.status == "optimal" and 0 < answer.lower_bound <= answer.distance < 1e-5
        assert made.predict([list(answer.counterfactuals[0].values.values())])[0] != made.predict(X[:1])[0]


def test_a_mean_of_thirty_linear_models_is_answered() -> None:
    # A first point far from the nearest one left so many scores open that a thousand pieces did not suffice.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 12))
    labels = (rows @ rng.normal(size=12) + rng.normal(size=300) > 0).astype(int)
    model = fitted(bagged(LogisticRegression(), 30), rows, labels)
    space = mace.Space([mace.Feature(f"x{k}", "real", -4, 4, step="0.01") for k in range(12)])
    answer = mace.explain(model, space, dict(zip(space.names, rows[3].round(2).tolist(), strict=True)), timeout=60)
    assert answer.status == "optimal"
