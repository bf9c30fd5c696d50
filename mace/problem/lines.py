"""Linear comparisons that rules make hold: what linear programs know of the world.

In:  the rules of a question.
Out: `Line`s, each of which holds at every point that obeys the rules: such as `Debt + Rent <= Income`.
Promise: a line is one of the comparisons that make up a rule, alone or joined by `and`, and the rule is made of such
comparisons alone; so a certificate can name it (`mace.certify.nodes`), and a checker sees by itself that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from mace.base.cache import Recent
from mace.language.run import evaluate
from mace.language.syntax import Apply, Bool, Expr, Name, Number, Op, Return, Value, fold, levels_of
from mace.problem.budget import Budget
from mace.problem.programs import Rule

COMPARED = {Op.LT: 1, Op.LE: 1, Op.GT: -1, Op.GE: -1, Op.EQ: 1}  # whether the left side is the smaller one

# A checker knows no multiplier of a rule beyond 160 bits below the point: where distances, whose prices these are, may
# be smaller than this, no certificate rests on one.
FINEST = Fraction(1, 2**60)


class Line(NamedTuple):
    """A sum of factors times values of features, and a constant, that is at most 0, or equal to 0.

    rule, part: the rule, and which of the comparisons that it joins by `and`, both from 0.
    sign:       -1 for minus what the comparison says.
    """

    rule: int
    part: int
    factors: tuple[tuple[int, Fraction], ...]
    constant: Fraction
    equal: bool
    sign: int = 1

    def turned(self) -> Line:
        """Minus the sum, of one that is equal to 0."""
        factors = tuple((j, -factor) for j, factor in self.factors)
        return self._replace(factors=factors, constant=-self.constant, sign=-self.sign)


def lines_of(rules: Sequence[Rule | Budget]) -> tuple[Line, ...]:
    """All lines, in the order of the rules."""
    return tuple(
        line._replace(rule=number)
        for number, rule in enumerate(rules)
        if not isinstance(rule, Budget)
        for line in _LINES.get(id(rule), lambda rule=rule: (rule, _lines(rule)))[1]  # type: ignore[misc]
    )


def both_ways(rules: Sequence[Rule | Budget]) -> tuple[Line, ...]:
    """The same as sums that are at most 0; what is equal to 0 is that in both directions."""
    return tuple(way for line in lines_of(rules) for way in ((line, line.turned()) if line.equal else (line,)))


# The rule stays beside its lines, so that no other object has its identity meanwhile.
_LINES: Recent[tuple[Rule, tuple[Line, ...]]] = Recent()


class _Sum(NamedTuple):
    """A number as a linear function of names."""

    factors: dict[str, Fraction]
    constant: Fraction

    def plus(self, other: _Sum, factor: Fraction = Fraction(1)) -> _Sum:
        """The sum with a multiple of another."""
        names = {**self.factors, **other.factors}
        sums = {n: self.factors.get(n, Fraction(0)) + factor * other.factors.get(n, Fraction(0)) for n in names}
        return _Sum({name: q for name, q in sums.items() if q}, self.constant + factor * other.constant)


class _Joined(NamedTuple):
    """Comparisons joined by `and`: a sum, and whether it is equal to 0, or else at most 0."""

    parts: tuple[tuple[_Sum, bool], ...]


_NOTHING = _Sum({}, Fraction(0))


def _lines(rule: Rule) -> tuple[Line, ...]:
    """The lines of a rule, as if it were the first; none where some part of it is no such comparison."""
    program = rule.program
    if len(program.body) != 1 or not isinstance(program.body[0], Return):
        return ()
    consts: dict[str, Value] = {}
    for const in program.consts:
        consts[const.name] = evaluate(const.value, consts)
    known = {declared.name for declared in program.inputs if not isinstance(declared.sort, Bool)}

    def combine(node: Expr, parts: Sequence[_Sum | _Joined | None]) -> _Sum | _Joined | None:
        match node:
            case Name(name=name) if name in consts:
                value = consts[name]
                return None if isinstance(value, bool) else _Sum({}, Fraction(value))
            case Name(name=name):
                return _Sum({name: Fraction(1)}, Fraction(0)) if name in known else None
            case Number(value=number):
                return _Sum({}, number)
            case Apply(op=Op.AND):
                joined = [part for part in parts if isinstance(part, _Joined)]
                return _Joined(sum((part.parts for part in joined), ())) if len(joined) == len(parts) else None
            case Apply(op=op):
                sums = [part for part in parts if isinstance(part, _Sum)]
                return _applied(op, sums) if len(sums) == len(parts) else None
            case _:
                return None

    found = fold(program.body[0].value, combine, levels_of(program.inputs))
    if not isinstance(found, _Joined):
        return ()
    return tuple(
        Line(0, part, tuple((rule.reads[name], q) for name, q in total.factors.items()), total.constant, equal)
        for part, (total, equal) in enumerate(found.parts)
    )


def _applied(op: Op, sums: Sequence[_Sum]) -> _Sum | _Joined | None:
    """An operator on linear functions, where that is one, or compares two."""
    if op in COMPARED:
        sign = Fraction(COMPARED[op])
        return _Joined(((_NOTHING.plus(sums[0], sign).plus(sums[1], -sign), op is Op.EQ),))
    if op is Op.ADD:
        total = _NOTHING
        for one in sums:
            total = total.plus(one)
        return total
    if op is Op.NEGATE:
        return _NOTHING.plus(sums[0], Fraction(-1))
    if op is Op.TIMES:
        product, varied = Fraction(1), [one for one in sums if one.factors]
        for one in sums:
            product *= 1 if one.factors else one.constant
        if len(varied) > 1:
            return None
        return _NOTHING.plus(varied[0], product) if varied else _Sum({}, product)
    if op is Op.DIVIDE and len(sums) == 2 and not sums[1].factors and sums[1].constant:
        return _NOTHING.plus(sums[0], 1 / sums[1].constant)
    return None
