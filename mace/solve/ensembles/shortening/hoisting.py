"""Compiled: say of each pruned leaf only once that it is not reached, at the largest box of a proof that does not.

In:  the arrays of a question, a proof in preorder, and the leaves pruned at its nodes, as `pruning` found them.
Out: the same leaves, each at the highest node above whose box does not reach it.
Promise: no more rows than before; what was pruned at a node is pruned there or above.
Why: `pruning` notes a leaf where the search for the best leaf of a tree comes past it, which may be far below the box
that lost it, once in each of many branches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, side_of
from mace.solve.ensembles.shortening.leaves import Reached, half
from mace.solve.ensembles.shortening.pruning import FIRST, REST, SPLIT, Steps

NODE, LEAF = 0, 2  # columns of a row


class Path(NamedTuple):
    """The boxes from the root to a node. D places, J axes.

    node: (D,) their nodes; second: (D,) whether the second child is under way; last: (D,) whether the last one is.
    gone: (D,) whether nothing is left.
    low, high, part, top: (D, J) the boxes and what their sides cost; total: (D, 2) the sum, and the largest.
    """

    node: Array
    second: Array
    last: Array
    gone: Array
    low: Array
    high: Array
    part: Array
    top: Array
    total: Array


def new_path(steps: Steps, box: Box) -> Path:
    """Room for the deepest node of a proof, at its root."""
    depth = deepest(steps.kind) + 1
    low, high, part, top = (np.empty((depth, len(box.low)), np.int64) for _ in range(4))
    low[0], high[0], part[0], top[0] = box.low, box.high, box.part, box.top
    total = np.empty((depth, 2), np.int64)
    total[0] = box.total
    node, second = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    return Path(node, second, np.zeros(depth, np.bool_), np.zeros(depth, np.bool_), low, high, part, top, total)


@compiled
def deepest(kind: Array) -> int:
    """How many splits lie above the deepest node."""
    size, found, depth = len(kind), 0, 0
    last = np.zeros(size + 1, np.bool_)
    for node in range(size):
        found = max(found, depth)
        if kind[node] in (SPLIT, FIRST, REST):
            last[depth] = kind[node] != SPLIT
            depth += 1
            continue
        while depth > 0 and last[depth - 1]:
            depth -= 1
        if depth > 0:
            last[depth - 1] = True
    return found


@compiled
def enter(ground: Ground, steps: Steps, path: Path, depth: int, limit: int) -> None:
    """The box at a depth, from the one above, of which the first or second child is under way."""
    above, node = depth - 1, path.node[depth - 1]
    axis, at = steps.axis[node], steps.at[node]
    path.low[depth], path.high[depth] = path.low[above], path.high[above]
    path.part[depth], path.top[depth], path.total[depth] = path.part[above], path.top[above], path.total[above]
    path.gone[depth] = path.gone[above]
    if path.gone[above]:
        return
    side = half(ground, axis, at, path.low[above, axis], path.high[above, axis], path.second[above])
    if side.empty == 1:
        path.gone[depth] = True
        return
    own = side_of(ground, axis, side.low, side.high)
    path.low[depth, axis], path.high[depth, axis] = side.low, side.high
    path.total[depth, 0] += own.part - path.part[above, axis]
    path.part[depth, axis], path.top[depth, axis] = own.part, own.top
    path.total[depth, 1] = path.top[depth].max()
    path.gone[depth] = path.total[depth, 0] + path.total[depth, 1] >= limit


@lean
def reaches(ground: Ground, reached: Reached, leaf: int, path: Path, depth: int, limit: int) -> bool:
    """Whether the box at a depth reaches a leaf at a cost < limit."""
    if path.gone[depth]:
        return False
    total, largest = path.total[depth, 0], path.total[depth, 1]
    for s in range(reached.sides[leaf], reached.sides[leaf + 1]):
        axis = reached.axis[s]
        low, high = path.low[depth, axis], path.high[depth, axis]
        if ground.grid[axis]:
            first, last = max(low, reached.low[s]), min(high, reached.high[s])
            if first > last:
                return False
        else:
            first, last = low & reached.low[s], high
            if first == 0:
                return False
        if first == low and last == high:
            continue
        own = side_of(ground, axis, first, last)
        total += own.part - path.part[depth, axis]
        largest = max(largest, own.top)
    return bool(total + largest < limit)


@compiled
def hoisted(ground: Ground, reached: Reached, steps: Steps, path: Path, limit: int, pruned: Array) -> Array:
    """The rows (node, tree, leaf), each at the highest node that does not reach its leaf, none twice."""
    order = np.argsort(pruned[:, NODE], kind="mergesort")
    at = np.full(len(reached.leaf), -1, np.int64)  # where a leaf was pruned last
    out = np.empty_like(pruned)
    depth = row = written = 0
    for node in range(len(steps.kind)):
        path.node[depth] = node
        while row < len(order) and pruned[order[row], NODE] == node:
            one = pruned[order[row]]
            row += 1
            # Invariant: the box at `high` does not reach the leaf, and those above `low` do.
            low, high = 0, depth
            while low < high:
                middle = (low + high) >> 1
                if reaches(ground, reached, one[LEAF], path, middle, limit):
                    low = middle + 1
                else:
                    high = middle
            if at[one[LEAF]] != path.node[high]:
                at[one[LEAF]] = path.node[high]
                out[written], out[written, NODE] = one, path.node[high]
                written += 1
        kind = steps.kind[node]
        if kind in (SPLIT, FIRST, REST):
            path.second[depth], path.last[depth] = kind == REST, kind != SPLIT
            depth += 1
            enter(ground, steps, path, depth, limit)
            continue
        while depth > 0 and path.last[depth - 1]:
            depth -= 1
        if depth > 0:
            path.second[depth - 1], path.last[depth - 1] = 1, True
            enter(ground, steps, path, depth, limit)
    return out[:written].copy()
