"""Bounds on numbers that a model computes, over many boxes of rows at once.

In:  bounds on the columns of each box; a row in it, its centre; how far from that the rows are that count.
Out: `Bounds` on whatever is computed from them: on the number itself, on how it changes from the centre, and on how far
     the library's float of it may lie from it.
Promise: every operation moves its bounds outwards by `UNSURE` of the magnitudes that it adds, or more where it adds
many numbers: that is more than the rounding of any order of summation, of a fused multiply-add and of a function of a
libm that errs by some hundred units in the last place, here and in the library. What overflows is NaN, which bounds
nothing: whoever compares asks for what is certainly so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.compilers.enclosures import quadratics
from mace.compilers.enclosures.quadratics import Form, Quadratic
from mace.compilers.enclosures.ranges import TINY, UNSURE, Ball, Floats, Range, Ranged, unsure
from mace.tables.table import Bools


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on some numbers f(x), over boxes of rows x; and on how they change from one row of each box, its centre c.

    values: of the numbers, as they are without rounding; shape (boxes, numbers).
    error:  how far the library's floats of them may lie from them; the same shape.
    change: what is known of f(x) - f(c); None where nobody asks.
    """

    values: Range
    error: Floats
    change: Change | None = None

    @classmethod
    def of_columns(
        cls,
        values: Range,
        centre: Floats | None = None,
        ball: Ball | None = None,
        doubt: Floats | float = 0.0,
        *,
        curved: bool = False,
    ) -> Bounds:
        """The columns themselves, which the library is given as they are.

        centre: a row of each box, or None.    ball: how far from it the rows of the box are that count.
        doubt:  by how much columns may lie off the line between two rows, shape (columns,).
        curved: whether quadratic functions of them are followed.
        """
        own = cls(values, np.zeros(values.low.shape))
        if centre is None:
            return own
        boxes, columns = values.low.shape
        shape = (boxes, columns + 1, columns)
        none = np.zeros((boxes, 1))
        span = Range(*(np.concatenate([side - centre, none], axis=1) for side in values)).rounded()
        off = np.minimum(doubt, values.high - values.low)
        at = cls(Range(centre, centre), np.zeros(centre.shape))
        eye = np.broadcast_to(np.eye(columns + 1, columns), shape)
        form = Quadratic.of_columns(span.size[:, :-1] + off, off) if curved else None
        return replace(own, change=Change(at, eye, Range(-off, off), np.zeros(shape), span, ball, form))

    @property
    def said(self) -> Range:
        """Bounds on the library's floats."""
        return self.values.wider(self.error)

    def tightened(self) -> Bounds:
        """The same, with values that are no wider than their change from the centre allows."""
        if self.change is None:
            return self
        low, high = self.change.values
        return replace(self, values=Range(np.fmax(self.values.low, low), np.fmin(self.values.high, high)))

    def affine(self, weights: Floats, bias: Floats) -> Bounds:
        """Numbers times weights of shape (numbers, results), plus bias of shape (results,)."""
        found, size = self.values.matrix(weights), self.error @ np.abs(weights)
        margin = unsure(len(weights)) * (self.values.size @ np.abs(weights) + size + np.abs(bias)) + TINY
        values = Range(found.low + bias, found.high + bias).wider(margin)
        if self.change is None:
            return Bounds(values, size + 2 * margin)
        own, up = self.change, np.abs(weights)
        rest = own.rest.matrix(weights).wider(unsure(len(weights)) * (own.size @ up) + TINY)
        form = None if own.form is None else own.form.affine(weights)
        change = own.after(own.centre.affine(weights, bias), own.slopes @ weights, rest, own.blame @ up, form)
        return Bounds(values, size + 2 * margin, change).tightened()

    def scaled(self, by: float) -> Bounds:
        """Every number times one."""

        def times(own: Range) -> Range:
            ends = own.low * by, own.high * by
            return Range(*(ends if by >= 0 else ends[::-1])).rounded()

        values = times(self.values)
        error = abs(by) * self.error
        found = Bounds(values, error + UNSURE * (values.size + error) + TINY)
        if self.change is None:
            return found
        own = self.change
        rest = times(own.rest).wider(UNSURE * abs(by) * own.size)
        form = None if own.form is None else own.form.affine(by * np.eye(self.error.shape[1]))
        return replace(found, change=own.after(own.centre.scaled(by), own.slopes * by, rest, own.blame * abs(by), form))

    def mapped(
        self, range_of: Ranged, slope_of: Ranged, turns: Callable[[Floats], Sequence[Floats]] | None = None
    ) -> Bounds:
        """A function g of every number by itself.

        range_of: bounds of the number -> of the function.    slope_of: -> of its derivative there.
        turns:    a slope -> the places where the derivative is that, or jumps over it; None where they are not known.
        """
        values = range_of(self.values).rounded()
        steep = slope_of(self.said).rounded()
        error = self.error * steep.size + UNSURE * values.size + 2 * TINY
        if self.change is None:
            return Bounds(values, error)
        own = self.change
        slope, rest = self._linear(range_of, slope_of, turns)
        beside, size = slope[:, None, :], np.abs(slope)
        change = own.after(
            own.centre.mapped(range_of, slope_of),
            own.slopes * beside,
            own.rest.times(Range(slope, slope)).plus(rest).wider(UNSURE * size * own.size),
            own.blame * np.abs(beside) + own.share * (rest.high - rest.low)[:, None, :],
        )
        return Bounds(values, error, change)

    def _linear(
        self, range_of: Ranged, slope_of: Ranged, turns: Callable[[Floats], Sequence[Floats]] | None
    ) -> tuple[Floats, Range]:
        """A slope s, and bounds on g(x) - g(c) - s (x - c), for numbers x and what they are at the centre, c."""
        assert self.change is not None
        x, at = self.values, self.change.centre.values
        steep = slope_of(x)
        if turns is None:
            slope = (steep.low + steep.high) / 2
            away = np.maximum(np.abs(x.high - at.low), np.abs(at.high - x.low))
            part = (steep.high - steep.low) / 2 * away * (1 + UNSURE) + UNSURE * np.abs(slope) * away
            return slope, Range(-part, part).rounded()
        ends = [range_of(Range(end, end)) for end in x]
        with np.errstate(all="ignore"):
            chord = (ends[1].low - ends[0].low) / (x.high - x.low)
        slope = np.clip(np.where(np.isfinite(chord), chord, steep.low), steep.low, steep.high)
        places = [*x, *(np.clip(np.where(np.isnan(turn), x.low, turn), x.low, x.high) for turn in turns(slope))]
        lines = [_above(range_of, slope, Range(place, place)) for place in places]
        start = _above(range_of, slope, at)
        low, high = np.minimum.reduce([one.low for one in lines]), np.maximum.reduce([one.high for one in lines])
        return slope, Range(low - start.high, high - start.low).rounded()

    def rising(self, function: Callable[[Floats], Floats], slope_of: Ranged) -> Bounds:
        """As `mapped`, of a function that never falls."""
        return self.mapped(lambda x: Range(function(x.low), function(x.high)), slope_of)

    def times(self, other: Bounds) -> Bounds:
        """The product, number by number."""
        values, sizes = self.values.times(other.values), (self.values.size, other.values.size)
        error = sizes[0] * other.error + sizes[1] * self.error + self.error * other.error
        found = Bounds(values, error + UNSURE * (values.size + error) + TINY)
        if self.change is None or other.change is None:
            return found
        # f g - f(c) g(c) = g(c) (f - f(c)) + f(c) (g - g(c)) + (f - f(c)) (g - g(c))
        one, two = together([self.change, other.change])
        here, there = (mine.centre.values for mine in (one, two))
        moved = [Range(mine.values.low - at.high, mine.values.high - at.low).rounded()
                 for mine, at in ((self, here), (other, there))]  # fmt: skip
        left, right = (at.low + (at.high - at.low) / 2 for at in (here, there))
        both = moved[0].times(moved[1])
        rest = one.rest.times(there).plus(two.rest.times(here)).plus(both)
        unsure_of = (there.high - there.low + UNSURE * there.size) * one.size
        unsure_of = unsure_of + (here.high - here.low + UNSURE * here.size) * two.size
        share = (one.share + two.share) / 2 * (both.high - both.low)[:, None, :]
        change = one.after(
            one.centre.times(two.centre),
            one.slopes * right[:, None, :] + two.slopes * left[:, None, :],
            rest.wider(unsure_of * (1 + UNSURE)),
            one.blame * np.abs(right)[:, None, :] + two.blame * np.abs(left)[:, None, :] + share,
            None if one.form is None or two.form is None else one.form.times(two.form, here, there),
        )
        return replace(found, change=change).tightened()

    def picked(self, places: Sequence[int] | NDArray[np.intp]) -> Bounds:
        """Some of the numbers, in an order."""
        where = np.asarray(places, dtype=np.intp)

        def some(own: Range) -> Range:
            return Range(*(side[..., where] for side in own))

        change = None
        if self.change is not None:
            own = self.change
            form = None if own.form is None else own.form.picked(where)
            rest, blame = some(own.rest), own.blame[..., where]
            change = own.after(own.centre.picked(where), own.slopes[..., where], rest, blame, form)
        return Bounds(some(self.values), self.error[:, where], change)


def _above(range_of: Ranged, slope: Floats, at: Range) -> Range:
    """Bounds on g(x) - slope * x."""
    found = range_of(at).rounded()
    return found.plus(Range(-slope, -slope).times(at))


@dataclass(frozen=True, eq=False)
class Change:
    """What is known of f(x) - f(c): it is the sum of s_k (x_k - c_k) over the columns, of s q, and of a rest.

    centre: bounds on f(c).
    slopes: s, any floats, shape (boxes, columns + 1, numbers), that of q last.
    rest:   bounds on the rest, shape (boxes, numbers).
    blame:  how much of the width of the rest is owed to the width of each column, about; as slopes.
    span:   bounds on x - c and on q, which several numbers have in common; shape (boxes, columns + 1).
    ball:   which rows of the box count; None: all.
    form:   the same change as a quadratic function, where it is followed and is one.
    """

    centre: Bounds
    slopes: Floats
    rest: Range
    blame: Floats
    span: Range
    ball: Ball | None = None
    form: Quadratic | None = None

    def after(
        self, centre: Bounds, slopes: Floats, rest: Range, blame: Floats, form: Quadratic | None = None
    ) -> Change:
        """The same of other numbers of the same boxes."""
        return Change(centre, slopes, rest, blame, self.span, self.ball, form)

    @property
    def alone(self) -> Change:
        """The same without anything that is shared: that is in the rest."""
        low, high = (side[:, [-1]] * self.slopes[:, -1] for side in self.span)
        rest = self.rest.plus(Range(np.minimum(low, high), np.maximum(low, high)))
        slopes, span = self.slopes.copy(), Range(self.span.low.copy(), self.span.high.copy())
        slopes[:, -1] = span.low[:, -1] = span.high[:, -1] = 0.0
        return replace(self, slopes=slopes, rest=rest, span=span)

    @property
    def shares(self) -> bool:
        """Whether anything is shared."""
        return bool(self.span.size[:, -1].any())

    @cached_property
    def sizes(self) -> Floats:
        """How much each column may move each number by its slope, as `slopes`."""
        return np.asarray(np.abs(self.slopes) * self.span.size[:, :, None])

    @cached_property
    def size(self) -> Floats:
        """The sum of what columns may move each number by, shape (boxes, numbers)."""
        return np.asarray(self.sizes.sum(axis=1))

    @property
    def share(self) -> Floats:
        """Which share of that each column has."""
        return np.asarray(self.sizes / (self.size[:, None, :] + TINY))

    @property
    def values(self) -> Range:
        """Bounds on f(x) from those on f(c), shape (boxes, numbers)."""
        low, high = (self.slopes * side[:, :, None] for side in self.span)
        if self.ball is None:
            lost, brought = np.maximum(-low, -high).sum(axis=1), np.maximum(low, high).sum(axis=1)
        else:
            lost, brought = self.ball.most(-low, -high), self.ball.most(low, high)
        at = self.centre.values.plus(self.rest)
        return Range(at.low - lost, at.high + brought).wider(unsure(len(low[0])) * (self.size + at.size) + TINY)


def jumping(found: Bounds, given: Bounds, function: Callable[[Bounds], Bounds], blame: Floats | None = None) -> Bounds:
    """Numbers without slopes, of numbers that are given: all of their change is a rest.

    blame: how much of it is owed to each number that is given, shape (boxes, given, numbers); None where all alike.
    """
    if given.change is None:
        return found
    own, centre = given.change, function(given.change.centre)
    rest = Range(found.values.low - centre.values.high, found.values.high - centre.values.low).rounded()
    if blame is None:
        wide = given.values.high - given.values.low
        blame = np.broadcast_to((wide / (wide.sum(axis=1, keepdims=True) + TINY))[:, :, None],
                                (*wide.shape, rest.low.shape[1])) * (rest.high - rest.low)[:, None, :]  # fmt: skip
    shape = (*own.slopes.shape[:2], rest.low.shape[1])
    owed = np.matmul(own.share + own.blame / (own.blame.sum(axis=1, keepdims=True) + TINY), blame)
    return replace(found, change=own.after(centre, np.zeros(shape), rest, owed))


def joined(parts: Sequence[Bounds]) -> Bounds:
    """Numbers beside each other, of the same boxes."""

    def beside(sides: Sequence[Range]) -> Range:
        return Range(*(np.concatenate(several, axis=-1) for several in zip(*sides, strict=True)))

    all_ = together([part.change for part in parts if part.change is not None])
    change = None
    if all_ and len(all_) == len(parts):
        slopes, blame = (np.concatenate([getattr(one, name) for one in all_], axis=-1) for name in ("slopes", "blame"))
        form = quadratics.beside([one.form for one in all_])
        rest = beside([one.rest for one in all_])
        change = all_[0].after(joined([one.centre for one in all_]), slopes, rest, blame, form)
    error = np.concatenate([part.error for part in parts], axis=1)
    return Bounds(beside([part.values for part in parts]), error, change)


def together(changes: Sequence[Change]) -> list[Change]:
    """Changes of which no two share different things; the first has the span of all."""
    spans = [one.span for one in changes if one.shares]
    found = [one if not one.shares or one.span is spans[0] else one.alone for one in changes]
    return [replace(one, span=spans[0]) for one in found] if spans else found


# ------------------------------------------------------------------------------------------------- the whole


class Tight(NamedTuple):
    """What a function of the columns may be over boxes.

    said:   bounds on the library's floats, shape (boxes, numbers).
    at:     bounds on what they are at the centres, with the rest of `Change` and what all of the box may be off by.
    slopes: by which they change from there, shape (boxes, columns, numbers).
    blame:  as in `Change`.
    error:  how far the library's floats may be off in the box, shape (boxes, numbers).
    form:   the numbers from above as quadratic functions, where they are followed and are some.
    """

    said: Range
    at: Range
    slopes: Floats
    blame: Floats
    error: Floats
    form: Form | None = None


def over(
    function: Callable[[Bounds], Bounds], columns: Range, centre: Floats | None = None, ball: Ball | None = None,
    doubt: Floats | float = 0.0, *, curved: bool = False,
) -> Tight:  # fmt: skip
    """Bounds of a function over boxes: those of its operations, and those around a row of each box, or its middle.

    ball: the rows of the boxes that count, around that row.    doubt, curved: see `Bounds.of_columns`.
    """
    with np.errstate(all="ignore"):
        if centre is None:
            centre = columns.low + (columns.high - columns.low) / 2
        return _tight(function(Bounds.of_columns(columns, centre, ball, doubt, curved=curved)))


def of_boxes(function: Callable[[Bounds], Bounds], columns: Range) -> Bounds:
    """The same by the operations alone, and nothing on changes."""
    with np.errstate(all="ignore"):
        return function(Bounds.of_columns(columns))


def along(
    function: Callable[[Bounds], Bounds],
    columns: Range,
    centre: Floats,
    straight: Bools,
    doubt: Floats | float = 0.0,
) -> Tight:
    """The same on ways from a row of each box to another of its corners, as if the share of the way were its column.

    columns:  the boxes; of each the row lies at one end of every column.
    straight: which columns move in proportion to the way; the others do so in between.
    doubt:    by how much these may lie off it, shape (columns,).
    """
    with np.errstate(all="ignore"):
        low, high = (side - centre for side in columns)
        moved = np.where(straight, np.where(high > -low, high, low), 0.0)
        slopes = np.stack([moved, np.zeros_like(moved)], axis=1)
        still = (low == 0) & (high == 0)
        off = np.where(straight & ~still, doubt, 0.0)
        columns = columns.wider(off)
        margin = UNSURE * (np.abs(centre) + np.abs(moved)) + TINY + off
        rest = Range(*(np.where(straight, 0.0, side) for side in (low, high))).wider(margin)
        rest = Range(*(np.where(still, 0.0, side) for side in rest))
        both = np.zeros((len(centre), 2))
        span = Range(both, both + np.array([1.0, 0.0]))
        at = Bounds(Range(centre, centre), np.zeros(centre.shape))
        change = Change(at, slopes, rest, np.zeros(slopes.shape), span)
        return _tight(function(replace(Bounds.of_columns(columns), change=change)))


def _tight(bounds: Bounds) -> Tight:
    found = bounds.tightened()
    assert found.change is not None
    change = found.change.alone
    # Slopes times changes round as well.
    at = change.centre.values.plus(change.rest).wider(found.error + unsure(change.slopes.shape[1]) * change.size)
    form = found.change.form
    known = None if form is None or form.linear else form.form(change.centre.values, found.error)
    return Tight(found.said, at, change.slopes[:, :-1], change.blame[:, :-1], found.error, known)
