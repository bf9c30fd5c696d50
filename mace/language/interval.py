"""What a program can return on a whole box of inputs: sound, and exact on a point.

In:  a Program that `check` accepted, and for each input an interval or a set of values.
Out: for a program that returns bools, the set of bools that are possible; else an interval around its results.
Promise: possible(p, box) contains run(p, x) for every x in the box; on a box of one point it is exactly that. It may
contain more: the two sides of an undecided test are joined, and no relation between names is remembered.
Source: Moore, Kearfott, Cloud, Introduction to Interval Analysis (2009), chapters 5 and 6; Kleene's strong logic of
three values for tests that are undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias, assert_never

from mace.errors import RowError
from mace.language.run import evaluate
from mace.language.scope import Scope
from mace.language.show import quoted
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
    Name,
    Number,
    Op,
    Program,
    Real,
    Return,
    Skip,
    Text,
    TooLargeError,
    Truth,
    Value,
    bounded,
    fold,
    levels_of,
)

Interval: TypeAlias = tuple[Fraction | int, Fraction | int]
"""Lower and upper end, both belonging to it."""
Enclosed: TypeAlias = Interval | AbstractSet[Value]
"""What an input can be in a box: an interval, or a set of levels, numbers or bools."""
Box: TypeAlias = Mapping[str, Enclosed]


@dataclass(frozen=True, slots=True)
class Span:
    """All numbers from `lower` to `upper`, or only the `members` where they are known."""

    lower: Fraction
    upper: Fraction
    members: frozenset[Fraction] | None = None


Bools: TypeAlias = frozenset[bool]
Enclosure: TypeAlias = Span | Bools

YES: Bools = frozenset({True})
NO: Bools = frozenset({False})
EITHER: Bools = YES | NO


def possible(program: Program, box: Box) -> frozenset[bool] | tuple[Fraction, Fraction]:
    """Every result that the program can have on the box, and perhaps more.

    program: accepted by `check`.
    box:     for each input (lower, upper), or a set of levels (indices), numbers or bools. An input that is absent
             has its declared range.
    Returns  for a bool program {True}, {False} or both; for a number program (lower, upper).
    Raises   RowError if a side of the box is empty, or absent while the input has no declared range;
             ProgramError where a number grows beyond MAX_BITS.
    """
    walk = _Walk(program, box)
    walk.block(program.body)
    results = reduce(join, walk.results)
    return results if isinstance(results, frozenset) else (results.lower, results.upper)


def join(one: Enclosure, two: Enclosure) -> Enclosure:
    """What encloses both."""
    if isinstance(one, frozenset) and isinstance(two, frozenset):
        return one | two
    assert isinstance(one, Span)
    assert isinstance(two, Span)
    members = None if one.members is None or two.members is None else one.members | two.members
    return Span(min(one.lower, two.lower), max(one.upper, two.upper), members)


class _Walk:
    def __init__(self, program: Program, box: Box) -> None:
        self.levels, self.source = levels_of(program.inputs), program.source
        self.scope: Scope[Enclosure] = Scope({i.name: side_of(i, box.get(i.name)) for i in program.inputs})
        self.results: list[Enclosure] = []
        consts: dict[str, Value] = {}
        for const in program.consts:
            consts[const.name] = evaluate(const.value, consts, source=program.source)
            self.scope[const.name] = point(consts[const.name])

    def block(self, block: Block) -> bool:
        """Walk a block; whether its end can be reached."""
        for stmt in block:
            match stmt:
                case Skip():
                    pass
                case Assign(name=name, value=value):
                    self.scope[name] = self._expr(value)
                case Return(value=value):
                    self.results.append(self._expr(value))
                    return False
                case For(index=index, first=first, last=last, body=body):
                    for number in range(first, last + 1):
                        self.scope[index] = point(Fraction(number))
                        if not self.block(body):
                            return False
                case If():
                    if not self._if(stmt):
                        return False
                case _:
                    assert_never(stmt)
        return True

    def _if(self, stmt: If) -> bool:
        test = self._expr(stmt.test)
        if test == YES:
            return self.block(stmt.then)
        if test == NO:
            return self.block(stmt.other)
        self.scope.enter()
        then = self.block(stmt.then)
        in_then = self.scope.leave()
        self.scope.enter()
        other = self.block(stmt.other)
        in_other = self.scope.leave()
        for name in in_then | in_other:
            before = self.scope.get(name)
            one = in_then.get(name, before) if then else None
            two = in_other.get(name, before) if other else None
            # A name that one side leaves unassigned is not read below: `check` saw to that.
            joined = join(one, two) if one is not None and two is not None else one if two is None else two
            if joined is not None:
                self.scope[name] = joined
        return then or other

    def _expr(self, expr: Expr) -> Enclosure:
        return fold(expr, self._enclosure, self.levels)

    def _enclosure(self, node: Expr, parts: Sequence[Enclosure]) -> Enclosure:
        match node:
            case Name(name=name):
                return self.scope[name]
            case Number(value=value):
                return point(value)
            case Truth(value=truth):
                return point(truth)
            case Apply(op=op):
                try:
                    return MEANING[op](*parts)
                except TooLargeError as error:
                    raise error.at(node.span, self.source) from None
            case Text():
                raise AssertionError("a checked program has texts only beside levels")
            case _:
                assert_never(node)


def side_of(declared: Input, side: Enclosed | None) -> Enclosure:
    """The enclosure of an input: its side of the box, or its declared range."""
    if side is None:
        match declared.sort:
            case Bool():
                return EITHER
            case Level(levels=levels):
                side = frozenset(range(len(levels)))
            case Int() | Real():
                if declared.lower is None or declared.upper is None:
                    raise RowError(
                        f"the box has no side for {quoted(declared.name)}, which has no declared range",
                        hint="Give an interval, or declare a range: `in [0, 10]`.",
                    )
                side = (declared.lower, declared.upper)
            case _:
                assert_never(declared.sort)
    if isinstance(side, tuple):
        lower, upper = side
        if lower > upper:
            raise _empty(declared)
        if isinstance(declared.sort, Bool):
            return frozenset({bool(lower), bool(upper)})
        if isinstance(declared.sort, Level):
            side = frozenset(range(-int(-lower // 1), int(upper // 1) + 1))
        else:
            return Span(Fraction(lower), Fraction(upper))
    if not side:
        raise _empty(declared)
    if isinstance(declared.sort, Bool):
        return frozenset(map(bool, side))
    members = frozenset(map(Fraction, side))
    return Span(min(members), max(members), members)


def _empty(declared: Input) -> RowError:
    return RowError(
        f"the side of the box for {quoted(declared.name)} is empty", hint="Give the lower end first, or a value."
    )


def point(value: Value) -> Enclosure:
    """The enclosure of one value."""
    if isinstance(value, bool):
        return frozenset({value})
    return Span(Fraction(value), Fraction(value), frozenset({Fraction(value)}))


# --- operators -------------------------------------------------------------------------------------------------------


def _negate(a: Span) -> Span:
    return Span(-a.upper, -a.lower)


def _add(*parts: Span) -> Span:
    return reduce(lambda a, b: Span(bounded(a.lower + b.lower), bounded(a.upper + b.upper)), parts)


def _times(*parts: Span) -> Span:
    def two(a: Span, b: Span) -> Span:
        ends = [bounded(one * two) for one in (a.lower, a.upper) for two in (b.lower, b.upper)]
        return Span(min(ends), max(ends))

    return reduce(two, parts)


def _abs(a: Span) -> Span:
    largest = max(abs(a.lower), abs(a.upper))
    return Span(Fraction(0) if a.lower <= 0 <= a.upper else min(abs(a.lower), abs(a.upper)), largest)


def _divide(a: Span, b: Span) -> Span:
    # In a linear program the divisor is a constant other than zero.
    if b.lower <= 0 <= b.upper:
        raise ZeroDivisionError
    return _times(a, Span(1 / b.upper, 1 / b.lower))


def _less(a: Span, b: Span) -> Bools:
    return YES if a.upper < b.lower else NO if a.lower >= b.upper else EITHER


def negation(a: Bools) -> Bools:
    """What is not, in Kleene's logic."""
    return frozenset(not value for value in a)


def _equal(a: Enclosure, b: Enclosure) -> Bools:
    if isinstance(a, Span) and isinstance(b, Span):
        if a.lower == a.upper == b.lower == b.upper:
            return YES
        if a.upper < b.lower or b.upper < a.lower:
            return NO
        known = a if a.members is not None else b
        rest = b if known is a else a
        if known.members is None:
            return EITHER
        meet = any(rest.lower <= value <= rest.upper for value in known.members)
        if rest.members is not None:
            meet = not known.members.isdisjoint(rest.members)
        return EITHER if meet else NO
    assert isinstance(a, frozenset)
    assert isinstance(b, frozenset)
    return frozenset(one == two for one in a for two in b)


def conjunction(*parts: Bools) -> Bools:
    """Whether all hold, in Kleene's logic."""
    return NO if NO in parts else YES if all(part == YES for part in parts) else EITHER


def disjunction(*parts: Bools) -> Bools:
    """Whether any holds, in Kleene's logic."""
    return negation(conjunction(*map(negation, parts)))


def _choose(test: Bools, then: Enclosure, other: Enclosure) -> Enclosure:
    return then if test == YES else other if test == NO else join(then, other)


MEANING: Mapping[Op, Callable[..., Enclosure]] = {
    Op.NEGATE: _negate,
    Op.ADD: _add,
    Op.TIMES: _times,
    Op.DIVIDE: _divide,
    Op.ABS: _abs,
    Op.MIN: lambda *a: Span(min(p.lower for p in a), min(p.upper for p in a)),
    Op.MAX: lambda *a: Span(max(p.lower for p in a), max(p.upper for p in a)),
    Op.EQ: _equal,
    Op.NE: lambda a, b: negation(_equal(a, b)),
    Op.LT: _less,
    Op.LE: lambda a, b: negation(_less(b, a)),
    Op.GT: lambda a, b: _less(b, a),
    Op.GE: lambda a, b: negation(_less(a, b)),
    Op.NOT: negation,
    Op.AND: conjunction,
    Op.OR: disjunction,
    Op.IMPLIES: lambda a, b: disjunction(negation(a), b),
    Op.IF: _choose,
}
