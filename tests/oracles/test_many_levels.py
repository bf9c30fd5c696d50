"""Features with more levels than a search takes: against enumeration, with the limit set low, and as people ask."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import mace
from mace import Explainer, World
from mace.problem.budget import Budget
from mace.problem.distance import norm
from mace.problem.question import Question
from mace.solve.ensembles import many_levels
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Limits, Refuted, Replay, Unknown
from mace.space.axes import LevelAxis
from tests.oracles.small_ensembles import optimum, points_of, random_question
from tests.oracles.test_ensembles import as_enumerated

KINDS = ("categorical", "categorical", "integer", "binary")


def wide(seed: int) -> Question:
    """A question with categories, some of up to nine levels."""
    return random_question(seed, kinds=KINDS, levels=9)


@pytest.mark.parametrize("seed", range(150))
def test_the_answer_is_that_of_enumeration(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_levels, "MOST_LEVELS", 4 + seed % 3)
    question = wide(seed)
    if many_levels.many(question) is not None and EnsembleOracle.accepts(question) is None:
        as_enumerated(question)


@pytest.mark.parametrize("seed", [*range(20), 55, 61, 118, 469, 654, 849])
def test_levels_stay_on_their_side_of_the_start_where_an_earlier_objective_counts(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checker bounds a change from below only on levels of one side: proofs of levels from both were refused."""
    monkeypatch.setattr(many_levels, "MOST_LEVELS", 4)
    question, rng = wide(seed), np.random.default_rng(seed)
    budget = Budget.of(norm("l1", len(question.axes)), question.axes, Fraction(int(rng.integers(0, 9)), 12))
    question = replace(question, rules=(budget,))
    if many_levels.many(question) is not None and EnsembleOracle.accepts(question) is None:
        as_enumerated(question)


@pytest.mark.parametrize("seed", range(30))
def test_no_question_is_asked_about_levels_that_nothing_allows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a level "missing" that may not be taken, alone in a question of its own: a ValueError ended the search."""
    monkeypatch.setattr(many_levels, "MOST_LEVELS", 3)
    question, rng = wide(seed), np.random.default_rng(seed)
    axes = list(question.axes)
    for j, axis in enumerate(axes):
        if isinstance(axis, LevelAxis) and not axis.ordered and axis.count > 3:
            some = int(rng.integers(1, 1 << axis.count - 1))
            axes[j] = replace(axis, allowed=some, missing=axis.count - 1, missing_cost=Fraction(1, 3))
    question = replace(question, axes=tuple(axes))
    if many_levels.many(question) is not None and EnsembleOracle.accepts(question) is None:
        as_enumerated(question)


@pytest.mark.parametrize("seed", range(40))
def test_a_point_beyond_the_radius_is_not_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was, with its own distance for a lower bound, although nobody had looked so far."""
    monkeypatch.setattr(many_levels, "MOST_LEVELS", 3)
    question = wide(seed)
    if many_levels.many(question) is None or EnsembleOracle.accepts(question) is not None:
        return
    known = [point for point in points_of(question) if question.obeys(point) and question.has_goal(point)]
    least = optimum(question)
    if least and question.model.certain:
        reply = EnsembleOracle(question).ask(least / 2, Limits(), best=max(known, key=question.distance_of))
        assert isinstance(reply, Refuted)


@pytest.mark.parametrize("seed", range(40))
def test_more_refused_points_than_can_be_told_apart_leave_it_open(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ModelError ended the search of a second feature with many levels."""
    monkeypatch.setattr(many_levels, "MOST_LEVELS", 2)
    question = wide(seed)
    if many_levels.many(question) is not None and EnsembleOracle.accepts(question) is None:
        none = Replay(lambda _: False, by_leaves=False)
        reply = EnsembleOracle(question).ask(None, Limits(), replay=none)
        assert isinstance(reply, Refuted | Unknown)


def people(levels: int, rows: int = 1500) -> tuple[pd.DataFrame, np.ndarray]:
    """People of many occupations, and whether they are paid well."""
    rng = np.random.default_rng(0)
    job = rng.integers(0, levels, rows)
    frame = pd.DataFrame(
        {
            "job": [f"job {k}" for k in job],
            "age": rng.integers(18, 80, rows),
            "hours": rng.integers(5, 60, rows),
        }
    )
    pay = rng.normal(size=levels)[job] + frame.age / 40 + frame.hours / 30
    return frame, (pay > np.median(pay)).astype(int)


@pytest.mark.parametrize("encoder", [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(15, max_depth=8, random_state=0),
        GradientBoostingClassifier(n_estimators=30, random_state=0),
    ],
)
def test_hundreds_of_levels_are_proved_and_checked(encoder: Any, model: Any) -> None:
    """Solvers answered these, and a certificate came from none of them."""
    frame, paid = people(150)
    columns = make_column_transformer((encoder, ["job"]), remainder="passthrough")
    pipeline = make_pipeline(columns, model).fit(frame, paid)
    poor = frame[pipeline.predict(frame) == 0]
    explainer = Explainer(pipeline, frame)
    for number in range(3):
        answer = explainer.explain(poor.iloc[number], goal=1)
        assert (answer.status, answer.oracle) == ("optimal", "ensembles")
        assert answer.certificate.check().accepted
        by_solver = explainer.explain(poor.iloc[number], goal=1, oracle="z3", gap=0) if number == 0 else answer
        assert answer.exact_distance == by_solver.exact_distance
    several = explainer.explain(poor.iloc[0], goal=1, count=3, diversity="points")
    assert len(several.counterfactuals) == 3
    assert {one.status for one in several.counterfactuals} == {"optimal"}


def test_a_mean_of_calibrated_members_takes_many_levels() -> None:
    """Solvers came to the end of their time."""
    frame, paid = people(150)
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder="passthrough")
    members = GradientBoostingClassifier(n_estimators=5, random_state=0)
    pipeline = make_pipeline(columns, CalibratedClassifierCV(members, cv=2)).fit(frame, paid)
    answer = Explainer(pipeline, frame).explain(frame[pipeline.predict(frame) == 0].iloc[0], goal="p(1) >= 0.7")
    assert answer.status == "optimal"
    assert answer.certificate.check().accepted


@pytest.mark.parametrize(
    "moves", ["", '\naction move:\n    parameter to: one of "job 1", "job 2"\n    job = to\n    cost 1\n']
)
def test_a_plan_takes_many_levels(moves: str) -> None:
    """An OverflowError ended it."""
    frame, paid = people(150)
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder="passthrough")
    pipeline = make_pipeline(columns, GradientBoostingClassifier(n_estimators=30, random_state=0)).fit(frame, paid)
    explainer = Explainer(pipeline, frame)
    work = "world w\n\naction work:\n    parameter more: int in [1, 20]\n    hours = hours + more\n    cost more\n"
    world = World.read(work + moves, explainer.space)
    row = frame[(pipeline.predict(frame) == 0) & (frame.hours < 40)].iloc[0]
    plan = mace.plan(pipeline, explainer.space, row, world, goal=1)
    assert plan.status in ("optimal", "infeasible")
