"""One side of a box of points, as the search over boxes sees it: its values, what it costs, how it is narrowed or cut.

In:  an axis, the columns of its feature, and a side of it.
Out: an `Edge`; the part of it that is near enough, and its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mace.base.bits import members
from mace.base.exact import nearest
from mace.compilers.enclosures.ranges import Floats
from mace.compilers.enclosures.reader import ends_of
from mace.space.axes import Axis, GridAxis, LevelAxis, Side, is_single, nearest_on
from mace.space.columns import Column
from mace.tables.table import Bools


@dataclass(frozen=True, slots=True)
class Edge:
    """What is known of a side of a feature.

    index, middle: the index nearest to the start, and the one in the middle.    value: the nearest one's, as a float.
    columns: of the feature; their least and largest value, those at the nearest index, at the lowest and the highest;
             shape (5, its columns).
    changes: at the nearest index, and by how much more at the lowest and the highest; 0 for levels.
    allowed: which levels it has.    width: how much of its feature's range.
    """

    side: Side
    index: int
    middle: int
    value: float
    columns: Floats
    changes: tuple[float, float, float]
    allowed: Bools | None
    width: float
    single: bool


def edge_of(axis: Axis, columns: Sequence[Column], side: Side) -> Edge:
    """What is known of a side; columns: those of its feature."""
    if isinstance(side, int):
        assert isinstance(axis, LevelAxis)
        levels = members(side)
        index = middle = nearest_on(axis, side)
        first = last = index
        allowed = np.isin(np.arange(axis.count), levels)
    else:
        assert isinstance(axis, GridAxis)
        index, middle, allowed = nearest_on(axis, side), middle_of(axis, side), None
        first, last = side
    ends = np.array([ends_of(column, axis, side) for column in columns]).reshape(-1, 2).T
    at = np.array([[column.on(axis).at(axis, place) for column in columns] for place in (index, first, last)])
    # A chain that is not arithmetic is bounded a little beyond what it is.
    ends[0], ends[1] = np.fmin(ends[0], at.min(axis=0)), np.fmax(ends[1], at.max(axis=0))
    delta = axis.delta(index)
    down, up = (nearest(axis.delta(place) - delta) for place in (first, last))
    return Edge(
        side, index, middle, nearest(axis.value(index)), np.concatenate([ends, at]), (nearest(delta), down, up),
        allowed, width_of(axis, side), is_single(side),
    )  # fmt: skip


def within_limit(axis: Axis, edge: Edge, limit: float) -> tuple[Side, bool]:
    """What of a side is changed by no more than a limit beyond its nearest value, and whether that is much less."""
    side, delta = edge.side, axis.delta(edge.index)
    if isinstance(side, int):
        # The nearest levels stay, whatever the limit.
        kept = [k for k in members(side) if axis.delta(k) == delta or nearest(axis.delta(k) - delta) <= limit]
        mask = sum(1 << k for k in kept)
        return mask, mask != side
    assert isinstance(axis, GridAxis)
    farthest = max(edge.changes[1:])
    if limit < 0:
        return (edge.index, edge.index), True
    if limit >= 0.9 * farthest:
        return side, False
    # The limit is loose already; what is added spares points the rounding of `scale`.
    reach = (Fraction(limit) * (1 + Fraction(1, 10**9)) + delta) * axis.scale
    low = max(side[0], axis.grid.ceil(axis.start_value - reach))
    high = min(side[1], axis.grid.floor(axis.start_value + reach))
    found = min(low, edge.index), max(high, edge.index)
    return found, found != side and limit < 0.5 * farthest


def middle_of(axis: GridAxis, side: tuple[int, int]) -> int:
    """An index in the middle of a side."""
    low, high = side
    if low == high:
        return low
    if axis.grid.kind == "step":
        return low + (high - low) // 2
    found = axis.grid.floor((axis.value(low) + axis.value(high)) / 2)
    return min(max(found, low), high - 1)


def width_of(axis: Axis, side: Side) -> float:
    """How much of its feature's range a side has."""
    if isinstance(side, int):
        return 1.0
    assert isinstance(axis, GridAxis)
    return nearest((axis.value(side[1]) - axis.value(side[0])) / axis.scale)


def parts_of(edge: Edge, axis: Axis, apart: bool) -> list[Side]:
    """The parts of a side; apart: its start by itself, if it is there."""
    side = edge.side
    if isinstance(side, int):
        levels = members(side)
        first = [axis.start] if axis.start in levels else levels[: len(levels) // 2]
        one = sum(1 << k for k in first)
        return [one, side & ~one]
    low, high = side
    if apart and low <= axis.start <= high:
        around = [(low, axis.start - 1), (axis.start, axis.start), (axis.start + 1, high)]
        return [part for part in around if part[0] <= part[1]]
    return [(low, edge.middle), (edge.middle + 1, high)]
