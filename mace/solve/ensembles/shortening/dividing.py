"""Compiled division of a box into boxes that trees close, each cut looked at from both sides before it is made.

In:  the arrays of a question, what a box reaches nearer than a claim, and room for boxes that wait (`Waiting`).
Out: a proof tree in preorder (`Written`); boxes that nothing closes here, and no cut makes smaller, are left to others.
Promise: a box is closed as `TREES` only where its best leaves do not add up to the goal, as `DISTANCE` or `CHANGES`
only where all of it is too far away or changes too much.

A search by distance takes the box whose nearest point is nearest, and cuts off what would refute that. Here the
distance is known. A box is cut where both sides lose most: what a side takes from the best leaf of every tree is added
up for all cuts of an axis in one walk over the leaves that the box reaches. A box costs as much as ten of a search, and
a proof has a tenth of the boxes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Aim, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, measure, side_of
from mace.solve.ensembles.shortening.leaves import Reached, half

DONE, PAUSED, FULL = 0, 1, 2
SPLIT, TREES, DISTANCE, CHANGES, OTHER = 0, 1, 2, 3, 4
NOTHING = -(2**62)
LEFT_OVER = 4000  # boxes
LEAST = 1e-3  # what a side counts that loses nothing, as a part of what closes a box


class Waiting(NamedTuple):
    """Boxes that wait, the next one last. W places, J axes, L leaves.

    low, high: (W, J) cells or masks. alive: (W, L) which leaves the box may reach; leaves: (W,) how many these are.
    size:      (1,) how many boxes wait.
    """

    low: Array
    high: Array
    alive: Array
    leaves: Array
    size: Array


class Written(NamedTuple):
    """Nodes in preorder. N places, J axes.

    kind: (N,) as above; axis, cut: (N,) of a split: the cell up to which, or the level that, the first side has.
    box:  (N,) of `OTHER` which of the boxes left over it is. low, high: (`LEFT_OVER`, J) these boxes.
    size: (2,) how many nodes there are, and how many boxes were left over.
    """

    kind: Array
    axis: Array
    cut: Array
    box: Array
    low: Array
    high: Array
    size: Array


class Losses(NamedTuple):
    """Room for what is looked at of one box. L leaves, T trees, C comparisons, K cells of an axis or levels.

    alive, cost: (L,) the leaves that the box reaches, tree by tree, and their costs. best: (C, T) the best gains.
    first, second: (K,) what the sum loses on the side up to a cell, or of a level, and on the other one.
    one, other: (K,) the best gain of a tree among leaves that begin, or end, there.
    """

    alive: Array
    cost: Array
    best: Array
    first: Array
    second: Array
    one: Array
    other: Array


def new_waiting(places: int, low: Array, high: Array, leaves: int) -> Waiting:
    """Room for boxes that wait, with one in it, low..high, which may reach all leaves."""
    alive = np.empty((places, leaves), np.int32)
    alive[0] = np.arange(leaves)
    lows, highs = np.empty((places, len(low)), np.int64), np.empty((places, len(low)), np.int64)
    lows[0], highs[0] = low, high
    return Waiting(lows, highs, alive, np.full(places, leaves), np.ones(1, np.int64))


def new_written(places: int, axes: int) -> Written:
    """Room for the nodes of a proof, of which none is written yet."""
    kind, axis, cut, box = (np.zeros(places, np.int64) for _ in range(4))
    boxes = np.empty((LEFT_OVER, axes), np.int64), np.empty((LEFT_OVER, axes), np.int64)
    return Written(kind, axis, cut, box, *boxes, np.zeros(2, np.int64))


def new_losses(ground: Ground, reached: Reached, compares: int) -> Losses:
    """Room for what is looked at of one box after the other, see `Losses`."""
    grids = np.where(ground.grid, ground.high - ground.low + 1, 0)
    widest = max(int(grids.max(initial=0)), ground.order.shape[1]) + 1
    leaves, trees = len(reached.leaf), len(reached.first) - 1
    sums = np.empty(widest), np.empty(widest)
    gains = np.empty(widest, np.int64), np.empty(widest, np.int64)
    best = np.empty((compares, trees), np.int64)
    return Losses(np.empty(leaves, np.int32), np.empty(leaves, np.int64), best, *sums, *gains)


@lean
def still_reached(
    ground: Ground, reached: Reached, box: Box, limit: int, alive: Array, count: int, room: Losses
) -> int:
    """Write down which of some leaves a box reaches at a cost < limit, with their costs; returns how many."""
    found = 0
    for place in range(count):
        leaf = np.int64(alive[place])
        total, largest = box.total[0], box.total[1]
        for s in range(reached.sides[leaf], reached.sides[leaf + 1]):
            axis = reached.axis[s]
            if ground.grid[axis]:
                low, high = max(box.low[axis], reached.low[s]), min(box.high[axis], reached.high[s])
                if low > high:
                    total = limit
                    break
            else:
                low, high = box.low[axis] & reached.low[s], box.high[axis]
                if low == 0:
                    total = limit
                    break
            if low == box.low[axis] and high == box.high[axis]:
                continue
            own = side_of(ground, axis, low, high)
            total += own.part - box.part[axis]
            largest = max(largest, own.top)
        if total + largest < limit:
            room.alive[found], room.cost[found] = leaf, total + largest
            found += 1
    return found


@lean
def add_up(gain: Array, tree: Array, count: int, c: int, room: Losses) -> Any:
    """The best gains of the leaves written down, for one comparison, and their sum; `NOTHING` if a tree has no leaf."""
    trees = room.best.shape[1]
    for t in range(trees):
        room.best[c, t] = NOTHING
    for place in range(count):
        leaf = np.int64(room.alive[place])
        room.best[c, tree[leaf]] = max(room.best[c, tree[leaf]], gain[c, leaf])
    total: Any = np.int64(0)
    for t in range(trees):
        if room.best[c, t] == NOTHING:
            return np.int64(NOTHING)
        total += room.best[c, t]
    return total


@lean
def dear(ground: Ground, axis: int, cell: int, near: Any, spare: Any) -> bool:
    """Whether a cell costs so much more than another one that nothing is left."""
    part = side_of(ground, axis, cell, cell).part - side_of(ground, axis, near, near).part
    return bool(part >= spare)


@lean
def lose_on_grid(
    ground: Ground, reached: Reached, gain: Array, tree: Array, count: int, c: int, box: Box, limit: int, axis: int,
    room: Losses,
) -> None:  # fmt: skip
    """What the two sides of every cut of a grid axis lose of the sum of the best leaves.

    Long because the leaves of a tree are looked at in one loop, which no call may slow down.
    """
    low, high = box.low[axis], box.high[axis]
    size = high - low + 1
    for k in range(size):
        room.first[k], room.second[k] = 0.0, 0.0
    place = 0
    while place < count:
        t = tree[room.alive[place]]
        for k in range(size):
            room.one[k], room.other[k] = NOTHING, NOTHING
        while place < count and tree[room.alive[place]] == t:
            leaf = np.int64(room.alive[place])
            begin, end = low, high
            for s in range(reached.sides[leaf], reached.sides[leaf + 1]):
                if reached.axis[s] == axis:
                    begin, end = max(low, reached.low[s]), min(high, reached.high[s])
            near = min(max(ground.start[axis], begin), end)
            spare = limit - room.cost[place]
            while end > near and dear(ground, axis, end, near, spare):
                end -= 1
            while begin < near and dear(ground, axis, begin, near, spare):
                begin += 1
            room.one[begin - low] = max(room.one[begin - low], gain[c, leaf])
            room.other[end - low] = max(room.other[end - low], gain[c, leaf])
            place += 1
        so_far: Any = np.int64(NOTHING)
        for k in range(size):
            so_far = max(so_far, room.one[k])
            room.first[k] += float(room.best[c, t] - so_far)
        so_far = np.int64(NOTHING)
        for k in range(size - 1, 0, -1):
            so_far = max(so_far, room.other[k])
            room.second[k - 1] += float(room.best[c, t] - so_far)


@lean
def lose_on_levels(
    reached: Reached, gain: Array, tree: Array, count: int, c: int, mask: Any, levels: int, axis: int, room: Losses
) -> None:
    """What each level of an axis loses of the sum of the best leaves, and what all others lose."""
    for k in range(levels):
        room.first[k], room.second[k] = 0.0, 0.0
    place = 0
    while place < count:
        t = tree[room.alive[place]]
        for k in range(levels):
            room.one[k], room.other[k] = NOTHING, NOTHING
        while place < count and tree[room.alive[place]] == t:
            leaf = np.int64(room.alive[place])
            own = mask
            for s in range(reached.sides[leaf], reached.sides[leaf + 1]):
                if reached.axis[s] == axis:
                    own = mask & reached.low[s]
            for k in range(levels):
                if (own >> k) & 1:
                    room.one[k] = max(room.one[k], gain[c, leaf])
                if own & ~(np.int64(1) << k) != 0:
                    room.other[k] = max(room.other[k], gain[c, leaf])
            place += 1
        for k in range(levels):
            room.first[k] += float(room.best[c, t] - room.one[k])
            room.second[k] += float(room.best[c, t] - room.other[k])


@compiled
def best_cut(
    ground: Ground, reached: Reached, gain: Array, tree: Array, count: int, c: int, deficit: float, box: Box,
    limit: int, room: Losses,
) -> tuple[int, int]:  # fmt: skip
    """The axis, and the cell or level, where both sides lose most; axis -1 where no cut makes any side lose."""
    chosen, at, highest = -1, -1, 0.0
    for axis in range(len(ground.grid)):
        low, levels = box.low[axis], ground.order.shape[1]
        if ground.grid[axis]:
            size = box.high[axis] - low
            if size > 0:
                lose_on_grid(ground, reached, gain, tree, count, c, box, limit, axis, room)
        else:
            size = levels if low & (low - 1) != 0 else 0
            if size > 0:
                lose_on_levels(reached, gain, tree, count, c, low, levels, axis, room)
        for k in range(size):
            if not ground.grid[axis] and (low >> k) & 1 == 0:
                continue
            one, other = min(room.first[k], deficit), min(room.second[k], deficit)
            if one <= 0.0 and other <= 0.0:
                continue
            value = max(one, LEAST * deficit) * max(other, LEAST * deficit)
            if value > highest:
                chosen, at, highest = axis, low + k if ground.grid[axis] else k, value
    return chosen, at


@lean
def closed(gain: Array, aim: Aim, tree: Array, count: int, room: Losses) -> tuple[int, int]:
    """(-1, 0) where every part of the goal is out of reach; else the comparison nearest to that, and what it lacks.

    (-2, 0) where a part has none: that is never out of reach.
    """
    for p in range(len(aim.begin) - 1):
        if aim.begin[p] == aim.begin[p + 1]:
            return -2, 0
        chosen, spare = -1, np.int64(0)
        for i in range(aim.begin[p], aim.begin[p + 1]):
            c = aim.part_of[i]
            total = add_up(gain, tree, count, c, room)
            if total < aim.need[c]:
                chosen = -2
                break
            if chosen < 0 or total - aim.need[c] < spare:
                chosen, spare = c, total - aim.need[c]
        if chosen >= 0:
            return int(chosen), int(spare)
    return -1, 0


@compiled
def wait(ground: Ground, waiting: Waiting, box: Box, axis: int, at: Any, second: int, count: int, alive: Array) -> None:
    """Put one side of a box among those that wait."""
    place = waiting.size[0]
    waiting.low[place], waiting.high[place] = box.low, box.high
    side = half(ground, axis, at if ground.grid[axis] else np.int64(1) << at, box.low[axis], box.high[axis], second)
    waiting.low[place, axis], waiting.high[place, axis] = side.low, side.high
    waiting.alive[place, :count] = alive[:count]
    waiting.leaves[place] = count
    waiting.size[0] += 1


@compiled
def explore(
    ground: Ground, aim: Aim, reached: Reached, gain: Array, tree: Array, limit: int, most_changes: int, box: Box,
    waiting: Waiting, written: Written, room: Losses, budget: int,
) -> int:  # fmt: skip
    """Close or divide boxes that wait, so many at most; `DONE` when none is left, `FULL` when there is no room.

    gain: (C, L) of the leaves; tree: (L,) whose they are; most_changes: -1 for any number.
    """
    for _ in range(budget):
        if waiting.size[0] == 0:
            return DONE
        place = written.size[0]
        if place == len(written.kind) or written.size[1] == len(written.low):
            return FULL
        waiting.size[0] -= 1
        own = waiting.size[0]
        box.low[:], box.high[:] = waiting.low[own], waiting.high[own]
        changed = measure(ground, box)
        written.size[0] += 1
        if box.total[0] + box.total[1] >= limit:
            written.kind[place] = DISTANCE
            continue
        if 0 <= most_changes < changed:
            written.kind[place] = CHANGES
            continue
        count = still_reached(ground, reached, box, limit, waiting.alive[own], waiting.leaves[own], room)
        c, spare = closed(gain, aim, tree, count, room)
        if c == -1:
            written.kind[place] = TREES
            continue
        axis, at = -1, -1
        if c >= 0 and waiting.size[0] + 2 <= len(waiting.leaves):
            axis, at = best_cut(ground, reached, gain, tree, count, c, float(spare) + 1.0, box, limit, room)
        if axis < 0:
            left = written.size[1]
            written.kind[place], written.box[place] = OTHER, left
            written.low[left], written.high[left] = box.low, box.high
            written.size[1] += 1
            continue
        written.kind[place], written.axis[place], written.cut[place] = SPLIT, axis, at
        for second in (1, 0):
            wait(ground, waiting, box, axis, at, second, count, room.alive)
    return PAUSED
