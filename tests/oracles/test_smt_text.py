"""Only declarations, assertions, one set-logic and one check-sat reach a solver."""

from __future__ import annotations

from pathlib import Path

import pytest

import mace
from mace.language import parse_program
from mace.language.logic import formula_of, to_smtlib
from mace.solve.smt.oracle import export
from mace.solve.smt.process import SolverProcess, Text
from mace.solve.smt.text import UnsafeTextError, check_lines, check_script
from tests.reference import random_question

SCRIPT = """(set-logic QF_LIRA)
(declare-const x Int)
(declare-const |odd name; (with) "all" :kinds| Bool)
(assert (let ((.def_0 (+ x 3))) (=> |odd name; (with) "all" :kinds| (<= .def_0 (/ 7.0 2.0)))))
(assert |odd name; (with) "all" :kinds|)
(check-sat)
"""


@pytest.mark.parametrize("number", range(40))
def test_every_text_that_the_encoding_writes_passes(number):
    check_script(export(random_question(number)))


def test_a_script_with_odd_names_passes():
    check_script(SCRIPT)


@pytest.mark.parametrize(
    "more",
    [
        '(set-option :regular-output-channel "f")', "(set-option :produce-models true)", "(set-info :a b)",
        '(include "f")', '(echo "f")', "(exit)", "(reset)", "(reset-assertions)", "(push 1)", "(pop 1)", "(push)",
        "(get-model)", "(get-value (x))", "(get-proof)", "(get-info :version)", "(get-unsat-core)", "(check-sat)",
        "(check-sat-assuming (x))", "(set-logic QF_LIRA)", "(set-logic ALL)", "(declare-const y String)",
        "(declare-fun f (Int) Int)", "(declare-sort S 0)", "(define-fun f () Int 3)", "(define-fun-rec f () Int 3)",
        "(declare-const assert Bool)", "(declare-const 3x Int)", "(declare-const true Bool)",
        "(declare-const |a\\| Int)", "(assert y)", "(assert (! true :named a))", "(assert (exists ((y Int)) true))",
        "(assert true) true",
        "(assert true true)", "(assert true)(", "(assert true))", "(assert)", "()", "(", ")", "; a comment", '"text"',
        "(assert (= \"a\" \"a\"))", "(assert #b1)", "(assert (_ bv1 2))", "(assert true\x00)", "\x00", "(assert |x\n|)",
        "(assert true)\x0b", "(assert true)\u2028", "(eval \"os.system('ls')\")", "(simplify x)", "(block-model)",
        "(simulate)", "(maximize x)", "((assert true))", "(assert (true)) (", "x",
    ],
)  # fmt: skip
def test_nothing_else_passes(more):
    for script in (
        SCRIPT.replace("(check-sat)\n", more + "\n(check-sat)\n"),
        more + "\n" + SCRIPT,
        SCRIPT + more,
    ):
        with pytest.raises(UnsafeTextError):
            check_script(script)


def test_a_script_begins_with_its_logic_and_ends_with_its_check():
    for script in ("", "(check-sat)", "(set-logic QF_LIRA)", "(check-sat)(set-logic QF_LIRA)", "(assert true)"):
        with pytest.raises(UnsafeTextError):
            check_script(script)


def test_lines_that_are_added_declare_and_assert():
    names: set[str] = set()
    check_lines("(declare-const x Int)", names)
    check_lines("(assert (< x 3))", names)
    for text in ("(check-sat)", "(set-logic QF_LIRA)", "(assert (< y 3))", '(set-option :a "b")'):
        with pytest.raises(UnsafeTextError):
            check_lines(text, names)


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_the_door_to_a_solver_refuses_what_may_not_pass(solver, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    option = f'(set-option :regular-output-channel "{victim}")'
    process = SolverProcess(solver)
    try:
        with pytest.raises(UnsafeTextError):
            process.ask_script(option + SCRIPT)
        with pytest.raises(UnsafeTextError):
            process.add(Text([("x", "Int")], [f"(assert true){option}"]))
        with pytest.raises(UnsafeTextError):
            process.add(Text([("x", f"Int){option}(declare-const y Int")], []))
        assert process.pid is None, "nobody was asked"
        process.ask_script(SCRIPT)
        assert process.answer().verdict == "sat"
    finally:
        process.stop()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_no_name_in_a_program_becomes_a_command(solver, tmp_path):
    """A bar ends a quoted name of SMT-LIB, whatever stands before it: what followed was obeyed, and a file lost."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    name = f'v| Real)(set-option :regular-output-channel "{victim}")(declare-const |w'
    lines = [
        "input a: int in [0, 10]",
        f"`{name}` = a + 1",
        "if a > 3:",
        f"    `{name}` = a + 3",
        "`v` = 0",
        "`v\\` = 100",
        f"if `{name}` + v > 5:",
        "    return 1",
        "return 0",
    ]
    file = tmp_path / "model.mace"
    file.write_text("\n".join(lines) + "\n")
    answer = mace.explain(file, mace.Space([mace.Feature("a", "integer", 0, 10)]), {"a": 1}, goal=1, oracle=solver)
    assert answer.status == "optimal"
    assert answer.counterfactuals[0].values == {"a": 4}
    text = to_smtlib(formula_of(parse_program(Path(file).read_text())))
    check_script(text.replace("(declare-fun", "(declare-const").replace(" () ", " "))
    assert victim.read_text() == "precious"
