"""All roads to one answer: provers, z3, cvc5 and enumeration agree on random small questions."""

from __future__ import annotations

import pytest

from mace.certify.statement import certifiable
from mace.certify.writer import certificate
from mace.solve.choice import choose
from mace.solve.driver import Bracket, bracket_optimum
from mace.solve.protocol import Gap, Limits
from mace.solve.smt.oracle import SmtOracle
from tests.marks import exhaustive_from
from tests.reference import nearest, random_question


def solve(question, oracle) -> Bracket:
    try:
        return bracket_optimum(question, oracle, question.has_goal, gap=Gap(), limits=Limits.of(600.0, 4 * 2**30))
    finally:
        oracle.close()


def agrees(question, bracket: Bracket, best) -> None:
    """The bracket is closed on the true distance, or proves that there is none."""
    if best is None:
        assert bracket.status == "infeasible", bracket.why
        return
    assert bracket.point is not None, (bracket.status, bracket.why)
    assert bracket.lower == best[0] == bracket.upper, (bracket.lower, best, bracket.upper, bracket.why)
    assert question.obeys(bracket.point) and question.has_goal(bracket.point)
    assert question.distance_of(bracket.point) == bracket.upper


def check_prover(seed: int) -> None:
    question = random_question(seed)
    best = nearest(question)
    oracle, _ = choose(question)
    bracket = solve(question, oracle)
    agrees(question, bracket, best)
    if certifiable(question) is None:
        assert bracket.proof is not None
        lower = None if bracket.status == "infeasible" else bracket.lower
        verdict = certificate(question, lower, bracket.point, bracket.proof).check()
        assert verdict.accepted, verdict.reason


def check_solver(seed: int, solver: str) -> None:
    question = random_question(seed)
    bracket = solve(question, SmtOracle(question, solvers=(solver,)))
    agrees(question, bracket, nearest(question))


@pytest.mark.parametrize("block", range(6))
def test_the_provers_agree_with_enumeration_and_their_proofs_are_accepted(block):
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        check_prover(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(24))
def test_the_provers_agree_with_enumeration_on_more_questions(block):
    for seed in range(2000 + 10 * block, 2010 + 10 * block):
        check_prover(seed)


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_the_solvers_agree_with_enumeration(solver):
    for seed in range(1000, 1006):
        check_solver(seed, solver)


# A process for each question and solver: three quarters of the questions are for the night.
@pytest.mark.slow
@pytest.mark.parametrize("solver", ["z3", "cvc5"])
@pytest.mark.parametrize("block", exhaustive_from(6, range(24)))
def test_the_solvers_agree_with_enumeration_on_more_questions(block, solver):
    for seed in range(2000 + 10 * block, 2010 + 10 * block):
        check_solver(seed, solver)
