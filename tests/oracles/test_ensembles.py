"""The prover for tree ensembles against enumeration of every point, and against the checker of certificates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mace.certificate import certificate
from mace.oracles.ensembles import EnsembleOracle
from mace.oracles.protocol import Found, Limits, Refuted, Reply, Unknown
from mace.plausibility import rule_of
from mace.question import Question
from tests.oracles.small_ensembles import bounds, random_question

LIMITS = Limits(seconds=60)


def accepted(question: Question, reply: Reply) -> dict[str, int]:
    """The rules that fired in the reply's proof; fails unless the checker accepts it."""
    assert isinstance(reply, (Found, Refuted))
    assert reply.proof is not None
    found = isinstance(reply, Found)
    made = certificate(question, reply.lower if found else None, reply.point if found else None, reply.proof)
    verdict = made.check()
    assert verdict.accepted, verdict.reason
    return verdict.fired


@pytest.mark.parametrize("seed", range(400))
def test_the_answer_is_that_of_enumeration_and_its_proof_is_accepted(seed: int) -> None:
    question = random_question(seed)
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


@pytest.mark.parametrize("seed", range(100))
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


@pytest.mark.parametrize("seed", range(150))
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
