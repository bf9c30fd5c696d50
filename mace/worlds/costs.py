"""Lower lines of costs: what an action costs at least, as an affine function of the parameters.

In:  an expression, a form for every name that it reads, and a box (an `Enclosing`).
Out: `AtLeast`: a line that the value never falls below on the box, and an interval of it, whose upper end may be open.
Promise: exact arithmetic. A quotient of numbers that are not negative has such a line even where its divisor may be 0,
since a step that divides by 0 is never taken. A form with an interval, as `mace.worlds.forms` has, is as wide as the
error on both sides together; of a cost the side below is all that matters.
Source: McCormick 1976, for products; tangents for squares and quotients.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from mace.language import Apply, Expr, Op, Program, Return
from mace.worlds.affine import Form
from mace.worlds.forms import Enclosing, Enclosure, UnboundedError

FAR = 3  # an interval whose ends differ by more has its tangent nearer to the upper one


class NeverError(Exception):
    """A quotient whose divisor is 0 on all of the box: the step cannot be taken there."""


class AtLeast(NamedTuple):
    """line <= value, low <= value <= high (None: no end is known); `form` encloses it where that is known."""

    line: Form
    low: Fraction
    high: Fraction | None
    form: Form | None


def least_of(walk: Enclosing, program: Program, names: Mapping[str, Form]) -> AtLeast:
    """What a program may return, from below. Raises UnboundedError where nothing is known; NeverError."""
    last = program.body[0]
    if len(program.body) == 1 and isinstance(last, Return):
        return _least(walk, last.value, walk.inputs(program, names))
    return _of(walk, walk.run(program, names)[0])


def _of(walk: Enclosing, form: Enclosure) -> AtLeast:
    """What an enclosure says from below."""
    assert isinstance(form, Form)
    return AtLeast(_line(form), *form.span(walk.box), form)


def _line(form: Form) -> Form:
    return form if form.exact else Form(form.tops, form.least, form.least, form.den)


def _least(walk: Enclosing, expr: Expr, names: Mapping[str, Enclosure]) -> AtLeast:
    if not isinstance(expr, Apply) or expr.op not in (Op.ADD, Op.TIMES, Op.DIVIDE):
        return _of(walk, walk.value(expr, names))
    parts = [_least(walk, arg, names) for arg in expr.args]
    found = parts[0]
    for place, part in enumerate(parts[1:], 1):
        if expr.op is Op.ADD:
            found = _sum(found, part)
        elif expr.op is Op.TIMES:
            found = _product(walk, found, part, square=place == 1 and expr.args[0] == expr.args[1])
        else:
            found = _quotient(walk, found, part)
    return found


def _sum(one: AtLeast, other: AtLeast) -> AtLeast:
    high = None if one.high is None or other.high is None else one.high + other.high
    form = None if one.form is None or other.form is None else one.form + other.form
    return AtLeast(one.line + other.line, one.low + other.low, high, form)


def _product(walk: Enclosing, one: AtLeast, other: AtLeast, *, square: bool) -> AtLeast:
    form = None if one.form is None or other.form is None else walk.product(one.form, other.form)
    if form is not None and form.exact or one.low < 0 or other.low < 0:
        if form is None:
            raise UnboundedError
        return _of(walk, form)
    walk.curved = True
    high = None if one.high is None or other.high is None else one.high * other.high
    line = _square(walk, one) if square else _under(one, other)
    return AtLeast(line, one.low * other.low, high, form)


def _square(walk: Enclosing, one: AtLeast) -> Form:
    """A tangent of the square in the middle of what the line takes: 2 t x - t^2 <= x^2."""
    middle = (one.low + max(one.low, one.line.span(walk.box)[1])) / 2
    return one.line.times(2 * middle) + Form.constant(-middle * middle)


def _under(one: AtLeast, other: AtLeast) -> Form:
    """A line below the product of two numbers that are not negative: the mean of McCormick's two, or one of them."""
    (a, b), (c, d) = (one.low, one.high), (other.low, other.high)
    first = one.line.times(c) + other.line.times(a) + Form.constant(-a * c)
    if b is None or d is None:
        return first
    return (first + one.line.times(d) + other.line.times(b) + Form.constant(-b * d)).times(Fraction(1, 2))


def _quotient(walk: Enclosing, one: AtLeast, other: AtLeast) -> AtLeast:
    form: Form | None = None
    if one.form is not None and other.form is not None:
        try:
            form = walk.quotient(one.form, other.form)
        except UnboundedError:
            form = None
    c, d = other.low, other.high
    if c == d == 0:
        raise NeverError
    if form is not None and form.exact or other.form is None or one.low < 0 or c < 0 or d is None:
        if form is None:
            raise UnboundedError
        return _of(walk, form)
    walk.curved = True
    # 1 / y lies above its tangent at t; of the divisor the line above counts, since the tangent falls.
    t = (c + d) / 2 if FAR * c > d else (c + 2 * d) / 3
    above = Form(other.form.tops, other.form.most, other.form.most, other.form.den)
    tangent = above.times(-1 / (t * t)) + Form.constant(2 / t)
    inverse = AtLeast(tangent, 2 / t - d / (t * t), 2 / t - c / (t * t), None)
    high = None if one.high is None or not c else one.high / c
    return AtLeast(_under(one, inverse), one.low / d, high, form)
