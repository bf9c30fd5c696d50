"""What a box leaves open of the linear relaxation of trees, compiled: the leaves, rows and pieces that it still has.

In:  the arrays of a relaxation, a box in cells and masks, and a limit; what a larger box left open (`whole`: all).
Out: `opened`: the leaves that lie nearer than the limit, the rows whose cut divides the box, the pieces that meet it.
Promise: no point of the box that is nearer than the limit reaches a leaf that is left out; without some rows bounds
may be worse, and hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, measure, side_of
from mace.solve.ensembles.relaxation.frame import ANYTHING, Active, OpenRows, RelaxationArrays

OUTSIDE, WITHIN, CUTTING = -2, -1, 0


@lean
def state(frame: RelaxationArrays, row: int, low: Array, high: Array) -> int:
    """Whether a box lies on a row's side whole, in part, or not at all; of a clique's row always in part."""
    axis, cut = frame.axis[row], frame.cut[row]
    if axis == len(low):
        return CUTTING
    if frame.grid[axis]:
        below, above = high[axis] <= cut, low[axis] > cut
    else:
        below, above = low[axis] & ~cut == 0, low[axis] & cut == 0
    if frame.side[row] == 1:
        below, above = above, below
    return WITHIN if below else OUTSIDE if above else CUTTING


@lean
def cost_of_leaf(
    frame: RelaxationArrays, ground: Ground, box: Box, number: Array, row: Array, begin: int, end: int
) -> int:
    """The scaled cost of the part of a box that lies on all these rows' sides; `ANYTHING` if that is empty.

    row: places in `number`, those from begin to end: rows of one leaf, which are in order of their axes.
    """
    total: Any = box.total[0]
    largest: Any = box.total[1]
    k = begin
    while k < end:
        r = number[row[k]]
        axis = frame.axis[r]
        if axis == len(box.low):
            break  # cliques come last
        low, high, grid = box.low[axis], box.high[axis], frame.grid[axis]
        while frame.axis[r] == axis:
            below, cut = frame.side[r] == 0, frame.cut[r]
            if not grid:
                low &= cut if below else ~cut
            elif below:
                high = min(high, cut)
            else:
                low = max(low, cut + 1)
            k += 1
            if k == end:
                break
            r = number[row[k]]
        if low > high if grid else low == 0:
            return ANYTHING
        side = side_of(ground, axis, low, high)
        total += side.part - box.part[axis]
        largest = max(largest, side.top)
    return int(total + largest)


@compiled
def intervals(rows: int, at: Array, row: Array) -> tuple[Array, Array, Array]:
    """The leaves of each of so many rows as intervals of leaves: `at`, `first` and `end` of `OpenRows`.

    A row's leaves come one after the other, mostly without a gap: a few intervals instead of many pairs.
    """
    begin, after = np.zeros(rows + 1, np.uint32), np.full(rows, -1, np.int32)
    for k in range(len(at) - 1):
        for pair in range(at[k], at[k + 1]):
            begin[row[pair] + 1] += after[row[pair]] != k
            after[row[pair]] = k + 1
    for i in range(rows):
        begin[i + 1] += begin[i]
    first, end, place = np.empty(begin[rows], np.uint32), np.empty(begin[rows], np.uint32), begin.copy()
    after[:] = -1
    for k in range(len(at) - 1):
        for pair in range(at[k], at[k + 1]):
            i = row[pair]
            if after[i] != k:
                first[place[i]] = k
                place[i] += 1
            after[i] = k + 1
            end[place[i] - 1] = k + 1
    return begin, first, end


@compiled
def rows_of(
    frame: RelaxationArrays, active_begin: Array, active_end: Array, number: Array, at: Array, row: Array
) -> OpenRows:
    """The rows of `number`, which are in the order of the relaxation; active_begin .. row: as in `Active`."""
    rows, axes, pieces = len(number), len(frame.grid), len(frame.part)
    # Unsigned, since places that may be negative are looked at each time.
    begin, over = np.empty(axes + 1, np.uint32), np.empty(axes, np.uint32)
    after, under, above = np.zeros(rows, np.uint32), np.zeros(pieces, np.uint32), np.zeros(pieces, np.uint32)
    i = 0
    for j in range(axes):
        begin[j] = i
        low = high = i
        while i < rows and frame.axis[number[i]] == j:
            if frame.grid[j]:
                after[i] = frame.begin[j] + frame.place[number[i]] + 1
                high += frame.side[number[i]] == 0
            i += 1
        over[j] = middle = high
        if frame.grid[j]:
            for piece in range(active_begin[j], active_end[j]):
                while low < middle and after[low] <= piece:
                    low += 1
                while high < i and after[high] <= piece:
                    high += 1
                under[piece], above[piece] = low, high
    begin[axes] = i
    of_rows, first, end = intervals(rows, at, row)
    return OpenRows(begin, over, after, under, above, of_rows, first, end)


@compiled
def held(number: Array, row: Array) -> Array:
    """Of rows those that hold some leaf: a price of others gains nothing. Their places replace those of `row`."""
    place, count = np.zeros(len(number), np.int32), 0
    kept = np.empty(len(number), np.int32)
    for pair in range(len(row)):
        place[row[pair]] = 1
    for i in range(len(number)):
        if place[i]:
            kept[count], place[i] = number[i], count
            count += 1
    for pair in range(len(row)):
        row[pair] = place[row[pair]]
    return kept[:count].copy()


def whole(frame: RelaxationArrays) -> Active:
    """All of a relaxation, from which boxes take what they leave open."""
    some, axes = np.zeros(0, np.uint32), len(frame.grid)
    rows = OpenRows(some, some, some, some, some, some, some, some)
    first, at, row = (column.astype(np.int32) for column in (frame.first, frame.at, frame.rows))
    leaf, number = np.arange(len(at) - 1, dtype=np.int32), np.arange(len(frame.axis), dtype=np.int32)
    begin, end = (frame.begin[k : k + axes].astype(np.int32) for k in (0, 1))
    return Active(first, leaf, at, row, number, begin, end, np.full(axes, -1, np.int64), empty=False, rows=rows)


@compiled
def open_rows(frame: RelaxationArrays, box: Box, above: Active, idle: Array) -> tuple[Array, Array]:
    """The rows whose cut divides a box; and of each row of `above` its place among them, or OUTSIDE or WITHIN.

    above, idle: as in `opened`.
    """
    rows, cliques = len(above.number), len(frame.axis) - len(idle)  # the first row of a clique
    number, place, count = np.empty(rows, np.int32), np.empty(rows, np.int32), 0
    for i in range(rows):
        found = state(frame, above.number[i], box.low, box.high)
        if above.number[i] >= cliques and idle[above.number[i] - cliques]:
            found = WITHIN
        place[i] = found
        if found == CUTTING:
            place[i], number[count] = count, above.number[i]
            count += 1
    return number[:count].copy(), place


@lean
def rows_of_leaf(rows: Array, begin: int, end: int, place: Array, row: Array, pairs: int) -> int:
    """Write the rows of a leaf that a box divides after others; returns how many there are then, -1 if the leaf lies
    outside of the box.

    rows: those of the leaf, from begin to end, by place in `above`. place: see `open_rows`.
    """
    for k in range(begin, end):
        where = place[rows[k]]
        if where == OUTSIDE:
            return -1
        if where >= 0:
            row[pairs] = where
            pairs += 1
    return pairs


@compiled
def open_leaves(
    frame: RelaxationArrays, ground: Ground, box: Box, limit: int, above: Active, number: Array, place: Array
) -> tuple[Array, Array, Array, Array]:
    """The leaves that a box reaches below a limit: `first`, `leaf`, `at` and `row` of its `Active`.

    number, place: see `open_rows`.
    """
    trees = len(above.first) - 1
    first, leaf = np.empty(trees + 1, np.int32), np.empty(len(above.leaf), np.int32)
    at, row = np.empty(len(above.at), np.int32), np.empty(len(above.row), np.int32)
    leaves = pairs = 0
    for t in range(trees):
        first[t] = leaves
        for one in range(above.first[t], above.first[t + 1]):
            at[leaves] = pairs
            end = rows_of_leaf(above.row, above.at[one], above.at[one + 1], place, row, pairs)
            if end >= 0 and cost_of_leaf(frame, ground, box, number, row, pairs, end) < limit:
                leaf[leaves], pairs = above.leaf[one], end
                leaves += 1
    first[trees], at[leaves] = leaves, pairs
    return first, leaf[:leaves].copy(), at[: leaves + 1].copy(), row[:pairs].copy()


@compiled
def open_pieces(frame: RelaxationArrays, box: Box) -> tuple[Array, Array, Array]:
    """The pieces that meet a box: `begin`, `end` and `mask` of its `Active`."""
    axes = len(frame.grid)
    begin, end, mask = np.empty(axes, np.int32), np.empty(axes, np.int32), np.zeros(axes, np.int64)
    for j in range(axes):
        begin[j], end[j] = frame.begin[j], frame.begin[j + 1]
        if j == len(box.low):
            continue
        if frame.grid[j]:
            while frame.end_cell[begin[j]] < box.low[j]:
                begin[j] += 1
            while frame.begin_cell[end[j] - 1] > box.high[j]:
                end[j] -= 1
        else:
            mask[j] = box.low[j]
    return begin, end, mask


@compiled
def opened(frame: RelaxationArrays, ground: Ground, box: Box, limit: int, above: Active, idle: Array) -> Active:
    """The leaves, rows and pieces of a box, of whose sides and costs only the sides need be filled in.

    limit: leaves whose part of the box has a scaled cost >= this are not reached.
    above: what a box around this one left open, with a limit no smaller; or all.
    idle: (cliques,) those that are left out.
    """
    measure(ground, box)
    number, place = open_rows(frame, box, above, idle)
    first, leaf, at, row = open_leaves(frame, ground, box, limit, above, number, place)
    begin, end, mask = open_pieces(frame, box)
    number = held(number, row)
    empty = bool((first[1:] == first[:-1]).any())
    rows = rows_of(frame, begin, end, number, at, row)
    return Active(first, leaf, at, row, number, begin, end, mask, empty, rows)
