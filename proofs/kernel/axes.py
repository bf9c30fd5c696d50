"""One axis a feature: its indices, their values, and what each adds to the distance.

A span is a set of indices: (lowest, highest) of a grid, a bit mask of levels. A box is one span an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any, TypeAlias

from mace.proofs.kernel.fields import (
    anything,
    count,
    index,
    integer,
    least_0,
    maybe,
    once,
    one_of,
    positive,
    read,
    truth,
    words,
)
from mace.proofs.kernel.floats import LAST, ONE, float_with_bits, need, rational

Span: TypeAlias = Any
Cost: TypeAlias = tuple[int, int]  # what one axis adds to the sum of the distance, and its part of the maximum
# What a side of a test, the left (0) or the right one, leaves of a span: None if all of it; else how much the cost in
# the sum grows by that, and the part of the maximum.
Half: TypeAlias = tuple[int, Span | None, int, int]
SPANS = 1 << 12  # of an axis, of which costs are kept

BOTH = {"name": words, "weight": least_0}
GRID = {
    **BOTH, "kind": one_of("grid"), "grid": one_of("step", *LAST), "step": positive, "extra": maybe(rational),
    "lower": index, "upper": index, "scale": positive, "missing?": {"cost": least_0, "allowed": truth},
}  # fmt: skip
LEVELS = {
    **BOTH, "kind": one_of("levels"), "count": count, "allowed": count, "ordered": truth, "missing?": {"cost": least_0},
}  # fmt: skip


def meet(one: Span, other: Span) -> Span:
    """The indices in both."""
    if type(one) is int:
        return one & other
    (low, high), (first, last) = one, other
    return (low if low > first else first, high if high < last else last)


def empty(span: Span) -> bool:
    """Whether a span has no index."""
    return not span if type(span) is int else bool(span[0] > span[1])


def outside(axis: Axis, span: Span, stays: Span) -> list[Span]:
    """The parts of a span that lie outside of another one: one or two of a grid, one of levels, none that is empty."""
    if axis.is_grid:
        parts = [meet(span, (span[0], stays[0] - 1)), meet(span, (stays[1] + 1, span[1]))]
    else:
        parts = [span & ~stays]
    return [part for part in parts if not empty(part)]


def levels(mask: int) -> list[int]:
    """The levels of a mask, in order."""
    return [level for level in range(mask.bit_length()) if mask >> level & 1]


class Mix:
    """How much counts in a distance: that an axis changes, the sum of changes, the largest; and its forms."""

    def __init__(self, data: Any, where: str) -> None:
        shape = {"alpha": least_0, "beta": least_0, "gamma": least_0, "forms?": [anything]}
        self.alpha, self.beta, self.gamma, forms = vars(read(data, shape, where)).values()
        self.forms = forms or []


class Axis:
    """A grid of numbers in order, perhaps with "missing" as one more index above them; or a few levels.

    What is read of it serves statements from any start; `counted` and `started` make of it what distances need.
    """

    # What `measure` says, times the common denominator of all distances; and what follows from that, see `counted`.
    jump = slope = steep = lost = lost_top = 0
    start: int
    cost: Callable[[Span], Cost]
    halves: Callable[[Span, Span, Span], list[Half]]
    inside: Callable[[Span, Span], Cost | None]  # how the cost grows where a span is cut to a side

    def __init__(self, data: Any, where: str) -> None:
        self.is_grid = data.get("kind") != "levels"
        found = read(data, GRID if self.is_grid else LEVELS, where)
        self.name, self.weight, self.grid = found.name, found.weight, ""
        absent = found.missing
        self.missing_cost = absent.cost if absent else Fraction(0)
        self.unit, self.step, self.extra, self.may_lack = 1, 1, None, False
        if not self.is_grid:
            self.count, self.full, self.ordered = found.count, found.allowed, found.ordered
            need(self.full < 1 << self.count, f"{where}: expected an integer below")
            self.missing = self.count - 1 if absent else None
            ranks = max(self.count - 1 - bool(absent), 1)
            self.reach = Fraction(ranks if self.ordered else 1)
            return
        self.grid = found.grid
        if self.grid == "step":
            self.unit = lcm(found.step.denominator, found.extra.denominator if found.extra is not None else 1)
            self.step = int(found.step * self.unit)
            if found.extra is not None:
                self.extra = int(found.extra * self.unit)
                self.place = self.extra // self.step + 1
        else:
            need(found.extra is None, f"{where}: only a grid of steps has an extra value")
            self.unit = ONE
        need(found.lower <= found.upper, f"{where}: lower lies above upper")
        self.missing = found.upper + 1 if absent else None
        self.may_lack = bool(absent and absent.allowed)
        self.full = (found.lower, found.upper + self.may_lack)
        for end in (found.lower, found.upper):
            self.index(end, where)
        self.reach = found.scale * self.unit

    def index(self, data: Any, where: str) -> int:
        """An index of the axis, allowed or not."""
        if not self.is_grid:
            return integer(data, 0, self.count - 1, where)
        last = LAST.get(self.grid)
        exists = last is None or data == self.missing or -last <= integer(data, None, None, where) <= last
        need(exists, f"{where}: expected an integer from -{last} to {last}")
        return integer(data, None, None, where)

    def span(self, data: Any, where: str) -> Span:
        """A span as it is written: [lowest, highest] of a grid, a mask of levels."""
        if not self.is_grid:
            return integer(data, 0, (1 << self.count) - 1, where)
        low, high = read(data, (index, index), where)
        return low, high

    def only(self, index: int) -> Span:
        """The span of one index."""
        return (index, index) if self.is_grid else 1 << index

    def has(self, span: Span, index: int) -> bool:
        """Whether a span holds an index."""
        return bool(span[0] <= index <= span[1]) if self.is_grid else bool(span >> index & 1)

    def number(self, index: int) -> int:
        """The value with this index, times `unit`."""
        if self.grid in LAST:
            return float_with_bits(index, self.grid)
        if self.extra is None or index < self.place:
            return index * self.step
        return self.extra if index == self.place else (index - 1) * self.step

    def ends(self, span: Span) -> list[int]:
        """Indices among which every function has its greatest value that only grows away from some index."""
        if not self.is_grid:
            return levels(span)
        low, high = span
        return [low, high] if high != self.missing or low == high else [low, high - 1, high]

    @lru_cache(1 << 12)  # noqa: B019  # axes are kept anyway, see `once`
    def measure(self, mix: Mix) -> list[Fraction]:
        """What this axis adds to the distance: for a change at all, for each unit of change in the sum and in the
        maximum, and for a change from or to "missing" in the sum and in the maximum."""
        jump, scale, lost = self.weight * mix.alpha, self.weight / self.reach, self.weight * self.missing_cost
        return [jump, mix.beta * scale, mix.gamma * scale, jump + mix.beta * lost if lost else lost, mix.gamma * lost]

    @lru_cache(1 << 12)  # noqa: B019
    def counted(self, mix: Mix, common: int) -> Axis:
        """The axis with its costs, in units of 1 / common."""
        axis = copy(self)
        counts = (n.numerator * common // n.denominator for n in self.measure(mix))
        axis.jump, axis.slope, axis.steep, axis.lost, axis.lost_top = counts
        return axis

    @lru_cache(1 << 12)  # noqa: B019
    def started(self, start: int) -> Axis:
        """The axis with an index to start from."""
        axis = copy(self)
        axis.start = start
        axis.cost, axis.halves = lru_cache(SPANS)(axis.least), lru_cache(SPANS)(axis.parts)
        axis.inside = lru_cache(SPANS)(axis.growth)
        return axis

    @property
    def grain(self) -> int:
        """A number that divides both parts of the cost of every allowed index; 0 where all cost nothing."""
        if self.ends(self.full) == [self.start] or self.full == (self.start, self.start):
            return 0
        lost = gcd(self.lost, self.lost_top)
        if self.start == self.missing:
            return lost
        stride = gcd(self.step, self.extra or 0)
        return gcd(self.jump, self.slope * stride, self.steep * stride, lost)

    def between(self, one: int, other: int) -> Cost:
        """What two points that differ in these indices are apart on this axis."""
        if one != other and self.missing in (one, other):
            return self.lost, self.lost_top
        apart = abs(self.number(one) - self.number(other)) if self.is_grid or self.ordered else int(one != other)
        return (self.jump + self.slope * apart, self.steep * apart) if apart else (0, 0)

    def nearest(self, span: Span) -> int:
        """The index of a span that is nearest to the start."""
        if self.has(span, self.start):
            return int(self.start)
        if not self.is_grid:
            return min(levels(span), key=lambda level: self.between(level, self.start))
        low, high = span
        near = low if low > self.start else high
        return min(near, high, key=lambda k: self.between(k, self.start)) if high == self.missing else int(near)

    def least(self, span: Span) -> Cost:
        """The least that a point of the span adds to the distance."""
        return self.between(self.nearest(span), self.start)

    def parts(self, span: Span, left: Span, right: Span) -> list[Half]:
        """What two sides of a test leave of a span, without what is empty."""
        old, found = self.cost(span), list[Half]()
        for is_right, side in enumerate((left, right)):
            inside = meet(span, side)
            if inside == span:
                found.append((is_right, None, 0, 0))
            elif not empty(inside):
                new = self.cost(inside)
                found.append((is_right, inside, new[0] - old[0], new[1]))
        return found

    def growth(self, span: Span, side: Span) -> Cost | None:
        """How much the cost in the sum grows where a span is cut to a side, and the part of the maximum; None where
        nothing is left."""
        inside = meet(span, side)
        return None if empty(inside) else self.narrowed(0, 0, span, inside)

    def narrowed(self, total: int, largest: int, span: Span, inside: Span) -> Cost:
        """The two parts of the least distance of a box, once its span of this axis is a smaller one."""
        old, new = self.cost(span), self.cost(inside)
        return total + new[0] - old[0], max(largest, new[1])


read_unstarted, read_mix = once(Axis), once(Mix)


def read_axis(data: Any, where: str) -> tuple[Axis, int]:
    """An axis, made once for all its starts, and the start."""
    need(type(data) is dict, f"{where}: expected an object")
    axis: Axis = read_unstarted({name: value for name, value in data.items() if name != "start"}, where)
    return axis, axis.index(data.get("start"), where)


def farthest(axes: Sequence[Axis], one: Sequence[Span], other: Sequence[Span]) -> int:
    """The largest distance between a point of one box and a point of another.

    Lemma: on each axis it grows with the difference of two values, so that ends hold what is largest.
    """
    far = [
        [axis.between(i, k) for i in axis.ends(a) for k in axis.ends(b)]
        for axis, a, b in zip(axes, one, other, strict=True)
    ]
    return sum(max(cost[0] for cost in costs) for costs in far) + max([0, *(c[1] for costs in far for c in costs)])
