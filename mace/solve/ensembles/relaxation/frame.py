"""The linear relaxation of trees as arrays for compiled code, and what of them a box leaves open.

In:  what `relaxation.py` makes of a forest (`RelaxationArrays`) and `opening.py` of a box (`Active`); prices of rows.
Out: `payments`: what the pieces of axes are paid by these prices, whether they are doubles or whole numbers.
Promise: the ascent, its bound in whole numbers and what narrows a box all read prices in this one way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cuts import Array

ANYTHING = 2**62  # a cost of what has no point, and a bound of a box without the goal


class RelaxationArrays(NamedTuple):
    """The linear relaxation of trees.

    T trees, L leaves, P pairs of a leaf and a row, R rows, J axes, K pieces, C comparisons.
    The last axis is that of cliques, which no box has: its one piece costs nothing, and lies on the sides of all its
    rows. Such a row says that the leaves of a clique have shares of at most 1 together.

    first:  (T + 1,) where each tree's leaves begin. at: (L + 1,) where each leaf's rows begin in `rows`, (P,), where
            they are in order: what a leaf costs is added up axis by axis.
    gain:   (C, L) scaled gains, need: (C,) what their sums must reach.
    axis, cut, side, place: (R,) of a row: its side of a cut, in cells or as a mask; the cut's place among the pieces.
    grid:   (J,) whether an axis is ordered.
    begin:  (J + 1,) where each axis's pieces begin; begin_cell, end_cell: (K,) their first and last cell, or the level.
    part, top: (K,) costs in units, rounded down.
    read:   (J,) whether one of N linear rules reads an axis.
    spots:  (K + 1,) where the S indices of each piece begin of which one is best; none but on axes that are read.
    spot_part, spot_top: (S,) what they cost; spot_sum: (N, S) what they add to the sums of rules, in units.
    slack:  (N,) these sums at the start.
    """

    first: Array
    at: Array
    rows: Array
    gain: Array
    need: Array
    axis: Array
    cut: Array
    side: Array
    place: Array
    grid: Array
    begin: Array
    begin_cell: Array
    end_cell: Array
    part: Array
    top: Array
    read: Array
    spots: Array
    spot_part: Array
    spot_top: Array
    spot_sum: Array
    slack: Array


class OpenRows(NamedTuple):
    """The rows that a box leaves open as passes over all of them read them. R rows, J axes, K pieces, I intervals.

    begin: (J + 1,) where each axis's rows begin; over: (J,) of an ordered axis those of sides above their cuts.
    after: (R,) of ordered axes the first piece above the cut, nowhere less than in the row before on the same side.
    under: (K,) of a piece of an ordered axis: it lies on the sides below cuts of the rows under .. over - 1,
    above: (K,) and on the sides above cuts of the rows over .. above - 1.
    at: (R + 1,) where each row's intervals begin in first, end: (I,), leaves that are next to one another.
    """

    begin: Array
    over: Array
    after: Array
    under: Array
    above: Array
    at: Array
    first: Array
    end: Array


class Active(NamedTuple):
    """What of a relaxation a box leaves open.

    first, leaf, at: as in `RelaxationArrays`, for the leaves that are reached; row: their rows, as places in `number`.
    number:     the rows whose cut divides the box, and that hold some leaf.
    begin, end: (J,) the pieces begin..end - 1 that meet the box; mask: (J,) of a level axis the pieces themselves.
    empty:      whether some tree has no leaf.
    rows:       the rows and pairs once more.
    """

    first: Array
    leaf: Array
    at: Array
    row: Array
    number: Array
    begin: Array
    end: Array
    mask: Array
    empty: bool
    rows: OpenRows


@lean
def on_side(frame: RelaxationArrays, row: int, piece: int) -> bool:
    """Whether a piece of the row's axis lies on its side."""
    axis = frame.axis[row]
    if frame.grid[axis]:
        return bool((piece - frame.begin[axis] <= frame.place[row]) == (frame.side[row] == 0))
    return bool(((frame.cut[row] >> frame.begin_cell[piece]) & 1 == 1) == (frame.side[row] == 0))


@lean
def rows_with_price(prices: Array, some: Array) -> int:
    """How many rows have a price; which these are is filled into `some`, in order.

    Every third or so, and in deep trees every sixth: what is read of rows is read of these. Without a branch.
    """
    count = 0
    for i in range(len(prices)):
        some[count] = i
        count += prices[i] > 0
    return count


@lean
def payments(frame: RelaxationArrays, active: Active, prices: Array, some: Array, count: int, paid: Array) -> None:
    """What every piece of the box pays; of an ordered axis, how much more than the piece before it.

    prices: one for each row of `active`; some, count: see `rows_with_price`. paid: filled in here.
    """
    rows, k = active.rows, 0
    paid[:] = 0
    for j in range(len(rows.over)):
        if not frame.grid[j]:
            while k < count and some[k] < rows.begin[j + 1]:
                for piece in range(active.begin[j], active.end[j]):
                    if on_side(frame, active.number[some[k]], piece):
                        paid[piece] += prices[some[k]]
                k += 1
            continue
        below = beside = prices.dtype.type(0)
        while k + 1 < count and some[k + 1] < rows.over[j]:  # in two sums, which need not wait for each other
            below += prices[some[k]]
            beside += prices[some[k + 1]]
            paid[rows.after[some[k]]] -= prices[some[k]]
            paid[rows.after[some[k + 1]]] -= prices[some[k + 1]]
            k += 2
        if k < count and some[k] < rows.over[j]:
            below += prices[some[k]]
            paid[rows.after[some[k]]] -= prices[some[k]]
            k += 1
        while k < count and some[k] < rows.begin[j + 1]:
            paid[rows.after[some[k]]] += prices[some[k]]
            k += 1
        paid[active.begin[j]] += below + beside


@compiled
def paid_by(frame: RelaxationArrays, active: Active, prices: Array) -> Array:
    """The payments under these prices, in an array of their own; (K,)."""
    some, paid = np.empty(len(prices) + 1, np.uint32), np.empty(len(frame.part), prices.dtype)
    payments(frame, active, prices, some, rows_with_price(prices, some), paid)
    return paid
