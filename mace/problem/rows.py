"""How far many rows are from a point or a box: floats tell which rows matter, exact are their distances.

In:  a norm, an axis a feature, rows as points of these axes; a point, or a side of a box for each axis.
Out: `least_to`, the distance to the nearest row; `by_bound`, rows with bounds of their distances to a box, in order.
Promise: exact; what floats cannot tell apart is compared as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Recent
from mace.base.exact import moderate
from mace.problem.distance import Norm
from mace.space.axes import Axis, Box, GridAxis, Point, Side, in_floats, nearest_on, rough_deltas, started

Change: TypeAlias = Callable[[Axis, Side], Fraction]  # `least_change`, or less

FEW = 8  # rows, which arrays are not made for
NEARLY = 1 + 2.0**-30  # many times what sums of floats lose
TINY = 1e-90  # sizes of which floats may lose more lie below
DEAR = 1e99  # what a change of the whole range may cost, so that no loss of a float near 0 comes near to those sizes


class Column(NamedTuple):
    """What many rows have on one axis: the different indices, and which of them each row has, shape (rows,)."""

    values: list[int]
    places: NDArray[np.intp]


_COLUMNS: Recent[tuple[Sequence[Point], list[Column]]] = Recent(2)


def least_change(axis: Axis, side: Side) -> Fraction:
    """The least scaled change from where an axis starts to a side that is not empty."""
    return axis.delta(nearest_on(axis, side))


def least_to(norm: Norm, axes: Sequence[Axis], rows: Sequence[Point], point: Point) -> Fraction:
    """The distance of a point from the nearest of some rows."""
    axes = started(axes, point)  # a change is as long in either direction

    def exact(row: Point) -> Fraction:
        return norm.of([axis.delta(index) for axis, index in zip(axes, row, strict=True)])

    if len(rows) <= FEW:
        return min(map(exact, rows))
    columns = zip(axes, _columns(rows), strict=True)
    rough = np.stack([rough_deltas(axis, column.values)[column.places] for axis, column in columns], axis=1)
    return _least(norm, rows, rough, exact)


def least_to_box(norm: Norm, axes: Sequence[Axis], rows: Sequence[Point], box: Box, change: Change) -> Fraction:
    """The least of what the changes from rows to a box cost."""

    def exact(row: Point) -> Fraction:
        return _bound(norm, axes, row, box, change)

    if len(rows) <= FEW:
        return min(map(exact, rows))
    return _least(norm, rows, _rough(axes, rows, box, change), exact)


def by_bound(
    norm: Norm, axes: Sequence[Axis], rows: Sequence[Point], box: Box, change: Change
) -> Iterator[tuple[Fraction, Point]]:
    """Each row with what the changes from it to a box cost, the least first; made as they are asked for."""
    totals = _totals(norm, _rough(axes, rows, box, change))
    order = np.argsort(totals, kind="stable")
    totals = totals[order]
    begin = int(np.searchsorted(totals, 0.0, side="right"))
    # A bound of 0 holds, even if it was too small for a float.
    yield from ((Fraction(0), rows[k]) for k in order[:begin].tolist())
    near: list[tuple[Fraction, Point, float]] = []  # exact bounds, each with that in floats
    while near or begin < len(order):
        end = int(np.searchsorted(totals, _as_near(near[0][2] if near else float(totals[begin])), side="right"))
        for k, rough in zip(order[begin:end].tolist(), totals[begin:end].tolist(), strict=True):
            heappush(near, (_bound(norm, axes, rows[k], box, change), rows[k], rough))
        begin = max(begin, end)
        # What is left is farther than the first that there was, which is no nearer than the first now.
        bound, row, _ = heappop(near)
        yield bound, row


def _least(
    norm: Norm, rows: Sequence[Point], rough: NDArray[np.float64], exact: Callable[[Point], Fraction]
) -> Fraction:
    """The least of some exact sizes; rough: the changes in floats of which they are made, shape (rows, features)."""
    totals = _totals(norm, rough)
    least = float(totals.min())
    if not least and not (nothing := exact(rows[int(totals.argmin())])):
        return nothing
    near = np.flatnonzero(totals <= _as_near(least))
    return min(exact(rows[k]) for k in near.tolist())


def _totals(norm: Norm, rough: NDArray[np.float64]) -> NDArray[np.float64]:
    """What changes cost in floats; all infinite, which tells nothing apart, where some are too much for a float, or so
    dear that what the least floats lose of a change is seen.
    """
    if norm.dearest <= DEAR:
        totals = norm.charged(rough).total
        if np.isfinite(totals).all():
            return totals
    return np.full(len(rough), np.inf)


def _as_near(least: float) -> float:
    """What is farther than this in floats is farther exactly than what is at `least` in floats."""
    if moderate(least):
        return least * NEARLY
    return TINY if least < TINY else math.inf


def _bound(norm: Norm, axes: Sequence[Axis], row: Point, box: Box, change: Change) -> Fraction:
    return norm.of([change(axis, side) for axis, side in zip(started(axes, row), box, strict=True)])


def _rough(axes: Sequence[Axis], rows: Sequence[Point], box: Box, change: Change) -> NDArray[np.float64]:
    """The changes from rows to a box in floats, shape (rows, features); above 0 where the exact ones are."""
    found = []
    for axis, side, column in zip(axes, box, _columns(rows), strict=True):
        if isinstance(axis, GridAxis) and axis.moves_roughly:
            assert isinstance(side, tuple)
            least = axis.rough_moves(column.values, np.array(column.values, np.int64).clip(*side).tolist())
        else:
            least = in_floats(change(replace(axis, start=index), side) for index in column.values)
        found.append(least[column.places])
    return np.stack(found, axis=1)


def _columns(rows: Sequence[Point]) -> list[Column]:
    """The columns of rows; kept with them, so that their id is no other's."""
    return _COLUMNS.get(id(rows), lambda: (rows, [_column(one) for one in zip(*rows, strict=True)]))[1]


def _column(indices: Sequence[int]) -> Column:
    place = {index: number for number, index in enumerate(dict.fromkeys(indices))}
    return Column(list(place), np.array([place[index] for index in indices], np.intp))
