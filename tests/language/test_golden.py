"""Golden files lie beside their source: `credit.mace`, `credit.ssa`, `credit.paths`, `credit.smt2`.

To write them anew after a change that was meant: MACE_GOLDEN=write pytest tests/language/test_golden.py; read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from io import StringIO
from pathlib import Path

import pytest
from pysmt.environment import pop_env, push_env
from pysmt.shortcuts import GT, LE, And, Equals, Iff, Int, Not, Or, Real, Solver
from pysmt.smtlib.parser import SmtLibParser

from mace.language import Straight, parse_program, run, show, to_ssa
from mace.language.logic import formula_of, path_list, show_paths, to_smtlib

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.mace"))


PRINTED: dict[str, Callable[[Straight], str]] = {
    "ssa": show,
    "paths": lambda straight: show_paths(path_list(straight)),
    "smt2": lambda straight: to_smtlib(formula_of(straight)),
}


@pytest.fixture(autouse=True)
def _fresh_names() -> Iterator[None]:
    """A pySMT environment of its own: the script is read back with the same names, whatever other tests used."""
    push_env()
    yield
    pop_env()


def straight_of(name: str) -> Straight:
    return to_ssa(parse_program((FOLDER / f"{name}.mace").read_text(encoding="utf-8"), name=f"{name}.mace"))


@pytest.mark.parametrize("kind", PRINTED)
@pytest.mark.parametrize("name", NAMES)
def test_the_output_is_the_golden_file(name: str, kind: str) -> None:
    text, file = PRINTED[kind](straight_of(name)), FOLDER / f"{name}.{kind}"
    if os.environ.get("MACE_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:Unknown logic")  # pySMT knows no QF_LIRA; solvers do
@pytest.mark.parametrize("name", NAMES)
def test_the_script_is_the_formula(name: str) -> None:
    phi = formula_of(straight_of(name))
    script = SmtLibParser().get_script(StringIO(to_smtlib(phi)))
    read = And(*(command.args[0] for command in script.filter_by_command_name("assert")))
    with Solver(name="z3", logic="QF_UFLIRA") as solver:
        solver.add_assertion(Not(Iff(read, And(phi.ranges, phi.formula))))
        assert not solver.solve()


def test_figure_2_has_the_formula_of_the_paper() -> None:
    phi = formula_of(straight_of("figure2"))
    x1, x2, x3 = phi.inputs["x1"], phi.inputs["x2"], phi.inputs["x3"]
    one, y = Int(1), phi.result
    paper = Or(
        And(Equals(x1, one), GT(x3, Real(0)), Equals(y, Real(0))),
        And(Equals(x1, one), LE(x3, Real(0)), Equals(y, Real(1))),
        And(Equals(x1, Int(0)), Equals(x2, one), Equals(y, Real(0))),
        And(Equals(x1, Int(0)), Equals(x2, Int(0)), Equals(y, Real(1))),
    )
    with Solver(name="z3", logic="QF_UFLIRA") as solver:
        solver.add_assertion(And(phi.ranges, Not(Iff(paper, phi.formula))))
        assert not solver.solve()


@pytest.mark.parametrize(
    ("x1", "x2", "x3", "result"), [(1, 0, 0, 1), (0, 1, 0, 1), (3, 0, 5, 0), (2, 1, 3, 1), (Fraction(1, 2), 0, 1, 0)]
)
def test_figure_3_is_the_network_of_the_paper(x1: Fraction, x2: Fraction, x3: Fraction, result: int) -> None:
    program = parse_program((FOLDER / "figure3.mace").read_text(encoding="utf-8"))
    t1, t2 = max(x1 - x2, Fraction(0)), max(2 * x1 - x3, Fraction(0))
    assert result == (1 if -t1 + t2 >= 0 else 0)
    assert run(program, {"x1": x1, "x2": x2, "x3": x3}) == result


def test_figure_3_has_eight_paths() -> None:
    assert len(path_list(straight_of("figure3"))) == 8
