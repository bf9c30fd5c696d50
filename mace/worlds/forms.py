"""Enclosures of programs as affine forms: what a world can do on a box of parameters.

In:  a Program that `mace.language.check` accepted (products of variables allowed), a box of variables, and a form for
     every input.
Out: a `Form` for every name: for each point of the box the value lies within [low, high] of `coef . point`.
Promise: run(p, names) lies in what `Enclosing` gives for every point of the box, in exact arithmetic. An affine program
without undecided tests is enclosed exactly, with low == high; products and quotients up to the second order.
Source: Stolfi and de Figueiredo, Self-validated numerical methods (1997), chapter 3 (affine arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple, TypeAlias, assert_never

from mace.language import Apply, Assign, Block, Expr, For, If, Name, Number, Op, Program, Return, Skip, Text, Truth
from mace.language.interval import EITHER, NO, YES, Bools, conjunction, disjunction, negation
from mace.language.run import evaluate
from mace.language.syntax import fold
from mace.worlds.affine import ZERO, Form, Ranges, hull


class UnboundedError(Exception):
    """A quotient whose divisor may be 0: nothing is known of it."""


Enclosure: TypeAlias = Form | Bools


class Limit(NamedTuple):
    """The form is <= 0 (< 0 if strict) wherever a condition can hold."""

    form: Form
    strict: bool


# What a comparison says of left - right: the sign with which it is <= 0, and whether it is < 0.
LIMITS: Mapping[Op, tuple[tuple[int, bool], ...]] = {
    Op.LT: ((1, True),), Op.LE: ((1, False),), Op.GT: ((-1, True),), Op.GE: ((-1, False),),
    Op.EQ: ((1, False), (-1, False)),
}  # fmt: skip


@dataclass
class Enclosing:
    """Programs on one box.

    box:       variable -> least and largest value.
    undecided: differences of numbers whose sign a test asked for and the box does not decide.
    curved:    whether a product or a quotient of two variables was enclosed.
    """

    box: Ranges
    undecided: list[Form] = field(default_factory=list)
    curved: bool = False

    def run(self, program: Program, names: Mapping[str, Form]) -> tuple[Enclosure, dict[str, Enclosure]]:
        """What a program may return, and what each of its names may be then. Raises UnboundedError."""
        mine = self.inputs(program, names)
        returned: list[tuple[Enclosure, dict[str, Enclosure]]] = []
        self._block(program.body, mine, returned)
        result = reduce(self._join, (value for value, _ in returned))
        ends = [names for _, names in returned]
        return result, reduce(self._joined, ends)

    def inputs(self, program: Program, names: Mapping[str, Form]) -> dict[str, Enclosure]:
        """What a program's inputs and constants are."""
        mine: dict[str, Enclosure] = {i.name: names[i.name] for i in program.inputs}
        consts: dict[str, Fraction | int | bool] = {}
        for const in program.consts:
            consts[const.name] = evaluate(const.value, consts, source=program.source)
            mine[const.name] = _point(consts[const.name])
        return mine

    def limits(self, tests: Sequence[Program], names: Mapping[str, Form]) -> list[Limit]:
        """What has to hold at every point where all tests can hold, as far as it is a comparison of forms."""
        found: list[Limit] = []
        for test in tests:
            last = test.body[0]
            todo = [last.value] if isinstance(last, Return) else []
            mine = self.inputs(test, names)
            while todo:
                node = todo.pop()
                if not isinstance(node, Apply):
                    continue
                if node.op is Op.AND:
                    todo += node.args
                elif node.op in LIMITS:
                    one, other = (self.value(arg, mine) for arg in node.args)
                    if isinstance(one, Form) and isinstance(other, Form):
                        for sign, strict in LIMITS[node.op]:
                            found.append(Limit((one - other).times(sign), strict))
        return found

    def holds(self, tests: Sequence[Program], names: Mapping[str, Form]) -> Bools:
        """Whether conditions hold together."""
        found = YES
        for test in tests:
            said = self.run(test, names)[0]
            assert isinstance(said, frozenset)
            if said == NO:
                return NO
            found = found if said == YES else EITHER
        return found

    # --- statements ---

    def _block(
        self, block: Block, names: dict[str, Enclosure], returned: list[tuple[Enclosure, dict[str, Enclosure]]]
    ) -> dict[str, Enclosure] | None:
        """The names at the end of a block; None if it cannot be reached."""
        for stmt in block:
            match stmt:
                case Skip():
                    pass
                case Assign(name=name, value=value):
                    names[name] = self.value(value, names)
                case Return(value=value):
                    returned.append((self.value(value, names), names))
                    return None
                case For(index=index, first=first, last=last, body=body):
                    for number in range(first, last + 1):
                        names[index] = Form.constant(Fraction(number))
                        after = self._block(body, names, returned)
                        if after is None:
                            return None
                        names = after
                case If():
                    after = self._if(stmt, names, returned)
                    if after is None:
                        return None
                    names = after
                case _:
                    assert_never(stmt)
        return names

    def _if(
        self, stmt: If, names: dict[str, Enclosure], returned: list[tuple[Enclosure, dict[str, Enclosure]]]
    ) -> dict[str, Enclosure] | None:
        test = self.value(stmt.test, names)
        if test == YES:
            return self._block(stmt.then, names, returned)
        if test == NO:
            return self._block(stmt.other, names, returned)
        then = self._block(stmt.then, dict(names), returned)
        other = self._block(stmt.other, dict(names), returned)
        if then is None or other is None:
            return other if then is None else then
        return self._joined(then, other)

    def _joined(self, one: dict[str, Enclosure], other: dict[str, Enclosure]) -> dict[str, Enclosure]:
        # A name that one side leaves unassigned is not read below: the language's check saw to that.
        return {name: self._join(value, other[name]) for name, value in one.items() if name in other}

    def _join(self, one: Enclosure, other: Enclosure) -> Enclosure:
        if one is other:
            return one
        if isinstance(one, Form) and isinstance(other, Form):
            return hull(one, other, self.box)
        assert isinstance(one, frozenset) and isinstance(other, frozenset)
        return one | other

    # --- expressions ---

    def value(self, expr: Expr, names: Mapping[str, Enclosure]) -> Enclosure:
        """What an expression may be. Raises UnboundedError, but not for what no `if` takes on the box."""
        done: list[Enclosure | None] = []  # None: nothing is known
        for payload, count in _code(expr):
            if count:
                parts = done[-count:]
                del done[-count:]
                done.append(self._of_parts(payload, parts))
            else:
                done.append(names[payload] if isinstance(payload, str) else payload)
        if done[0] is None:
            raise UnboundedError
        return done[0]

    def _of_parts(self, meaning: Callable[..., Enclosure], parts: Sequence[Enclosure | None]) -> Enclosure | None:
        """What an operation makes of its parts; None where that is not known."""
        if None in parts:
            return parts[1 + (parts[0] == NO)] if meaning is _choose and parts[0] in (YES, NO) else None
        try:
            return meaning(self, *parts)
        except UnboundedError:
            return None

    def product(self, one: Form, other: Form) -> Form:
        """A product, up to the second order around the middle of the box."""
        for number, form in ((one, other), (other, one)):
            if not number.tops and number.exact:
                return form.times(number.low)
        (a, b), (c, d) = one.span(self.box), other.span(self.box)
        if not one.tops and not other.tops:
            self.curved |= a < b and c < d
            ends = [x * y for x in (a, b) for y in (c, d)]
            return Form.constant(min(ends), max(ends))
        m, n, r, s = (a + b) / 2, (c + d) / 2, (b - a) / 2, (d - c) / 2
        self.curved = True
        # (f - m)(g - n) lies in [-rs, rs]; of a square in [0, rr].
        same = one.same_slopes(other) and one.exact and other.exact and one.low == other.low
        low = ZERO if same else -r * s
        return (one.times(n) + other.times(m)).wider(low - m * n, r * s - m * n)

    def quotient(self, one: Form, other: Form) -> Form:
        """A quotient; raises UnboundedError where the divisor may be 0."""
        if not other.tops and other.exact and other.least:
            return one.times(1 / other.low)
        c, d = other.span(self.box)
        if c <= 0 <= d:
            raise UnboundedError
        self.curved = True
        # 1 / g is convex for g > 0, concave for g < 0: it lies on one side of its tangent in the middle.
        m = (c + d) / 2
        tangent = other.times(-1 / (m * m)).wider(2 / m, 2 / m)
        away = [1 / g - (2 / m - g / (m * m)) for g in (c, d)]
        return self.product(one, tangent.wider(min(ZERO, *away), max(ZERO, *away)))

    def sign(self, difference: Form) -> tuple[Fraction | int, Fraction | int]:
        """What has the signs of the least and the largest value of a difference that a test asks about."""
        low, high = difference.ends(self.box)
        if low <= 0 <= high and low < high:
            self.undecided.append(difference)
        return low, high

    def least(self, parts: Sequence[Form]) -> Form:
        """The least of some forms."""

        def two(one: Form, other: Form) -> Form:
            low, high = self.sign(one - other)
            if high <= 0 or low >= 0:
                return one if high <= 0 else other
            (a, b), (c, d) = one.span(self.box), other.span(self.box)
            return Form.constant(min(a, c), min(b, d))

        return reduce(two, parts)

    def absolute(self, one: Form) -> Form:
        """The absolute value."""
        low, high = self.sign(one)
        if low >= 0 or high <= 0:
            return one if low >= 0 else one.times(-1)
        return Form.constant(ZERO, Fraction(max(-low, high), one.den))


# What an expression does, from its leaves up: a name or what it stands for (count 0), or a meaning and how many parts.
Code: TypeAlias = list[tuple[Any, int]]
_CODES: dict[int, tuple[Expr, Code]] = {}
MOST_CODES = 10_000


def _code(expr: Expr) -> Code:
    """The code of an expression; kept, since worlds are asked many thousands of times."""
    kept = _CODES.get(id(expr))
    if kept is None:
        if len(_CODES) >= MOST_CODES:
            _CODES.clear()
        code: Code = []
        fold(expr, lambda node, _: code.append(_instruction(node)))
        kept = _CODES[id(expr)] = (expr, code)  # the expression is kept, so that nobody else gets its id
    return kept[1]


def _instruction(node: Expr) -> tuple[Any, int]:
    match node:
        case Name(name=name):
            return name, 0
        case Number(value=number):
            return Form.constant(number), 0
        case Truth(value=truth):
            return (YES if truth else NO), 0
        case Apply(op=op, args=args):
            return MEANING[op], len(args)
        case Text():
            raise AssertionError("levels of worlds are numbers")
        case _:
            assert_never(node)


def _point(value: Fraction | int | bool) -> Enclosure:
    return (YES if value else NO) if isinstance(value, bool) else Form.constant(Fraction(value))


def _less(e: Enclosing, a: Form, b: Form) -> Bools:
    low, high = e.sign(a - b)
    return YES if high < 0 else NO if low >= 0 else EITHER


def _equal(e: Enclosing, a: Enclosure, b: Enclosure) -> Bools:
    if isinstance(a, Form):
        assert isinstance(b, Form)
        low, high = e.sign(a - b)
        return YES if low == high == 0 else EITHER if low <= 0 <= high else NO
    assert isinstance(b, frozenset)
    return frozenset(one == two for one in a for two in b)


def _choose(e: Enclosing, test: Bools, then: Enclosure, other: Enclosure) -> Enclosure:
    return then if test == YES else other if test == NO else e._join(then, other)


def _most(e: Enclosing, *parts: Form) -> Form:
    return e.least([part.times(-1) for part in parts]).times(-1)


MEANING: Mapping[Op, Callable[..., Enclosure]] = {
    Op.NEGATE: lambda e, a: a.times(-1),
    Op.ADD: lambda e, *a: reduce(lambda x, y: x + y, a),
    Op.TIMES: lambda e, *a: reduce(e.product, a),
    Op.DIVIDE: lambda e, a, b: e.quotient(a, b),
    Op.ABS: lambda e, a: e.absolute(a),
    Op.MIN: lambda e, *a: e.least(a),
    Op.MAX: _most,
    Op.EQ: _equal,
    Op.NE: lambda e, a, b: negation(_equal(e, a, b)),
    Op.LT: _less,
    Op.LE: lambda e, a, b: negation(_less(e, b, a)),
    Op.GT: lambda e, a, b: _less(e, b, a),
    Op.GE: lambda e, a, b: negation(_less(e, a, b)),
    Op.NOT: lambda e, a: negation(a),
    Op.AND: lambda e, *a: conjunction(*a),
    Op.OR: lambda e, *a: disjunction(*a),
    Op.IMPLIES: lambda e, a, b: disjunction(negation(a), b),
    Op.IF: _choose,
}
