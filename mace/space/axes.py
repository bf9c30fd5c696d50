"""The values that one feature may take in one question, as a row of integers.

Every feature, whatever its kind, becomes an `Axis`: its allowed values are numbered, and everything above this file
(provers, solvers, certificates) speaks of the numbers only. A point is a tuple of indices, one per axis.

* A `GridAxis` is ordered (integer and real features). Index `i` stands for the exact value `axis.value(i)`; indices
  grow with values and the allowed ones are all of `lower..upper`. On the float64 grid neighbours are neighbouring
  doubles, so `x > T` is `index >= index(T) + 1`: no boundary is ever open.
* A `LevelAxis` is finite (binary, categorical, ordinal features). Index `i` is the i-th declared level; the allowed
  ones are a bit mask, because a test of a model may send any subset of levels to the left.

One index of an axis may stand for "missing": that of a grid lies right above its largest value. It has no value, so no
rule and no program may read an axis that allows it; `present` is the axis without it.

Promise: `delta(index)` is the exact scaled change delta_j of the paper: |x - x0| / range for numeric features and for
ordinals (counted in ranks), 0 or 1 for the others. Between "missing" and any value it is `missing_cost`.
Source: Karimi et al. 2020, section 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from mace.base.bits import members
from mace.base.exact import (
    exact,
    first_holding,
    float32_to_rank,
    float_to_rank,
    moderate,
    nearest,
    nearest_float32,
    rank_to_float,
    rank_to_float32,
    ranks_to_floats,
    to_float32,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GridKind: TypeAlias = Literal["step", "float64", "float32"]


@dataclass(frozen=True, slots=True)
class Grid:
    """A discrete, ordered set of exact numbers, numbered by integers in increasing order.

    kind:  "step" for the multiples of `step` (integers have step 1), "float64" or "float32" for all finite floats.
    extra: one more value, off the multiples, for a start point that does not lie on them; None if there is none.
    rounded_to: the type of the float that the model is given, in one rounding: float32 where a library makes it of
            64-bit integers by itself.
    """

    kind: GridKind
    step: Fraction = Fraction(1)
    extra: Fraction | None = None
    rounded_to: Literal["float64", "float32"] = "float64"

    def __hash__(self) -> int:
        """Of the kind alone: fractions take long, and few grids of a model differ in nothing else."""
        return hash((self.kind, self.rounded_to, self.extra is None))

    def value(self, index: int) -> Fraction:
        """The exact value with this index."""
        if self.kind == "float64":
            return Fraction(rank_to_float(index))
        if self.kind == "float32":
            return Fraction(rank_to_float32(index))
        if self.extra is None:
            return index * self.step
        place = self.extra // self.step + 1
        if index == place:
            return self.extra
        return (index if index < place else index - 1) * self.step

    def given(self, index: int) -> float:
        """The float that the model is given for the value with this index."""
        if self.rounded_to == "float64":
            if self.kind == "float64":
                return rank_to_float(index)
            if self.kind == "step" and self.extra is None:
                with suppress(OverflowError):
                    return index * self.step.numerator / self.step.denominator  # as `nearest` rounds: once
        return nearest(self.value(index)) if self.rounded_to == "float64" else nearest_float32(self.value(index))

    def floor(self, value: Fraction) -> int:
        """The index of the largest grid value that is <= `value`."""
        if self.kind == "float64":
            rank = float_to_rank(nearest(value))
            return rank if Fraction(rank_to_float(rank)) <= value else rank - 1
        if self.kind == "float32":
            rank = float32_to_rank(to_float32(nearest(value)))
            while Fraction(rank_to_float32(rank)) > value:
                rank -= 1
            while Fraction(rank_to_float32(rank + 1)) <= value:
                rank += 1
            return rank
        multiple = int(value // self.step)
        if self.extra is None:
            return multiple
        place = int(self.extra // self.step) + 1
        if multiple >= place:
            return multiple + 1
        return place if value >= self.extra else multiple

    def apart(self, largest: Fraction) -> Fraction:
        """How far a number may lie from the nearest value, of numbers of at most this size."""
        if self.kind == "step":
            return self.step / 2
        bits, least = (52, 1000) if self.kind == "float64" else (23, 140)
        return largest * Fraction(1, 2**bits) + Fraction(1, 2**least)

    def ceil(self, value: Fraction) -> int:
        """The index of the smallest grid value that is >= `value`."""
        index = self.floor(value)
        return index if self.value(index) == value else index + 1


@dataclass(frozen=True)
class GridAxis:
    """An ordered axis: the indices `lower..upper`, the start among them, and the range that scales the change.

    scale:   R_j, the length of the declared range; every delta between values is |value - start value| / scale.
    missing: the index that stands for "missing", right above that of the largest value; None if there is none. The
             start may have it without its being allowed: then a value must be given.
    missing_cost: what a change between "missing" and a value counts as, in [0, 1].
    """

    name: str
    grid: Grid
    lower: int
    upper: int
    start: int
    scale: Fraction
    missing: int | None = None
    missing_cost: Fraction = Fraction(1)

    def __hash__(self) -> int:
        """Of what tells axes apart in nearly all cases: fractions take long."""
        return hash((self.name, self.lower, self.upper, self.start))

    def value(self, index: int) -> Fraction:
        """The exact value with this index, in the unit of the feature; "missing" has none."""
        assert index != self.missing, f"the value of {self.name} is missing"
        return self.grid.value(index)

    def given(self, index: int) -> float:
        """The float that the model is given for the value with this index."""
        assert index != self.missing, f"the value of {self.name} is missing"
        return self.grid.given(index)

    def delta(self, index: int) -> Fraction:
        """|value - start value| / scale, exact; in [0, 1]."""
        if index == self.start:
            return Fraction(0)
        if self.missing in (index, self.start):
            return self.missing_cost
        if self.grid.kind == "step" and self.grid.extra is None:
            step = self.grid.step
            moved = abs(index - self.start) * step.numerator
            return Fraction(moved * self.scale.denominator, step.denominator * self.scale.numerator)
        if self.grid.kind != "float64":
            return abs(self.grid.value(index) - self.start_value) / self.scale
        # The same in one fraction: both values are integers over powers of two.
        (above, unit), (start, other) = rank_to_float(index).as_integer_ratio(), self.start_value.as_integer_ratio()
        common = max(unit, other)
        moved = abs(above * (common // unit) - start * (common // other))
        return Fraction(moved * self.scale.denominator, common * self.scale.numerator)

    def rough_delta(self, index: int) -> float:
        """About `delta`: a few roundings off, relative to it, where it is moderate; infinite where it may be more."""
        if self.grid.kind != "float64" or self.missing is not None:
            return nearest(self.delta(index))
        scale = nearest(self.scale)
        moved = abs(rank_to_float(index) - rank_to_float(self.start))
        return moved / scale if moderate(scale) else math.inf

    @property
    def moves_roughly(self) -> bool:
        """Whether floats tell how far its values are apart, all at once."""
        return self.grid.kind == "float64" and self.missing is None and moderate(nearest(self.scale))

    def rough_moves(self, ones: Sequence[int], others: Sequence[int]) -> NDArray[np.float64]:
        """About |value - other value| / scale of many pairs, above 0 where the exact one is; for `moves_roughly`.

        A few roundings off, relative to it, where it is moderate.
        """
        import numpy as np

        moved = np.abs(ranks_to_floats(ones) - ranks_to_floats(others))
        found = moved / nearest(self.scale)
        return np.where((found == 0) & (moved > 0), math.ulp(0.0), found)

    @cached_property
    def start_value(self) -> Fraction:
        """The exact value of the start point."""
        return self.value(self.start)

    @property
    def last(self) -> int:
        """The largest index of a value."""
        return self.upper if self.missing is None else min(self.upper, self.missing - 1)

    @property
    def may_lack(self) -> bool:
        """Whether "missing" is among the allowed indices."""
        return self.missing is not None and self.lower <= self.missing <= self.upper

    @property
    def lacks(self) -> bool:
        """Whether the start is missing."""
        return self.start == self.missing

    @property
    def present(self) -> GridAxis:
        """The axis with its values alone; a start that is missing must be given one."""
        return replace(self, upper=self.last)

    def nearest(self, low: int, high: int) -> int:
        """The index of an interval that is nearest to the start."""
        near = min(max(self.start, low), high)
        return min(near, high, key=self.delta) if high == self.missing else near

    def ends(self, low: int, high: int) -> list[int]:
        """Indices of an interval, among which is the farthest one from any other index."""
        return [low, high] if high != self.missing or low == high else [low, high - 1, high]

    def allows(self, index: int) -> bool:
        """Whether the index lies in the allowed range."""
        return self.lower <= index <= self.upper

    @property
    def fixed(self) -> bool:
        """Whether there is one allowed value only."""
        return self.lower == self.upper

    def cut(self, passes: Callable[[float], bool], threshold: float) -> int:
        """The largest index whose value passes a test that small values pass and large ones do not.

        passes:    the model's own test on the float that it is given, for instance `to_float32(x) <= t`.
        threshold: about where the answer changes; only the speed of the search depends on it.
        The answer may be lower - 1 (no allowed value passes) and is at most that of the largest value.
        """

        def at(index: int) -> bool:
            return passes(self.grid.given(index))

        if not at(self.lower):
            return self.lower - 1
        if at(self.last):
            return self.last
        low, high = self.lower, self.last  # Invariant: low passes, high does not.
        reach = 1
        guess = self.grid.floor(exact(threshold))
        if low < guess < high:  # Gallop from the guess: the cast moves the boundary by half a float32 at most.
            if at(guess):
                low = guess
                while low + reach < high and at(low + reach):
                    low, reach = low + reach, reach * 2
                high = min(high, low + reach)
            else:
                high = guess
                while high - reach > low and not at(high - reach):
                    high, reach = high - reach, reach * 2
                low = max(low, high - reach)
        return first_holding(lambda index: not at(index), low, high) - 1


@dataclass(frozen=True)
class LevelAxis:
    """A finite axis: levels 0..count-1, the allowed ones as a bit mask.

    ordered: whether a change is measured in ranks (ordinal) or just as changed or not.
    missing: the level that stands for "missing", the last one, where its distance from the others is `missing_cost`
             instead; None if there is none.
    """

    name: str
    count: int
    allowed: int
    start: int
    ordered: bool = False
    missing: int | None = None
    missing_cost: Fraction = Fraction(1)

    def __hash__(self) -> int:
        """As that of a `GridAxis`."""
        return hash((self.name, self.count, self.allowed, self.start))

    def value(self, index: int) -> Fraction:
        """The level's own number, which is what rules and distance programs compute with."""
        return Fraction(index)

    def delta(self, index: int) -> Fraction:
        """|rank - start rank| / (ranks - 1) for an ordinal, else 0 or 1; `missing_cost` from and to "missing"."""
        if index == self.start:
            return Fraction(0)
        if self.missing in (index, self.start):
            return self.missing_cost
        ranks = self.count - (self.missing is not None)
        return Fraction(abs(index - self.start), ranks - 1) if self.ordered else Fraction(1)

    def nearness(self, index: int) -> tuple[Fraction, bool, int]:
        """What levels are ordered by, the nearest to the start first: itself, before others that cost nothing."""
        return self.delta(index), index != self.start, index

    def rough_delta(self, index: int) -> float:
        """About `delta`."""
        return nearest(self.delta(index))

    @property
    def may_lack(self) -> bool:
        """Whether "missing" is among the allowed levels."""
        return self.missing is not None and self.allows(self.missing)

    @property
    def lacks(self) -> bool:
        """Whether the start is missing."""
        return self.start == self.missing

    @property
    def present(self) -> LevelAxis:
        """The axis without the level "missing"."""
        return self if self.missing is None else replace(self, allowed=self.allowed & ~(1 << self.missing))

    def allows(self, index: int) -> bool:
        """Whether the level is among the allowed ones."""
        return 0 <= index < self.count and bool(self.allowed >> index & 1)

    @property
    def fixed(self) -> bool:
        """Whether there is one allowed level only."""
        return self.allowed.bit_count() == 1

    def levels(self) -> list[int]:
        """The allowed levels, in order."""
        return members(self.allowed)


Axis: TypeAlias = GridAxis | LevelAxis
Point: TypeAlias = tuple[int, ...]
Side: TypeAlias = tuple[int, int] | int  # of a box: the lower and the upper index of a grid axis, or a mask of levels
Box: TypeAlias = tuple[Side, ...]


def index_of(axis: Axis, number: Fraction | int | None) -> int | None:
    """The index of what `Feature.read` made of a cell (None: missing); None where the axis has no such value."""
    if number is None:
        return axis.missing if isinstance(axis, GridAxis) else axis.start  # of a number that is missing and stays so
    if isinstance(axis, LevelAxis):
        return int(number) if isinstance(number, int) and number < axis.count else None
    index = axis.grid.floor(Fraction(number))
    return index if axis.value(index) == number else None


def started(axes: Sequence[Axis], start: Point) -> tuple[Axis, ...]:
    """The same axes, with changes counted from another point."""
    return tuple(replace(axis, start=index) for axis, index in zip(axes, start, strict=True))


def rough_deltas(axis: Axis, indices: Sequence[int]) -> NDArray[np.float64]:
    """About the scaled changes to many values, as `rough_delta`; above 0 where the exact one is."""
    if isinstance(axis, GridAxis) and axis.moves_roughly:
        return axis.rough_moves(indices, [axis.start])
    return in_floats(axis.delta(index) for index in indices)


def in_floats(sizes: Iterable[Fraction]) -> NDArray[np.float64]:
    """Sizes as the nearest floats; above 0 where the exact one is."""
    import numpy as np

    return np.array([nearest(size) or (math.ulp(0.0) if size else 0.0) for size in sizes])


def holds(side: Side, index: int) -> bool:
    """Whether a side has a value."""
    return side[0] <= index <= side[1] if isinstance(side, tuple) else bool(side >> index & 1)


def nearest_on(axis: Axis, side: Side) -> int:
    """What a side that is not empty has nearest to the start."""
    if isinstance(side, tuple):
        assert isinstance(axis, GridAxis)
        return axis.nearest(*side)
    assert isinstance(axis, LevelAxis)
    return min(members(side), key=axis.nearness)


def full(axis: Axis) -> Side:
    """All that an axis allows."""
    return (axis.lower, axis.upper) if isinstance(axis, GridAxis) else axis.allowed


def whole(axes: Iterable[Axis]) -> Box:
    """The box of all that some axes allow."""
    return tuple(map(full, axes))


def ends(side: Side) -> Sequence[int]:
    """The ends of an interval; all levels of a mask."""
    return side if isinstance(side, tuple) else members(side)


def is_single(side: Side) -> bool:
    """Whether a side has one value."""
    return side[0] == side[1] if isinstance(side, tuple) else side.bit_count() == 1


def index_alone(axis: Axis, index: int) -> Side:
    """The side that holds one index of an axis."""
    return (index, index) if isinstance(axis, GridAxis) else 1 << index


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have a point in common."""
    for side, mine in zip(one, other, strict=True):
        if isinstance(side, int) or isinstance(mine, int):
            assert isinstance(side, int) and isinstance(mine, int)
            if not side & mine:
                return False
        elif side[0] > mine[1] or mine[0] > side[1]:
            return False
    return True


def within(box: Box, other: Box) -> bool:
    """Whether a box lies in another one."""
    return all(
        not side & ~mine
        if isinstance(side, int) and isinstance(mine, int)
        else isinstance(side, tuple) and isinstance(mine, tuple) and mine[0] <= side[0] and side[1] <= mine[1]
        for side, mine in zip(box, other, strict=True)
    )
