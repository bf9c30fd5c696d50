"""From lark's reductions to nodes: one method for each rule of `core.lark`.

In:  the children of a rule, in order, tokens included.
Out: the node, with its Span.
Promise: no recursion: lark calls these from the leaves up. Literal fractions and signs are folded (`-1/3` is one
number), unless brackets stand between, so that what `show` prints is read back as the same node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lark import Token, Transformer

from mace.errors import ProgramError, Span
from mace.language.syntax import (
    Apply,
    Assign,
    Block,
    Bool,
    Const,
    Expr,
    For,
    If,
    Input,
    Int,
    Level,
    Name,
    Number,
    Op,
    Real,
    Return,
    Skip,
    Sort,
    Stmt,
    Text,
    TooLargeError,
    Truth,
    bounded,
)

MAX_DIGITS = 1200
"""A double written out in full needs at most 1,075 digits."""
MAX_EXPONENT = 400


@dataclass(frozen=True, slots=True)
class Paren:
    """An expression in brackets."""

    inner: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class End:
    """One end of a range; None where it is infinite."""

    value: Fraction | None
    sign: int
    span: Span


@dataclass(frozen=True, slots=True)
class Ranged:
    """A sort and its range."""

    sort: Sort
    lower: Fraction | None = None
    upper: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Elif:
    """An `elif` until it becomes an `if` inside an `else`."""

    test: Expr
    body: Block
    span: Span


Part: TypeAlias = Token | Expr | Paren
ESCAPES = {"n": "\n", "t": "\t"}


class Build(Transformer[Token, object]):
    """The methods are named for the rules of the grammar. `file` and `source` serve spans and messages."""

    def __init__(self) -> None:
        super().__init__()
        self.file = ""
        self.source = ""

    # --- spans ---

    def _at(self, part: Part | End) -> Span:
        if isinstance(part, Token):
            return Span(self.file, part.line or 1, part.column or 1, len(part))
        assert part.span is not None
        return part.span

    def _over(self, parts: Sequence[Part]) -> Span:
        first, last = self._at(parts[0]), self._at(parts[-1])
        # An expression over several lines is underlined to the end of its first line.
        length = last.column + last.length - first.column if last.line == first.line else 10_000
        return Span(self.file, first.line, first.column, length)

    def _wrong(self, message: str, span: Span, hint: str) -> ProgramError:
        return ProgramError(message, span=span, text=self.source, hint=hint)

    # --- programs and declarations ---

    def program(self, parts: list[object]) -> list[object]:
        return [part for part in parts if not isinstance(part, Token)]

    def rule(self, parts: list[Part]) -> Expr:
        return bare(parts[0])

    def declaration(self, parts: list[object]) -> object:
        return parts[0]

    def input(self, parts: list[object]) -> Input:
        name, ranged = parts[1], parts[3]
        assert isinstance(name, Name)
        assert isinstance(ranged, Ranged)
        return Input(name.name, ranged.sort, ranged.lower, ranged.upper, name.span)

    def const(self, parts: list[Part]) -> Const:
        name = parts[1]
        assert isinstance(name, Name)
        return Const(name.name, bare(parts[3]), name.span)

    def bool_sort(self, _: list[object]) -> Ranged:
        return Ranged(Bool())

    def level_sort(self, parts: list[Token]) -> Ranged:
        texts = [(unquoted(part), part) for part in parts if part.type == "TEXT"]
        levels = tuple(text for text, _ in texts)
        for at, (text, token) in enumerate(texts):
            if text in levels[:at]:
                raise self._wrong(f"the level {token} is listed twice", self._at(token), "List each level once.")
        return Ranged(Level(levels))

    def number_sort(self, parts: list[Token | End]) -> Ranged:
        sort: Sort = Int() if str(parts[0]) == "int" else Real()
        ends = [part for part in parts if isinstance(part, End)]
        if not ends:
            return Ranged(sort)
        lower, upper = ends
        if lower.sign > 0 or upper.sign < 0 or (
            lower.value is not None and upper.value is not None and lower.value > upper.value
        ):  # fmt: skip
            raise self._wrong("this range is empty", lower.span, "Write the lower end first: `in [0, 10]`.")
        for end in ends:
            if isinstance(sort, Int) and end.value is not None and end.value.denominator != 1:
                raise self._wrong("an int has whole numbers as its ends", end.span, "Use a whole number, or `real`.")
        return Ranged(sort, lower.value, upper.value)

    def end(self, parts: list[Part]) -> End:
        if isinstance(parts[-1], Token):
            return End(None, -1 if len(parts) == 2 else 1, self._over(parts))
        value = bare(parts[0])
        if not isinstance(value, Number):
            raise self._wrong(
                "the ends of a range are literal numbers", self._over(parts), "Write a number, `inf` or `-inf`."
            )
        return End(value.value, 0, self._over(parts))

    # --- statements ---

    def branch(self, parts: list[object]) -> If:
        start, test, _, then, *rest = parts
        other: Block = ()
        for part in reversed(rest):
            if isinstance(part, Elif):
                other = (If(part.test, part.body, other, part.span),)
            else:
                assert isinstance(part, tuple)
                other = part
        assert isinstance(start, Token)
        assert isinstance(then, tuple)
        return If(bare(test), then, other, self._at(start))

    def elif_(self, parts: list[object]) -> Elif:
        start, test, _, body = parts
        assert isinstance(start, Token)
        assert isinstance(body, tuple)
        return Elif(bare(test), body, self._at(start))

    def else_(self, parts: list[object]) -> Block:
        body = parts[-1]
        assert isinstance(body, tuple)
        return body

    def block(self, parts: list[Token | Stmt]) -> Block:
        return tuple(part for part in parts if not isinstance(part, Token))

    def loop(self, parts: list[object]) -> For:
        _, index, _, low, _, high, _, body = parts
        assert isinstance(index, Name)
        assert isinstance(body, tuple)
        first, last = self._bound(low), self._bound(high)
        if first > last:
            raise self._wrong(
                f"this loop never runs: {first} is above {last}", self._at(bare(low)), "Write the lower bound first."
            )
        return For(index.name, first, last, body, index.span)

    def _bound(self, part: object) -> int:
        value = bare(part)
        if not isinstance(value, Number) or value.value.denominator != 1:
            raise self._wrong(
                "the bounds of a loop are literal whole numbers", self._at(value),
                "Write them as digits, `for i in 0..3:`; both ends are counted.",
            )  # fmt: skip
        return int(value.value)

    def assign(self, parts: list[object]) -> Assign:
        name = parts[0]
        assert isinstance(name, Name)
        return Assign(name.name, bare(parts[2]), name.span)

    def skip(self, parts: list[Token]) -> Skip:
        return Skip(self._at(parts[0]))

    def return_(self, parts: list[object]) -> Return:
        start = parts[0]
        assert isinstance(start, Token)
        return Return(bare(parts[1]), self._at(start))

    def statement(self, parts: list[object]) -> object:
        return parts[0]

    # --- expressions ---

    def _apply(self, op: Op, parts: Sequence[Part], span: Span | None = None) -> Apply:
        return Apply(op, tuple(bare(part) for part in parts), span or self._over(parts))

    def choose(self, parts: list[Part]) -> Apply:
        value, _, test, _, other = parts
        return self._apply(Op.IF, (test, value, other), self._over(parts))

    def implies(self, parts: list[Part]) -> Apply:
        return self._apply(Op.IMPLIES, parts[::2])

    def or_(self, parts: list[Part]) -> Apply:
        return self._apply(Op.OR, parts[::2])

    def and_(self, parts: list[Part]) -> Apply:
        return self._apply(Op.AND, parts[::2])

    def not_(self, parts: list[Part]) -> Apply:
        return self._apply(Op.NOT, parts[1:], self._over(parts))

    def compare(self, parts: list[Part]) -> Apply:
        return self._apply(Op(str(parts[1])), parts[::2])

    def add(self, parts: list[Part]) -> Apply:
        terms: list[Part] = [parts[0]]
        for sign, term in zip(parts[1::2], parts[2::2], strict=True):
            terms.append(self._minus(sign, term) if sign == "-" else term)
        return self._apply(Op.ADD, terms, self._over(parts))

    def multiply(self, parts: list[Part]) -> Expr:
        factors: list[Part] = [parts[0]]  # of the product under way
        for at, (sign, factor) in enumerate(zip(parts[1::2], parts[2::2], strict=True)):
            if sign == "*":
                factors.append(factor)
                continue
            whole, span = self._product(factors), self._over(parts[: 2 * at + 3])
            if isinstance(whole, Number) and isinstance(factor, Number) and factor.value != 0:
                try:
                    factors = [Number(bounded(whole.value / factor.value), span)]
                except TooLargeError as error:
                    raise error.at(span, self.source) from None
            else:
                factors = [self._apply(Op.DIVIDE, (whole, factor), span)]
        return bare(self._product(factors))

    def _product(self, factors: Sequence[Part]) -> Part:
        return self._apply(Op.TIMES, factors) if len(factors) > 1 else factors[0]

    def negate(self, parts: list[Part]) -> Expr:
        return self._minus(parts[0], parts[1])

    def _minus(self, sign: Part, part: Part) -> Expr:
        span = self._over((sign, part))
        if isinstance(part, Number):
            return Number(-part.value, span)
        return Apply(Op.NEGATE, (bare(part),), span)

    def read(self, parts: list[Name]) -> Name:
        return parts[0]

    def name(self, parts: list[Token]) -> Name:
        return Name(str(parts[0]).strip("`"), self._at(parts[0]))

    def number(self, parts: list[Token]) -> Number:
        token = parts[0]
        exponent = re.split("[eE]", token)[1:]
        if len(token) > MAX_DIGITS or (exponent and abs(int(exponent[0])) > MAX_EXPONENT):
            raise self._wrong(
                f"this number is too long (at most {MAX_DIGITS} digits, and powers of ten up to {MAX_EXPONENT})",
                self._at(token), "Round it, or choose another unit.",
            )  # fmt: skip
        return Number(Fraction(str(token)), self._at(token))

    def text(self, parts: list[Token]) -> Text:
        return Text(unquoted(parts[0]), self._at(parts[0]))

    def truth(self, parts: list[Token]) -> Truth:
        return Truth(parts[0].lower() == "true", self._at(parts[0]))

    def paren(self, parts: list[Part]) -> Paren:
        return Paren(bare(parts[1]), self._over(parts))

    def call(self, parts: list[Part]) -> Apply:
        return self._apply(Op(str(parts[0])), parts[2:-1:2], self._over(parts))


def bare(part: object) -> Expr:
    """An expression without the brackets around it."""
    inner = part.inner if isinstance(part, Paren) else part
    assert isinstance(inner, (Name, Number, Truth, Text, Apply))
    return inner


def unquoted(token: Token) -> str:
    """The text between the quotes."""

    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|U0010[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|.)", plain, token[1:-1])
