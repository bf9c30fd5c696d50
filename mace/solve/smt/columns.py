"""The columns of one ordered feature as solver terms: arithmetic of its value, and steps at cuts.

In:  a grid axis in the ball, and the model's columns that are computed from it.
Out: for weights of those columns, the terms of their weighted sum and how far the feature can move it.
Promise: `magnitude` and `error` bound every column over the ball, from the real number that a solver gives to the
float64 that the model is given; columns with steps are exact, since their cuts are those of the model's own floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from mace.base.exact import exact
from mace.solve.smt.axes import GridTerm
from mace.solve.smt.terms import Term, Terms
from mace.space.axes import GridAxis
from mace.space.columns import Column

ZERO = Fraction(0)


class GridColumns:
    """The columns of one feature; places: where they stand among the model's columns."""

    def __init__(self, terms: Terms, axis: GridTerm, columns: Sequence[tuple[int, Column]]) -> None:
        self.terms, self.axis = terms, axis
        self.places = [place for place, _ in columns]
        self.columns = [column for _, column in columns]
        self._sums = 0  # how many sums have a term of their own
        # Per column (a, b) of a * value + b; columns with steps are 0 * value + what their piece says.
        self.forms = [(ZERO, ZERO) if _stepped(column) else column.affine() for column in self.columns]

    def bounds(self) -> list[tuple[Fraction, Fraction]]:
        """Per column its largest magnitude in the ball, and how far the model's float may be from the solver's."""
        ends, grid = self.axis.bounds(), self.axis.axis.grid
        bound, lost = max(map(abs, ends)), self.axis.may_lack
        whole = grid.kind == "step" and grid.step.denominator == 1 and grid.extra is None and bound < 2**53
        # From a real number to the next float towards the start: at most one gap between floats.
        gap = bound * Fraction(1, 2 ** (52 if grid.kind != "float32" else 23)) + Fraction(1, 2**140)
        found = []
        for column, (a, b) in zip(self.columns, self.forms, strict=True):
            if _stepped(column):
                values = [exact(column.at(self.axis.axis, index)) for index in self._ends]
                found.append((max(map(abs, values)), ZERO))
                continue
            error = column.error(bound, ZERO if whole else gap)
            size = max(abs(a * end + b) for end in ends) + error
            if lost and column.missing is not None:
                size = max(size, abs(exact(column.missing)))
            found.append((size, error))
        return found

    def sum(self, weights: Sequence[Fraction]) -> tuple[list[tuple[Fraction, Term]], Fraction, Fraction]:
        """The weighted sum as terms and a constant, and its value at the start."""
        slope = sum((w * a for w, (a, _) in zip(weights, self.forms, strict=True)), ZERO)
        constant = sum((w * b for w, (_, b) in zip(weights, self.forms, strict=True)), ZERO)
        start = self.axis.axis.start
        at_start = self.at(weights, start)
        if self.axis.fixed:
            return [], self.at(weights, self.axis.lower), at_start
        parts = [(slope, self.axis.real())] if slope else []
        levels = [self._stepped(weights, first) for first, _ in self.pieces]
        for (below, above), share in zip(pairwise(levels), self._shares, strict=True):
            if above != below:
                parts.append((above - below, share))
        if not self.axis.may_lack:
            return parts, constant + levels[0], at_start
        terms, there, missing = self.terms, self.axis.there, self.axis.axis.missing
        assert missing is not None
        self._sums += 1
        total = terms.real(f"x{self.axis.place}_sum_{self._sums}")
        terms.when(there, terms.make.Equals(total, terms.sum(parts, constant + levels[0])))
        terms.when(terms.no(there), terms.make.Equals(total, terms.number(self.at(weights, missing))))
        return [(Fraction(1), total)], ZERO, at_start

    def moves(self, weights: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
        """How far the sum moves, and the change that this takes, at the ends of every piece.

        Between them both are linear, so no other index moves it farther for the distance that it costs.
        """
        start = self.at(weights, self.axis.axis.start)
        return [(self.at(weights, index) - start, self.axis.axis.delta(index)) for index in self._ends]

    def at(self, weights: Sequence[Fraction], index: int) -> Fraction:
        """The weighted sum at an index, without rounding."""
        axis = self.axis.axis
        if index == axis.missing:
            return sum((w * exact(c.at(axis, index)) for w, c in zip(weights, self.columns, strict=True)), ZERO)
        value = axis.value(index)
        straight = sum((w * (a * value + b) for w, (a, b) in zip(weights, self.forms, strict=True)), ZERO)
        return straight + self._stepped(weights, index)

    def _stepped(self, weights: Sequence[Fraction], index: int) -> Fraction:
        number = self.axis.axis.given(index)
        stepped = [(w, c) for w, c in zip(weights, self.columns, strict=True) if w and _stepped(c)]
        return sum((w * exact(c.of(number)) for w, c in stepped), ZERO)

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """The ball's values cut where a column with steps changes: indices (first, last) of each piece, in order."""
        whole = self.axis.axis
        ball = GridAxis(whole.name, whole.grid, self.axis.lower, self.axis.last, whole.start, whole.scale)
        cuts: set[int] = set()
        for column in self.columns:
            if column.chain and (last := column.chain[-1])[0] == "steps":
                before = Column(column.name, column.feature, None, column.chain[:-1])
                for edge in last[1][0]:
                    cuts.add(ball.cut(lambda x, before=before, edge=edge: before.of(x) < edge, edge))  # type: ignore[misc]
        inner = sorted(cut for cut in cuts if self.axis.lower <= cut < self.axis.last)
        return list(zip([self.axis.lower, *(cut + 1 for cut in inner)], [*inner, self.axis.last], strict=True))

    @cached_property
    def _ends(self) -> list[int]:
        ends = {index for piece in self.pieces for index in piece}
        return sorted(ends | {self.axis.upper} if self.axis.may_lack else ends)

    @cached_property
    def _shares(self) -> list[Term]:
        """Per cut a Real that is 1 above it and 0 below."""
        terms, shares = self.terms, []
        for _, cut in self.pieces[:-1]:
            literal = self.axis.at_most(cut)
            share = terms.real(f"x{self.axis.place}_above_{cut}".replace("-", "m"))
            terms.add(terms.at_least(share, ZERO))
            terms.add(terms.at_most(share, Fraction(1)))
            terms.when(literal, terms.at_most(share, ZERO))
            terms.when(terms.no(literal), terms.at_least(share, Fraction(1)))
            shares.append(share)
        return shares


def _stepped(column: Column) -> bool:
    return bool(column.chain) and column.chain[-1][0] == "steps"
