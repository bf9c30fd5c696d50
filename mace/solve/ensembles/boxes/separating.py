"""Branching of the plain search: a box is split at a test that separates its nearest point from the best leaves.

In:  a box, the leaves that its nearest point reaches, and the best leaf of each tree for one comparison.
Out: a `Place`. Any place is sound; a good one leaves little to search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import NO_LIMIT, Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, halves_of, passes
from mace.solve.ensembles.boxes.book import Scratch, far_key


class Place(NamedTuple):
    """Where to split: an axis, and a cut of it; -1 for nowhere."""

    axis: Any
    cut: Any


@compiled
def choose(
    ground: Ground, gain: Array, box: Box, best: Array, scratch: Scratch, spare: Any, key: int, limit: int
) -> Place:
    """The cut that costs the far side most for the margin that it takes from the near side.

    Separating tests are those on the way to a tree's best leaf that the nearest point answers otherwise. A cut at one
    of them takes away the best leaf of every tree whose leaf lies beyond it.
    """
    touched = scratch.touched[: mark(ground, gain, box, best, scratch)]
    touched.sort()
    count = len(touched)
    chosen_axis, chosen_cut, highest = -1, -1, -1.0
    deficit = float(spare) + 1.0
    reach = limit - key if limit < NO_LIMIT else box.total[0] + box.total[1] + 64
    floor = 0.03 * float(reach)  # a cut that costs nothing is still worth something
    begin = 0
    axis = 0
    while begin < count:
        while axis + 1 < len(ground.base) and touched[begin] >= ground.base[axis + 1]:
            axis += 1
        end = begin
        stop = ground.base[axis + 1] if axis + 1 < len(ground.base) else len(ground.at)
        while end < count and touched[end] < stop:
            end += 1
        if ground.grid[axis]:
            add_beyond(scratch.score, touched, begin, end, ground.base[axis] + box.near[axis])
        for i in range(begin, end):
            g = touched[i]
            scratch.marked[g] = 0
            cut = g - ground.base[axis]
            halves = halves_of(ground, axis, cut, box.low[axis], box.high[axis])
            value = min(scratch.score[g], deficit) * (float(far_key(box, axis, halves) - key) + floor)
            if value > highest:
                highest, chosen_axis, chosen_cut = value, axis, cut
        begin = end
    return Place(np.int64(chosen_axis), np.int64(chosen_cut))


@lean
def mark(ground: Ground, gain: Array, box: Box, best: Array, scratch: Scratch) -> int:
    """Score every cut on the way to a tree's best leaf by the margin of that leaf; returns how many cuts there are.

    What is marked stands in `scratch.touched`, not in order; `choose` takes the marks back.
    """
    sides = scratch.kept.sides
    count = 0
    for t in range(len(best)):
        leaf, near = best[t], scratch.near[t]
        if leaf == near:
            continue
        margin = float(gain[leaf] - gain[near])
        for side in range(sides.begin[leaf], sides.begin[leaf + 1]):
            axis, above, below = sides.axis[side], np.int64(sides.above[side]), np.int64(sides.below[side])
            # Of several tests of one grid axis the tightest counts; levels are tested by different masks.
            if ground.grid[axis]:
                if above < box.near[axis] <= below:
                    continue
                cut = above if box.near[axis] <= above else below
            elif passes(ground, axis, above, box.near[axis]) == (below == 1):
                continue
            else:
                cut = above
            g = ground.base[axis] + cut
            if scratch.marked[g] == 0:
                scratch.marked[g] = 1
                scratch.touched[count] = g
                scratch.score[g] = 0.0
                count += 1
            scratch.score[g] += margin
    return count


@lean
def add_beyond(score: Array, touched: Array, begin: int, end: int, near: int) -> None:
    """Add up the scores of an ordered axis, touched[begin:end]: a cut takes the leaves beyond it away, too.

    Below the cut `near`, at which the nearest point lies, they add up from the lowest cut, above it from the highest.
    """
    total = 0.0
    for i in range(begin, end):
        if touched[i] >= near:
            break
        total += score[touched[i]]
        score[touched[i]] = total
    total = 0.0
    for i in range(end - 1, begin - 1, -1):
        if touched[i] < near:
            break
        total += score[touched[i]]
        score[touched[i]] = total


@compiled
def undecided(ground: Ground, whole: Forest, box: Box) -> Place:
    """A test of some tree on the nearest point's way that the box leaves open; axis -1 if there is none."""
    tight_low, tight_high = box.low.copy(), box.high.copy()
    for t in range(len(whole.roots)):
        node: Any = np.int64(whole.roots[t])
        while whole.test[node, 0] >= 0:
            axis, cut = whole.test[node, 0], np.int64(whole.test[node, 1])
            if ground.grid[axis]:
                if box.near[axis] <= cut:
                    tight_high[axis] = min(tight_high[axis], cut)
                else:
                    tight_low[axis] = max(tight_low[axis], cut + 1)
            else:
                inside = box.low[axis] & ground.at[ground.base[axis] + cut]
                if inside != 0 and inside != box.low[axis]:
                    return Place(np.int64(axis), np.int64(cut))
            node = whole.test[node, 2] if passes(ground, axis, cut, box.near[axis]) else whole.test[node, 3]
    for axis in range(len(ground.grid)):
        if ground.grid[axis]:
            if tight_high[axis] < box.high[axis]:
                return Place(np.int64(axis), np.int64(tight_high[axis]))
            if tight_low[axis] > box.low[axis]:
                return Place(np.int64(axis), np.int64(tight_low[axis] - 1))
    return Place(np.int64(-1), np.int64(-1))
