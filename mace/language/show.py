"""Print a program, a statement or an expression in the concrete syntax.

In:  any node.    Out: text.
Promise: parse_program(show(p)) == p, with the fewest brackets that make it so; linear in the size of the program.
A Straight is printed the same way; where it splits a name into several, the names are `t`, `t_2`, ...
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from mace.base import exact
from mace.language.syntax import (
    COMPARISONS,
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
    Name,
    Number,
    Op,
    Program,
    Real,
    Return,
    Skip,
    Straight,
    Text,
    Truth,
    fold,
)

RESERVED = frozenset({
    "input", "const", "bool", "int", "real", "one", "of", "in", "inf", "if", "elif", "else", "for", "skip", "pass",
    "return", "implies", "or", "and", "not", "true", "True", "false", "False", "abs", "min", "max",
})  # fmt: skip
PLAIN_NAME = re.compile(r"[^\W\d]\w*")
LONGEST_DECIMAL = 15
"""Digits after the point; beyond, a fraction is shorter."""

# How tightly each form binds; the grammar has one rule for each level.
CHOOSE, IMPLIES, OR, AND, NOT, COMPARE, ADD, TIMES, FACTOR, ATOM = range(10)


def show(node: Program | Straight | Expr) -> str:
    """The text of a node."""
    match node:
        case Program() | Straight():
            lines = [show_input(declared) for declared in node.inputs]
            if isinstance(node, Program):
                lines += [f"const {show_name(const.name)} = {show(const.value)}" for const in node.consts]
            if lines and node.body:
                lines.append("")
            _show_block(node.body, "", lines)
            return "\n".join(lines) + "\n"
        case _:
            return fold(node, _shown)[0]


def show_name(name: str) -> str:
    """A name, in backquotes where it needs them."""
    return name if PLAIN_NAME.fullmatch(name) and name not in RESERVED else f"`{name}`"


def quoted(name: str) -> str:
    """A name in a message: always in backquotes."""
    return f"`{name}`"


def show_text(text: str) -> str:
    """A text literal."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def show_input(declared: Input) -> str:
    """The line that declares an input."""
    name, sort = show_name(declared.name), declared.sort
    match sort:
        case Bool():
            return f"input {name}: bool"
        case Level(levels=levels):
            return f"input {name}: one of {', '.join(map(show_text, levels))}"
        case Int() | Real():
            word = "int" if isinstance(sort, Int) else "real"
            if declared.lower is None and declared.upper is None:
                return f"input {name}: {word}"
            lower = "-inf" if declared.lower is None else show_number(declared.lower)
            upper = "inf" if declared.upper is None else show_number(declared.upper)
            return f"input {name}: {word} in [{lower}, {upper}]"
        case _:
            assert_never(sort)


def show_number(number: Fraction) -> str:
    """Exact text: a decimal where it is short and exact, else a fraction."""
    rest, places = number.denominator, 0
    while rest % 10 == 0:
        rest //= 10
        places += 1
    for prime in (2, 5):
        while rest % prime == 0 and places <= LONGEST_DECIMAL:
            rest //= prime
            places += 1
    if number.denominator == 1 or rest != 1 or places > LONGEST_DECIMAL:
        return exact.text(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


# --- statements ------------------------------------------------------------------------------------------------------


def _show_block(body: Block, indent: str, lines: list[str]) -> None:
    inner = indent + "    "
    if not body and indent:
        lines.append(f"{indent}skip")
    for stmt in body:
        match stmt:
            case Skip():
                lines.append(f"{indent}skip")
            case Assign(name=name, value=value):
                lines.append(f"{indent}{show_name(name)} = {show(value)}")
            case Return(value=value):
                lines.append(f"{indent}return {show(value)}")
            case For(index=index, first=first, last=last, body=inside):
                lines.append(f"{indent}for {show_name(index)} in {first}..{last}:")
                _show_block(inside, inner, lines)
            case If():
                _show_if(stmt, indent, lines)
            case _:
                assert_never(stmt)


def _show_if(stmt: If, indent: str, lines: list[str]) -> None:
    inner, word = indent + "    ", "if"
    while True:
        lines.append(f"{indent}{word} {show(stmt.test)}:")
        _show_block(stmt.then, inner, lines)
        match stmt.other:
            case ():
                return
            case (If() as last,):
                stmt, word = last, "elif"
            case _:
                lines.append(f"{indent}else:")
                _show_block(stmt.other, inner, lines)
                return


# --- expressions -----------------------------------------------------------------------------------------------------


def _shown(node: Expr, parts: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The text of a node and how tightly it binds."""
    match node:
        case Name(name=name):
            return show_name(name), ATOM
        case Number(value=value):
            text = show_number(value)
            return text, TIMES if "/" in text else FACTOR if value < 0 else ATOM
        case Truth(value=truth):
            return "true" if truth else "false", ATOM
        case Text(value=value):
            return show_text(value), ATOM
        case Apply():
            return _shown_apply(node, parts)
        case _:
            assert_never(node)


def _shown_apply(node: Apply, parts: Sequence[tuple[str, int]]) -> tuple[str, int]:
    op = node.op
    if op in (Op.ABS, Op.MIN, Op.MAX):
        return f"{op.value}({', '.join(text for text, _ in parts)})", ATOM
    if op in COMPARISONS:
        return f" {op.value} ".join(_at_least(ADD, part) for part in parts), COMPARE
    match op:
        case Op.NEGATE:
            # Without the brackets, `-(3)` would be read as the number -3.
            inner = f"({parts[0][0]})" if isinstance(node.args[0], Number) else _at_least(FACTOR, parts[0])
            return f"-{inner}", FACTOR
        case Op.ADD:
            return _at_least(TIMES, parts[0]) + "".join(map(_term, node.args[1:], parts[1:])), ADD
        case Op.TIMES:
            # A quotient may stand first, but a product there is another node than the longer product.
            first = _at_least(TIMES if _is(node.args[0], Op.DIVIDE) else FACTOR, parts[0])
            return " * ".join([first, *(_at_least(FACTOR, part) for part in parts[1:])]), TIMES
        case Op.DIVIDE:
            # Two literals with nothing around them would be read as one number.
            literal = all(isinstance(arg, Number) for arg in node.args)
            left = f"({parts[0][0]})" if literal else _left_of_division(node.args[0], parts[0])
            return f"{left} / {_at_least(FACTOR, parts[1])}", TIMES
        case Op.NOT:
            return f"not {_at_least(NOT, parts[0])}", NOT
        case Op.AND:
            return " and ".join(_at_least(NOT, part) for part in parts), AND
        case Op.OR:
            return " or ".join(_at_least(AND, part) for part in parts), OR
        case Op.IMPLIES:
            return f"{_at_least(OR, parts[0])} implies {_at_least(IMPLIES, parts[1])}", IMPLIES
        case Op.IF:
            test, then, other = parts
            return f"{_at_least(IMPLIES, then)} if {_at_least(IMPLIES, test)} else {other[0]}", CHOOSE
        case _:
            raise AssertionError(op)


def _term(arg: Expr, part: tuple[str, int]) -> str:
    """A term of a sum after the first: a leading minus becomes the operator."""
    if isinstance(arg, Apply) and arg.op is Op.NEGATE:
        product = _is(arg.args[0], Op.TIMES) or _is(arg.args[0], Op.DIVIDE)
        return f" - {part[0][2:-1] if product else part[0][1:]}"
    if isinstance(arg, Number) and arg.value < 0:
        return f" - {part[0][1:]}"
    return f" + {_at_least(TIMES, part)}"


def _left_of_division(arg: Expr, part: tuple[str, int]) -> str:
    return _at_least(TIMES if isinstance(arg, Apply) else FACTOR, part)


def _at_least(level: int, part: tuple[str, int]) -> str:
    text, binds = part
    return text if binds >= level else f"({text})"


def _is(expr: Expr, op: Op) -> bool:
    return isinstance(expr, Apply) and expr.op is op
