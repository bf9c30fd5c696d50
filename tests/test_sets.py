"""Sets of answers that are found together: equal to trying every set, with certificates that the checker accepts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.deadline import Deadline
from mace.certify.writer import Certificate
from mace.errors import CertificateError, MaceError
from mace.explain.sets.one_goal import DIFFERENT
from mace.problem.diversity import Diversity, diversity_of
from mace.problem.exclusions import AvoidBox
from mace.proofs.check import check_file
from mace.solve.regions import apart_beyond, around
from mace.solve.sidesteps import beside
from mace.space.axes import holds
from tests.cards import cards_agree
from tests.checkers import accepted_by_all
from tests.levels import compared, plain, random_rows
from tests.marks import slow_unless
from tests.reference import points, random_question
from tests.sets import NETWORK_GAP, agrees, least, soft_agrees


@pytest.mark.parametrize("seed", range(25))
def test_a_set_is_the_best_of_all(seed: int) -> None:
    agrees(seed)


@pytest.mark.parametrize("seed", range(16))
def test_where_differences_are_worth_something_no_set_is_better(seed: int) -> None:
    soft_agrees(seed)


@pytest.mark.parametrize(
    ("last", "each"),
    [pytest.param(120, 28, marks=pytest.mark.slow), pytest.param(300, 80, marks=pytest.mark.exhaustive)],
)
def test_where_differences_are_worth_something_no_set_of_many_questions_is_better(last: int, each: int) -> None:
    said = [soft_agrees(seed, most=30) for seed in range(16, last)]
    assert said.count("optimal") > each and said.count("infeasible") > each


@pytest.mark.parametrize("seed", range(8))
def test_outside_of_a_box_around_a_point_all_are_far_from_it(seed: int) -> None:
    question, apart = random_question(seed), Fraction(1, 10)
    everywhere = list(points(question))
    point = everywhere[seed % len(everywhere)]
    box = apart_beyond(question, apart, point)
    assert all(holds(side, index) for side, index in zip(box, point, strict=True))
    for other in everywhere:
        inside = all(holds(side, index) for side, index in zip(box, other, strict=True))
        assert inside or question.distance_between(point, other) >= apart


@pytest.mark.parametrize("seed", range(6))
def test_what_is_led_out_of_a_box_is_allowed_and_has_the_goal(seed: int) -> None:
    question = random_question(seed)
    good = [point for point in points(question) if question.obeys(point) and question.has_goal(point)]
    for point in good[:3]:
        asked = question.away(AvoidBox(around(question, Diversity(features=True), point)[0]))
        left = [other for other in good if asked.obeys(other)]
        found = beside(asked, [point], left.__contains__)
        assert found is None or found in left
        assert beside(asked, good, lambda other: False) == min(left, key=asked.distance_of, default=None)


@pytest.mark.parametrize(
    ("last", "optimal", "infeasible"),
    [
        pytest.param(220, 55, 10, marks=pytest.mark.slow),
        pytest.param(420, 150, 30, marks=pytest.mark.exhaustive),
    ],
)
def test_many_sets_are_the_best_of_all(last: int, optimal: int, infeasible: int) -> None:
    seeds = [seed for seed in range(100, last) if seed != 152]  # to try every set of that one takes two minutes
    said = [agreed.status for seed in seeds if (agreed := agrees(seed)) is not None]
    assert said.count("optimal") > optimal and said.count("infeasible") > infeasible


@pytest.mark.slow
def test_both_checkers_accept_the_certificates_of_sets_of_levels_and_of_scorecards() -> None:
    kept: list[Certificate] = []
    for seed in range(3):
        agreed = agrees(seed)
        kept += [agreed.certificate] if agreed is not None and agreed.certificate is not None else []
        kept += [one for one in cards_agree(seed).values() if one is not None]
        question = plain(seed)
        levels = compared(question, random_rows(seed, question))
        found = [level.certificate for level in levels if level.proof is not None]
        kept += [one for one in found if isinstance(one, Certificate)]
    assert len(kept) > 8
    accepted_by_all(kept)


# --- through the library -------------------------------------------------------------------------------------------


def people(rng: np.random.Generator, rows: int = 160) -> tuple[pd.DataFrame, pd.Series]:
    X = pd.DataFrame({name: rng.integers(0, 6, rows) for name in "abcd"})
    y = X["a"] + X["b"] + rng.normal(size=rows) > 5
    return X, y.astype(int)


MODELS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(4, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    "linear": LogisticRegression(),
    "network": MLPClassifier((4,), max_iter=200, random_state=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spec", ["F", "F+FV", "FV+0.2"])
@pytest.mark.parametrize("name", slow_unless(lambda name: name == "forest", MODELS))
def test_predict_knows_no_better_set(name: str, spec: str) -> None:
    X, y = people(np.random.default_rng(1))
    model, space = MODELS[name].fit(X, y), mace.Space.from_frame(X)
    grid = np.array(np.meshgrid(*[np.arange(6)] * 4)).reshape(4, -1).T
    label = model.predict(pd.DataFrame(grid, columns=list("abcd")))
    row = {"a": 1, "b": 1, "c": 2, "d": 3}
    answer = mace.explain(model, space, row, goal=1, count=3, together=True, diversity=spec, most_changes=2)
    assert answer.together is not None
    question = answer.together.question
    first = {feature.name: axis.lower for feature, axis in zip(space.features, question.axes, strict=True)}
    good = [tuple(int(v) for v in point) for point in grid[label == 1] if question.obeys(tuple(int(v) for v in point))]
    assert set(first.values()) == {0}
    truth = least(question, spec, 3, good)
    assert answer.status == ("infeasible" if truth is None else "optimal")
    if truth is not None:
        assert answer.exact_distance is not None
        assert answer.exact_lower_bound <= truth <= answer.exact_distance <= truth + 3 * NETWORK_GAP
        rows = answer.to_frame().drop(columns="distance").iloc[1:].astype(int)
        assert (model.predict(rows) == 1).all()
        assert [c.exact_distance for c in answer.counterfactuals] == sorted(
            c.exact_distance for c in answer.counterfactuals
        )
    assert answer.certificate.check().accepted


@pytest.mark.parametrize(("goal", "spec"), [(1, "points"), ("p(1) >= 0.6", "FV"), ("0.3 <= p(1) <= 0.5", 0.1)])
def test_the_certificate_of_a_set_tells_a_mean_by_what_all_its_proofs_refute(goal: Any, spec: Any) -> None:
    X, y = people(np.random.default_rng(1))
    model = CalibratedClassifierCV(RandomForestClassifier(3, max_depth=3, random_state=0), cv=2).fit(X, y)
    row = {"a": 1, "b": 1, "c": 2, "d": 3}
    answer = mace.explain(model, mace.Space.from_frame(X), row, goal=goal, count=3, together=True, diversity=spec)
    assert answer.status == "optimal" and answer.distance is not None and answer.distance > 0
    accepted_by_all([answer.certificate])


def test_the_certificate_of_a_set_has_the_half_spaces_of_all_its_proofs() -> None:
    numbers, y = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=5, n_clusters_per_class=1,
                                     random_state=2)  # fmt: skip
    X = pd.DataFrame((4 * numbers).round(), columns=list("abcdef")).astype(int)
    model, options = LogisticRegression(max_iter=500).fit(X, y), {"goal": "p(1) >= 0.7", "count": 2, "together": True}
    answer = mace.explain(model, mace.Space.from_frame(X), X.iloc[0], diversity="points", **options)
    assert answer.status == "optimal" and answer.together is not None and answer.question is not None
    together, alone = answer.together.question.goal.decision[0], answer.question.goal.decision[0]
    assert len(together) > len(alone)
    accepted_by_all([answer.certificate])


def test_a_set_that_costs_nothing_has_a_certificate() -> None:
    X, y = people(np.random.default_rng(1))
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    answer = mace.explain(
        model, mace.Space.from_frame(X), {"a": 1, "b": 1, "c": 2, "d": 3}, goal=1, count=2, together=True,
        diversity="points", weights=dict.fromkeys("abcd", 0),
    )  # fmt: skip
    assert answer.status == "optimal" and answer.distance == 0 and len(answer.counterfactuals) == 2
    accepted_by_all([answer.certificate])


@pytest.mark.filterwarnings("ignore")
def test_a_set_whose_proofs_are_about_different_pieces_says_that_it_has_no_certificate() -> None:
    X, y = people(np.random.default_rng(1))
    model = CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, y)
    options: dict[str, Any] = {"goal": 1, "count": 2, "together": True, "diversity": "points"}
    answer = mace.explain(model, mace.Space.from_frame(X), {"a": 1, "b": 1, "c": 2, "d": 3}, **options)
    assert answer.status == "optimal"
    assert f"no certificate: {DIFFERENT}" in answer.notes
    with pytest.raises(CertificateError, match=DIFFERENT):
        _ = answer.certificate


ONE_WAY = """
if a >= 3 and b >= 1:
    return 1
return 0
"""


def small() -> tuple[Any, mace.Space]:
    """A tree that wants a >= 3 and b >= 1, where b and c are yes or no."""
    X = pd.DataFrame([(a, b, c) for a in range(5) for b in (0, 1) for c in (0, 1)] * 3, columns=list("abc"))
    y = ((X.a >= 3) & (X.b >= 1)).astype(int)
    return DecisionTreeClassifier(random_state=0).fit(X, y), mace.Space.from_frame(X)


def test_where_there_is_no_set_the_conditions_that_clash_are_named() -> None:
    model, space = small()
    start = {"a": 0, "b": 0, "c": 0}
    # a and b must change; c may: two sets of features, and the only other value of b is in both.
    one = mace.explain(model, space, start, count=2, together=True, diversity="F")
    assert one.status == "optimal"
    two = mace.explain(model, space, start, count=2, together=True, diversity="F+FV+0.01")
    assert two.status == "infeasible" and two.together is not None
    assert two.together.core == ("FV",)
    assert "no 2 answers meet FV; without it there are" in " ".join(two.notes)
    assert two.certificate.check().accepted
    three = mace.explain(model, space, start, count=3, together=True, diversity="F")
    assert three.together is not None and three.together.core == ("F",)
    both = mace.explain(model, space, start, count=2, together=True, diversity="F", most_changes=2)
    assert both.together is not None and both.together.core == ("F", "most_changes")
    assert "no 2 answers meet F and most_changes; without any one of them there are" in " ".join(both.notes)
    many = mace.explain(model, space, start, count=5, together=True, diversity="points")
    assert many.together is not None and many.together.core == ()
    assert "there are fewer than 5 allowed points with the goal" in many.notes


def test_a_set_is_shown_and_saved(tmp_path: Any) -> None:
    model, space = small()
    answer = mace.explain(model, space, {"a": 0, "b": 0, "c": 0}, count=2, together=True, diversity="F")
    assert list(answer.to_frame().index) == ["start", "counterfactual 1", "counterfactual 2"]
    assert answer.distance == answer.lower_bound == sum(c.distance for c in answer.counterfactuals)
    assert "summed l1 distance = lower bound" in str(answer)
    assert "no such set has a smaller sum" in str(answer)
    within = replace(answer, exact_lower_bound=answer.exact_lower_bound / 2)
    assert "no such set has a sum that is smaller by more than the gap" in str(within)
    assert answer.to_dict()["together"] == {"count": 2, "diversity": "different features", "core": []}
    file = answer.certificate.save(tmp_path / "set.json.gz")
    status, words, _ = check_file(file, {})
    assert status == 0, words


def test_what_cannot_be_asked_is_refused() -> None:
    model, space = small()
    start = {"a": 0, "b": 0, "c": 0}
    for wrong in ("G", "0", -1, [object()]):
        with pytest.raises(MaceError, match="distance"):
            mace.explain(model, space, start, count=2, together=True, diversity=wrong)
    with pytest.raises(MaceError, match="at most 50"):
        mace.explain(model, space, start, count=51, together=True, diversity="F")
    for wrong in ("F=0", {"G": 1}, {"F": -1}, "F=x"):
        with pytest.raises(MaceError, match="worth"):
            diversity_of(wrong)
    assert (
        diversity_of(["FV", {"F": 0.5}])
        == diversity_of("FV+F=0.5")
        == Diversity(values=True, by_features=Fraction(1, 2))
    )
    assert diversity_of(["F", 0.5]) == diversity_of("F+0.5") == Diversity(features=True, apart=Fraction(1, 2))


def test_what_differences_are_worth_is_taken_off_the_sum() -> None:
    model, space = small()
    start = {"a": 0, "b": 0, "c": 0}
    hard = mace.explain(model, space, start, count=2, together=True, diversity="F")
    soft = mace.explain(model, space, start, count=2, together=True, diversity={"F": 0.5})
    # c is changed in one of the two anyway, and nothing else can differ.
    assert soft.status == "optimal" and soft.exact_distance == hard.exact_distance - Fraction(1, 2)
    assert soft.exact_lower_bound == soft.exact_distance and soft.distance_name == "rewarded summed l1"
    assert "0.5 for each feature that just one of two answers changes" in " ".join(soft.notes)
    with pytest.raises(CertificateError, match="no distance"):
        _ = soft.certificate


def test_a_program_has_sets_without_a_certificate() -> None:
    _, space = small()
    answer = mace.explain(ONE_WAY, space, {"a": 0, "b": 0, "c": 0}, goal=1, count=2, together=True, diversity="F")
    assert answer.status == "optimal" and len(answer.counterfactuals) == 2
    with pytest.raises(MaceError, match="the model is a program"):
        _ = answer.certificate


def test_a_limit_leaves_a_set_open() -> None:
    model, space = small()
    explainer = mace.Explainer(model, space)
    over = Deadline(1.0, 0.0, lambda: 1.0)
    answer = explainer.explain({"a": 0, "b": 0, "c": 0}, count=2, together=True, diversity="F", timeout=over)
    assert answer.status == "unknown" and answer.why and not answer.counterfactuals
