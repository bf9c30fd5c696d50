"""Compiled walks through trees: the leaf of a point, the best leaf of a box, a forest cut down to a ball.

In:  the arrays of `cells.py`, a box in cells with its scaled costs.
Out: leaves.
Promise: `best_leaf` returns the largest gain over all leaves whose part of the box has a scaled cost below `limit`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Aim, Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array


class Box(NamedTuple):
    """A box and what it costs. All of shape (J,) but `total`.

    low, high: cells of a grid axis; for a level axis `low` is the mask.
    part, top: scaled costs of each axis.
    near:      the cell or level nearest to the start.
    total:     (2,) the sum of `part` and the largest `top`: the box's key is their sum.
    """

    low: Array
    high: Array
    part: Array
    top: Array
    near: Array
    total: Array


class Nearest(NamedTuple):
    """What a box has on one axis: the cell or level nearest to the start, and what it costs."""

    near: Any
    part: Any
    top: Any


# Columns of the two arrays of a `Stack`.
STEPS, AXIS, LOW, HIGH, PART, TOTAL, LARGEST, NODE, PARENT = 0, 1, 2, 3, 4, 5, 6, 7, 8
OF_AXIS, OLD_LOW, OLD_HIGH, OLD_PART = 0, 1, 2, 3


class Stack(NamedTuple):
    """Room for one depth-first walk.

    rows:  a row for each child put off: how many narrowings stand above it (STEPS), the side of an AXIS that it has,
           LOW and HIGH, with what that costs, PART, TOTAL and LARGEST, the NODE itself and, in `shrink`, its PARENT.
    trail: a row for each narrowing: the axis and what its side and cost were before.
    """

    rows: Array
    trail: Array


def new_box(axes: int) -> Box:
    low, high, part, top, near = (np.zeros(axes, np.int64) for _ in range(5))
    return Box(low, high, part, top, near, np.zeros(2, np.int64))


def new_stack(depth: int) -> Stack:
    return Stack(np.zeros((depth + 4, 9), np.int64), np.zeros((depth + 4, 4), np.int64))


@lean
def cheapest(ground: Ground, axis: int, mask: int) -> int:
    """The level of a mask that is nearest to the start."""
    for place in range(ground.order.shape[1]):
        level = ground.order[axis, place]
        if level < 0:
            break
        if (mask >> level) & 1:
            return int(level)
    return -1


@lean
def lost(ground: Ground, axis: int, low: Any, high: Any) -> bool:
    """Whether "missing" lies in the cells low..high of a grid axis and is nearer to the start than all the others."""
    return bool(low >= ground.turn[axis] and high == ground.high[axis])


@lean
def side_of(ground: Ground, axis: int, low: Any, high: Any) -> Nearest:
    """The side low..high of a grid axis, or the mask `low` of levels, which is not empty."""
    if not ground.grid[axis]:
        near = cheapest(ground, axis, low)
        return Nearest(np.int64(near), ground.level_part[axis, near], ground.level_top[axis, near])
    near, g = ground.start[axis], ground.base[axis]
    if low > near:
        near = high if lost(ground, axis, low, high) else low
        return Nearest(near, ground.part[g + near - 1], ground.top[g + near - 1])
    if high < near:
        return Nearest(high, ground.part[g + high], ground.top[g + high])
    return Nearest(near, np.int64(0), np.int64(0))


@lean
def measure(ground: Ground, box: Box) -> int:
    """Fill in costs and nearest cells of a box; returns how many axes exclude their start."""
    total = largest = 0
    changed = 0
    for j in range(len(ground.grid)):
        side = side_of(ground, j, box.low[j], box.high[j])
        # Levels that cost nothing may be others than the start.
        changed += side.near != ground.start[j] if ground.grid[j] else not (box.low[j] >> ground.start[j]) & 1
        box.near[j] = side.near
        box.part[j] = side.part
        box.top[j] = side.top
        total += side.part
        largest = max(largest, side.top)
    box.total[0] = total
    box.total[1] = largest
    return changed


@lean
def passes(ground: Ground, axis: Any, cut: Any, cell: Any) -> bool:
    """Whether a test sends a cell or level to the left."""
    if ground.grid[axis]:
        return bool(cell <= cut)
    return bool((ground.at[ground.base[axis] + cut] >> cell) & 1)


@lean
def leaf_of(ground: Ground, forest: Forest, node: int, near: Array) -> int:
    """The leaf below `node` that a point (cells and levels) reaches."""
    while forest.test[node, 0] >= 0:
        axis, cut = forest.test[node, 0], forest.test[node, 1]
        node = forest.test[node, 2] if passes(ground, axis, cut, near[axis]) else forest.test[node, 3]
    return node


@lean
def score_of(aim: Aim, value: Array, leaves: Array, output: int) -> float:
    """The library's own float sum of one output over these leaves (rows of `value`), in its order."""
    total = aim.start[output]
    for t in range(len(leaves)):
        total += value[leaves[t], output]
        if aim.single:  # a float32 sum is the rounded double sum: a double has more than twice the digits
            total = np.float64(np.float32(total))
    if aim.divide != 1.0:
        total /= aim.divide
        if aim.single:
            total = np.float64(np.float32(total))
    return float(total)


@lean
def has_goal(aim: Aim, value: Array, leaves: Array) -> bool:
    """Whether the library's own comparisons of its float sums hold for these leaves."""
    for p in range(len(aim.begin) - 1):
        every = True
        for i in range(aim.begin[p], aim.begin[p + 1]):
            c = aim.part_of[i]
            left = score_of(aim, value, leaves, aim.plus[c]) if aim.plus[c] >= 0 else -aim.than[c]
            right = score_of(aim, value, leaves, aim.minus[c]) if aim.minus[c] >= 0 else aim.than[c]
            if aim.plus[c] < 0 and aim.minus[c] < 0:
                left, right = 0.0, aim.than[c]
            if not (left > right or (left == right and not aim.strict[c])):
                every = False
                break
        if every:
            return True
    return False


@lean
def remember(box: Box, trail: Array, steps: Any, axis: Any) -> None:
    """Note an axis's side and cost before they are narrowed."""
    trail[steps, OF_AXIS], trail[steps, OLD_PART] = axis, box.part[axis]
    trail[steps, OLD_LOW], trail[steps, OLD_HIGH] = box.low[axis], box.high[axis]


@lean
def undo(box: Box, trail: Array, steps: Any, kept: Any) -> Any:
    """Take narrowings back, the last one first, until so many are left; returns how many are."""
    while steps > kept:
        steps -= 1
        axis = trail[steps, OF_AXIS]
        box.low[axis], box.high[axis] = trail[steps, OLD_LOW], trail[steps, OLD_HIGH]
        box.part[axis] = trail[steps, OLD_PART]
    return steps


class Halves(NamedTuple):
    """What a test makes of a side: see `halves_of`.

    only:      the child that has all of it (0 left, 1 right), and nothing else is said; -1 where each has some.
    near:      the child with the cell or level that is nearest to the start.
    low, high: its side; far_low, far_high: the other one's.
    part, top: what the other one costs on the axis.
    """

    only: Any
    near: Any
    low: Any
    high: Any
    far_low: Any
    far_high: Any
    part: Any
    top: Any


@lean
def halves_of(ground: Ground, axis: Any, cut: Any, low: Any, high: Any) -> Halves:
    """A side low..high of an axis, or the mask `low`, divided by a test."""
    nothing = np.int64(0)
    if ground.grid[axis]:
        if high <= cut or low > cut:
            return Halves(np.int64(low > cut), nothing, low, high, low, high, nothing, nothing)
        g, near = ground.base[axis] + cut, np.int64(ground.start[axis] > cut)
        if lost(ground, axis, low, high):
            g, near = ground.base[axis] + low - 1, np.int64(1)
        elif lost(ground, axis, cut + 1, high):
            g = ground.base[axis] + high - 1
        part, top = ground.part[g], ground.top[g]
        if near == 0:
            return Halves(np.int64(-1), near, low, cut, cut + 1, high, part, top)
        return Halves(np.int64(-1), near, cut + 1, high, low, cut, part, top)
    mask = ground.at[ground.base[axis] + cut]
    if low & mask == low or low & mask == 0:
        return Halves(np.int64(low & mask == 0), nothing, low, high, low, high, nothing, nothing)
    near = np.int64((mask >> cheapest(ground, axis, low)) & 1 == 0)
    if near == 1:
        mask = ~mask
    level = cheapest(ground, axis, low & ~mask)
    return Halves(
        np.int64(-1), near, low & mask, high, low & ~mask, high, ground.level_part[axis, level],
        ground.level_top[axis, level],
    )  # fmt: skip


@lean
def put_off(
    rows: Array,
    waiting: Any,
    steps: Any,
    axis: Any,
    low: Any,
    high: Any,
    part: Any,
    total: Any,
    largest: Any,
    node: Any,
) -> None:
    """Note a child for later: its side of the axis and what that costs."""
    rows[waiting, STEPS], rows[waiting, AXIS], rows[waiting, LOW], rows[waiting, HIGH] = steps, axis, low, high
    rows[waiting, PART], rows[waiting, TOTAL], rows[waiting, LARGEST] = part, total, largest
    rows[waiting, NODE] = node


@lean
def go_on(box: Box, stack: Stack, waiting: Any, steps: Any) -> Any:
    """Narrow the box to a child that was put off; returns how many narrowings stand now."""
    rows = stack.rows
    steps = undo(box, stack.trail, steps, rows[waiting, STEPS])
    axis = rows[waiting, AXIS]
    remember(box, stack.trail, steps, axis)
    box.low[axis], box.high[axis], box.part[axis] = rows[waiting, LOW], rows[waiting, HIGH], rows[waiting, PART]
    return steps + 1


@lean
def best_leaf(
    ground: Ground, forest: Forest, gain: Array, node: int, box: Box, limit: int, found: int, stack: Stack
) -> int:
    """The leaf with the largest gain below `node`, in the box and at a cost < limit; `found` if none has more.

    Leaves `box` as it was. Invariant: `trail` undoes every narrowing above the current node.
    """
    best = gain[found]
    total, largest = box.total[0], box.total[1]
    rows, trail = stack.rows, stack.trail
    waiting = steps = 0
    while True:
        descend = gain[node] > best
        if descend and forest.test[node, 0] < 0:
            best, found = gain[node], node
            descend = False
        if descend:
            axis = forest.test[node, 0]
            halves = halves_of(ground, axis, np.int64(forest.test[node, 1]), box.low[axis], box.high[axis])
            if halves.only >= 0:
                node = forest.test[node, 2 + halves.only]
                continue
            close, far = forest.test[node, 2 + halves.near], forest.test[node, 3 - halves.near]
            part = box.part[axis]
            far_total, far_largest = total - part + halves.part, max(largest, halves.top)
            remember(box, trail, steps, axis)
            node = close
            if far_total + far_largest < limit and gain[far] > best:
                if gain[far] > gain[close]:  # the more promising child first: it makes `best` large early
                    put_off(rows, waiting, steps, axis, halves.low, halves.high, part, total, largest, close)
                    total, largest, node = far_total, far_largest, far
                    box.low[axis], box.high[axis], box.part[axis] = halves.far_low, halves.far_high, halves.part
                else:
                    far_low, far_high = halves.far_low, halves.far_high
                    put_off(rows, waiting, steps, axis, far_low, far_high, halves.part, far_total, far_largest, far)
                waiting += 1
            if node == close:
                box.low[axis], box.high[axis] = halves.low, halves.high
            steps += 1
            continue
        # This subtree is done: take the last child that was put off and still promises more.
        while waiting > 0 and gain[rows[waiting - 1, NODE]] <= best:
            waiting -= 1
        if waiting == 0:
            break
        waiting -= 1
        steps = go_on(box, stack, waiting, steps)
        total, largest, node = rows[waiting, TOTAL], rows[waiting, LARGEST], rows[waiting, NODE]
    undo(box, trail, steps, 0)
    return found


def ball(ground: Ground, forest: Forest, depth: int, limit: int) -> Forest:
    """What allowed points at a scaled distance below a limit may reach of a forest; depth: of its deepest tree."""
    box = new_box(len(ground.grid))
    box.low[:], box.high[:] = ground.low, ground.high
    measure(ground, box)
    return shrink(ground, forest, box, limit, new_stack(depth))


@lean
def go_left(
    box: Box, rows: Array, waiting: Any, steps: Any, axis: Any, halves: Halves, total: Any, largest: Any, right: Any
) -> tuple[Any, Any]:
    """Narrow the box to the left half of a side, while the right child waits with the other.

    total, largest: what the box costs; returns what it costs now.
    """
    part = box.part[axis]
    far_total, far_largest = total - part + halves.part, max(largest, halves.top)
    if halves.near == 0:
        far_low, far_high = halves.far_low, halves.far_high
        put_off(rows, waiting, steps, axis, far_low, far_high, halves.part, far_total, far_largest, right)
        box.low[axis], box.high[axis] = halves.low, halves.high
        return total, largest
    put_off(rows, waiting, steps, axis, halves.low, halves.high, part, total, largest, right)
    box.low[axis], box.high[axis], box.part[axis] = halves.far_low, halves.far_high, halves.part
    return far_total, far_largest


@compiled
def gains_of_part(gain: Array, test: Array, origin: Array) -> Array:
    """The largest gains below the nodes of a part of a forest; origin: their numbers in that, whose gains are given."""
    count = len(origin)
    found = np.empty((len(gain), count), np.int64)
    for c in range(len(gain)):
        for node in range(count - 1, -1, -1):  # children have larger numbers
            if test[node, 0] < 0:
                found[c, node] = gain[c, origin[node]]
            else:
                found[c, node] = max(found[c, test[node, 2]], found[c, test[node, 3]])
    return found


@compiled
def shrink(ground: Ground, forest: Forest, box: Box, limit: int, stack: Stack) -> Forest:
    """The forest without what lies outside the box or at a cost >= limit, numbered along the walk.

    forest: a whole one, or one that was shrunk to a larger limit.
    A test with one side left is skipped, so that a leaf's path may be shorter than in the whole forest. The nearest
    point of any box inside reaches the same leaf as in the whole forest, as long as it costs less than limit.
    """
    size = len(forest.up)
    test, up = np.empty((size, 4), np.int32), np.empty(size, np.int32)
    origin = np.empty(size, np.int32)  # numbers in the forest that is given
    roots = np.empty(len(forest.roots), np.int32)
    rows, trail = stack.rows, stack.trail
    count = 0
    for t in range(len(forest.roots)):
        roots[t] = count
        node: Any = np.int64(forest.roots[t])
        total, largest = box.total[0], box.total[1]
        waiting = steps = 0
        parent: Any = np.int64(-1)
        side = 2
        while True:
            axis, cut = forest.test[node, 0], np.int64(forest.test[node, 1])
            if axis >= 0:
                halves = halves_of(ground, axis, cut, box.low[axis], box.high[axis])
                if halves.only >= 0:
                    node = forest.test[node, 2 + halves.only]
                    continue
                remember(box, trail, steps, axis)
                if total - box.part[axis] + halves.part + max(largest, halves.top) >= limit:  # the near side only
                    steps += 1
                    box.low[axis], box.high[axis] = halves.low, halves.high
                    node = forest.test[node, 2 + halves.near]
                    continue
            # Emit the node, then go left; the right child waits.
            new = count
            count += 1
            up[new], origin[new] = parent, node
            test[new, 0], test[new, 1], test[new, 2], test[new, 3] = -1, -1, -1, -1
            if parent >= 0:
                test[parent, side] = new
            if axis >= 0:
                test[new, 0], test[new, 1] = axis, cut
                right = forest.test[node, 3]
                total, largest = go_left(box, rows, waiting, steps, axis, halves, total, largest, right)
                rows[waiting, PARENT] = new
                steps, waiting = steps + 1, waiting + 1
                parent, side, node = new, 2, forest.test[node, 2]
                continue
            if waiting == 0:
                break
            waiting -= 1
            steps = go_on(box, stack, waiting, steps)
            total, largest, node = rows[waiting, TOTAL], rows[waiting, LARGEST], rows[waiting, NODE]
            parent, side = rows[waiting, PARENT], 3
        undo(box, trail, steps, 0)
    gain = gains_of_part(forest.gain, test, origin[:count])
    for node in range(count):
        origin[node] = forest.leaf[origin[node]]
    return Forest(test[:count].copy(), up[:count].copy(), roots, gain, forest.value, origin[:count].copy())
