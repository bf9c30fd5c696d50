"""Which leaves of trees the box of all allowed points reaches nearer than a claim, and what their paths leave of axes.

In:  the arrays of a question, the box, the scaled claim.
Out: `reach`: the leaves with their boxes, and which tests lie on the way to nodes that are reached.
Promise: what is left out is not reached for certain: costs are rounded down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, side_of


class Half(NamedTuple):
    """What a box has on an axis: cells low..high, or the mask `low` of levels; `empty` is 1 where that is nothing."""

    low: Any
    high: Any
    empty: Any


class Reached(NamedTuple):
    """What the box of all allowed points reaches nearer than the claim. L leaves, S sides of their boxes.

    leaf:    (L,) their nodes in the forest, tree by tree; first: (T + 1,) where each tree's begin.
    key:     (L,) the scaled cost of each leaf's box.
    sides:   (L + 1,) where the sides of each leaf's box begin in
    axis, low, high: (S,) what its path leaves of an axis, in cells; for levels `low` is the mask.
    visited: (N,) whether a node of the forest is a test on the way to something that is reached.
    """

    leaf: Array
    first: Array
    key: Array
    sides: Array
    axis: Array
    low: Array
    high: Array
    visited: Array


class Walk(NamedTuple):
    """The nodes of a tree that wait for their turn, the next one last, with their boxes. D at most, J axes.

    node: (D,); low, high, cost: (D, J) cells or masks, and what each costs; total: (D, 2), as of a `Box`.
    """

    node: Array
    low: Array
    high: Array
    cost: Array
    total: Array


@compiled
def enlarged(rows: Array) -> Array:
    """The same rows and as much room again."""
    return np.concatenate((rows, np.empty_like(rows)))


@lean
def half(ground: Ground, axis: int, at: Any, low: Any, high: Any, second: Any) -> Half:
    """One of the two sides into which a cell or a mask divides what a box has on an axis."""
    if not ground.grid[axis]:
        low = low & ~at if second == 1 else low & at
        return Half(low, high, int(low == 0))
    if second == 1:
        low = max(low, at + 1)
    else:
        high = min(high, at)
    return Half(low, high, int(low > high))


@lean
def put_children(ground: Ground, forest: Forest, limit: int, here: int, walk: Walk) -> int:
    """Put the children of a node that are reached in its place, the left one above; how many nodes wait then."""
    node = walk.node[here]
    axis, at = forest.test[node, 0], np.int64(forest.test[node, 1])
    at = at if ground.grid[axis] else ground.at[ground.base[axis] + at]
    first, last, old = walk.low[here, axis], walk.high[here, axis], walk.cost[here, axis]
    so_far, largest, waiting = walk.total[here, 0], walk.total[here, 1], here
    for second in (1, 0):
        side = half(ground, axis, at, first, last, second)
        if side.empty == 1:
            continue
        own = side_of(ground, axis, side.low, side.high)
        if so_far - old + own.part + max(largest, own.top) >= limit:
            continue
        if waiting != here:
            for j in range(walk.low.shape[1]):
                walk.low[waiting, j], walk.high[waiting, j] = walk.low[here, j], walk.high[here, j]
                walk.cost[waiting, j] = walk.cost[here, j]
        walk.node[waiting] = forest.test[node, 2 + second]
        walk.low[waiting, axis], walk.high[waiting, axis], walk.cost[waiting, axis] = side.low, side.high, own.part
        walk.total[waiting, 0], walk.total[waiting, 1] = so_far - old + own.part, max(largest, own.top)
        waiting += 1
    return waiting


@compiled
def reach(ground: Ground, forest: Forest, box: Box, limit: int, depth: int) -> Reached:
    """Walk every tree through the root's box, and drop what is empty or at a cost >= limit; as FORMAT.md, 6.1."""
    axes, size, trees = len(ground.grid), len(forest.up), len(forest.roots)
    visited = np.zeros(size, np.bool_)
    leaf, key = np.empty(size, np.int64), np.empty(size, np.int64)
    first, sides = np.zeros(trees + 1, np.int64), np.zeros(size + 1, np.int64)
    of_axis, of_low, of_high = np.empty(4096, np.int64), np.empty(4096, np.int64), np.empty(4096, np.int64)
    low, high = np.empty((depth + 2, axes), np.int64), np.empty((depth + 2, axes), np.int64)
    cost, total = np.empty((depth + 2, axes), np.int64), np.empty((depth + 2, 2), np.int64)
    walk = Walk(np.empty(depth + 2, np.int64), low, high, cost, total)
    count = used = 0
    for t in range(trees):
        walk.node[0], low[0], high[0], cost[0], total[0] = forest.roots[t], box.low, box.high, box.part, box.total
        waiting = 1 if box.total[0] + box.total[1] < limit else 0
        while waiting > 0:
            here, node = waiting - 1, walk.node[waiting - 1]
            if forest.test[node, 0] >= 0:
                visited[node] = True
                waiting = put_children(ground, forest, limit, here, walk)
                continue
            leaf[count], key[count] = node, total[here, 0] + total[here, 1]
            for j in range(axes):
                if low[here, j] != box.low[j] or high[here, j] != box.high[j]:
                    if used == len(of_axis):
                        of_axis, of_low, of_high = enlarged(of_axis), enlarged(of_low), enlarged(of_high)
                    of_axis[used], of_low[used], of_high[used] = j, low[here, j], high[here, j]
                    used += 1
            count += 1
            sides[count] = used
            waiting = here
        first[t + 1] = count
    return Reached(
        leaf[:count].copy(), first, key[:count].copy(), sides[: count + 1].copy(), of_axis[:used].copy(),
        of_low[:used].copy(), of_high[:used].copy(), visited,
    )  # fmt: skip
