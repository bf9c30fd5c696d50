"""A proposer beside the prover: the upper bound may come sooner, and nothing else changes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.base.deadline import Deadline
from mace.errors import MaceError
from mace.explain.proposing.beside import Nearest, Own, Pace, Told
from mace.explain.proposing.task import task_of
from mace.problem.question import Question
from mace.search.neighbourhoods import Neighbourhoods
from mace.search.protocol import Batches, Effort, Run, Task
from mace.search.tabu import Tabu
from mace.solve.driver import Bracket, bring_in
from mace.solve.protocol import Gap, Unknown
from mace.space.feature import Feature
from mace.space.space import Space
from tests.clocks import Hand

SPACE = Space([Feature(name, "integer", 0, 20) for name in "abcd"])


@pytest.fixture(scope="module")
def asked() -> Any:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 21, (300, 4)), columns=list("abcd"))
    y = (X.a + X.b - X.c > 12).astype(int)
    return X, RandomForestClassifier(10, max_depth=5, random_state=0).fit(X, y)


class Given:
    """Proposes these rows, one a step."""

    name = "given"

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def refusal(self, task: Task) -> str | None:  # noqa: ARG002
        return None

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:  # noqa: ARG002
        for row in self.rows:
            yield np.array([row], dtype=float)
        return None


@pytest.mark.parametrize("proposer", ["tabu", "lns", "mo", "pft", Given([[20, 20, 0, 0], [0, 0, 0, 0]])])
def test_no_verdict_and_no_bound_changes(asked: Any, proposer: Any) -> None:
    X, forest = asked
    explainer = mace.Explainer(forest, SPACE, background=X)
    for _, row in X[forest.predict(X) == 0].iloc[:4].iterrows():
        alone = explainer.explain(row, goal=1)
        beside = explainer.explain(row, goal=1, proposer=proposer)
        assert (beside.status, beside.exact_distance) == (alone.status, alone.exact_distance)
        assert beside.exact_lower_bound == alone.exact_lower_bound
        assert beside.counterfactuals == alone.counterfactuals
        assert beside.certificate.check().accepted


def test_what_is_infeasible_stays_so(asked: Any) -> None:
    _, forest = asked
    for rules in (["a + b + c + d <= 3"],):
        answer = mace.explain(forest, SPACE, [0, 0, 0, 0], goal=1, rules=rules, proposer="tabu")
        assert answer.status == "infeasible"


def test_improvements_reach_the_callback(asked: Any) -> None:
    X, model = asked
    row = X[model.predict(X) == 0].iloc[0]
    seen: list[Bracket] = []
    mace.explain(model, SPACE, row, goal=1, proposer="tabu", callback=seen.append)
    uppers = [bracket.upper for bracket in seen if bracket.upper is not None]
    assert uppers == sorted(uppers, reverse=True)


def test_what_the_proposer_found_is_the_answer_where_the_prover_found_nothing(
    asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, forest = asked
    row = X[forest.predict(X) == 0].iloc[0]
    explainer = mace.Explainer(forest, SPACE)
    explainer.ready()  # which asks the prover
    from mace.solve.ensembles.prover import EnsembleOracle

    def nothing(self: Any, *_: Any, **__: Any) -> Unknown:
        found.wait(20)
        return Unknown("time limit (0.1 s)", Fraction(1, 1000))

    import threading

    found = threading.Event()

    def watch(bracket: Bracket) -> None:
        if bracket.upper is not None:
            found.set()

    monkeypatch.setattr(EnsembleOracle, "ask", nothing)
    answer = explainer.explain(row, goal=1, proposer=Given([[20, 20, 0, 0]]), callback=watch)
    assert answer.status == "bounded"
    assert answer.exact_lower_bound == Fraction(1, 1000)
    assert forest.predict(pd.DataFrame([answer.counterfactuals[0].values]))[0] == 1


def test_an_error_of_the_proposer_is_raised(asked: Any) -> None:
    X, forest = asked
    row = X[forest.predict(X) == 0].iloc[0]
    with pytest.raises(MaceError, match="the proposer 'ar' does not take this question"):
        mace.explain(forest, SPACE, row, goal=1, proposer="ar")
    with pytest.raises(MaceError, match="the proposer 'given' raised IndexError"):
        mace.explain(forest, SPACE, row, goal=1, proposer=Given([[1, 2]]))


def test_a_witness_against_a_refutation_is_never_swept_away() -> None:
    bracket = Bracket(status="infeasible", proof=[])
    bring_in(bracket, (1, 2), Fraction(1, 2), Gap())
    assert bracket.status == "bounded"
    assert "please report this" in bracket.why
    assert bracket.proof is None


def test_the_nearest_point_is_kept_whoever_brings_it(asked: Any) -> None:
    _, forest = asked
    question: Question = mace.Explainer(forest, SPACE).question([0, 0, 0, 0], 1)[0]
    told: list[Fraction] = []
    nearest = Nearest(question, lambda point, distance: told.append(distance))
    for point in ((5, 0, 0, 0), (6, 0, 0, 0), (4, 0, 0, 0)):
        nearest.bring(point)
    assert nearest.point == (4, 0, 0, 0)
    assert told == [Fraction(5, 80), Fraction(4, 80)]


def test_a_proposer_that_finds_nothing_nearer_rests_longer_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, rests = itertools.count(), list[float]()
    monkeypatch.setattr("time.thread_time", lambda: float(next(clock)))  # each step takes a second
    pace = Pace()
    monkeypatch.setattr(pace, "_rest", rests.append)
    assert not any(pace.ended() for _ in range(4))
    pace.found()
    assert not pace.ended()
    pace.end()
    assert pace.ended()
    assert rests == [1, 4, 9, 1]
    assert pace.spent == 5


def test_what_a_proposer_takes_is_no_time_of_the_provers_limit_and_in_vain_it_takes_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps, clock = itertools.count(), Hand()
    monkeypatch.setattr("time.thread_time", lambda: float(next(steps)))  # each step takes a second
    pace = Pace(most=3.0)
    monkeypatch.setattr(pace, "_rest", lambda _: None)
    limit = Deadline.after(10.0, clock)
    own = replace(limit, clock=Own(clock, pace))
    ended = []
    for _ in range(5):
        ended.append(pace.ended())
        clock.now += 1.0
    assert ended == [False, False, False, True, True]
    assert (limit.left(), own.left()) == (5.0, 8.0), "what is beyond the most is the prover's loss"
    pace.spent = pace.most = 4.0
    assert own.left() == 8.0, "the clock never goes back"


def test_a_rest_ends_when_the_other_threads_have_had_it_or_with_the_prover(monkeypatch: pytest.MonkeyPatch) -> None:
    others, waits = iter([5.0, 5.0, 5.5, 7.25, 0.0, 0.0, 0.0, 0.0]), list[float]()
    monkeypatch.setattr("mace.explain.proposing.beside._elsewhere", lambda: next(others))
    pace = Pace()
    monkeypatch.setattr(pace._prover_ended, "wait", lambda seconds: waits.append(seconds) or seconds == 3)
    pace._rest(2.0)
    assert waits == [2.0, 1.5]
    pace._rest(3.0)
    assert waits == [2.0, 1.5, 3.0]


def test_a_proposer_beside_the_prover_goes_on_from_the_nearest_point_of_both(asked: Any) -> None:
    _, forest = asked
    question: Question = mace.Explainer(forest, SPACE).question([0, 0, 0, 0], 1)[0]
    far, near = (20, 20, 0, 0), mace.Explainer(forest, SPACE).explain([0, 0, 0, 0], goal=1).counterfactuals[0]
    for proposer in (Tabu(moves=8), Neighbourhoods()):
        known = [far]
        judge = mace.Explainer(forest, SPACE).judge
        task = replace(task_of(question, judge, None, None, by_scores=True), known=lambda known=known: known[0])
        found = Run(proposer, task, effort=Effort(steps=60))
        distances = [one.distance for one in found if one.score.valid]
        assert distances == sorted(distances, reverse=True)
        assert near.exact_distance <= distances[-1] <= question.distance_of(far)


def test_trees_that_were_read_tell_how_far_a_goal_is_missed() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 21, (200, 4)), columns=list("abcd"))
    y = (X.a > 9).astype(int) + (X.b > 12)
    model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
    explainer = mace.Explainer(model, SPACE)
    rows = X.to_numpy(dtype=float)
    for goal in (1, "not 0", "p(2) >= 0.4", "1 by 0.25"):
        question = explainer.question([0, 0, 0, 0], goal)[0]
        task = task_of(question, explainer.judge, None, None, by_scores=True)
        said = task.asked.about(rows).missed
        expected = [question.has_goal(task.chart.point(row)) for row in rows]
        assert [missed == 0 for missed in said] == expected
        assert {False, True} == set(expected)


def test_the_bounds_that_are_told_only_close_in() -> None:
    seen: list[Bracket] = []
    told = Told(seen.append)
    told.by_prover(Bracket(Fraction(1, 8)))
    told.better((1,), Fraction(1, 2))
    told.by_prover(Bracket(Fraction(1, 4), Fraction(3, 4), (2,)))
    told.better((3,), Fraction(2, 3))  # it was the proposer's best, but the prover knows a nearer one
    told.by_prover(Bracket(Fraction(1, 4), Fraction(3, 8), (4,)))
    told.better((5,), Fraction(1, 3))
    assert [(one.lower, one.upper, one.point) for one in seen] == [
        (Fraction(1, 8), None, None),
        (Fraction(1, 8), Fraction(1, 2), (1,)),
        (Fraction(1, 4), Fraction(1, 2), (1,)),
        (Fraction(1, 4), Fraction(3, 8), (4,)),
        (Fraction(1, 4), Fraction(1, 3), (5,)),
    ]


@pytest.mark.parametrize("proposer", ["tabu", "swarm", "lns"])
def test_where_nothing_may_change_the_prover_says_so_with_a_proposer_too(asked: Any, proposer: str) -> None:
    X, model = asked
    fixed = Space([Feature(name, "integer", 0, 20, change="fixed") for name in "abcd"])
    row = X[model.predict(X) == 0].iloc[0]
    assert mace.explain(model, fixed, row, goal=1, proposer=proposer).status == "infeasible"
