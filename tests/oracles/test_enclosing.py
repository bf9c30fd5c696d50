"""The largest change alone: balls, in whose boxes the relaxation is asked for the goal and not for a distance."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier

from mace import Explainer, Space
from mace.base.deadline import Deadline
from mace.certify.writer import certificate
from mace.problem.distance import norm
from mace.problem.question import Goal, Question
from mace.solve.ensembles import prover
from mace.solve.ensembles.arrays.cells import ground
from mace.solve.ensembles.boxes import stalled
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.relaxation import branching, tightening
from mace.solve.ensembles.relaxation.enclosing import inside, shells_of
from mace.solve.protocol import Found, Limits
from mace.space.feature import Feature
from mace.tables.table import Compare, Ensemble, Tree
from tests.checkers import accepted_by_all
from tests.clocks import Hand
from tests.oracles.small_ensembles import points_of, random_question
from tests.oracles.test_lines import before_trees
from tests.oracles.test_relaxation import Stopping, the_answer_is_that_of_enumeration

pytestmark = pytest.mark.slow  # many answers compared


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relaxation from the first node on, without help of the plain search where it can do without."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    monkeypatch.setattr(branching, "WALKS", 0)


def by_the_largest(question: Question) -> Question:
    """The same question with the largest change as its distance, and the same weights."""
    weights = getattr(question.distance, "weights", None)
    return replace(question, distance=norm("linf", len(question.axes), weights))


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_the_answer_is_that_of_enumeration(first: int, at_once: None) -> None:
    fired: Counter[str] = Counter()
    for seed in range(first, first + 50):
        fired.update(the_answer_is_that_of_enumeration(by_the_largest(random_question(seed))))
    assert fired["prices"]


@pytest.mark.parametrize("first", [0, 30])
def test_so_it_is_with_cliques_narrowing_and_rules(first: int, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tightening, "WORTH", 1.0)  # every box that can be is narrowed
    fired: Counter[str] = Counter()
    for seed in range(first, first + 30):
        fired.update(the_answer_is_that_of_enumeration(by_the_largest(random_question(seed, crowded=True))))
        fired.update(the_answer_is_that_of_enumeration(by_the_largest(before_trees(seed))))
    assert fired["prices"] and fired["cliques"] and fired["narrow"], fired


@pytest.mark.parametrize("seed", range(40))
def test_every_point_that_is_nearer_lies_in_the_box_of_the_ball(seed: int) -> None:
    question = by_the_largest(random_question(seed))
    grounded = ground(question)
    distances = {point: question.distance_of(point) for point in points_of(question)}
    for radius in sorted(set(distances.values()))[1::2]:
        limit = int(radius * grounded.scale)
        low, high = inside(grounded.ground, shells_of(grounded.ground, limit))
        for point, distance in distances.items():
            cells, grid = grounded.cells(point), grounded.ground.grid
            if distance < Fraction(limit, grounded.scale):
                assert ((low <= cells) & (cells <= high))[grid].all()


def test_a_doubt_about_the_row_itself_is_kept_where_others_are_noted_later(at_once: None) -> None:
    leaves = [1.0, *[0.5 - 1e-7] * 3]  # y at most 1; of others x at most 0, or y at most 4, or neither
    value = np.array([[0.0], [leaves[0]], [0.0], [leaves[1]], [0.0], [leaves[2]], [leaves[3]]])
    tree = Tree(
        np.array([1, -1, 0, -1, 1, -1, -1], np.int32), np.array([1.0, 0, 0, 0, 4, 0, 0]),
        np.array([1, -1, 3, -1, 5, -1, -1], np.int32), np.array([2, -1, 4, -1, 6, -1, -1], np.int32), value,
    )  # fmt: skip
    space = Space([Feature("x", "integer", 0, 10), Feature("y", "integer", 0, 10)])
    model = Ensemble((tree,), 2, np.zeros(1), "value", (), error=1e-6)
    goal = Goal("half", frozenset(), ((Compare(0, None, 0.5),),))
    question = Question(space, space.axes([5, 5]), model, goal, norm("linf", 2))
    assert question.has_goal((5, 5)) is None
    the_answer_is_that_of_enumeration(question)


def extra_trees(row: int) -> tuple[Question, EnsembleOracle]:
    """A question about trees whose cuts were drawn at random, hard ones for a search."""
    data = load_breast_cancer(as_frame=True)
    known, asked = data.data.iloc[::2], data.data.iloc[1::2]
    model = ExtraTreesClassifier(60, max_depth=7, random_state=0).fit(known, data.target.iloc[::2])
    explainer = Explainer(model, Space.from_frame(data.data), distance="linf")
    question, _ = explainer.question(asked.iloc[row])
    return question, EnsembleOracle(question)


def test_what_a_search_divides_thousands_of_times_a_few_boxes_prove() -> None:
    question, oracle = extra_trees(17)
    reply = oracle.ask(None, Limits())
    assert isinstance(reply, Found) and reply.lower == question.distance_of(reply.point)
    assert 0 < oracle.statistics["relaxations"] < 100, oracle.statistics
    made = certificate(question, reply.lower, reply.point, reply.proof or [])
    assert made.proof_size < 15_000
    assert accepted_by_all([made])


@pytest.mark.parametrize("most", [1, 3])
def test_a_search_that_is_stopped_has_the_bound_of_a_ball_with_a_proof(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, oracle = extra_trees(17)
    whole = oracle.ask(None, Limits())
    assert isinstance(whole, Found) and whole.lower is not None
    monkeypatch.setattr(prover, "PATIENCE", 0)
    clock = Hand()
    monkeypatch.setattr(Stopping, "clock", clock, raising=False)
    monkeypatch.setattr(Stopping, "most", most)
    monkeypatch.setattr(stalled, "Branching", Stopping)
    reply = EnsembleOracle(question).ask(None, Limits(Deadline.after(10, clock)))
    assert isinstance(reply, Found) and reply.lower is not None and reply.proof is not None
    assert reply.why.startswith("time limit")
    assert 0.8 * whole.lower < reply.lower <= whole.lower
    assert accepted_by_all([certificate(question, reply.lower, reply.point, reply.proof)])
