"""Every operator, on every small argument: interpreter, enclosure and term agree."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from mace.language import (
    OPERATORS,
    Apply,
    Bool,
    Input,
    Level,
    Name,
    Number,
    Op,
    Program,
    Real,
    Return,
    Value,
    evaluate,
    parse_program,
    possible,
    run,
    run_straight,
    to_ssa,
)
from mace.language.logic import translate

NUMBERS = (Fraction(-2), Fraction(-1, 2), Fraction(0), Fraction(1))
BOOLS = (False, True)
SIDES = tuple(combinations_with_replacement(NUMBERS, 2))
SETS = tuple(frozenset(pair) for pair in SIDES)
TRUTHS = tuple(frozenset(pair) for pair in ((False,), (True,), (False, True)))


def forms(op: Op) -> Iterator[tuple[Program, tuple[str, ...]]]:
    """Programs that apply the operator to inputs of every sort that it takes."""
    takes, count = OPERATORS[op].takes, OPERATORS[op].least
    for sort in ("number", "bool") if takes == "same" else (takes,):
        sorts = ("bool", sort, sort) if op is Op.IF else (sort,) * count
        names = tuple(f"a{at}" for at in range(count))
        args = [Name(name) for name in names]
        inputs = [Input(name, Bool() if one == "bool" else Real()) for name, one in zip(names, sorts, strict=True)]
        if op in (Op.TIMES, Op.DIVIDE):
            for factor in NUMBERS:
                if op is Op.TIMES or factor:
                    value = Apply(op, (args[0], Number(factor)))
                    yield Program(tuple(inputs[:1]), (), (Return(value),)), ("number",)
        else:
            yield Program(tuple(inputs), (), (Return(Apply(op, tuple(args))),)), sorts


CASES = [pytest.param(*form, id=f"{op.name}-{at}") for op in Op for at, form in enumerate(forms(op))]


@pytest.mark.parametrize(("program", "sorts"), CASES)
def test_interpreter_and_term_agree(program: Program, sorts: tuple[str, ...]) -> None:
    from pysmt.shortcuts import Bool as Truth
    from pysmt.shortcuts import Int as Whole
    from pysmt.shortcuts import Real as Rational

    for values in product(*(NUMBERS if sort == "number" else BOOLS for sort in sorts)):
        point: dict[str, Value] = {one.name: value for one, value in zip(program.inputs, values, strict=True)}
        expected = run(program, point)
        for whole in (False, True):  # whole numbers as INT terms as well: the same value by another road
            terms = {
                name: Truth(value)
                if isinstance(value, bool)
                else (Whole(int(value)) if whole and int(value) == value else Rational(Fraction(value)))
                for name, value in point.items()
            }
            constraints, result = translate(program, terms, "")
            assert constraints.is_true()
            assert result.simplify().constant_value() == expected


@pytest.mark.parametrize(("program", "sorts"), CASES)
def test_the_enclosure_of_every_box_holds_every_result(program: Program, sorts: tuple[str, ...]) -> None:
    for kind in (SIDES, SETS):
        for sides in product(*(kind if sort == "number" else TRUTHS for sort in sorts)):
            box = {one.name: side for one, side in zip(program.inputs, sides, strict=True)}
            inside = possible(program, box)  # type: ignore[arg-type]  # a product of mixed tuples
            members = [
                [value for value in NUMBERS if side[0] <= value <= side[1]] if isinstance(side, tuple) else side
                for side in sides
            ]
            for values in product(*members):  # type: ignore[arg-type]
                names = {one.name: value for one, value in zip(program.inputs, values, strict=True)}
                result = run(program, names)
                if isinstance(inside, frozenset):
                    assert result in inside, (box, names)
                else:
                    assert inside[0] <= result <= inside[1], (box, names)


def test_levels_in_a_set_that_misses_one_are_decided() -> None:
    job = Input("job", Level(("a", "b", "c")))
    program = parse_program('return job == "b"', inputs={"job": job})
    assert possible(program, {"job": {0, 2}}) == frozenset({False})
    assert possible(program, {"job": (0, 2)}) == frozenset({False, True})
    assert possible(program, {"job": (1, 1)}) == frozenset({True})
    assert possible(program, {}) == frozenset({False, True})


def test_a_loop_index_keeps_its_value_in_the_branch_that_returns() -> None:
    # The later rounds move into the first branch; the second one still belongs to the round at hand.
    program = parse_program(
        "input x: int\ny = 0\n"
        "for i in 0..2:\n    if x != i:\n        y = y + 1\n    else:\n        return i\n"
        "return 10 * y\n"
    )
    straight = to_ssa(program)
    for x, expected in ((0, 0), (1, 1), (2, 2), (3, 30)):
        assert run(program, {"x": x}) == run_straight(straight, {"x": x}) == expected


def test_a_decimal_means_what_is_written() -> None:
    program = parse_program("input x: real\nreturn x + 0.1 + 1e-3 + 1/3")
    assert run(program, {"x": 0}) == Fraction(1, 10) + Fraction(1, 1000) + Fraction(1, 3)
    assert evaluate(Number(Fraction(1, 3)), {}) == Fraction(1, 3)
