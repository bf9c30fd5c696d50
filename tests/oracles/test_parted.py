"""A search for each part of the goal: against enumeration, against the checker, in turns, and when it is stopped."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier

from mace import Explainer, Space
from mace.base.deadline import Deadline
from mace.certify.writer import certificate
from mace.problem.proof import GoalPart, Leaf, Split, pieces
from mace.solve import by_parts
from mace.solve.ensembles import parted, plain, prover, stalled
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Found, Limits, Refuted, Unknown
from tests.clocks import Ticking
from tests.oracles.small_ensembles import bounds, random_question
from tests.oracles.test_relaxation import the_answer_is_that_of_enumeration

FOUR = range(4)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goals are divided before anything is searched, and searches take short turns."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    monkeypatch.setattr(parted, "MOST", 2.0)
    monkeypatch.setattr(plain, "WALKS", 20)
    monkeypatch.setattr(stalled, "NODES", 1)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_the_answer_by_parts_is_that_of_enumeration(first: int, at_once: None) -> None:
    fired: Counter[str] = Counter()
    for seed in range(first, first + 50):
        fired.update(the_answer_is_that_of_enumeration(random_question(seed)))
    assert fired["part"]


@pytest.mark.slow
def test_what_a_deadline_leaves_is_a_bound_with_a_proof(at_once: None) -> None:
    ended: Counter[str] = Counter()
    for seed in range(60):
        question = random_question(seed)
        possible, _ = bounds(question)
        for ticks in (8, 40):
            reply = EnsembleOracle(question).ask(None, Limits(Deadline.after(ticks, Ticking())))
            if isinstance(reply, Refuted):
                assert possible is None
                continue
            assert possible is None or (reply.lower or 0) <= possible
            if reply.proof is not None:
                verdict = certificate(question, reply.lower, None, reply.proof).check()
                assert verdict.accepted, verdict
                ended.update(verdict.fired)
    assert ended["part"]


def test_boosting_of_many_classes_is_proved_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joint cuts for four classes take longer than those for each; the bound is the same."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    X, y = load_digits(n_class=4, return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X.to_numpy(), y)
    explainer = Explainer(model, Space.from_frame(X))
    answer = explainer.explain(X.iloc[0])
    assert answer.status == "optimal" and answer.proof is not None
    assert [node.number for node in answer.proof if isinstance(node, GoalPart)] == [0, 1]
    assert answer.certificate.check().accepted
    monkeypatch.setattr(parted, "MOST", 0.0)
    assert explainer.explain(X.iloc[0]).exact_distance == answer.exact_distance


def test_the_pieces_of_a_proof_are_those_of_its_parts() -> None:
    cut, leaf = Split(0, 1), Leaf("trees")
    proofs = [[cut, leaf, leaf], [leaf], [cut, cut, leaf, leaf, leaf], [leaf]]
    whole = by_parts.chained(proofs)
    assert whole is not None
    assert [whole[piece.begin : piece.end] for piece in pieces(whole)] == proofs
    assert [piece.part for piece in pieces(whole)] == list(FOUR)
    assert pieces([cut, leaf, leaf]) == [(None, 0, 3)]
    assert by_parts.chained([[leaf], None]) is None


def test_what_parts_say_together() -> None:
    def distance_of(point: tuple[int, ...]) -> Fraction:
        return Fraction(point[0])

    leaf = [Leaf("trees")]
    told = by_parts.together([Refuted(leaf), Refuted(leaf)], None, distance_of)
    assert told == Refuted([GoalPart(0), *leaf, *leaf])
    found = by_parts.together([Found((5,), Fraction(5), leaf), Refuted(leaf)], (5,), distance_of)
    assert isinstance(found, Found) and (found.lower, found.why) == (5, "")
    stopped = [Found((5,), Fraction(5), leaf), Unknown("time limit", Fraction(2), leaf), Refuted(leaf)]
    found = by_parts.together(stopped, (4,), distance_of)
    assert isinstance(found, Found) and (found.point, found.lower, found.why) == ((4,), 2, "time limit")
    unknown = by_parts.together([Unknown("memory", Fraction(3), None), Refuted(leaf)], None, distance_of)
    assert isinstance(unknown, Unknown) and (unknown.lower, unknown.proof) == (3, None)
