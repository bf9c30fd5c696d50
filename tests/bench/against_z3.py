"""The provers against z3 on the same questions, in the same run: CPU seconds and their ratio.

    python -m tests.bench.against_z3 [--rows 3] [--seconds 60]

15 mixed features, l1, both to the same gap (1e-6). z3 runs in mace's own solver oracle, which is given every advantage
that it has: one incremental solver a question, the ball of the best known distance, leaf indicators.
"""

from __future__ import annotations

import argparse
import statistics
from fractions import Fraction
from typing import Any

from mace.problem.question import Question
from mace.solve.choice import choose
from mace.solve.driver import Bracket, bracket_optimum
from mace.solve.protocol import Gap, Limits, Oracle
from mace.solve.smt.oracle import SmtOracle
from tests.bench import ensembles, networks
from tests.bench.real_data import cpu

GAP = Gap(Fraction(1, 10**6))
MODELS = ("tree-10", "forest-10x6", "forest-100x6", "boosting-100x3", "logistic regression", "MLP 10-10")


def asked(name: str, rows: int) -> list[Question]:
    """The first rejected rows of a model as questions."""
    if name in networks.MODELS:
        space, frame, target = networks.mixed()
        model: Any = networks.MODELS[name]().fit(space.encode(frame).to_numpy(), target)
        return networks.questions(space, frame, model, 1, "l1", rows)
    problem = ensembles.problem(name, rows)
    return [ensembles.question_of(problem, row, "l1") for row in problem.rows]


def solve(question: Question, oracle: Oracle, seconds: float) -> Bracket:
    """The bracket of one oracle; its child processes end before the clock is read."""
    try:
        return bracket_optimum(question, oracle, question.has_goal, gap=GAP, limits=Limits.of(seconds, 4 * 2**30))
    finally:
        oracle.close()


def main() -> None:
    """Print one line a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for z3 on each question")
    parser.add_argument("--models", nargs="*", default=MODELS)
    arguments = parser.parse_args()
    print("| model | prover s | z3 s | ratio | z3 statuses |")
    print("|---|---|---|---|---|", flush=True)
    for name in arguments.models:
        questions = asked(name, arguments.rows)
        solve(questions[0], choose(questions[0]).oracle, arguments.seconds)  # compiles the prover's loops
        prover, solver, statuses = [], [], []
        for question in questions:
            before = cpu()
            one = solve(question, choose(question).oracle, arguments.seconds)
            prover.append(cpu() - before)
            before = cpu()
            two = solve(question, SmtOracle(question, solvers=("z3",)), arguments.seconds)
            solver.append(cpu() - before)
            statuses.append(two.status)
            agreed = one.upper is None or two.upper is None or abs(one.upper - two.upper) <= GAP.absolute
            if one.status == two.status == "optimal" and not agreed:
                raise SystemExit(f"{name}: {one.upper} against {two.upper}")
        quick, slow = statistics.median(prover), statistics.median(solver)
        print(
            f"| {name} | {quick:.4f} | {slow:.2f} | {slow / max(quick, 1e-4):.0f} | {', '.join(statuses)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
