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
    Block,
    Expr,
    For,
    If,
    Name,
    Number,
    Op,
    Program,
    Return,
    Stmt,
    check,
)
from mace.language.syntax import fold, negated, with_args
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


def reads_of(program: Program, names: Sequence[str]) -> dict[str, int]:
    """The place of every input of a program."""
    place = {name: number for number, name in enumerate(names)}
    return {declared.name: place[declared.name] for declared in program.inputs}


def denied(program: Program, names: Sequence[str], source: str) -> Rule:
    """The rule that a program which returns a condition returns false."""
    turned = returning(program, negated)
    return Rule(source, turned, reads_of(turned, names))


def result_is(program: Program, results: Sequence[int], names: Sequence[str]) -> Rule:
    """The rule that a model's program returns one of these class numbers."""

    def number(value: Expr) -> Expr:
        tests = tuple(Apply(Op.EQ, (value, Number(Fraction(result)))) for result in results)
        return tests[0] if len(tests) == 1 else Apply(Op.OR, tests)

    turned = returning(program, number)
    try:
        check(turned)
    except ProgramError:  # it returns true and false, which stand for 1 and 0
        wanted = set(results) & {0, 1}
        turned = returning(program, lambda value: value if wanted == {1} else negated(value))
        if len(wanted) != 1:
            raise
    return Rule(f"{program.name} returns {' or '.join(map(str, results))}", turned, reads_of(turned, names))


def returning(program: Program, turned: Callable[[Expr], Expr]) -> Program:
    """The same program with another value in every `return`."""

    def block(body: Block) -> Block:
        return tuple(statement(stmt) for stmt in body)

    def statement(stmt: Stmt) -> Stmt:
        match stmt:
            case Return(value=value):
                return replace(stmt, value=turned(value))
            case If():
                return replace(stmt, then=block(stmt.then), other=block(stmt.other))
            case For():
                return replace(stmt, body=block(stmt.body))
            case _:
                return stmt

    return replace(program, body=block(program.body))


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """The same program with other names."""

    def expression(value: Expr) -> Expr:
        def combine(node: Expr, parts: Sequence[Expr]) -> Expr:
            if isinstance(node, Name):
                return replace(node, name=names.get(node.name, node.name))
            return with_args(node, parts)

        return fold(value, combine)

    def block(body: Block) -> Block:
        return tuple(statement(stmt) for stmt in body)

    def statement(stmt: Stmt) -> Stmt:
        match stmt:
            case Assign():
                return replace(stmt, name=names.get(stmt.name, stmt.name), value=expression(stmt.value))
            case If():
                return replace(stmt, test=expression(stmt.test), then=block(stmt.then), other=block(stmt.other))
            case For():
                return replace(stmt, body=block(stmt.body))
            case Return(value=value):
                return replace(stmt, value=expression(value))
            case _:
                return stmt

    return replace(
        program,
        inputs=tuple(replace(declared, name=names.get(declared.name, declared.name)) for declared in program.inputs),
        body=block(program.body),
    )


__all__ = ["OTHER", "denied", "other_rule", "pair_space", "reads_of", "renamed", "result_is", "returning"]
