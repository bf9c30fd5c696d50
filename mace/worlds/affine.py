"""Affine forms with an interval, in whole numbers over one denominator.

In:  whole numbers and rationals.    Out: `Form`: (tops . point + something in [least, most]) / den.
Promise: exact; sums and multiples lose nothing. Nodes of the search for plans make many thousands of these: whole
numbers over one denominator take a fifth of the time of a rational for each coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

Ranges: TypeAlias = Mapping[str, tuple[Fraction | int, Fraction | int]]
ZERO = Fraction(0)
LARGE = 1 << 128  # denominators above are reduced


class Form:
    """(tops . point + something in [least, most]) / den; `tops` holds no zeros, den > 0."""

    __slots__ = ("den", "least", "most", "tops")

    def __init__(self, tops: Mapping[str, int], least: int, most: int, den: int) -> None:
        if den > LARGE:
            shared = math.gcd(den, least, most, *tops.values())
            den, least, most = den // shared, least // shared, most // shared
            tops = {name: top // shared for name, top in tops.items()}
        self.tops, self.least, self.most, self.den = tops, least, most, den

    @classmethod
    def constant(cls, low: Fraction | int, high: Fraction | int | None = None) -> Form:
        """A number, or an interval."""
        if high is None:
            return cls({}, low.numerator, low.numerator, low.denominator)
        den = math.lcm(low.denominator, high.denominator)
        return cls({}, low.numerator * (den // low.denominator), high.numerator * (den // high.denominator), den)

    @classmethod
    def variable(cls, name: str, factor: Fraction | int = 1) -> Form:
        """A multiple of a variable; the factor is not 0."""
        return cls({name: factor.numerator}, 0, 0, factor.denominator)

    @property
    def exact(self) -> bool:
        """Whether it is affine, without any width."""
        return self.least == self.most

    @property
    def low(self) -> Fraction:
        """The low end of what is added."""
        return Fraction(self.least, self.den)

    @property
    def high(self) -> Fraction:
        """The high end of what is added."""
        return Fraction(self.most, self.den)

    @property
    def coef(self) -> dict[str, Fraction]:
        """The coefficients."""
        return {name: Fraction(top, self.den) for name, top in self.tops.items()}

    def without(self, name: str) -> Form:
        """The form without a variable."""
        return Form({n: top for n, top in self.tops.items() if n != name}, self.least, self.most, self.den)

    def ends(self, box: Ranges) -> tuple[Fraction | int, Fraction | int]:
        """`den` times the least and the largest value on a box: what their signs can be read from."""
        low: Fraction | int = self.least
        high: Fraction | int = self.most
        for name, top in self.tops.items():
            one, two = box[name]
            if top < 0:
                one, two = two, one
            low += top * one
            high += top * two
        return low, high

    def span(self, box: Ranges) -> tuple[Fraction, Fraction]:
        """The least and the largest value on a box."""
        low, high = self.ends(box)
        first = Fraction(low, self.den)
        return first, (first if low == high else Fraction(high, self.den))

    def at(self, point: Mapping[str, Fraction | int]) -> tuple[Fraction, Fraction]:
        """The least and the largest value at a point."""
        there = sum((top * point[name] for name, top in self.tops.items()), 0)
        return Fraction(there + self.least, self.den), Fraction(there + self.most, self.den)

    def times(self, factor: Fraction | int) -> Form:
        """A multiple."""
        top, den = factor.numerator, factor.denominator
        if not top:
            return Form({}, 0, 0, 1)
        low, high = self.least * top, self.most * top
        if top < 0:
            low, high = high, low
        return Form({n: c * top for n, c in self.tops.items()}, low, high, self.den * den)

    def wider(self, low: Fraction, high: Fraction) -> Form:
        """With [low, high] added to what is not known."""
        return self + Form.constant(low, high)

    def __add__(self, other: Form) -> Form:
        return self._plus(other, 1)

    def __sub__(self, other: Form) -> Form:
        return self._plus(other, -1)

    def _plus(self, other: Form, sign: int) -> Form:
        mine, theirs, den = _shared(self, other)
        theirs *= sign
        tops = {name: top * mine for name, top in self.tops.items()} if mine != 1 else dict(self.tops)
        for name, top in other.tops.items():
            total = tops.get(name, 0) + top * theirs
            if total:
                tops[name] = total
            else:
                tops.pop(name, None)
        low, high = (other.least, other.most) if sign > 0 else (other.most, other.least)
        return Form(tops, self.least * mine + low * theirs, self.most * mine + high * theirs, den)

    def same_slopes(self, other: Form) -> bool:
        """Whether the coefficients are equal."""
        if self.tops.keys() != other.tops.keys():
            return False
        return all(top * other.den == other.tops[name] * self.den for name, top in self.tops.items())


def _shared(one: Form, other: Form) -> tuple[int, int, int]:
    """What two forms are multiplied by to stand over one denominator, and that denominator."""
    if one.den == other.den:
        return 1, 1, one.den
    den = math.lcm(one.den, other.den)
    return den // one.den, den // other.den, den


def hull(one: Form, other: Form, box: Ranges) -> Form:
    """What encloses both."""
    if one.same_slopes(other):
        mine, theirs, den = _shared(one, other)
        low = min(one.least * mine, other.least * theirs)
        return Form(
            {name: top * mine for name, top in one.tops.items()},
            low, max(one.most * mine, other.most * theirs), den,
        )  # fmt: skip
    (a, b), (c, d) = one.span(box), other.span(box)
    return Form.constant(min(a, c), max(b, d))
