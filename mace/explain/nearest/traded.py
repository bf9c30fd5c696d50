"""A level over floats by Lagrangian relaxation: a bound on a weighted sum of two norms bounds one of them.

In:  a question, an earlier norm and what it may be at most, the level's own norm, and the best point known.
Out: a bracket on the least value of the own norm within the bound, and what was proved: no point with the goal has
     own + price * first below some number, so that every point with first <= most has an own value of at least that
     number - price * most.
How: the price (the multiplier of the bound) is the slope between two points, one within the bound and one beyond it.
Minimising the sum at this price finds a point below their line, which replaces one of them, or proves that there is
none. Where model and norms are linear, this ends at the optimum, on the segment between the two points; elsewhere a
duality gap may remain.
Source: Everett 1963, "Generalized Lagrange multiplier method for solving problems of optimum allocation of resources".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from mace.base.exact import exact, nearest
from mace.explain.nearest.search import Searched
from mace.problem.distance import Norm
from mace.problem.question import Question
from mace.problem.sums import sum_of
from mace.solve.driver import Bracket
from mace.solve.protocol import Gap
from mace.space.axes import GridAxis, Point

ROUNDS = 20
CLOSE = Fraction(1, 10**7)  # how far the bounds may stay apart, in the unit of the norm, or as a part of the distance
NUDGES = (0, 1, 10, 100, 1000)  # in units of rounding: a point between two others may lie a hair on the wrong side


class _Known(NamedTuple):
    """A point with the goal, its value of the earlier norm and of the own one."""

    point: Point
    first: Fraction
    own: Fraction


class Trade:
    """The search for one level; `first`, `most`: the earlier norm and its bound; `own`: the norm of this level."""

    def __init__(
        self,
        question: Question,
        first: Norm,
        most: Fraction,
        own: Norm,
        solve: Callable[[Question, Point], Searched],
        confirm: Callable[[Point], bool],
    ) -> None:
        self.question, self.first, self.most, self.own = question, first, most, own
        self.solve, self.confirm = solve, confirm
        self.near = Gap.usual(own, CLOSE, CLOSE)

    def least(self, inner: _Known) -> Fraction:
        """What a sum must be less by to be any less."""
        return max(self.near.absolute, self.near.relative * inner.own) / 100

    def known(self, point: Point) -> _Known:
        """A point with both values."""
        deltas = self.question.deltas(point)
        return _Known(point, self.first.of(deltas), self.own.of(deltas))

    def run(self, best: Point) -> Searched | None:
        """The level; None where the weighted sum is no norm, or nothing was proved."""
        inner, outer = self.known(best), None
        bracket, proved = Bracket(point=best, upper=inner.own), None
        price = Fraction(0)
        for _ in range(ROUNDS):
            found = self._at(price, inner.point)
            if found is None or found.bracket.point is None:
                break
            one = self.known(found.bracket.point)
            lower = found.bracket.lower - price * self.most
            if found.bracket.proof is not None and (proved is None or lower > bracket.lower):
                bracket.lower, bracket.proof, proved = max(lower, Fraction(0)), found.bracket.proof, found
            bracket.trace += found.bracket.trace
            value = one.own + price * one.first
            ends = [known for known in (inner, outer) if known is not None]
            below = min(known.own + price * known.first for known in ends) - value > self.least(inner)
            if one.first <= self.most and one.own < inner.own:
                inner = one
            elif one.first > self.most and (outer is None or below):
                outer = one
            elif not below:
                break
            if outer is None:
                break  # the least of all lies within the bound
            price = exact(nearest((inner.own - outer.own) / (outer.first - inner.first)))
            if price <= 0 or found.bracket.why:
                break
        return None if proved is None else self._between(bracket, proved, inner, outer)

    def _at(self, price: Fraction, best: Point) -> Searched | None:
        """Minimise own + price * first."""
        both = sum_of([(Fraction(1), self.own), (price, self.first)])
        return None if both is None else self.solve(replace(self.question, distance=both), best)

    def _between(self, bracket: Bracket, proved: Searched, inner: _Known, outer: _Known | None) -> Searched:
        """The best point between the two ends, and what was proved."""
        best = inner
        if outer is not None:
            share, step = Fraction(0), Fraction(1, 2)
            for _ in range(60):
                found = next((one for one in self._mixed(inner.point, outer.point, share + step)), None)
                if found is not None and found.own < best.own:
                    best, share = found, share + step
                step /= 2
        bracket.point, bracket.upper = best.point, best.own
        bracket.lower = min(bracket.lower, best.own)
        bracket.status = "optimal" if self.near.met(bracket.lower, best.own) else "bounded"
        bracket.why = "" if bracket.status == "optimal" else proved.bracket.why or "the two objectives bound no closer"
        assert proved.bracket.proof is not None
        return replace_searched(proved, bracket)

    def _mixed(self, inner: Point, outer: Point, share: Fraction) -> Iterator[_Known]:
        """Points of the segment at a share of the way that keep to the bound and have the goal."""
        axes = self.question.axes
        if any(a != b and not isinstance(axis, GridAxis) for axis, a, b in zip(axes, inner, outer, strict=True)):
            return
        for nudge in NUDGES:
            point = []
            for axis, a, b in zip(axes, inner, outer, strict=True):
                if a == b or not isinstance(axis, GridAxis):
                    point.append(a)
                    continue
                change = (1 - share) * axis.value(a) + share * axis.value(b) - axis.start_value
                value = axis.start_value + change * (1 + Fraction(nudge, 2**52))
                index = axis.grid.ceil(value) if change > 0 else axis.grid.floor(value)
                point.append(min(max(index, axis.lower), axis.last))
            known = self.known(tuple(point))
            if known.first <= self.most and self.question.obeys(known.point) and self.confirm(known.point):
                yield known


def replace_searched(proved: Searched, bracket: Bracket) -> Searched:
    """What was proved of the sum, as the answer about the level."""
    return proved._replace(bracket=bracket, claim=proved.bracket.lower)
