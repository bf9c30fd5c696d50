"""The prover for tree ensembles against enumeration of every point, and against the checker of certificates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from mace.base.deadline import NEVER, Deadline
from mace.certify.elaboration import of_trees
from mace.certify.writer import certificate
from mace.errors import ModelError
from mace.explain.proved import bound
from mace.explain.run import explain
from mace.problem.distance import Norm, norm
from mace.problem.exclusions import AvoidBox, AvoidPoint
from mace.problem.programs import rule_of
from mace.problem.proof import Leaf
from mace.problem.question import Goal, Question
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.shortening import shorter
from mace.solve.protocol import Found, Gap, Limits, Refuted, Replay, Reply, Unknown
from mace.space.columns import Column, Step
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Compare, Ensemble, Tree, decision_for
from tests.bench.ensembles import Problem, problem, question_of
from tests.clocks import Ticking
from tests.marks import slow_unless
from tests.oracles.small_ensembles import bounds, random_question, random_tree, started_elsewhere

LIMITS = Limits()


def accepted(question: Question, reply: Reply) -> dict[str, int]:
    """The rules that fired in the reply's proof; fails unless the checker accepts it."""
    assert isinstance(reply, (Found, Refuted))
    assert reply.proof is not None
    found = isinstance(reply, Found)
    made = certificate(question, reply.lower if found else None, reply.point if found else None, reply.proof)
    verdict = made.check()
    assert verdict.accepted, verdict.reason
    return verdict.fired


@pytest.mark.parametrize("seed", slow_unless(lambda seed: seed < 60, range(200)))
def test_the_answer_is_that_of_enumeration_and_its_proof_is_accepted(seed: int) -> None:
    as_enumerated(random_question(seed))


# The first four rows lie a cell or more away from all that is allowed.
@pytest.mark.parametrize("seed", [622, 682, 803, 1263, *range(30)])
def test_a_row_may_lie_anywhere_outside_of_what_is_allowed(seed: int) -> None:
    as_enumerated(started_elsewhere(seed, random_question(seed)))


@pytest.mark.parametrize("digits", [17, 19, 40, 290])
@pytest.mark.parametrize("seed", range(12))
def test_distances_of_any_length_are_as_exact(seed: int, digits: int) -> None:
    """Where distances may be longer than 2^60, a unit of cost was nothing: any point was called the nearest."""
    question = random_question(seed)
    assert isinstance(question.distance, Norm)
    weights = [w * (10**digits if (seed + j) % 3 else 1) for j, w in enumerate(question.distance.weights)]
    as_enumerated(replace(question, distance=replace(question.distance, weights=tuple(weights))))


def as_enumerated(question: Question) -> None:
    """Ask, and fail unless the answer is that of enumeration, with a proof that the checker accepts."""
    possible, certain = bounds(question)
    reply = EnsembleOracle(question).ask(None, LIMITS)
    if possible is None:
        assert isinstance(reply, Refuted)
    elif certain is None:
        assert isinstance(reply, Unknown)
        assert reply.lower == possible
        return
    else:
        assert isinstance(reply, Found)
        assert question.obeys(reply.point)
        assert question.has_goal(reply.point)
        assert question.distance_of(reply.point) == certain
        assert reply.lower == possible
    accepted(question, reply)


@pytest.mark.parametrize("seed", range(50))
def test_a_radius_is_kept_exactly(seed: int) -> None:
    question = random_question(seed)
    possible, certain = bounds(question)
    oracle = EnsembleOracle(question)
    if possible is None:
        assert isinstance(oracle.ask(Fraction(1), LIMITS), Refuted)
    elif possible == certain:
        assert isinstance(oracle.ask(certain, LIMITS), Found)
        assert isinstance(oracle.ask(certain, LIMITS, strict=True), Refuted)
        assert isinstance(oracle.ask(certain / 2, LIMITS), Refuted if certain else Found)
        larger = oracle.ask(certain * 2, LIMITS)
        assert isinstance(larger, Found)
        assert question.distance_of(larger.point) <= certain * 2


def with_rule(seed: int) -> Question:
    """A question with one or two rules between its features."""
    rng = np.random.default_rng(seed)
    question = random_question(seed)
    names = [f.name for f in question.space.features if f.numeric or list(f.levels) == [0, 1]]
    named = [f for f in question.space.features if not f.numeric and list(f.levels) != [0, 1]]
    rules = []
    for _ in range(rng.integers(1, 3)):
        one, other = (str(rng.choice(names)) for _ in range(2)) if names else ("", "")
        texts = [f"{one} + {other} <= {rng.integers(-1, 4)}", f"{one} >= {other}", f"{one} != {rng.integers(0, 3)}"]
        texts += [f"{one} == 0 or {other} > 0", f"abs({one} - {other}) >= 1/3"]
        choices = texts if names else []
        choices += [f'{f.name} != "{rng.choice(f.levels)}"' for f in named]
        rules.append(rule_of(str(rng.choice(choices)), question.space))
    return replace(question, rules=tuple(rules))


@pytest.mark.parametrize("seed", range(80))
def test_rules_are_obeyed_and_their_proofs_accepted(seed: int) -> None:
    question = with_rule(seed)
    possible, certain = bounds(question)
    reply = EnsembleOracle(question).ask(None, LIMITS)
    if possible is None:
        assert isinstance(reply, Refuted)
    elif possible == certain:
        assert isinstance(reply, Found)
        assert question.obeys(reply.point)
        assert question.distance_of(reply.point) == certain == reply.lower
    if possible == certain:
        accepted(question, reply)


@cache
def trained() -> Problem:
    """A real forest over 15 mixed features, and rows that it rejects."""
    return problem("forest-10x6", rows=8)


@cache
def forest() -> tuple[Question, object]:
    """The same, asked about one of them."""
    task = trained()
    return question_of(task, task.rows[2], "l1"), task.model


def test_a_witness_of_a_real_forest_flips_predict() -> None:
    question, model = forest()
    reply = EnsembleOracle(question).ask(None, LIMITS)
    assert isinstance(reply, Found)
    assert model.predict(question.row(reply.point)[None])[0] == 1
    assert reply.lower == question.distance_of(reply.point)
    accepted(question, reply)


@pytest.mark.parametrize(
    ("spec", "most_changes"),
    [("l1", None), ("l1", 3), ("linf", None), ({"l0": "0.1", "l1": "0.5", "linf": "0.4"}, 2)],
)
def test_a_proof_leaves_out_cuts_whose_one_side_is_too_far_away(
    spec: str | dict[str, str], most_changes: int | None
) -> None:
    task = trained()
    made = written = 0
    for row in task.rows:
        question = replace(question_of(task, row, spec), most_changes=most_changes)
        oracle = EnsembleOracle(question)
        reply = oracle.ask(None, LIMITS)
        assert isinstance(reply, (Found, Refuted))
        lower = reply.lower if isinstance(reply, Found) else None
        assert of_trees(question, lower, reply.proof, NEVER) is not None
        made += oracle.statistics["nodes"]
        written += len(reply.proof)
        accepted(question, reply)
    if spec == "l1" and most_changes is None:
        assert written < 0.8 * made


def test_the_same_question_gets_the_same_answer() -> None:
    question, _ = forest()
    assert EnsembleOracle(question).ask(None, LIMITS) == EnsembleOracle(question).ask(None, LIMITS)


def test_a_gap_ends_the_search_with_a_sound_bound() -> None:
    question, _ = forest()
    best = EnsembleOracle(question).ask(None, LIMITS)
    early = EnsembleOracle(question).ask(None, LIMITS, gap=Gap(relative=Fraction(1, 2)))
    assert isinstance(best, Found)
    assert isinstance(early, Found)
    assert early.lower is not None
    distance = question.distance_of(early.point)
    assert distance / 2 <= early.lower <= question.distance_of(best.point) <= distance
    accepted(question, early)


@pytest.mark.slow
def test_without_time_the_bounds_are_sound() -> None:
    question, _ = forest()
    best = EnsembleOracle(question).ask(None, LIMITS)
    assert isinstance(best, Found)
    ended = set()
    for looks in range(0, 80, 4):  # each look at the clock takes a second
        hasty = EnsembleOracle(question).ask(None, Limits(Deadline.after(looks, Ticking())))
        ended.add(type(hasty))
        assert not isinstance(hasty, Refuted)
        assert (hasty.lower or 0) <= question.distance_of(best.point)
        if isinstance(hasty, Found):
            assert question.distance_of(best.point) <= question.distance_of(hasty.point)
            accepted(question, hasty)
        if hasty.why:
            assert hasty.why.startswith(f"time limit ({looks} s)")
    assert ended == {Unknown, Found}


@pytest.mark.parametrize("by_leaves", slow_unless(bool, [True, False]))
def test_a_point_that_the_deployed_model_refuses_is_excluded(by_leaves: bool) -> None:
    question, _ = forest()
    first = EnsembleOracle(question).ask(None, LIMITS)
    assert isinstance(first, Found)
    oracle = EnsembleOracle(question)
    second = oracle.ask(None, LIMITS, replay=Replay(lambda point: point != first.point, by_leaves))
    assert isinstance(second, Found)
    assert len(oracle.refused) == 1
    assert isinstance(oracle.refused[0], AvoidBox if by_leaves else AvoidPoint)
    assert question.excluded(oracle.refused[0], first.point)
    assert second.point != first.point
    assert question.distance_of(second.point) >= question.distance_of(first.point)
    accepted(oracle.question, second)


def test_a_cell_of_sums_that_are_exact_in_any_order_is_closed_by_trees() -> None:
    question = random_question(36759)  # one tree, whose sums have no order, and a tie of shares within the last bit
    assert isinstance(question.model, Ensemble) and not question.model.ordered
    reply = EnsembleOracle(question).ask(None, LIMITS)
    assert isinstance(reply, Found) and Leaf("cell") in reply.proof
    accepted(question, reply)


@pytest.mark.slow
def test_a_proof_that_claims_too_much_is_refused() -> None:
    question, _ = forest()
    reply = EnsembleOracle(question).ask(None, LIMITS)
    assert isinstance(reply, Found)
    assert reply.proof is not None
    farther = certificate(question, reply.lower * Fraction(101, 100), None, reply.proof).check()
    assert not farther.accepted
    for rule in ("trees", "cell", "empty", "distance"):
        assert not certificate(question, reply.lower, None, [Leaf(rule)]).check().accepted


def test_more_levels_in_an_order_than_bits_are_refused_with_a_way_out() -> None:
    space = Space([Feature("c", "ordinal", levels=[str(k) for k in range(64)], encoding="codes")])
    tree = Tree(*(np.array(x) for x in ([0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0]] * 3)))
    model = Ensemble((tree,), 1, np.zeros(1), "positive", (0, 1))
    question = Question(
        space, space.axes(["3"]), model, Goal("", frozenset([1]), ((Compare(0, None),),)), norm("l1", 1)
    )
    with pytest.raises(ModelError, match="64 levels"):
        EnsembleOracle(question)


@pytest.mark.parametrize("chain", [(("sub", 0.3), ("div", 0.7)), (("mul", -3.0), ("add", 0.1)), (("sqrt", None),)])
@pytest.mark.parametrize("seed", slow_unless(lambda seed: seed < 2, range(5)))
def test_columns_computed_from_features_are_cut_where_the_test_changes(chain: tuple[Step, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = Space([Feature("a", "real", 0, 2, step="0.01"), Feature("b", "integer", 0, 9)])
    columns = (Column("a", 0, None, chain), Column("b", 1, None, chain))
    rows = np.array([[columns[0].of(rng.uniform(0, 2)), columns[1].of(float(rng.integers(10)))] for _ in range(20)])
    trees = tuple(random_tree(rng, rows, 2, 4, "random") for _ in range(3))
    model = Ensemble(trees, 2, np.zeros(2), "argmax", (0, 1), divide=3)
    row = [1.0, 5]
    plain = Question(space, space.axes(row), model, Goal("", frozenset(), ()), norm("l1", 2), inputs=columns)
    other = 1 - int(np.argmax(plain.scores(plain.start)))
    question = replace(plain, goal=Goal("", frozenset([other]), decision_for(model, {other})))
    possible, _ = bounds(question)
    reply = EnsembleOracle(question).ask(None, LIMITS)
    assert (reply.lower if isinstance(reply, Found) else None) == possible


@pytest.mark.slow
def test_a_shorter_proof_is_looked_for_in_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    task = problem("forest-10x6", rows=3)
    found = explain(task.model, task.space, task.rows[2], goal=1, timeout=60)
    monkeypatch.setattr(bound, "LONG_PROOF", 1)
    asked: list[float | None] = []

    def nothing(question: Question, claim: Fraction | None, most: int, deadline: Deadline) -> None:
        asked.append(deadline.left())

    monkeypatch.setattr(shorter, "shorter", nothing)
    for left, limit in ((1.0, 1.0), (1000.0, found.seconds * 4 + 10), (0.0, None), (-1.0, None)):
        asked.clear()
        again = replace(found, timeout=found.seconds + left)
        assert again.short_proof(Deadline(clock=lambda: 0.0)) == found.proof  # nothing shorter was found
        assert asked == pytest.approx([] if limit is None else [limit])
