"""z3 and cvc5 give the answer of enumeration, say why they do not know, and can be stopped."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mace.base.deadline import Deadline, TimeOverError
from mace.problem.distance import DistanceProgram, norm
from mace.problem.exclusions import AvoidPoint
from mace.problem.programs import distance_program, model_program, rule_of
from mace.problem.question import Goal, Question
from mace.solve.driver import bracket_optimum
from mace.solve.protocol import Found, Gap, Limits, Refuted, Replay, Reply, Unknown
from mace.solve.smt import oracle as smt
from mace.solve.smt import process as smt_process
from mace.solve.smt.encode import Encoding
from mace.solve.smt.oracle import SOLVERS, SmtOracle, export
from mace.solve.smt.process import SolverAnswer, SolverName, SolverProcess, Text
from mace.space.axes import Point
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, Layer, Network, Tree, decision_for
from tests.clocks import Ticking
from tests.marks import slow_unless
from tests.reference import nearest, random_question

SPACE = Space(
    [
        Feature("age", "integer", 18, 30),
        Feature("income", "real", 0, 3, step="0.5"),
        Feature("job", "categorical", levels=["none", "part", "full"]),
        Feature("house", "binary"),
        Feature("school", "ordinal", levels=["low", "middle", "high"], change="increase"),
    ]
)
START = {"age": 20, "income": 0.7, "job": "none", "house": 0, "school": "low"}
MODEL = """
score = 2 * income - age / 10
if job == "full":
    score = score + 1
elif job == "part" and school >= "middle":
    score = score + 0.5
for i in 1..2:
    if house == 1:
        score = score + i / 4
return 1 if score >= 2 else 0
"""

DISTANCE = """
years = abs(age - start_age)
if job != start_job:
    years = years + 3
return years + 4 * abs(income - start_income)
"""


def program_question(distance: str = "l1") -> Question:
    model = model_program(MODEL, SPACE)
    goal = Goal("1", frozenset({1}), (), frozenset({1}))
    return Question(SPACE, SPACE.axes(START), model, goal, norm(distance, 5))


def ask(question: Question, solver: SolverName, radius: Fraction | None, *, strict: bool = False) -> Reply:
    oracle = SmtOracle(question, (solver,))
    try:
        return oracle.ask(radius, strict=strict)
    finally:
        oracle.close()


def agrees_with_enumeration(question: Question, solver: SolverName) -> None:
    expected = nearest(question)
    oracle = SmtOracle(question, (solver,))
    try:
        reply = oracle.ask(None)
        if expected is None:
            assert isinstance(reply, Refuted)
            return
        distance = expected[0]
        assert isinstance(reply, Found)
        best = reply.point
        for radius, strict in ((distance, True), (distance, False), (distance * Fraction(999, 1000) - 1, False)):
            reply = oracle.ask(radius, strict=strict, best=best)
            if strict or radius < distance:
                assert reply == Refuted()
            else:
                assert isinstance(reply, Found)
                assert question.distance_of(reply.point) == distance
                assert question.obeys(reply.point)
                assert question.has_goal(reply.point)
    finally:
        oracle.close()


def hard_question() -> Question:
    """A random network of three layers over many free numbers: hours of work."""
    rng = np.random.default_rng(3)
    widths = (20, 30, 30, 30, 1)
    layers = tuple(
        Layer(rng.normal(size=(a, b)), rng.normal(size=b), "identity" if b == 1 else "relu")
        for a, b in pairwise(widths)
    )
    layers = (*layers[:-1], replace(layers[-1], bias=layers[-1].bias - 1500))
    space = Space([Feature(f"x{j}", "real", -2.0, 2.0) for j in range(20)])
    model = Network(layers, 20, "positive", (0, 1))
    goal = Goal("1", frozenset({1}), decision_for(model, {1}))
    return Question(space, space.axes(dict.fromkeys(space.names, 0.0)), model, goal, norm("l1", 20))


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", slow_unless(lambda seed: seed < 5, range(12)))
def test_a_solver_agrees_with_enumeration(seed: int, solver: SolverName) -> None:
    agrees_with_enumeration(random_question(1000 + seed), solver)


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(100))
def test_a_solver_agrees_with_enumeration_on_many(seed: int, solver: SolverName) -> None:
    agrees_with_enumeration(random_question(2000 + seed), solver)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
def test_a_program_is_a_model(solver: SolverName, distance: str) -> None:
    agrees_with_enumeration(program_question(distance), solver)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_program_is_a_distance(solver: SolverName) -> None:
    distance = DistanceProgram(distance_program(DISTANCE, SPACE))
    agrees_with_enumeration(replace(program_question(), distance=distance), solver)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rules_hold_together_with_a_program(solver: SolverName) -> None:
    rules = ('job == "full" implies age >= 24 and income >= 1', "house == 0 or income == 2.5", 'school != "high"')
    question = replace(program_question(), rules=tuple(rule_of(rule, SPACE) for rule in rules))
    agrees_with_enumeration(question, solver)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_next_float_is_found_and_nothing_before_it(solver: SolverName) -> None:
    leaf, inner = -1, 0
    tree = Tree(
        np.array([inner, leaf, leaf], dtype=np.int32),
        np.array([0.1, 0, 0]),
        np.array([1, -1, -1], dtype=np.int32),
        np.array([2, -1, -1], dtype=np.int32),
        np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]),
    )
    model = Ensemble((tree,), 1, np.zeros(2), "argmax", (0, 1))
    space = Space([Feature("x", "real", -1.0, 1.0)])
    question = Question(
        space, space.axes({"x": 0.0}), model, Goal("1", frozenset({1}), decision_for(model, {1})), norm("l1", 1)
    )
    reply = ask(question, solver, None)
    assert isinstance(reply, Found)
    nearest_float = question.values(reply.point)["x"]
    assert float(np.float32(nearest_float)) > 0.1 >= float(np.float32(np.nextafter(nearest_float, -1)))
    assert ask(question, solver, question.distance_of(reply.point), strict=True) == Refuted()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_refused_point_is_not_found_again(solver: SolverName) -> None:
    question = program_question()
    oracle = SmtOracle(question, (solver,))
    asked: list[Point] = []

    def accepts(point: Point) -> bool:
        assert point not in asked
        asked.append(point)
        return len(asked) > 4

    reply = oracle.ask(Fraction(1, 2), replay=Replay(accepts))
    oracle.close()
    assert isinstance(reply, Found)
    assert [*oracle.refused, AvoidPoint(reply.point)] == [AvoidPoint(point) for point in asked]


@pytest.mark.parametrize("solvers", [("z3",), ("cvc5",), ("z3", "cvc5")])
def test_the_driver_closes_both_bounds_on_the_optimum(solvers: tuple[SolverName, ...]) -> None:
    question = random_question(1003)
    oracle = SmtOracle(question, solvers)
    bracket = bracket_optimum(question, oracle, question.has_goal, gap=Gap(), limits=Limits.of(600.0))
    oracle.close()
    expected = nearest(question)
    assert bracket.upper == bracket.lower == (expected[0] if expected else None)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_of_time_stops_the_solver(solver: SolverName) -> None:
    oracle = SmtOracle(hard_question(), (solver,))
    oracle._encoded(Fraction(1, 2), Fraction(1, 2))  # encoding is not what is timed here
    reply = oracle.ask(Fraction(1, 2), Limits.of(1.0))
    assert isinstance(reply, Unknown)
    assert reply.why == "time limit (1 s)"
    assert oracle._processes[0].pid is None
    oracle.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are set the Linux way")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_of_memory_stops_the_solver(solver: SolverName) -> None:
    oracle = SmtOracle(hard_question(), (solver,))
    reply = oracle.ask(Fraction(1, 2), Limits.of(600.0, 6 << 20))
    assert isinstance(reply, Unknown)
    assert reply.why == f"the solver {solver} ran out of memory (6 MB)"
    oracle.close()


@pytest.mark.parametrize("solver", slow_unless(lambda solver: solver == "z3", SOLVERS))
def test_a_killed_child_is_unknown_and_the_next_question_starts_another(solver: SolverName) -> None:
    oracle = SmtOracle(hard_question(), (solver,))
    oracle._encoded(Fraction(1, 2), Fraction(1, 2))

    def kill() -> None:
        while oracle._processes[0].pid is None:
            time.sleep(0.02)
        time.sleep(0.5)
        pid = oracle._processes[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    reply = oracle.ask(Fraction(1, 2), Limits.of(20.0))
    killer.join()
    assert reply == Unknown(f"the {solver} process died (signal 9)")
    again = oracle.ask(Fraction(1, 2), Limits.of(0.5))
    assert isinstance(again, Unknown)
    assert "time limit" in again.why
    oracle.close()


def test_children_end_with_the_oracle() -> None:
    oracle = SmtOracle(program_question(), SOLVERS)
    assert isinstance(oracle.ask(None), Found)
    pids = [process.pid for process in oracle._processes if process.pid is not None]
    assert pids
    oracle.close()
    assert all(map(is_gone, pids))


def test_a_race_answers_when_the_first_solver_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "PATIENCE", 0.2)
    question = program_question()
    oracle = SmtOracle(question, ("z3", "cvc5"))
    first = oracle._processes[0]
    # The first solver is stopped as soon as it starts: only the second one can answer.
    start = first._start

    def start_and_freeze() -> None:
        start()
        assert first.pid is not None
        os.kill(first.pid, signal.SIGSTOP)

    monkeypatch.setattr(first, "_start", start_and_freeze)
    expected = nearest(question)
    assert expected is not None
    assert isinstance(oracle.ask(expected[0]), Found)
    assert oracle.ask(expected[0], strict=True) == Refuted()
    oracle.close()


def test_both_solvers_are_asked_and_agree() -> None:
    question = program_question()
    expected = nearest(question)
    assert expected is not None
    for solver in SOLVERS:
        assert isinstance(ask(question, solver, expected[0]), Found)
        assert isinstance(ask(question, solver, expected[0], strict=True), Refuted)


@pytest.mark.parametrize("seed", range(6))
def test_the_exported_script_has_the_same_verdict(seed: int) -> None:
    z3 = pytest.importorskip("z3")
    question = random_question(1100 + seed)
    expected = nearest(question)
    for radius, strict in ((None, False), *(((expected[0], True), (expected[0], False)) if expected else ())):
        solver = z3.Solver()
        solver.from_string(export(question, radius, strict=strict))
        satisfiable = expected is not None and not strict
        assert (solver.check() == z3.sat) == satisfiable


def test_the_same_question_gives_the_same_text_in_every_process() -> None:
    question = random_question(1009)
    program = (
        "import pickle, sys; from mace.solve.smt.oracle import export; print(export(pickle.load(sys.stdin.buffer)))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps(question),
            capture_output=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONWARNINGS": "ignore"},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_the_same_question_gives_the_same_witness() -> None:
    question = random_question(1003)
    assert ask(question, "z3", None) == ask(question, "z3", None)


def test_importing_the_oracle_imports_no_solver() -> None:
    program = "import sys, mace.solve.smt.oracle; print([m for m in ('z3', 'cvc5', 'pysmt') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("solvers", [(), ("yices",)])
def test_a_solver_that_is_not_known_is_an_error(solvers: tuple[SolverName, ...]) -> None:
    with pytest.raises(ValueError, match="z3 and cvc5"):
        SmtOracle(program_question(), solvers)


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_child_that_forgets_stays_the_same_process_and_knows_nothing_of_before(solver: SolverName) -> None:
    process = SolverProcess(solver)
    try:
        process.add(Text([("x", "Bool")], ["(assert (not x))"]))
        process.ask(["x"], ["x"])
        first, pid = process.answer(), process.pid
        process.reset()
        process.add(Text([("x", "Int")], ["(assert (< 3 x 5))"]))
        process.ask([], ["x"])
        assert first is not None and first.verdict == "unsat"
        assert process.answer() == SolverAnswer("sat", {"x": Fraction(4)})
        assert process.pid == pid is not None
        process.ask([], ["x"])
        process.reset()  # at work, perhaps: what it would answer must not be taken for the next one's
        process.add(Text([], ["(assert false)"]))
        process.ask([], [])
        assert process.answer() == SolverAnswer("unsat")
        assert process.pid not in (pid, None)
    finally:
        process.stop()


def test_a_child_that_is_told_nonsense_says_so() -> None:
    process = SolverProcess("z3")
    process.add(Text([], ["(assert (not 1.0))"]))
    process.ask([], [])
    answer = process.answer()
    process.stop()
    assert answer is not None
    assert answer.verdict == "unknown"
    assert answer.why.startswith("z3 said: ")


@pytest.mark.parametrize("seed", [1000, 1001, 1002])
@pytest.mark.parametrize("ticks", [1, 3, 10, 30])
def test_encoding_stops_at_the_deadline_and_the_next_question_encodes_anew(seed: int, ticks: int) -> None:
    question = random_question(seed)
    deadline = Deadline.after(ticks, Ticking())
    with pytest.raises(TimeOverError, match=r"reached while writing the question for the solvers$"):
        Encoding(question, None, None, deadline).whole()
    assert deadline.clock() <= deadline.end + 1
    oracle = SmtOracle(question, ("z3",))
    assert oracle.ask(None, Limits(Deadline.after(ticks, Ticking()))) == Unknown(
        f"{deadline.why}, reached while writing the question for the solvers"
    )
    expected = nearest(question)
    assert isinstance(oracle.ask(None, Limits()), Found if expected else Refuted)
    oracle.close()


def test_a_child_that_does_not_read_what_it_is_told_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaf.py").write_text("import time; time.sleep(600)")
    monkeypatch.setattr(smt_process, "WORKER", tmp_path / "deaf.py")
    process = SolverProcess("z3")
    process.add(Text([("x", "Real")], ["(assert (<= x 1.0))"] * 20_000))  # more than a pipe holds
    process.ask([], [])
    assert process.answer(Deadline.after(0.2)) is None
    process.stop()


def test_a_long_question_reaches_the_solver_in_parts_and_whole() -> None:
    lines = [f"(assert (>= x {number}.0))" for number in range(5000)]
    process = SolverProcess("z3")
    for begin in range(0, len(lines), 1000):
        process.add(Text([("x", "Real")], lines[begin : begin + 1000]))
    process.ask([], ["x"])
    answer = process.answer()
    process.stop()
    assert answer is not None and answer.verdict == "sat"
    assert answer.values["x"] >= 4999


def test_a_ball_makes_the_text_shorter() -> None:
    question = random_question(1002)
    small, large = (len(Encoding(question, ball).whole().lines) for ball in (Fraction(1, 100), None))
    assert small < large


@pytest.mark.parametrize("seed", range(8))
def test_any_column_and_any_test_of_a_tree_is_taken(seed: int) -> None:
    """Columns that fall, or rise and fall in steps; tests for membership in a set of numbers; trees in any order."""
    rng = np.random.default_rng(seed)
    numbers = [Feature("a", "integer", -6, 9), Feature("b", "integer", 0, 12), Feature("c", "real", 0, 1, step="0.1")]
    space = Space(numbers)
    columns = (
        Column("a", 0, None, (("mul", -0.5),)),
        Column("b", 1, None, (("steps", ((2.0, 5.0, 9.0), (1.0, 3.0, 0.0, 2.0))),)),
        Column("c", 2, None),
        Column("b again", 1, None),
    )
    trees = []
    for _ in range(3):
        column = np.array([rng.integers(4), rng.integers(4), rng.integers(4), -1, -1, -1, -1], dtype=np.int32)
        cut = {0: rng.uniform(-4, 3), 1: rng.choice([0.5, 1.5, 2.5]), 2: 0.3, 3: rng.uniform(0, 12)}
        trees.append(
            Tree(
                column,
                np.array([cut[k] if k >= 0 else 0.0 for k in column.tolist()]),
                np.array([1, 3, 5, -1, -1, -1, -1], dtype=np.int32),
                np.array([2, 4, 6, -1, -1, -1, -1], dtype=np.int32),
                rng.choice([0.1, 0.25, 0.3, 0.5], size=(7, 2)),
                members={1: ((-2.0, -2.0), (0.0, 0.5), (1.0, 1.0), (3.0, 4.25), (7.0, 7.0))},
            )
        )
    model = Ensemble(tuple(trees), 4, np.zeros(2), "argmax", (0, 1), divide=3)
    start = {"a": int(rng.integers(-6, 10)), "b": int(rng.integers(13)), "c": 0.5}
    goal = Goal("1", frozenset({1}), decision_for(model, {1}))
    question = Question(space, space.axes(start), model, goal, norm("l1", 3), inputs=columns)
    agrees_with_enumeration(question, "z3")
