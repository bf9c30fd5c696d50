"""Text, interpreter, single assignment form, enclosure and formula: several roads, one meaning."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pysmt.fnode import FNode
from pysmt.shortcuts import BOOL, INT, REAL, And, Equals, Iff, Int, Not, Or, Real, Solver, Symbol
from pysmt.shortcuts import Bool as Truth

from mace.language import (
    Apply,
    Assign,
    Block,
    Bool,
    Expr,
    If,
    Name,
    Number,
    Op,
    Program,
    Return,
    check,
    parse_program,
    possible,
    run,
    run_straight,
    show,
    to_ssa,
)
from mace.language.logic import count_paths, formula_of, path_list, translate
from mace.language.syntax import Truth as Literal
from mace.language.syntax import fold, nodes_of, rebuilt, returning, with_args, with_values
from tests.language.strategies import Point, points, programs


def quick(examples: int) -> settings:
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


@quick(50)
@given(programs())
def test_what_is_shown_is_read_back(p: Program) -> None:
    assert parse_program(show(p)) == p


@quick(50)
@given(programs(), points)
def test_single_assignment_keeps_the_meaning(p: Program, x: Point) -> None:
    check(p)
    assert run_straight(to_ssa(p), x) == run(p, x)


@quick(40)
@given(programs())
def test_every_name_is_assigned_once_on_any_run_and_before_it_is_read(p: Program) -> None:
    straight = to_ssa(p)
    assert_single(straight.body, frozenset(declared.name for declared in straight.inputs), frozenset())


def assert_single(body: Block, readable: frozenset[str], assigned: frozenset[str]) -> tuple[frozenset[str], ...]:
    """The names that may be read after the block, and those that some run through it has assigned."""
    for at, stmt in enumerate(body):
        match stmt:
            case Assign(name=name, value=value):
                assert_reads(value, readable)
                assert name not in assigned | readable
                readable, assigned = readable | {name}, assigned | {name}
            case If(test=test, then=then, other=other):
                assert_reads(test, readable)
                one, two = assert_single(then, readable, assigned), assert_single(other, readable, assigned)
                readable, assigned = one[0] & two[0], one[1] | two[1]
            case Return(value=value):
                assert_reads(value, readable)
                assert at == len(body) - 1
            case _:
                raise AssertionError(stmt)
    return readable, assigned


def assert_reads(expr: Expr, readable: frozenset[str]) -> None:
    assert {node.name for node in nodes_of(expr) if isinstance(node, Name)} <= readable


@quick(50)
@given(programs(), points)
def test_a_program_that_returns_whether_its_result_is_what_it_is_returns_true(p: Program, x: Point) -> None:
    found = run(p, x)
    literal = Literal(found) if isinstance(found, bool) else Number(Fraction(found))
    same = replace(p, body=returning(p.body, lambda value: Apply(Op.EQ, (value, literal))))
    assert run(same, x) is True
    assert rebuilt(p.body, lambda stmt: with_values(stmt, lambda value: fold(value, with_args))) == p.body


@quick(50)
@given(programs(), points)
def test_the_enclosure_of_a_point_is_its_result(p: Program, x: Point) -> None:
    result = run(p, x)
    expected = frozenset({result}) if isinstance(result, bool) else (result, result)
    assert possible(p, {name: (Fraction(value), Fraction(value)) for name, value in x.items()}) == expected
    assert possible(p, {name: frozenset({value}) for name, value in x.items()}) == expected


@quick(50)
@given(programs(), points, points, points, st.booleans())
def test_the_enclosure_of_a_box_holds_every_result(p: Program, x: Point, y: Point, z: Point, sets: bool) -> None:
    ends = {name: (min(x[name], y[name]), max(x[name], y[name])) for name in x}
    box = {name: frozenset(pair) if sets else pair for name, pair in ends.items()}
    inside = possible(p, box)
    between = {name: min(max(z[name], low), high) for name, (low, high) in ends.items()}
    corners: list[Point] = [x, y, {**x, "age": y["age"]}, {**y, "owns": x["owns"], "net income": x["net income"]}]
    for point in corners if sets else [*corners, between]:
        result = run(p, point)
        if isinstance(inside, frozenset):
            assert result in inside
        else:
            assert inside[0] <= result <= inside[1]


def fixed(symbol: FNode, value: object) -> FNode:
    if isinstance(value, bool):
        return Iff(symbol, Truth(value))
    return Equals(symbol, Int(int(value)) if symbol.symbol_type() == INT else Real(value))  # type: ignore[call-overload]


def assert_formula_means(p: Program, x: Point, name: str) -> None:
    phi, result = formula_of(to_ssa(p)), run(p, x)
    at_x = And(*(fixed(symbol, x[name]) for name, symbol in phi.inputs.items()))
    with Solver(name=name, logic="QF_UFLIRA") as solver:
        solver.add_assertion(And(phi.ranges, phi.formula, at_x))
        assert solver.solve([])
        solver.add_assertion(Not(fixed(phi.result, result)))
        assert not solver.solve([])


@quick(40)
@given(programs(), points)
def test_the_formula_means_the_program_for_z3(p: Program, x: Point) -> None:
    assert_formula_means(p, x, "z3")


@quick(40)
@given(programs(), points)
def test_the_formula_means_the_program_for_cvc5(p: Program, x: Point) -> None:
    assert_formula_means(p, x, "cvc5")


@quick(30)
@given(programs(depth=1))
def test_the_paths_together_are_the_formula(p: Program) -> None:
    straight = to_ssa(p)
    if count_paths(straight.body) > 100:
        return
    paths, phi = path_list(straight), formula_of(straight)
    assert len(paths) == count_paths(straight.body)
    with Solver(name="z3", logic="QF_UFLIRA") as solver:
        solver.add_assertion(Not(Iff(Or(paths), phi.formula)))
        assert not solver.solve()


@quick(40)
@given(programs(), points)
def test_a_translated_program_gives_its_result_on_any_terms(p: Program, x: Point) -> None:
    terms = {
        "age": Symbol("translated age", INT),
        "net income": Symbol("translated income", REAL),
        "owns": Symbol("translated owns", BOOL),
        "job": Symbol("translated job", REAL),
    }
    constraints, result = translate(p, terms, "inner ")
    expected = run(p, x)
    same = Iff(result, Truth(expected)) if check(p) == Bool() else number_is(result, Fraction(expected))
    with Solver(name="z3", logic="QF_UFLIRA") as solver:
        solver.add_assertion(And(constraints, *(fixed(terms[name], x[name]) for name in terms)))
        assert solver.solve()
        solver.add_assertion(Not(same))
        assert not solver.solve()


def number_is(term: FNode, value: Fraction) -> FNode:
    from mace.language.logic.terms import as_real

    return Equals(as_real(term), Real(value))


def test_two_solvers_are_there() -> None:
    for name in ("z3", "cvc5"):
        with Solver(name=name, logic="QF_UFLIRA") as solver:
            assert solver.solve()
