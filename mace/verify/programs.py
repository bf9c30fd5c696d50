"""Programs about two inputs: names moved to a second copy, results turned into conditions.

In:  programs and rules over the features of a space.
Out: rules over the features of a pair of inputs; the second value of a feature x is called `other_x`.
Promise: a rule made here is true exactly where the program it was made of says so, by the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from mace.errors import ProgramError
from mace.language import (
    Apply,
    Assign,
    Expr,
    Input,
    Int,
    Name,
    Number,
    Op,
    Program,
    Real,
    Return,
    Stmt,
    check,
    show,
)
from mace.language.syntax import fold, negated, rebuilt, returning, with_args, with_values
from mace.problem.programs import Rule
from mace.space.feature import Feature
from mace.space.space import Space

OTHER = "other_"


def pair_space(space: Space, doubled: Sequence[str], more: Sequence[Feature] = ()) -> Space:
    """The features of two inputs: those of the first, then the second values of the doubled ones, then more."""
    others = [
        replace(space[name], name=OTHER + name, columns=tuple(OTHER + column for column in space[name].columns))
        for name in doubled
    ]
    return Space((*space.features, *others, *more), (), space.name)


def other_rule(rule: Rule, names: Sequence[str], doubled: Sequence[str]) -> Rule | None:
    """A rule about the second input; None if it reads nothing that differs from the first.

    names: the features of the pair, in order.
    """
    moved = {name: OTHER + name for name in rule.reads if name in doubled}
    if not moved:
        return None
    program = renamed(rule.program, moved)
    return Rule(f"{rule.source} (other)", program, reads_of(program, names))


def beyond(feature: Feature, rising: bool, names: Sequence[str]) -> Rule:
    """The rule that the second value of a feature is more than the first, or less; of levels, by their places.

    A text would not do: where levels are numbers in another order, it would have to say which of the two it means.
    """
    sides = (OTHER + feature.name, feature.name)
    value = Apply(Op.GT if rising else Op.LT, tuple(Name(side) for side in sides))
    sort = Real() if feature.kind == "real" else Int()
    program = Program(tuple(Input(side, sort) for side in sides), (), (Return(value),))
    return Rule(show(value), program, reads_of(program, names))


def reads_of(program: Program, names: Sequence[str]) -> dict[str, int]:
    """The place of every input of a program."""
    place = {name: number for number, name in enumerate(names)}
    return {declared.name: place[declared.name] for declared in program.inputs}


def denied(program: Program, names: Sequence[str], source: str) -> Rule:
    """The rule that a program which returns a condition returns false."""
    turned = _returning(program, negated)
    return Rule(source, turned, reads_of(turned, names))


def result_is(program: Program, results: Sequence[int], names: Sequence[str]) -> Rule:
    """The rule that a model's program returns one of these class numbers."""

    def number(value: Expr) -> Expr:
        tests = tuple(Apply(Op.EQ, (value, Number(Fraction(result)))) for result in results)
        return tests[0] if len(tests) == 1 else Apply(Op.OR, tests)

    turned = _returning(program, number)
    try:
        check(turned)
    except ProgramError:  # it returns true and false, which stand for 1 and 0
        wanted = set(results) & {0, 1}
        turned = _returning(program, lambda value: value if wanted == {1} else negated(value))
        if len(wanted) != 1:
            raise
    return Rule(f"{program.name} returns {' or '.join(map(str, results))}", turned, reads_of(turned, names))


def _returning(program: Program, turned: Callable[[Expr], Expr]) -> Program:
    """The same program with another value in every `return`."""
    return replace(program, body=returning(program.body, turned))


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """The same program with other names."""

    def expression(value: Expr) -> Expr:
        def combine(node: Expr, parts: Sequence[Expr]) -> Expr:
            if isinstance(node, Name):
                return replace(node, name=names.get(node.name, node.name))
            return with_args(node, parts)

        return fold(value, combine)

    def statement(stmt: Stmt) -> Stmt:
        stmt = with_values(stmt, expression)
        return replace(stmt, name=names.get(stmt.name, stmt.name)) if isinstance(stmt, Assign) else stmt

    return replace(
        program,
        inputs=tuple(replace(declared, name=names.get(declared.name, declared.name)) for declared in program.inputs),
        body=rebuilt(program.body, statement),
    )


__all__ = ["OTHER", "beyond", "denied", "other_rule", "pair_space", "reads_of", "renamed", "result_is"]
