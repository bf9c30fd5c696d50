"""Proofs of bounds that are known: what is divided by look-ahead, against the checker; how much shorter they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.base.deadline import NEVER, Deadline
from mace.certify.writer import certificate
from mace.explain.proved import bound
from mace.problem.question import Question
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.shortening import hoisting
from mace.solve.ensembles.shortening.shorter import shorter
from mace.solve.protocol import Found, Limits, Refuted
from tests.clocks import Ticking
from tests.oracles.small_ensembles import points_of, random_question, started_elsewhere
from tests.oracles.test_regions import ruled

MOST, ROW = 10_000, 12


def accepted(question: Question) -> int:
    """Prove the bound of a question anew; the nodes, of a proof that the checker accepts."""
    reply = EnsembleOracle(question).ask(None, Limits())
    claim = None if isinstance(reply, Refuted) else reply.lower
    proof = shorter(question, claim, MOST, NEVER)
    if proof is None:  # the last bits decide, and the plain search has no proof of a box either
        assert not question.model.certain
        return 0
    made = certificate(question, claim, reply.point if isinstance(reply, Found) else None, proof)
    assert made.check().accepted, made.check().reason
    return len(proof)


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_what_is_proved_anew_is_accepted(first: int) -> None:
    found = [
        accepted(question)
        for seed in range(first, first + 30)
        for one in (random_question(seed), ruled(seed))
        for question in (one, started_elsewhere(seed, one))
    ]
    assert sum(map(bool, found)) > 100


def test_what_is_not_true_has_no_proof() -> None:
    tried = 0
    for seed in range(60):
        question = ruled(seed)
        reply = EnsembleOracle(question).ask(None, Limits())
        if not isinstance(reply, Found) or reply.why or not question.model.certain:
            continue
        assert shorter(question, None, MOST, NEVER) is None
        assert shorter(question, question.distance_of(reply.point) + 1, MOST, NEVER) is None
        tried += 1
    assert tried > 5


def test_a_goal_that_no_score_tells_is_never_out_of_reach_of_trees() -> None:
    """Of a mean whose proof no tree closes no comparison is told."""
    tried = 0
    for seed in range(60):
        asked = ruled(seed)
        question = replace(asked, goal=replace(asked.goal, decision=((),)))
        nearest = min(map(question.distance_of, filter(question.obeys, points_of(question))), default=None)
        if nearest == 0:
            continue
        proof = shorter(question, nearest, MOST, NEVER)
        assert proof is not None and certificate(question, nearest, None, proof).check().accepted
        assert nearest is None or shorter(question, nearest + 1, MOST, NEVER) is None
        tried += 1
    assert tried > 5


def hard() -> tuple[RandomForestClassifier, mace.Space, pd.Series]:
    """A forest in many features, and a row whose proof is long."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 30, (1500, 10)), columns=[f"x{j}" for j in range(10)])
    target = frame.sum(axis=1) + rng.normal(0, 20, len(frame)) > 160
    model = RandomForestClassifier(30, max_depth=8, random_state=0).fit(frame, target)
    space = mace.Space([mace.Feature(name, "integer", 0, 30) for name in frame])
    return model, space, frame[~model.predict(frame)].iloc[ROW]


def test_a_long_proof_becomes_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    model, space, row = hard()
    answer = mace.explain(model, space, row, goal=True)
    assert answer.status == "optimal" and answer.proof is not None
    monkeypatch.setattr(bound, "LONG_PROOF", 100)
    short = answer.short_proof()
    assert 1.5 * len(short) < len(answer.proof)
    assert answer.certificate.check().accepted


def test_that_a_leaf_is_not_reached_is_said_once_at_the_largest_box(monkeypatch: pytest.MonkeyPatch) -> None:
    model, space, row = hard()
    answer = mace.explain(model, space, row, goal=True)
    monkeypatch.setattr(bound, "LONG_PROOF", 100)
    made = answer.certificate
    monkeypatch.setattr(hoisting, "hoisted", lambda ground, reached, steps, path, limit, pruned: pruned)
    before = answer.certificate
    assert made.check().accepted and before.check().accepted
    assert 1.4 * len(str(made.data["proof"])) < len(str(before.data["proof"]))


def test_without_room_or_time_there_is_none() -> None:
    model, space, row = hard()
    answer = mace.explain(model, space, row, goal=True)
    question, claim = answer.question, answer.exact_lower_bound
    assert question is not None
    proof = shorter(question, claim, MOST, NEVER)
    assert proof is not None and len(proof) > 10
    assert shorter(question, claim, len(proof) - 1, NEVER) is None
    assert shorter(question, claim, MOST, Deadline.after(2, Ticking())) is None
