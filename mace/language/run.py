"""The meaning of a program: an interpreter on exact numbers.

In:  a Program that `check` accepted (or a Straight), and a value for each input.    Out: a bool, or a Fraction.
Promise: nothing is rounded; every other part of the package that speaks about programs agrees with this one.
Source: Karimi et al. 2020, appendix A; the usual meaning of each command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple, assert_never, cast

from mace.base import exact
from mace.errors import RowError
from mace.language.show import quoted, show_number, show_text
from mace.language.syntax import (
    Apply,
    Assign,
    Block,
    Bool,
    Expr,
    For,
    If,
    Input,
    Int,
    Level,
    Levels,
    Name,
    Number,
    Op,
    Program,
    Real,
    Result,
    Return,
    Skip,
    Straight,
    Text,
    TooLargeError,
    Truth,
    Value,
    bounded,
    fold,
    levels_of,
)


class Ran(NamedTuple):
    """What a program returned, and the value of every name then."""

    result: Result
    names: Mapping[str, Value]


def run(program: Program, values: Mapping[str, Value]) -> Result:
    """What the program returns.

    values: for each input its exact value, in its own unit; a level by its index. Other names are ignored.
    Returns a bool, or a Fraction.
    Raises  RowError if a value is missing, of another sort, or outside the declared range;
            ProgramError where a number grows beyond MAX_BITS.
    """
    return ran(program, values).result


def ran(program: Program, values: Mapping[str, Value]) -> Ran:
    """As `run`, with the value that every name has when the program returns."""
    levels = levels_of(program.inputs)
    names = {declared.name: admitted(declared, values) for declared in program.inputs}
    for const in program.consts:
        names[const.name] = evaluate(const.value, names, source=program.source)
    return Ran(_returned(program.body, names, levels, program.source), names)


def run_straight(straight: Straight, values: Mapping[str, Value]) -> Result:
    """What a program in single assignment form returns; as `run`."""
    names = {declared.name: admitted(declared, values) for declared in straight.inputs}
    return _returned(straight.body, names, {}, "")


def admitted(declared: Input, values: Mapping[str, Value]) -> Value:
    """The value of an input, refused with a RowError unless it has the declared sort and range."""
    name, sort = quoted(declared.name), declared.sort
    if declared.name not in values:
        raise RowError(f"no value for the input {name}", hint="Give a value for every input of the program.")
    value = values[declared.name]
    match sort:
        case Bool():
            if not isinstance(value, bool):
                raise RowError(f"{name} is a bool, and {value!r} is not", hint="Give True or False.")
            return value
        case Level(levels=levels):
            if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or value not in range(len(levels)):
                raise RowError(
                    f"{name} has levels 0 to {len(levels) - 1}, and {value!r} is none of them",
                    hint="Give the index of a level: " + ", ".join(
                        f"{at} for {show_text(level)}" for at, level in enumerate(levels[:3])) + ".",
                )  # fmt: skip
            return Fraction(value)
        case Int() | Real():
            if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
                raise RowError(
                    f"{name} is a number, and {value!r} is not an exact one",
                    hint="Give an int or a Fraction; `mace.base.exact.exact` reads a float without loss.",
                )
            number = Fraction(value)
            if isinstance(sort, Int) and number.denominator != 1:
                raise RowError(f"{name} is an int, and {exact.text(number)} is not whole", hint="Give a whole number.")
            if (declared.lower is not None and number < declared.lower) or (
                declared.upper is not None and number > declared.upper
            ):
                lower = "-inf" if declared.lower is None else show_number(declared.lower)
                upper = "inf" if declared.upper is None else show_number(declared.upper)
                raise RowError(
                    f"{name} = {show_number(number)} lies outside [{lower}, {upper}]",
                    hint="Correct the value, or widen the declared range.",
                )
            return number
        case _:
            assert_never(sort)


def _returned(body: Block, names: dict[str, Value], levels: Levels, source: str) -> Result:
    # Work to be done, last first. A pair is a loop index and its value, for the round that follows it.
    todo: list[Skip | Assign | If | For | Return | tuple[str, int]] = list(reversed(body))
    while todo:
        stmt = todo.pop()
        match stmt:
            case Skip():
                pass
            case Assign(name=name, value=value):
                names[name] = evaluate(value, names, levels, source)
            case If(test=test, then=then, other=other):
                todo.extend(reversed(then if evaluate(test, names, levels, source) else other))
            case For(index=index, first=first, last=last, body=inside):
                if first < last:
                    todo.append(For(index, first + 1, last, inside))
                todo.extend(reversed(inside))
                todo.append((index, first))
            case Return(value=value):
                result = evaluate(value, names, levels, source)
                return result if isinstance(result, bool) else Fraction(result)
            case (str() as index, int() as first):
                names[index] = Fraction(first)
            case _:
                assert_never(stmt)
    raise AssertionError("a checked program returns")


# --- expressions -----------------------------------------------------------------------------------------------------


def _sum(parts: Sequence[Value]) -> Value:
    result = Fraction(0)
    for part in parts:
        result = bounded(result + part)
    return result


def _product(parts: Sequence[Value]) -> Value:
    result = Fraction(1)
    for part in parts:
        result = bounded(result * part)
    return result


MEANING: Mapping[Op, Callable[[Sequence[Value]], Value]] = {
    Op.NEGATE: lambda a: -a[0],
    Op.ADD: _sum,
    Op.TIMES: _product,
    Op.DIVIDE: lambda a: bounded(Fraction(a[0]) / Fraction(a[1])),
    Op.ABS: lambda a: -a[0] if a[0] < 0 else a[0],
    Op.MIN: min,
    Op.MAX: max,
    Op.EQ: lambda a: a[0] == a[1],
    Op.NE: lambda a: a[0] != a[1],
    Op.LT: lambda a: a[0] < a[1],
    Op.LE: lambda a: a[0] <= a[1],
    Op.GT: lambda a: a[0] > a[1],
    Op.GE: lambda a: a[0] >= a[1],
    Op.NOT: lambda a: not a[0],
    Op.AND: all,
    Op.OR: any,
    Op.IMPLIES: lambda a: not a[0] or a[1],
    Op.IF: lambda a: a[1] if a[0] else a[2],
}


def evaluate(expr: Expr, names: Mapping[str, Value], levels: Levels | None = None, source: str = "") -> Value:
    """The value of an expression.

    names:  the value of every name in it.
    levels: the levels of inputs, for the texts in it.
    source: the text that it was read from, for messages.
    Raises  ProgramError where a number grows beyond MAX_BITS; ZeroDivisionError where there is no value: a quotient by
            0 has none, nor has what takes a part without one, but that `if` takes its test and the chosen part alone.
    """

    def value(node: Expr, parts: Sequence[Value]) -> Value:
        try:
            return _value(names, node, parts)
        except TooLargeError as error:
            raise error.at(node.span, source) from None

    def known(node: Expr, parts: Sequence[Value | None]) -> Value | None:
        match node, parts:
            case Apply(op=Op.IF), (bool() as test, then, other):
                return then if test else other
        with suppress(ZeroDivisionError):
            return None if None in parts else value(node, cast(Sequence[Value], parts))
        return None

    try:
        return fold(expr, value, levels)
    except ZeroDivisionError:  # perhaps in a part that no `if` takes
        found = fold(expr, known, levels)
        if found is None:
            raise
        return found


def _value(names: Mapping[str, Value], node: Expr, parts: Sequence[Value]) -> Value:
    match node:
        case Name(name=name):
            return names[name]
        case Number(value=number):
            return number
        case Truth(value=truth):
            return truth
        case Apply(op=op):
            return MEANING[op](parts)
        case Text():
            raise AssertionError("a checked program has texts only beside levels")
        case _:
            assert_never(node)
