"""What a box inherits from the box that it was cut off from: the leaves that its trees reached there.

In:  the leaves of a box at the moment when it is split: of its nearest point, and the best of the open comparisons.
Out: the same for the far side, once that is taken from the heap, with what the cut, the dearer start of the box or a
     smaller limit has changed walked again.
Promise: the leaves are those that walks from the roots would find, or others of the same gain. Nothing is lost when a
box inherits nothing: then its trees are walked from their roots.

Most trees answer alike on both sides of a cut: a tree whose nearest point reached its best leaf, and still does, need
not be walked. Boxes of a search are taken by their distance, not one after the other, so that what they inherit waits
in a place of its own; the boxes that were cut off last have one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.cells import Forest, Ground
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.walk import Box, Stack, best_leaf, leaf_of

MOST_PLACES, MOST_LEAVES = 2**14, 2**23


class Inherited(NamedTuple):
    """Leaves kept for boxes that wait. P places, T trees, C comparisons, N nodes of all trees.

    box:  (P,) whose place it is, -1 nobody's; a box has one place that it may have, and shares it.
    part: (P,) the part of the goal that was open.
    near: (P, T) the leaf of the nearest point. best: (P, C, T) the best leaf, for the comparisons of that part.
    axes: (N,) the axes tested above a node, as bits; those from 64 on share bits with others.
    """

    box: Array
    part: Array
    near: Array
    best: Array
    axes: Array


def new_inherited(forest: Forest) -> Inherited:
    """Room for as many boxes as are worth their memory, without any."""
    compares, trees = len(forest.gain), len(forest.roots)
    places = max(1, min(MOST_PLACES, MOST_LEAVES // max(1, trees * (compares + 1))))
    near, best = np.empty((places, trees), np.int32), np.empty((places, compares, trees), np.int32)
    return Inherited(np.full(places, -1, np.int32), np.zeros(places, np.int32), near, best, axes_above(forest))


@compiled
def axes_above(forest: Forest) -> Array:
    """For every node of a forest that numbers children higher the axes tested above it, as bits."""
    found = np.zeros(len(forest.up), np.int64)
    for node in range(len(found)):
        above = forest.up[node]
        if above >= 0:
            found[node] = found[above] | (np.int64(1) << (forest.test[above, 0] & 63))
    return found


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
        if (kept.axes[leaf] >> bit) & 1:
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
            best[t] = best_leaf(ground, forest, gain, forest.roots[t], box, limit, near[t], stack)
            total += gain[best[t]] - gain[leaf]
            work += 1
    return work
