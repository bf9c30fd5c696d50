"""The sums of all trees as a function of one feature, all others held.

In:  the arrays of `cells.py`, a point of cells, and an axis.
Out: `sweep`: the scaled sums of each comparison of a part of the goal at every cell of the axis.
How: a tree changes with an axis only where it tests it on the point's way. `follow` notes which trees do, once for a
point and all axes; the others add what they add at the point.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import lean
from mace.solve.ensembles.arrays.cells import NO_TURN, Aim, Forest, Ground, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import passes


class SweepRoom(NamedTuple):
    """Room for what climbs and sweeps of one question need. T trees, J axes.

    rows:   for the walks of a sweep.
    total:  its sums by cell, one row for each comparison of a part.
    leaves: (T,) for a leaf of every tree, by its number in the whole forest.
    at:     (T,) the leaf that the point reaches that was followed last.
    sums:   what these leaves add up to, for each comparison of a part.
    head:   (J,) where the list of the trees begins that test an axis on the point's way; -1 where none does.
    tree, next: what stands in these lists.
    """

    rows: Array
    total: Array
    leaves: Array
    at: Array
    sums: Array
    head: Array
    tree: Array
    next: Array


class Window(NamedTuple):
    """Some cells of an axis, or levels: from `first` to before `end`."""

    first: Any
    end: Any


class Cost(NamedTuple):
    """What a cell adds to the sum, and its part of the largest change."""

    part: Any
    top: Any


@lean
def cost(ground: Ground, axis: int, cell: int) -> Cost:
    """The scaled cost of a cell or level."""
    if not ground.grid[axis]:
        return Cost(ground.level_part[axis, cell], ground.level_top[axis, cell])
    if cell == ground.start[axis]:
        return Cost(np.int64(0), np.int64(0))
    g = ground.base[axis] + (cell - 1 if cell > ground.start[axis] else cell)
    return Cost(ground.part[g], ground.top[g])


@lean
def window(ground: Ground, axis: int, limit: int) -> Window:
    """The cells of a grid axis that may cost less than a limit, or all levels."""
    if not ground.grid[axis]:
        return Window(np.int64(0), np.int64(ground.order.shape[1]))
    first, last, start = ground.low[axis], ground.high[axis], ground.start[axis]
    if ground.turn[axis] == NO_TURN:  # else "missing", the last one, may be cheaper than those before it
        # Costs grow with the distance from the start.
        near, far = min(max(start, first - 1), last), last
        while near < far:
            middle = (near + far + 1) >> 1
            one = cost(ground, axis, middle)
            if one.part + one.top < limit:
                near = middle
            else:
                far = middle - 1
        last = near
        far, near = first, max(min(start, last + 1), first)
        while far < near:
            middle = (far + near) >> 1
            one = cost(ground, axis, middle)
            if one.part + one.top < limit:
                near = middle
            else:
                far = middle + 1
        first = near
    return Window(first, last + 1)


@lean
def follow(ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, room: SweepRoom) -> None:
    """Note which trees test which axes on a point's way, and what they add up to there."""
    begin, end, count = aim.begin[part], aim.begin[part + 1], 0
    room.head[:], room.sums[:] = -1, 0
    for t in range(len(forest.roots)):
        node = forest.roots[t]
        while forest.test[node, 0] >= 0:
            axis, cut = forest.test[node, 0], np.int64(forest.test[node, 1])
            before = room.head[axis]
            if before < 0 or room.tree[before] != t:
                room.tree[count], room.next[count], room.head[axis] = t, before, count
                count += 1
            node = forest.test[node, 2] if passes(ground, axis, cut, point[axis]) else forest.test[node, 3]
        room.at[t] = node
        for i in range(begin, end):
            room.sums[i - begin] += forest.gain[aim.part_of[i], node]


@lean
def sweep(
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, axis: int, limit: int, room: SweepRoom
) -> Window:
    """Scaled sums of each comparison of a part for every level of an axis, or its cells below a limit: which these are.

    The point must be followed before. At its own cell, where that is none of them, the sums are 0.
    """
    cells = window(ground, axis, limit)
    first, last, total = aim.begin[part], aim.begin[part + 1], room.total
    total[: last - first, cells.first : cells.end + 1] = 0
    low, high = ground.low[axis], ground.high[axis]
    if ground.grid[axis]:
        low, high = cells.first, cells.end - 1
    entry = room.head[axis]
    while entry >= 0:
        t = room.tree[entry]
        along(ground, forest, aim, part, point, axis, low, high, forest.roots[t], room)
        for i in range(first, last):  # what it adds at the point is none of what the others add
            add(ground, axis, total[i - first], low, high, -forest.gain[aim.part_of[i], room.at[t]])
        entry = room.next[entry]
    for i in range(first, last):
        add(ground, axis, total[i - first], low, high, room.sums[i - first])
    if ground.grid[axis]:
        running(total, last - first, cells)
    if not cells.first <= point[axis] < cells.end:
        total[: last - first, point[axis]] = 0
    return cells


@lean
def along(
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, axis: int, low: Any, high: Any, node: Any,
    room: SweepRoom,
) -> None:  # fmt: skip
    """Add up what a tree adds in each of some cells of an axis, or levels: those of the mask `low`."""
    rows, total = room.rows, room.total
    rows[0, 0], rows[0, 1], rows[0, 2] = node, low, high
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node, low, high = rows[waiting, 0], rows[waiting, 1], rows[waiting, 2]
        while forest.test[node, 0] >= 0:
            tested, cut = forest.test[node, 0], np.int64(forest.test[node, 1])
            left, right = forest.test[node, 2], forest.test[node, 3]
            if tested != axis:
                node = left if passes(ground, tested, cut, point[tested]) else right
                continue
            mask = np.int64(0) if ground.grid[axis] else low & ground.at[ground.base[axis] + cut]
            if high <= cut if ground.grid[axis] else mask == low:
                node = left
            elif low > cut if ground.grid[axis] else mask == 0:
                node = right
            elif ground.grid[axis]:
                rows[waiting, 0], rows[waiting, 1], rows[waiting, 2] = right, cut + 1, high
                waiting += 1
                node, high = left, cut
            else:
                rows[waiting, 0], rows[waiting, 1], rows[waiting, 2] = right, low & ~mask, 0
                waiting += 1
                node, low = left, mask
        for i in range(aim.begin[part], aim.begin[part + 1]):
            add(ground, axis, total[i - aim.begin[part]], low, high, forest.gain[aim.part_of[i], node])


@lean
def add(ground: Ground, axis: int, total: Array, low: Any, high: Any, gain: Any) -> None:
    """Add a gain in some cells, of which it is noted where it begins and ends, or to the levels of the mask `low`."""
    if ground.grid[axis]:
        total[low] += gain
        total[high + 1] -= gain
        return
    for level in range(ground.order.shape[1]):
        if (low >> level) & 1:
            total[level] += gain


@lean
def running(total: Array, count: int, cells: Window) -> None:
    """Add up, in each of some rows, what changes from cell to cell."""
    for i in range(count):
        for cell in range(cells.first + 1, cells.end):
            total[i, cell] += total[i, cell - 1]


def room(grounded: Grounded) -> SweepRoom:
    """Room for what the climbs and sweeps of one question need."""
    ground, trees, axes = grounded.ground, len(grounded.forest.roots), len(grounded.axes)
    compares = int(np.diff(grounded.aim.begin).max(initial=0))  # of a part
    ends = [*ground.base[1:].tolist(), len(ground.at)]
    widest = max([ground.order.shape[1] + 2, 4, *(end - base + 3 for base, end in zip(ground.base, ends, strict=True))])
    return SweepRoom(
        np.zeros((grounded.depth + 4, 3), np.int64),
        np.zeros((compares, widest), np.int64),
        np.zeros(trees, np.int64),
        np.zeros(trees, np.int64),
        np.zeros(compares, np.int64),
        np.zeros(axes, np.int64),
        *(np.empty(trees * min(grounded.depth, axes), np.int64) for _ in range(2)),
    )
