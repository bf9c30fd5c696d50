"""Means of calibrated members: what is read of them, the pieces that enclose a goal, and the nearest points."""

from __future__ import annotations

import itertools
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mace
from mace.base.deadline import NEVER
from mace.compilers import deployed, read
from mace.errors import CertificateError, GoalError, ModelError
from mace.explain.probabilities.means import MOST_TOGETHER, Refined, refined
from mace.explain.probabilities.members import by_members
from mace.problem.goal_decision import lower
from mace.problem.goal_means import Condition, Piece, conditions_of, covered, line_above, whole_of
from mace.problem.goal_rises import functions
from mace.problem.goals import Between, Classes, Margin, Probability
from mace.problem.proof import Leaf
from mace.proofs.check import check
from mace.solve import compiled
from mace.solve.driver import Bracket
from mace.solve.ensembles.means.cover import Refuted, cover, functions_from
from mace.solve.protocol import Gap
from mace.tables import leaves
from mace.tables.decide import class_of, decides
from mace.tables.means import around, probability
from mace.tables.table import Compare, Ensemble, Link, Network, decided, decision_of
from mace.tables.validity import validate

METHODS = ("sigmoid", "isotonic", "temperature")
MEMBERS = (
    GradientBoostingClassifier(n_estimators=6, random_state=0),
    RandomForestClassifier(5, max_depth=4, random_state=0),
    HistGradientBoostingClassifier(max_iter=6),
    LogisticRegression(),
    MLPClassifier((3,), max_iter=60, random_state=0),
)
SPACE = mace.Space(
    [mace.Feature(name, "integer", lower=0, upper=top) for name, top in zip("abc", (11, 8, 4), strict=True)]
)
WIDE = Piece((-3.0, -3.0), (3.0, 3.0), (0.0, 0.0))
WHOLE = pd.DataFrame(list(itertools.product(range(12), range(9), range(5))), columns=list("abc"))


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes longer than all of these questions."""
    monkeypatch.setattr(compiled._interpreting, "patience", 1e9)


def sample() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    X = WHOLE.iloc[rng.integers(0, len(WHOLE), 160)].reset_index(drop=True)
    return X, np.where(2 * X.a + X.b - X.c + rng.normal(0, 3, len(X)) > 14, "good", "bad")


X, Y = sample()


def fitted(base: Any, method: str, cv: int = 3) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CalibratedClassifierCV(base, method=method, cv=cv).fit(X, Y)


def name_of(value: object) -> str:
    return value if isinstance(value, str) else type(value).__name__


def scores(table: Any, rows: Any) -> Any:
    return leaves.scores(table, rows) if isinstance(table, Ensemble) else table.scores(rows)


def encloses(model: Any, label: str, parts: int) -> float:
    """The share of rows that the pieces of a goal hold and the model denies; every row that it grants is among them."""
    table = read(model)
    assert isinstance(table, (Ensemble, Network))
    rows = WHOLE.to_numpy(dtype=np.float64)
    pieces = None
    if parts and isinstance(table, Ensemble):
        pieces = [whole_of(table)]
        for score in range(parts):
            place = pieces[0].at[score]
            pieces = [half for piece in pieces for half in piece.split(score, place, piece.at)]
    decision, wide = covered(table, conditions_of(Classes(frozenset([label])), table.classes), pieces, label)
    held = np.array([decided(decision, row) for row in scores(wide, rows)])
    granted = model.predict(WHOLE) == label
    assert not (granted & ~held).any()
    return float((held & ~granted).mean())


def test_smaller_pieces_enclose_a_goal_more_tightly() -> None:
    model = fitted(MEMBERS[0], "sigmoid")
    for label in ("good", "bad"):
        assert encloses(model, label, 3) <= encloses(model, label, 0)


def test_a_line_lies_above_what_it_bounds_and_touches_it_near_its_place() -> None:
    steps = Link("steps", knots=((-1.0, 0.1), (0.0, 0.2), (0.01, 0.7), (2.0, 0.9)))
    table = read(fitted(MEMBERS[0], "sigmoid"))
    assert isinstance(table, Ensemble)
    for part, sign in itertools.product(
        (steps, Link("logistic", 2.0, 0.3), replace(steps, inside=Link("logistic")), Link("odds", 1.5)), (1.0, -1.0)
    ):
        low, high = (0.01, 0.99) if part.kind == "odds" else (-3.0, 2.5)
        piece = whole_of(table)._replace(low=(low,), high=(high,), at=(0.3,))
        line = line_above(part, sign, piece, 0)
        x = np.linspace(low, high, 4001)
        over = line.slope * x + line.constant - sign * probability(part, x)
        assert over.min() >= 0
        assert over.min() < 2e-3


def test_a_rounded_probability_inside_steep_odds_or_steps_stays_within_what_is_allowed_for() -> None:
    scores = np.linspace(10, 34, 2001)[:, None]
    coarse, fine = Link("logistic", dtype="float32"), Link("logistic")
    near = 1.0 - np.array([3e-15, 2e-15])
    steps = Link("steps", knots=((0.0, 0.0), (float(near[0]), 0.1), (float(near[1]), 0.9)), inside=fine)
    odds = Link("odds", 0.1, dtype="float32", inside=coarse)
    for part in (odds, steps):
        unit = np.float32 if part is odds else np.float64
        rounded = (1 / (1 + np.exp(-scores[:, 0].astype(unit)))).astype(np.float64)
        for side in (-1, 1):  # a library's last place may be another one
            given = np.clip(rounded + side * np.spacing(rounded.astype(unit)), 0, 1).astype(np.float64)
            if part is odds:
                said = 1 / (1 + ((1 - given + 1e-12) / (given + 1e-12)) ** 0.1)
            else:
                said = np.interp(given, *np.array(steps.knots).T)
            low, high = around(Link("mean", parts=(part,), dtype=part.dtype), scores, np.zeros(1))
            assert ((low <= said) & (said <= high)).all()
            piece = Piece((10.0,), (34.0,), (20.0,))
            for sign in (1.0, -1.0):
                line = line_above(part, sign, piece, 0)
                assert (line.slope * scores[:, 0] + line.constant >= sign * said).all()


def test_what_a_mean_decides_is_no_comparison_of_scores_and_says_so() -> None:
    table = read(fitted(LogisticRegression(), "sigmoid"))
    assert isinstance(table, Network)
    with pytest.raises(GoalError, match="a mean of probabilities"):
        decision_of(table, 1)
    with pytest.raises(GoalError, match="compares no scores"):
        lower(Margin("good", 0.5, in_score=True), table)
    assert table.link is not None
    with pytest.raises(ModelError, match="its mean of 2 probabilities"):
        validate(replace(table, link=replace(table.link, parts=table.link.parts[:2])))
    row = np.zeros(3)
    low, high = around(table.link, table.scores(row)[None, :], np.full(3, 1e-9))
    assert low[0] < high[0] < low[0] + 1e-6
    assert class_of(table, row) == int(low[0] > 0.5)
    far = Compare(0, None, 1e6)
    assert decides(table, ((far,),), row) is False


@pytest.mark.parametrize(
    ("base", "asked", "alone"), [(MEMBERS[1], "predict_proba", True), (MEMBERS[0], "decision_function", False)]
)
def test_forests_are_asked_under_one_filter_of_warnings(
    base: Any, asked: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, found = fitted(base, "sigmoid"), list[int]()
    ask = getattr(type(base), asked)

    def watched(self: Any, rows: Any) -> Any:
        found.append(len(warnings.filters))
        return ask(self, rows)

    monkeypatch.setattr(type(base), asked, watched)
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        said, outside = deployed(model).predict(WHOLE), len(warnings.filters)
    assert found == 3 * [1 if alone else outside] and outside > 1
    assert (said == model.predict(WHOLE)).all()


def test_members_that_are_pipelines_or_have_no_table_are_named() -> None:
    with pytest.raises(ModelError, match="a pipeline"):
        read(fitted(make_pipeline(StandardScaler(), LogisticRegression()), "sigmoid"))
    with pytest.raises(ModelError, match="GaussianNB"):
        read(fitted(GaussianNB(), "sigmoid"))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", MEMBERS, ids=name_of)
def test_a_mean_is_read_within_its_margin_and_its_goals_are_enclosed(base: Any, method: str) -> None:
    model = fitted(base, method)
    table = read(model)
    assert isinstance(table, (Ensemble, Network))
    assert table.link is not None
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 14, (1000, 3))
    said = model.predict_proba(pd.DataFrame(rows, columns=list("abc")))[:, 1]
    low, high = around(table.link, scores(table, rows), np.full(table.outputs, 1e-9))
    assert ((low <= said) & (said <= high)).all()
    for label in ("good", "bad"):
        encloses(model, label, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "method"),
    list(zip(MEMBERS, ("sigmoid", "isotonic", "sigmoid", "isotonic", "sigmoid"), strict=True)),
    ids=name_of,
)
def test_the_nearest_of_all_points_is_found_and_proved(base: Any, method: str) -> None:
    model = fitted(base, method)
    explainer = mace.Explainer(model, SPACE, distance="l1")
    decided_ = model.predict(WHOLE)
    p = model.predict_proba(WHOLE)[:, 1]
    row = X.iloc[0]
    away = [sum(Fraction(abs(int(x)), top) for x, top in zip(change, (11, 8, 4), strict=True)) / 3
            for change in (WHOLE - row).to_numpy()]  # fmt: skip
    goals = [
        ("good", decided_ == "good"),
        ("bad", decided_ == "bad"),
        ("p(good) >= 0.7", p >= 0.7),
        ("p(good) <= 0.4", p <= 0.4),
    ]
    for goal, reached in goals:
        answer = explainer.explain(row, goal=goal)
        assert answer.status == "optimal", (goal, answer.why)
        assert answer.exact_distance == min(itertools.compress(away, reached))
        if answer.question is not None and len(answer.question.goal.decision) <= MOST_TOGETHER:
            assert answer.exact_distance == 0 or answer.certificate.check().accepted


@pytest.mark.parametrize("patience", [0, 40])
@pytest.mark.parametrize(("base", "method"), [(MEMBERS[0], "sigmoid"), (MEMBERS[1], "isotonic")], ids=name_of)
def test_where_the_search_by_members_stalls_pieces_have_the_same_answer(
    base: Any, method: str, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(*given: Any) -> Refined:
        asked.append(refined(*given))
        return asked[-1]

    monkeypatch.setattr("mace.explain.nearest.search.PATIENCE", patience)
    monkeypatch.setattr("mace.explain.nearest.search.refined", noted)
    model = fitted(base, method)
    explainer, p = mace.Explainer(model, SPACE, distance="l1"), model.predict_proba(WHOLE)[:, 1]
    for row in X.iloc[[0, 3]].to_dict("records"):
        away = np.abs((WHOLE - pd.Series(row)).to_numpy() / (11, 8, 4)).sum(axis=1) / 3
        for goal, reached in (("p(good) >= 0.7", p >= 0.7), ("p(good) <= 0.4", p <= 0.4)):
            answer = explainer.explain(row, goal=goal)
            assert answer.status == "optimal"
            assert answer.distance == pytest.approx(away[reached].min(), abs=1e-12)
            assert answer.distance == 0 or answer.proof is None or answer.certificate.check().accepted
    assert asked or patience


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("base", MEMBERS[:3], ids=name_of)
def test_a_first_point_is_that_of_a_weighted_sum_of_the_members_scores(base: Any, method: str) -> None:
    model = fitted(base, method)
    said = model.predict(WHOLE)
    for label in ("good", "bad"):
        question, _ = mace.Explainer(model, SPACE).question(WHOLE[said != label].iloc[0], goal=label)
        members = by_members(question, read(model))
        assert members is not None
        points = list(members.oracle._guesses(members.oracle._ground(NEVER), NEVER))
        assert label in model.predict(np.array([question.row(point) for point in points]))


def nearest_along(model: Any, start: Any, ways: Any, sign: float) -> float:
    """The least l1 length of a way from the start to where the class changes, over some ways of length 1."""
    least = np.inf
    for way in ways:
        low, high = 0.0, 2.0
        if sign * (model.predict_proba((start + high * way)[None])[0, 1] - 0.5) <= 0:
            continue
        for _ in range(60):
            middle = (low + high) / 2
            reached = sign * (model.predict_proba((start + middle * way)[None])[0, 1] - 0.5) > 0
            low, high = (low, middle) if reached else (middle, high)
        least = min(least, high)
    return least


@pytest.mark.parametrize("seed", [0, 3])
def test_no_way_to_the_goal_is_shorter_than_the_bound_of_calibrated_linear_models(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.random((200, 3))
    linear = rows @ rng.normal(size=3)
    known = (linear + 0.3 * rng.normal(size=200) > np.median(linear)).astype(int)
    model = CalibratedClassifierCV(LogisticRegression(C=10.0), cv=4).fit(rows, known)
    space = mace.Space([mace.Feature(name, "real", -9, 9) for name in "abc"])
    start = rows[0]
    sign = 1.0 if model.predict(start[None])[0] == 0 else -1.0
    answer = mace.explain(model, space, dict(zip("abc", start, strict=True)), goal=int(sign > 0), distance="l1")
    ways = rng.normal(size=(40, 3))
    ways = np.concatenate([np.eye(3), -np.eye(3), ways / np.abs(ways).sum(axis=1)[:, None]])
    found = nearest_along(model, start, ways, sign) / 18 / 3
    assert answer.status == "optimal" and answer.certificate.check().accepted
    assert answer.lower_bound <= found + 1e-13
    assert answer.distance <= found + 1e-9


def test_a_mean_between_two_numbers_is_the_nearest_of_all_points_and_certified() -> None:
    model = fitted(MEMBERS[1], "isotonic")
    p = model.predict_proba(WHOLE)[:, 1]
    for low, high in ((0.4, 0.5), (0.66, 0.68)):
        row = WHOLE[(p < low) | (p > high)].iloc[7]
        away = np.abs((WHOLE - row).to_numpy() / (11, 8, 4)).sum(axis=1)[(p >= low) & (p <= high)].min() / 3
        answer = mace.explain(model, SPACE, row, goal=f"{low} <= p(good) <= {high}", distance="l1")
        assert answer.status == "optimal" and answer.distance == pytest.approx(away, abs=1e-12)
        assert answer.certificate.check().accepted


@pytest.mark.slow
def test_many_trees_whose_leaves_are_ruled_out_by_their_paths_alone_have_their_certificates() -> None:
    # What a refuted piece of the space reaches is read off whole paths: a leaf that is too far by all of its tests
    # together seems to be near where some of them are left out, and then its scores seem to meet the goal.
    loans = mace.datasets.load("loans")
    space, rows = loans.space, loans.space.encode(loans.X)
    model = CalibratedClassifierCV(GradientBoostingClassifier(n_estimators=50, random_state=0)).fit(rows, loans.y)
    refused = loans.X[model.predict(rows) == 0]
    for label in (8, 10):
        answer = mace.explain(model, space, refused.loc[label], goal=1, background=loans.X)
        assert answer.status == "optimal" and answer.certificate.check().accepted


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_probability_that_no_calibration_gives_is_infeasible_and_proved(ensemble: bool) -> None:
    forest = RandomForestClassifier(4, max_depth=2, random_state=0)
    by_chance = np.random.default_rng(0).permutation(Y)
    model = CalibratedClassifierCV(forest, method="isotonic", cv=3, ensemble=ensemble).fit(X, by_chance)
    assert model.predict_proba(WHOLE)[:, 1].max() < 0.9999
    answer = mace.explain(model, SPACE, X.iloc[0], goal="p(good) >= 0.9999")
    assert answer.status == "infeasible"
    assert answer.certificate.check().accepted


@pytest.mark.parametrize("slope", [2.0, -2.0])
@pytest.mark.parametrize("bounds", [(0.6, None), (None, 0.4), (0.45, 0.55)])
def test_pieces_leave_out_what_was_refuted_and_nothing_that_meets_the_condition(
    slope: float, bounds: tuple[float | None, float | None]
) -> None:
    parts = (
        Link("logistic", slope, 0.3),
        Link("steps", score=1, knots=((-1.0, 0.1), (0.0, 0.2), (0.01, 0.7), (2.0, 0.9))),
    )
    link = Link("mean", parts=parts)
    conditions = conditions_of(Probability("good", Between(*bounds)), ("bad", "good"))
    rng = np.random.default_rng(0)
    scores = rng.uniform(-3, 3, (4000, 2))
    # Boxes whose corners, for some condition the ones that say most, miss it.
    middles, half = rng.uniform(-3, 3, (400, 2)), rng.uniform(0, 1, (400, 2))
    low, high = middles - half, middles + half
    ends = np.array([probability(part, np.stack([low[:, k], high[:, k]])) for k, part in enumerate(parts)])
    least, most = ends.min(axis=1).mean(axis=0), ends.max(axis=1).mean(axis=0)
    missed = np.zeros(len(low), dtype=np.bool_)
    for sign, bound in conditions:
        missed |= (most if sign > 0 else -least) < bound - 0.001
    low, high = low[missed], high[missed]
    found, why = cover(functions_from([functions(link, one, WIDE) for one in conditions]), Refuted(low, high), WIDE, 99)
    assert found is not None and not why
    held = np.zeros(len(scores), dtype=np.bool_)
    for compares, halves in found:
        inside, outside = np.ones(len(scores), dtype=np.bool_), np.zeros(len(low), dtype=np.bool_)
        for one in compares:
            if one.plus is not None:
                inside, outside = inside & (scores[:, one.plus] >= one.than), outside | (high[:, one.plus] < one.than)
            else:
                assert one.minus is not None
                inside, outside = (
                    inside & (scores[:, one.minus] <= -one.than),
                    outside | (low[:, one.minus] > -one.than),
                )
        for weights, constant in halves:
            inside &= scores @ weights + constant >= 0
            outside |= np.where(weights > 0, high, low) @ weights + constant < 0
        held |= inside
        assert outside.all()
    said = sum(probability(part, scores[:, k]) for k, part in enumerate(parts)) / 2
    granted = np.all([sign * said >= bound for sign, bound in conditions], axis=0)
    assert granted.any() and held[granted].all()


def test_a_box_in_which_one_member_says_too_little_is_left_out_by_its_score_alone() -> None:
    parts = tuple(Link("logistic", 2.0, 0.3, score=k) for k in range(2))
    corner = np.array([[-1.0, 2.9]])
    members = functions_from([functions(Link("mean", parts=parts), Condition(1.0, 0.8), WIDE)])
    parts_of, _ = cover(members, Refuted(corner - 9, corner), WIDE, 1)
    assert parts_of is not None
    (found,) = parts_of
    assert not found.halves and [end.plus for end in found.ends] == [0]


def test_why_nothing_leaves_out_what_was_refuted_is_said() -> None:
    part = Link("logistic", 2.0, 0.3)
    link, one = Link("mean", parts=(part, replace(part, score=1))), Condition(1.0, 0.6)
    corners = np.random.default_rng(0).uniform(-3, 0, (60, 2))
    refuted = Refuted(np.full(corners.shape, -np.inf), corners)
    members = functions_from([functions(link, one, WIDE)])
    few = cover(members, refuted, WIDE, 0)
    assert few.parts is None and "more than 0 pieces" in few.why
    granted = np.array([[2.9, 2.9]])  # a search that errs: what has the goal is nowhere left out
    none = cover(members, Refuted(granted - 0.1, granted), WIDE, 60)
    assert none.parts is None and "as near to the goal" in none.why


def test_comparisons_of_one_score_are_told_apart_by_the_checker() -> None:
    model = fitted(MEMBERS[1], "isotonic")
    row = WHOLE[model.predict_proba(WHOLE)[:, 1] < 0.4].iloc[7]
    data = mace.explain(model, SPACE, row, goal="0.4 <= p(good) <= 0.5", distance="l1").certificate.to_dict()
    assert check(data).accepted
    goal = data["statement"]["goal"]
    for number, part in enumerate(goal):  # one part that holds everywhere
        goal[number] = [[plus, minus, "-1e9", strict] for plus, minus, _, strict in part]
        assert not check(data).accepted
        goal[number] = part


def test_a_probability_that_every_input_has_is_no_goal() -> None:
    assert conditions_of(Probability("good", Between(0.2, 0.8)), ("bad", "good")) == ((1.0, 0.2), (-1.0, -0.8))
    with pytest.raises(GoalError, match="every input"):
        conditions_of(Probability("good", Between(0.0, 1.0)), ("bad", "good"))


def test_pieces_raise_the_bound_of_what_one_proof_left_open() -> None:
    question: Any = None  # nothing is asked of it
    pieces = Refined(question, None, Fraction(1, 2), 3)
    bracket = Bracket(Fraction(1, 4), Fraction(1, 2), (0,), "bounded", proof=[Leaf("distance")])
    pieces.raises(bracket, Gap())
    assert (bracket.status, bracket.lower, bracket.proof) == ("optimal", Fraction(1, 2), None)
    assert "3 pieces" in bracket.unproved


@pytest.mark.parametrize("count", [1, 2])
def test_what_lost_its_certificate_says_why(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mace.explain.probabilities.members.MOST_COVERING", 0)
    model = fitted(MEMBERS[1], "isotonic")
    row = WHOLE[model.predict_proba(WHOLE)[:, 1] < 0.4].iloc[7]
    asked = {} if count == 1 else {"count": count, "together": True, "diversity": "points"}
    answer = mace.explain(model, SPACE, row, goal="0.4 <= p(good) <= 0.5", distance="l1", **asked)
    (note,) = [note for note in answer.notes if note.startswith("no certificate: ")]
    with pytest.raises(CertificateError, match=re.escape(note.removeprefix("no certificate: "))):
        _ = answer.certificate


def test_members_whose_scores_have_no_end_are_enclosed() -> None:
    """A half-space over scores without ends has no slope, and says all or nothing."""
    every = np.array(list(itertools.product(range(6), repeat=3)), dtype=np.float64)
    rng = np.random.default_rng(1013)
    rows = every[rng.integers(0, 216, 120)]
    known = (rows @ rng.normal(size=3) + rng.normal(size=120) > np.median(rows.sum(axis=1)) * 0.1).astype(int)
    model = CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=3).fit(rows, known)
    said, start = model.predict(every), np.array([4.0, 1.0, 0.0])
    space = mace.Space([mace.Feature(name, "integer", 0, 5) for name in "abc"])
    for goal in set(said.tolist()) - set(model.predict(start[None]).tolist()):
        answer = mace.explain(model, space, dict(zip("abc", map(int, start), strict=True)), goal=goal)
        least = np.abs(every[said == goal] - start).sum(axis=1).min() / 15
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("base", [MEMBERS[0], LogisticRegression()], ids=name_of)
def test_a_mean_of_steps_may_be_0_and_1_and_goals_leave_these_out(base: Any) -> None:
    """It was an error that said of `p < 1` that every input has it."""
    said = np.where(2 * X.a + X.b > 14, "good", "bad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CalibratedClassifierCV(base, method="isotonic", cv=2).fit(X, said)
    p = model.predict_proba(WHOLE)[:, 1]
    assert p.max() == 1.0
    for place, goal, has in (
        (int(p.argmax()), "p(good) < 1", p < 1),
        (int(p.argmax()), "p(bad) > 0", p < 1),
        (int(p.argmin()), "p(good) > 0", p > 0),
        (int(p.argmin()), "0 < p(good) < 1", (p > 0) & (p < 1)),
    ):
        row = WHOLE.iloc[place]
        answer = mace.explain(model, SPACE, row, goal=goal)
        away = np.abs((WHOLE - row).to_numpy() / (11, 8, 4)).sum(axis=1) / 3
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(away[has].min(), abs=1e-9)
        assert answer.certificate.check().accepted
