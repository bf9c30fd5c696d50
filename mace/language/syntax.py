"""The nodes of the core language: sorts, expressions, statements, programs.

In:  nothing; parsers and compilers build these nodes, every other module reads them.
Out: frozen values. Two nodes are equal when they say the same; where they stood in a text does not count.
Promise: `OPERATORS` names every operator once, with its arguments; `Expr`, `Stmt` and `Sort` name every kind of node.
Source: Karimi, Barthe, Balle, Valera 2020, appendix A. Added to the paper's language: declared sorts and ranges,
levels (named values with an order), constants, and `implies`, `abs`, `min`, `max`, `a if c else b` as functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, TypeVar, assert_never

from mace.errors import ProgramError, Span

MAX_BYTES = 64 * 2**20
"""A text longer than this is refused before it is read; a forest of 100,000 nodes needs about 10 MB."""
MAX_NESTING = 200
"""Blocks inside blocks, and expressions inside expressions. An `elif` counts as an `if` inside an `else`."""
MAX_UNROLLED = 4_000_000
"""Statements and expression nodes after all loops are unrolled."""
MAX_BITS = 2**16
"""Of a number that is computed, numerator and denominator together: some 20,000 digits. Products in a chain of
constants, or in a loop, double with every step."""

MISSING = "None"
"""The text of the level that stands for a missing value."""

Value: TypeAlias = Fraction | int | bool
Result: TypeAlias = Fraction | bool


# --- sorts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bool:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number."""


@dataclass(frozen=True, slots=True)
class Real:
    """Any rational number."""


@dataclass(frozen=True, slots=True)
class Level:
    """One of some named values, in the order of declaration; its value is its index, an int from 0."""

    levels: tuple[str, ...]


Sort: TypeAlias = Bool | Int | Real | Level


# --- expressions -----------------------------------------------------------------------------------------------------


class Op(Enum):
    """Every operator and function of the language, by the way it is written."""

    NEGATE = "-"
    ADD = "+"
    TIMES = "*"
    DIVIDE = "/"
    ABS = "abs"
    MIN = "min"
    MAX = "max"
    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    NOT = "not"
    AND = "and"
    OR = "or"
    IMPLIES = "implies"
    IF = "if"


@dataclass(frozen=True, slots=True)
class Signature:
    """What an operator takes and gives. `most` is None where any number of arguments will do."""

    takes: str
    gives: str
    least: int
    most: int | None


# "same": two numbers, two bools, or a level and a text. IF takes (test, value when true, value when false).
OPERATORS: Mapping[Op, Signature] = {
    Op.NEGATE: Signature("number", "number", 1, 1),
    Op.ADD: Signature("number", "number", 2, None),
    Op.TIMES: Signature("number", "number", 2, None),
    Op.DIVIDE: Signature("number", "number", 2, 2),
    Op.ABS: Signature("number", "number", 1, 1),
    Op.MIN: Signature("number", "number", 2, None),
    Op.MAX: Signature("number", "number", 2, None),
    Op.EQ: Signature("same", "bool", 2, 2),
    Op.NE: Signature("same", "bool", 2, 2),
    Op.LT: Signature("number", "bool", 2, 2),
    Op.LE: Signature("number", "bool", 2, 2),
    Op.GT: Signature("number", "bool", 2, 2),
    Op.GE: Signature("number", "bool", 2, 2),
    Op.NOT: Signature("bool", "bool", 1, 1),
    Op.AND: Signature("bool", "bool", 2, None),
    Op.OR: Signature("bool", "bool", 2, None),
    Op.IMPLIES: Signature("bool", "bool", 2, 2),
    Op.IF: Signature("same", "same", 3, 3),
}

COMPARISONS = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE})
OPPOSITE: Mapping[Op, Op] = {
    Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Name:
    """An input, a constant, a loop index or a variable."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational number."""

    value: Fraction
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LevelIndex(Number):
    """The index of a level, beside a name that stands for one; a number that people write there may mean the level."""


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""

    value: bool
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """The name of a level. It means the index of that level, and stands only beside the input it is compared with."""

    value: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator on its arguments. There is no binary minus: `a - b` is `a + (-b)`, so that long sums stay flat."""

    op: Op
    args: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Expr: TypeAlias = Name | Number | Truth | Text | Apply


# --- statements and programs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Skip:
    """Does nothing."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """`name = value`."""

    name: str
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """`if test: then else: other`; `other` is empty where there is no `else`."""

    test: Expr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For:
    """`for index in first..last: body`; both ends are counted, and `first <= last`."""

    index: str
    first: int
    last: int
    body: tuple[Stmt, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`; nothing follows it."""

    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


Stmt: TypeAlias = Skip | Assign | If | For | Return
Block: TypeAlias = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """A declared input: its sort, and for numbers a range whose ends belong to it (None: no end)."""

    name: str
    sort: Sort
    lower: Fraction | None = None
    upper: Fraction | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Const:
    """A name for a constant expression over numbers, truths and earlier constants."""

    name: str
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Program:
    """Inputs, constants and a body. `name` and `source` serve messages only and do not count for equality."""

    inputs: tuple[Input, ...]
    consts: tuple[Const, ...]
    body: Block
    name: str = field(default="<program>", compare=False)
    source: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Straight:
    """A program in single assignment form: `If`, `Assign` and `Return` only, every name assigned once on any run.

    `body` reads inputs and its own names; constants, loop indices and texts have become numbers.
    """

    inputs: tuple[Input, ...]
    body: Block
    name: str = field(default="<program>", compare=False)


# --- walks -----------------------------------------------------------------------------------------------------------

T = TypeVar("T")
Levels: TypeAlias = Mapping[str, tuple[str, ...]]


def fold(expr: Expr, combine: Callable[[Expr, Sequence[T]], T], levels: Levels | None = None) -> T:
    """Combine an expression from its leaves up, without recursion: depth costs memory, never the stack.

    combine: gets a node and what it gave for the node's arguments.
    levels:  where given, a text beside a level arrives as the number of its index.
    """
    if not isinstance(expr, Apply):
        return combine(expr, ())
    done: list[T] = []
    todo: list[tuple[Expr, bool]] = [(expr, False)]
    while todo:
        node, ready = todo.pop()
        if not isinstance(node, Apply):
            done.append(combine(node, ()))
        elif ready:
            start = len(done) - len(node.args)
            done[start:] = [combine(node, done[start:])]
        else:
            if levels and node.op in COMPARISONS:
                node = coded(node, levels)
            todo.append((node, True))
            todo.extend([(arg, False) for arg in reversed(node.args)])
    return done[0]


def with_args(node: Expr, args: Sequence[Expr]) -> Expr:
    """A node over other arguments, for `fold`: what is no operation has none, and stays."""
    return replace(node, args=tuple(args)) if isinstance(node, Apply) else node


def coded(node: Apply, levels: Levels) -> Apply:
    """A comparison of names that stand for indices of levels, as one of indices.

    A text beside such a name means its index; two names with other levels are compared by these, never by index; a
    number beside a name whose levels are numbers means the level, beside any other name an index.
    """
    match node.args:
        case (Name(name=name), Text(value=value, span=span)) if name in levels:
            return replace(node, args=(node.args[0], LevelIndex(Fraction(levels[name].index(value)), span)))
        case (Text(value=value, span=span), Name(name=name)) if name in levels:
            return replace(node, args=(LevelIndex(Fraction(levels[name].index(value)), span), node.args[1]))
        case (Name(name=name) as one, Name(name=other) as two) if levels.get(name) != levels.get(other):
            return _of_other_levels(node, one, two, levels) if name in levels and other in levels else node
        case (Name(name=name) as one, other_side) if name in levels and (number := literal(other_side)) is not None:
            return _of_number(node, one, number, node.op, levels[name])
        case (other_side, Name(name=name) as one) if name in levels and (number := literal(other_side)) is not None:
            return _of_number(node, one, number, FLIPPED.get(node.op, node.op), levels[name])
        case _:
            return node


FLIPPED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
_TESTS: dict[Op, Callable[[Fraction, Fraction], bool]] = {
    Op.EQ: lambda a, b: a == b, Op.NE: lambda a, b: a != b, Op.LT: lambda a, b: a < b, Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b, Op.GE: lambda a, b: a >= b,
}  # fmt: skip


def literal(expr: Expr) -> Fraction | None:
    """The number that is written in a place; None for anything else."""
    match expr:
        case LevelIndex():
            return None
        case Number(value=value):
            return Fraction(value)
        case Apply(op=Op.NEGATE, args=(Number(value=value),)):
            return -Fraction(value)
        case _:
            return None


@lru_cache(maxsize=1024)
def numbers_of(levels: tuple[str, ...]) -> tuple[Fraction | None, ...] | None:
    """The numbers that levels are, None for the missing one; None where some are texts, or all are their own index."""
    found: list[Fraction | None] = []
    for level in levels:
        try:
            found.append(None if level == MISSING else Fraction(level))
        except (ValueError, ZeroDivisionError):
            return None
    present = [number for number in found if number is not None]
    return None if not present or present == list(range(len(present))) else tuple(found)


def out_of_order(op: Op, levels: tuple[str, ...]) -> bool:
    """Whether "more" may mean two things: levels that are numbers stand in another order than these."""
    present = [number for number in numbers_of(levels) or () if number is not None]
    return op not in (Op.EQ, Op.NE) and present != sorted(present)


def comparable(op: Op, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether names with these levels can be compared; for more or less one has all levels of the other, in order."""
    if op in (Op.EQ, Op.NE) or one == other:
        return True
    few, many = sorted((one, other), key=len)
    return list(few) == [level for level in many if level in few]


def _of_other_levels(node: Apply, one: Name, two: Name, levels: Levels) -> Apply:
    """A comparison of two names, each with levels of its own."""
    ours, theirs = levels[one.name], levels[two.name]
    if node.op in (Op.EQ, Op.NE):
        shared = [level for level in ours if level in theirs]
        pairs = [_both(node, _is(one, ours.index(level)), _is(two, theirs.index(level))) for level in shared]
        return _any(node, pairs, one) if node.op is Op.EQ else Apply(Op.NOT, (_any(node, pairs, one),), node.span)
    if len(ours) < len(theirs):
        op = FLIPPED[node.op]
        one, two, ours, theirs = two, one, theirs, ours
    else:
        op = node.op
    cases = [
        _both(node, _is(two, at), Apply(op, (one, LevelIndex(Fraction(ours.index(level)))), node.span))
        for at, level in enumerate(theirs)
    ]
    return _any(node, cases, one)


def _of_number(node: Apply, name: Name, number: Fraction, op: Op, levels: tuple[str, ...]) -> Apply:
    """A comparison of a name with a number."""
    known = numbers_of(levels)
    if known is None:
        return node
    test = _TESTS[op]
    holds = [op is Op.NE if own is None else test(own, number) for own in known]
    return _any(node, [_is(name, at) for at, one in enumerate(holds) if one], name)


def _is(name: Name, index: int) -> Apply:
    return Apply(Op.EQ, (name, LevelIndex(Fraction(index))), name.span)


def _both(node: Apply, one: Apply, other: Apply) -> Apply:
    return Apply(Op.AND, (one, other), node.span)


def _any(node: Apply, cases: Sequence[Apply], name: Name) -> Apply:
    """Whether one of the cases holds; an index that no level has stands for none of them."""
    return Apply(Op.OR, tuple(cases), node.span) if len(cases) > 1 else cases[0] if cases else _is(name, -1)


def levels_of(inputs: Sequence[Input]) -> dict[str, tuple[str, ...]]:
    """The levels of every input that has some."""
    return {i.name: i.sort.levels for i in inputs if isinstance(i.sort, Level)}


def nodes_of(expr: Expr) -> Iterator[Expr]:
    """Every node of an expression, outermost first."""
    todo: list[Expr] = [expr]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Apply):
            todo.extend(reversed(node.args))


def statements_of(body: Block) -> Iterator[Stmt]:
    """Every statement of a block and of the blocks inside it, in the order of the text."""
    todo = list(reversed(body))
    while todo:
        stmt = todo.pop()
        yield stmt
        match stmt:
            case If():
                todo.extend(reversed(stmt.then + stmt.other))
            case For():
                todo.extend(reversed(stmt.body))
            case _:
                pass


def rebuilt(block: Block, change: Callable[[Stmt], Stmt]) -> Block:
    """A block with every statement changed, and then those of the blocks inside it.

    change: gives a statement of the same kind.
    """
    found: list[Stmt] = []
    for stmt in map(change, block):
        match stmt:
            case If(then=then, other=other):
                found.append(replace(stmt, then=rebuilt(then, change), other=rebuilt(other, change)))
            case For(body=body):
                found.append(replace(stmt, body=rebuilt(body, change)))
            case Skip() | Assign() | Return():
                found.append(stmt)
            case _:
                assert_never(stmt)
    return tuple(found)


def with_values(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """A statement with its own expression changed: what it assigns or returns, or what it tests."""
    match stmt:
        case Assign(value=value) | Return(value=value):
            return replace(stmt, value=change(value))
        case If(test=test):
            return replace(stmt, test=change(test))
        case For() | Skip():
            return stmt
        case _:
            assert_never(stmt)


def returning(block: Block, change: Callable[[Expr], Expr]) -> Block:
    """A block with another value in every `return`."""
    return rebuilt(block, lambda stmt: with_values(stmt, change) if isinstance(stmt, Return) else stmt)


def negated(test: Expr) -> Expr:
    """The opposite of a bool expression, comparisons turned round."""
    match test:
        case Apply(op=op, args=args) if op in OPPOSITE:
            return Apply(OPPOSITE[op], args, test.span)
        case Apply(op=Op.NOT, args=(inner,)):
            return inner
        case _:
            return Apply(Op.NOT, (test,), test.span)


def too_deep(span: Span | None, source: str = "") -> ProgramError:
    """The error for nesting beyond `MAX_NESTING`."""
    return ProgramError(
        f"nested more than {MAX_NESTING} deep", span=span, text=source,
        hint="Give the inner parts names of their own: assign them to variables, one after the other.",
    )  # fmt: skip


class TooLargeError(Exception):
    """A number of more than MAX_BITS; whoever knows its place in the text makes a ProgramError of it."""

    def at(self, span: Span | None, source: str) -> ProgramError:
        """The message for the user."""
        return ProgramError(
            f"a number grows to more than {MAX_BITS:,} bits here", span=span, text=source,
            hint="Round the constants, or multiply less often.",
        )  # fmt: skip


def bounded(number: Fraction) -> Fraction:
    """The number itself; raises TooLargeError for one that is too large to go on with."""
    if number.numerator.bit_length() + number.denominator.bit_length() > MAX_BITS:
        raise TooLargeError
    return number
