"""The compiled search for a mean of what several members say: sums of trees, a rising function of each, added up.

In:  as `mace.solve.ensembles.boxes.search`, but that the goal is one or two conditions (`mace.problem.goal_rises`);
     gains are those of the member that a tree belongs to, turned so that more of them is more of its function.
Out: the book, filled in, and why the search paused, as there. `corners`, the most that each member reaches in a box.
Promise: a node is closed as `TREES` only when no point of its box below the limit can meet a condition. The functions
are looked at where the best leaves of each member add up: no line need lie above them, and no box of scores be cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, Stack, best_leaf, leaf_of, measure
from mace.solve.ensembles.boxes.book import DOUBTED, DOUBTFUL, NODES, TREES, WITNESS, WORK, Book, Scratch, load, push
from mace.solve.ensembles.boxes.inherited import best_again, place_of
from mace.solve.ensembles.boxes.search import FULL, GOAL, GOES_ON, divide, next_box, walk_again
from mace.solve.ensembles.boxes.separating import choose, undecided

NO_NEED = -(2**62)
LOOK = 16  # trees that are walked between two looks at what their members reach at most


class Means(NamedTuple):
    """The conditions. C of them, K members, P places, T trees.

    owner: (T,) the member that a tree belongs to.
    at, left, right: (C, K, P), places: (C, K), start, far: (C, K), need: (C,), divide: see `Rise`.
    unit:  what one unit of a gain is.
    part_of: (C,) all conditions, as the comparisons of one part.
    clear: by how much a box shall miss a condition; where nothing is left to split, any miss does.
    """

    owner: Array
    at: Array
    places: Array
    left: Array
    right: Array
    start: Array
    far: Array
    need: Array
    divide: float
    unit: float
    part_of: Array
    clear: float


class SumRoom(NamedTuple):
    """Room for sums. total: (C, K) best leaves of each member; here: (C, K) of the nearest point; slope: (K,); worth:
    (N,) gains of leaves in what they add to the functions."""

    total: Array
    here: Array
    slope: Array
    worth: Array


def new_room(means: Means, nodes: int) -> SumRoom:
    """Room for so many nodes of trees."""
    conditions, members = means.places.shape
    total, here = (np.zeros((conditions, members), np.int64) for _ in range(2))
    return SumRoom(total, here, np.zeros(members), np.zeros(nodes))


@lean
def said(means: Means, c: int, k: int, total: Any) -> float:
    """The most that a member adds to the mean where its leaves add up to this score."""
    score = (float(total) * means.unit + means.start[c, k] + means.far[c, k]) / means.divide
    at, last = means.at[c, k], means.places[c, k] - 1
    if score >= at[last]:
        return float(means.right[c, k, last])
    low, high = np.int64(0), last
    if score <= at[0]:
        return float(means.left[c, k, 0])
    while high - low > 1:  # at[low] <= score < at[high]
        middle = (low + high) >> np.int64(1)
        if at[middle] <= score:
            low = middle
        else:
            high = middle
    share = (score - at[low]) / (at[high] - at[low])
    return float(means.left[c, k, low] + share * (means.right[c, k, low] - means.left[c, k, low]))


@lean
def over(means: Means, c: int, totals: Array) -> float:
    """By how much all members together exceed what a condition takes, where their leaves add up to this."""
    found = -means.need[c]
    for k in range(totals.shape[1]):
        found += said(means, c, k, totals[c, k])
    return float(found)


@lean
def add_up(means: Means, gain: Array, c: int, leaves: Array, totals: Array) -> float:
    """Fill in what the leaves of each member add up to; returns by how much they exceed the condition."""
    for k in range(totals.shape[1]):
        totals[c, k] = 0
    for t in range(len(leaves)):
        totals[c, means.owner[t]] += gain[c, leaves[t]]
    return over(means, c, totals)


@lean
def met_by(means: Means, gain: Array, leaves: Array, totals: Array) -> bool:
    """Whether the leaves of a point may meet all conditions; fills in what they add up to."""
    met = True
    for c in range(len(means.need)):
        met = add_up(means, gain, c, leaves, totals) >= 0.0 and met
    return met


@compiled
def met_at(ground: Ground, forest: Forest, means: Means, cells: Array) -> bool:
    """Whether the point in some cells and levels may meet all conditions."""
    leaves, totals = np.zeros(len(forest.roots), np.int64), np.zeros(means.places.shape, np.int64)
    for t in range(len(leaves)):
        leaves[t] = leaf_of(ground, forest, forest.roots[t], cells)
    return met_by(means, forest.gain, leaves, totals)


@lean
def best_of_all(
    ground: Ground, forest: Forest, means: Means, c: int, box: Box, limit: int, near: Array, best: Array, totals: Array,
    stack: Stack,
) -> int:  # fmt: skip
    """The best leaves of all trees; returns how many were walked, less than all once the rest is of no interest."""
    for k in range(totals.shape[1]):
        totals[c, k] = 0
    for t in range(len(best)):
        best[t] = forest.roots[t]
        totals[c, means.owner[t]] += forest.gain[c, best[t]]
    for t in range(len(best)):  # Invariant: the best leaves of each member add up to no more than its total.
        root = forest.roots[t]
        best[t] = best_leaf(ground, forest, forest.gain[c], root, box, limit, near[t], stack)
        totals[c, means.owner[t]] += forest.gain[c, best[t]] - forest.gain[c, root]
        if t % LOOK == LOOK - 1 and over(means, c, totals) < -means.clear:
            return int(t + 1)
    return len(best)


@lean
def worths(forest: Forest, means: Means, c: int, near: Array, best: Array, room: SumRoom) -> float:
    """Fill in what best leaves are worth beside near ones, by what their member's function rises between both; returns
    what one unit of that is."""
    largest = 1e-300
    for k in range(len(room.slope)):
        room.slope[k] = 0.0
        if room.total[c, k] > room.here[c, k]:
            rise = said(means, c, k, room.total[c, k]) - said(means, c, k, room.here[c, k])
            room.slope[k] = max(rise, 0.0) / float(room.total[c, k] - room.here[c, k])
            largest = max(largest, room.slope[k])
    for t in range(len(near)):
        slope = room.slope[means.owner[t]] / largest
        room.worth[near[t]] = 0.0
        if best[t] != near[t]:
            room.worth[best[t]] = float(forest.gain[c, best[t]] - forest.gain[c, near[t]]) * slope
    return float(largest)


@lean
def out_of_reach(
    ground: Ground, forest: Forest, means: Means, box: Box, limit: int, scratch: Scratch, room: SumRoom, place: int,
    came: int, stack: Stack, count: Array,
) -> bool:  # fmt: skip
    """Whether the best leaves of a box clearly miss some condition; looks for those of all, as long as none is missed.

    place, came: as in `search.in_reach`.
    """
    for c in range(len(means.need)):
        best = scratch.best[c]
        if place >= 0:
            count[WORK] += best_again(
                ground, forest, forest.gain[c], NO_NEED, box, limit, scratch.kept, place, c, came, scratch.near, best,
                stack,
            )  # fmt: skip
            beyond = add_up(means, forest.gain, c, best, room.total)
        else:
            count[WORK] += best_of_all(ground, forest, means, c, box, limit, scratch.near, best, room.total, stack)
            beyond = over(means, c, room.total)
        if beyond < -means.clear:
            return True
    return False


@lean
def nearest_missed(means: Means, room: SumRoom) -> tuple[int, float]:
    """The condition that the nearest point misses and that is nearest to being refuted, and by how much the best
    leaves exceed it; -1 where the nearest point misses none."""
    chosen, spare = -1, 0.0
    for c in range(len(means.need)):
        most = over(means, c, room.total)
        if over(means, c, room.here) < 0.0 and (chosen < 0 or most < spare):
            chosen, spare = c, most
    return chosen, spare


@lean
def run(
    ground: Ground, forest: Forest, whole: Forest, means: Means, book: Book, box: Box, scratch: Scratch, room: SumRoom,
    stack: Stack, limit: int, width: int, stop: int, most_changes: int, budget: int,
) -> int:  # fmt: skip
    """Search until something is to be decided outside; everything as `search.run`, whose invariant is this one's."""
    count, near, leaves, conditions = book.count, scratch.near, scratch.leaves, len(means.need)
    end = count[WORK] + budget
    while True:
        why, node = next_box(ground, forest, book, box, scratch, limit, width, stop, most_changes, end)
        if why != GOES_ON:
            return int(why)
        key, came, place = book.key[node], book.axis[node], place_of(scratch.kept, node)
        if met_by(means, forest.gain, near, room.here):
            for t in range(len(leaves)):
                leaves[t] = forest.leaf[near[t]]
            if book.settled[node] != DOUBTED:
                count[WITNESS] = node
                return GOAL
        refuted = out_of_reach(ground, forest, means, box, limit, scratch, room, place, came, stack, count)
        while True:
            if refuted:
                book.state[node] = TREES
                break
            chosen, spare = nearest_missed(means, room)
            if chosen >= 0:
                unit = worths(forest, means, chosen, near, scratch.best[chosen], room)
                spared = (spare + means.clear) / unit
                axis, cut = choose(ground, room.worth, box, scratch.best[chosen], scratch, spared, key, limit)
                if axis < 0:  # the best leaf of every tree is that of the nearest point
                    book.state[node] = TREES if spare < 0.0 else DOUBTFUL
                    break
            else:
                axis, cut = undecided(ground, whole, box)
                if axis < 0:
                    book.state[node] = DOUBTFUL
                    break
            if count[NODES] + 2 > len(book.key):
                push(book, node)
                return FULL
            node, side = divide(ground, book, node, box, axis, cut, limit, scratch, 0, 0, conditions, means.part_of)
            for c in range(conditions):
                count[WORK] += walk_again(
                    ground, forest, forest.gain[c], box, limit, scratch.best[c], scratch, stack, axis, cut, side
                )
                refuted = add_up(means, forest.gain, c, scratch.best[c], room.total) < -means.clear or refuted


@compiled
def corners(
    ground: Ground, forest: Forest, means: Means, book: Book, nodes: Array, box: Box, limit: int, stack: Stack
) -> Array:
    """What the leaves of each member add up to at most in boxes, shape (boxes, C, K)."""
    conditions, members = means.places.shape
    found = np.zeros((len(nodes), conditions, members), np.int64)
    for i in range(len(nodes)):
        load(ground, book, nodes[i], box)
        measure(ground, box)
        for t in range(len(forest.roots)):
            root = forest.roots[t]
            near = leaf_of(ground, forest, root, box.near)
            for c in range(conditions):
                best = best_leaf(ground, forest, forest.gain[c], root, box, limit, near, stack)
                found[i, c, means.owner[t]] += forest.gain[c, best]
    return found
