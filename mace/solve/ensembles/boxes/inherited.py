"""What a box inherits from the box that it was cut off from: the leaves that its trees reached there.

In:  the leaves of a box at the moment when it is split: of its nearest point, and the best of the open comparisons.
Out: the same for the far side, once that is taken from the heap, with what the cut, the dearer start of the box or a
     smaller limit has changed walked again.
Promise: the leaves are those that walks from the roots would find, or others of the same gain. Nothing is lost when a
box inherits nothing: then its trees are walked from their roots.

Most trees answer alike on both sides of a cut: a tree whose nearest point reached its best leaf, and still does, need
not be walked. Nor need one whose best leaf the smaller box still reaches, which the sides of that leaf tell without
its tree. Boxes of a search are taken by their distance, not one after the other, so that what they inherit waits
in a place of its own; the boxes that were cut off last have one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, Stack, best_leaf, leaf_of, side_of

MOST_PLACES, MOST_LEAVES = 2**14, 2**23
NO_CUT = 2**31 - 1


class Sides(NamedTuple):
    """The tests above leaves. N nodes of all trees, S sides; those of one leaf and axis follow one another.

    begin: (N + 1,) where the sides of each node begin; only leaves have any.
    axis:  (S,) of a grid one side an axis, of levels one for each test.
    above, below: (S,) a grid's cells above one cut and up to another: -1 and `NO_CUT` where there is none. Levels: the
           cut, and 1 if the leaf is on the side of its mask, else 0.
    """

    begin: Array
    axis: Array
    above: Array
    below: Array


class Inherited(NamedTuple):
    """Leaves kept for boxes that wait. P places, T trees, C comparisons, N nodes of all trees.

    box:  (P,) whose place it is, -1 nobody's; a box has one place that it may have, and shares it.
    part: (P,) the part of the goal that was open.
    near: (P, T) the leaf of the nearest point. best: (P, C, T) the best leaf, for the comparisons of that part.
    axes: (N,) the axes tested above a node, as bits; those from 64 on share bits with others.
    sides: what the tests above a leaf leave of an axis.
    """

    box: Array
    part: Array
    near: Array
    best: Array
    axes: Array
    sides: Sides


def new_inherited(ground: Ground, forest: Forest) -> Inherited:
    """Room for as many boxes as are worth their memory, without any."""
    compares, trees = len(forest.gain), len(forest.roots)
    places = max(1, min(MOST_PLACES, MOST_LEAVES // max(1, trees * (compares + 1))))
    near, best = np.empty((places, trees), np.int32), np.empty((places, compares, trees), np.int32)
    box, part = np.full(places, -1, np.int32), np.zeros(places, np.int32)
    return Inherited(box, part, near, best, axes_above(forest), sides_above(ground, forest))


@compiled
def axes_above(forest: Forest) -> Array:
    """For every node of a forest that numbers children higher the axes tested above it, as bits."""
    found = np.zeros(len(forest.up), np.int64)
    for node in range(len(found)):
        above = forest.up[node]
        if above >= 0:
            found[node] = found[above] | (np.int64(1) << (forest.test[above, 0] & 63))
    return found


@compiled
def sides_above(ground: Ground, forest: Forest) -> Sides:
    """The sides of all leaves."""
    begin = np.zeros(len(forest.up) + 1, np.int32)
    count = 0
    for leaf in range(len(forest.up)):
        node = forest.up[leaf]
        while node >= 0 and forest.test[leaf, 0] < 0:
            count += 1
            node = forest.up[node]
    of, above, below = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    count = 0
    for leaf in range(len(forest.up)):
        first, node, child = count, forest.up[leaf], leaf
        while node >= 0 and forest.test[leaf, 0] < 0:
            axis, cut = forest.test[node, 0], forest.test[node, 1]
            passed = forest.test[node, 2] == child
            end = count
            while end > first and of[end - 1] != axis:
                end -= 1
            if end > first and ground.grid[axis]:
                if passed:
                    below[end - 1] = min(below[end - 1], cut)
                else:
                    above[end - 1] = max(above[end - 1], cut)
            else:
                if end == first:
                    end = count
                for k in range(count, end, -1):
                    of[k], above[k], below[k] = of[k - 1], above[k - 1], below[k - 1]
                of[end] = axis
                if ground.grid[axis]:
                    above[end], below[end] = -1, NO_CUT
                    if passed:
                        below[end] = cut
                    else:
                        above[end] = cut
                else:
                    above[end], below[end] = cut, int(passed)
                count += 1
            child, node = node, forest.up[node]
        begin[leaf + 1] = count
    return Sides(begin, of[:count].copy(), above[:count].copy(), below[:count].copy())


@lean
def reached(ground: Ground, sides: Sides, leaf: int, box: Box, limit: int) -> bool:
    """Whether a box reaches a leaf at a cost < limit. Its nearest cells and costs are those of `measure`.

    A side that has the nearest cell changes no cost, and is not empty.
    """
    total, largest = box.total[0], box.total[1]
    side, end = sides.begin[leaf], sides.begin[leaf + 1]
    while side < end:
        axis = sides.axis[side]
        near = box.near[axis]
        low, high = box.low[axis], box.high[axis]
        if ground.grid[axis]:
            # As wide as cells: what is interpreted may call what is compiled already, for the types that it is given.
            above, below = np.int64(sides.above[side]), np.int64(sides.below[side])
            side += 1
            if above < near <= below:
                continue
            low, high = max(low, above + 1), min(high, below)
            if low > high:
                return False
        else:
            while side < end and sides.axis[side] == axis:
                mask = ground.at[ground.base[axis] + sides.above[side]]
                low &= mask if sides.below[side] == 1 else ~mask
                side += 1
            if (low >> near) & 1:
                continue
            if low == 0:
                return False
        own = side_of(ground, axis, low, high)
        total += own.part - box.part[axis]
        largest = max(largest, own.top)
        if total + largest >= limit:
            return False
    return bool(total + largest < limit)


@lean
def holds(ground: Ground, sides: Sides, leaf: Any, axis: int, near: Any) -> bool:
    """Whether a leaf's sides have a cell or level of an axis."""
    for side in range(sides.begin[leaf], sides.begin[leaf + 1]):
        if sides.axis[side] != axis:
            continue
        above, below = np.int64(sides.above[side]), sides.below[side]
        if ground.grid[axis]:
            return bool(above < near <= below)
        if (ground.at[ground.base[axis] + above] >> near) & 1 != below:
            return False
    return True


@lean
def leave(
    kept: Inherited, node: int, part: int, first: int, last: int, part_of: Array, near: Array, best: Array
) -> None:
    """Keep the leaves of a box for a side that is cut off from it; first, last: the comparisons of the open part."""
    place = ((node - 1) >> 1) % len(kept.box)
    kept.box[place], kept.part[place] = node, part
    for t in range(len(near)):
        kept.near[place, t] = near[t]
    for i in range(first, last):
        c = part_of[i]
        for t in range(len(near)):
            kept.best[place, c, t] = best[c, t]


@lean
def place_of(kept: Inherited, node: int) -> int:
    """Where something is kept for a box; -1 for nothing."""
    place = ((node - 1) >> 1) % len(kept.box)
    return int(place) if kept.box[place] == node else -1


@lean
def near_again(ground: Ground, forest: Forest, box: Box, kept: Inherited, place: int, axis: int, near: Array) -> int:
    """The leaves of the nearest point of a box that was cut off along an axis; returns how many trees were walked."""
    bit, work = axis & 63, 0
    for t in range(len(near)):
        leaf = np.int64(kept.near[place, t])
        if (kept.axes[leaf] >> bit) & 1 and not holds(ground, kept.sides, leaf, axis, box.near[axis]):
            leaf = np.int64(leaf_of(ground, forest, forest.roots[t], box.near))
            work += 1
        near[t] = leaf
    return work


@lean
def best_again(
    ground: Ground, forest: Forest, gain: Array, need: int, box: Box, limit: int, kept: Inherited, place: int,
    compare: int, axis: int, near: Array, best: Array, stack: Stack,
) -> int:  # fmt: skip
    """The best leaves for one comparison in a box that was cut off along an axis; returns how many trees were walked.

    It ends early, with what only bounds the best leaves, once these cannot add up to `need`. The best leaves of the
    larger box bound those of this one. First come the trees whose best leaf there the cut may have taken away.
    """
    bit, work, total = axis & 63, 0, np.int64(0)
    for t in range(len(near)):
        leaf = np.int64(kept.best[place, compare, t])
        best[t] = near[t] if gain[near[t]] >= gain[leaf] else leaf
        total += gain[best[t]]
    for cut in range(1, -1, -1):
        for t in range(len(near)):
            leaf = best[t]
            if leaf == near[t] or (kept.axes[np.int64(kept.best[place, compare, t])] >> bit) & 1 != cut:
                continue
            if total < need:
                return work
            if reached(ground, kept.sides, leaf, box, limit):  # no leaf of the larger box has more gain
                continue
            best[t] = best_leaf(ground, forest, gain, forest.roots[t], box, limit, near[t], stack)
            total += gain[best[t]] - gain[leaf]
            work += 1
    return work
