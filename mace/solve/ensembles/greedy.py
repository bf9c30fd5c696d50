"""A first point with the goal: climb from the start one feature at a time, then pull back.

In:  the arrays of `ensembles_cells`.    Out: cells of a point that has the goal, or none.
Promise: nothing but a good guess; the caller checks the point by the model's own sums.
How: with all other features held, the score is a step function of one feature; one walk per tree, branching on that
feature only, gives the whole function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.solve.compiled import lean
from mace.solve.ensembles.cells import Aim, Forest, Ground, Grounded
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.walk import has_goal, leaf_of

STUCK, GOING, REACHED = 0, 1, 2
ROUNDS = 8  # steps of a climb between two looks at the clock
POWERS = (1.0, 0.6, 0.2, None)  # of the cost against the gain; None: pull back from the given point


class Room(NamedTuple):
    """Room for the walks of a sweep, for its sums by cell, and for a leaf of every tree."""

    rows: Array
    total: Array
    leaves: Array


class Cost(NamedTuple):
    """What a cell adds to the sum, and its part of the largest change."""

    part: Any
    top: Any


@lean
def sweep(
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, axis: int, rows: Array, total: Array
) -> int:
    """Scaled sums of each comparison of a part for every cell or level of one axis; returns how many there are."""
    stop = ground.base[axis + 1] if axis + 1 < len(ground.base) else len(ground.at)
    cells = stop - ground.base[axis] + 1 if ground.grid[axis] else ground.order.shape[1]
    first, last = aim.begin[part], aim.begin[part + 1]
    total[: last - first, : cells + 1] = 0
    for t in range(len(forest.roots)):
        rows[0, 0], rows[0, 1], rows[0, 2] = forest.roots[t], ground.low[axis], ground.high[axis]
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node, low, high = rows[waiting, 0], rows[waiting, 1], rows[waiting, 2]
            while forest.test[node, 0] >= 0:
                tested, cut = forest.test[node, 0], np.int64(forest.test[node, 1])
                left, right = forest.test[node, 2], forest.test[node, 3]
                if ground.grid[tested]:
                    if tested != axis:
                        node = left if point[tested] <= cut else right
                    elif high <= cut:
                        node = left
                    elif low > cut:
                        node = right
                    else:
                        rows[waiting, 0], rows[waiting, 1], rows[waiting, 2] = right, cut + 1, high
                        waiting += 1
                        node, high = left, cut
                else:
                    mask = ground.at[ground.base[tested] + cut]
                    if tested != axis:
                        node = left if (mask >> point[tested]) & 1 else right
                    elif low & mask == low:
                        node = left
                    elif low & mask == 0:
                        node = right
                    else:
                        rows[waiting, 0], rows[waiting, 1], rows[waiting, 2] = right, low & ~mask, 0
                        waiting += 1
                        node, low = left, low & mask
            for i in range(first, last):
                gain = forest.gain[aim.part_of[i], node]
                if ground.grid[axis]:
                    total[i - first, low] += gain
                    total[i - first, high + 1] -= gain
                else:
                    for level in range(cells):
                        if (low >> level) & 1:
                            total[i - first, level] += gain
    if ground.grid[axis]:
        for i in range(last - first):
            for cell in range(1, cells):
                total[i, cell] += total[i, cell - 1]
    return int(cells)


@lean
def allowed(ground: Ground, axis: int, cell: int) -> bool:
    """Whether a cell or level lies in the box of all allowed points."""
    if ground.grid[axis]:
        return bool(ground.low[axis] <= cell <= ground.high[axis])
    return bool((ground.low[axis] >> cell) & 1)


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
def cost_of(ground: Ground, point: Array) -> Any:
    """The scaled distance of a point of cells."""
    total: Any = np.int64(0)
    largest: Any = np.int64(0)
    for j in range(len(point)):
        one = cost(ground, j, point[j])
        total += one.part
        largest = max(largest, one.top)
    return total + largest


@lean
def accepted(ground: Ground, forest: Forest, aim: Aim, point: Array, leaves: Array) -> bool:
    """Whether the model's own sums have the goal at a point of cells."""
    for t in range(len(leaves)):
        leaves[t] = leaf_of(ground, forest, forest.roots[t], point)
    return has_goal(aim, forest.value, leaves)


@lean
def missing(aim: Aim, part: int, total: Array, cell: int) -> float:
    """By how much the sums at a cell miss the goal; 0 when none does."""
    lack = 0.0
    for i in range(aim.begin[part], aim.begin[part + 1]):
        lack += max(0.0, float(aim.need[aim.part_of[i]] - total[i - aim.begin[part], cell]))
    return lack


@lean
def pull_back(
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, rows: Array, total: Array, leaves: Array
) -> bool:
    """Move one feature after the other, once, to its cheapest cell that keeps the goal; whether any moved."""
    moved = False
    for axis in range(len(point)):
        before = point[axis]
        if before == ground.start[axis]:
            continue
        cells = sweep(ground, forest, aim, part, point, axis, rows, total)
        best = cost_of(ground, point)
        chosen = before
        for cell in range(cells):
            if not allowed(ground, axis, cell):
                continue
            if missing(aim, part, total, cell) > 0.0:
                continue
            point[axis] = cell
            price = cost_of(ground, point)
            if price < best and accepted(ground, forest, aim, point, leaves):
                best, chosen = price, cell
        point[axis] = chosen
        moved = moved or chosen != before
    return moved


@lean
def climb(
    ground: Ground, forest: Forest, aim: Aim, part: int, power: float, most_changes: int, rows: Array, total: Array,
    leaves: Array, point: Array, rounds: int,
) -> int:  # fmt: skip
    """Raise the sums at `point` towards one part of the goal, in so many steps at most: STUCK, GOING or REACHED."""
    axes = len(point)
    lack = -1.0
    for _ in range(rounds):
        base = cost_of(ground, point)
        changed = 0
        for j in range(axes):
            changed += point[j] != ground.start[j]
        highest, chosen_axis, chosen_cell, left = 0.0, -1, -1, lack
        done = False
        cheapest_done: Any = np.int64(0)
        for axis in range(axes):
            before = point[axis]
            if most_changes >= 0 and changed >= most_changes and before == ground.start[axis]:
                continue
            cells = sweep(ground, forest, aim, part, point, axis, rows, total)
            lack = missing(aim, part, total, before)
            for cell in range(cells):
                if cell == before or not allowed(ground, axis, cell):
                    continue
                here = missing(aim, part, total, cell)
                if here >= lack:
                    continue
                point[axis] = cell
                price = cost_of(ground, point)
                if here == 0.0:
                    if (not done or price < cheapest_done) and accepted(ground, forest, aim, point, leaves):
                        done, cheapest_done, chosen_axis, chosen_cell = True, price, axis, cell
                elif not done:
                    value = (lack - here) / max(float(price - base), 1.0) ** power
                    if value > highest:
                        highest, chosen_axis, chosen_cell, left = value, axis, cell, here
                point[axis] = before
        if chosen_axis < 0:
            return STUCK
        point[chosen_axis] = chosen_cell
        lack = left
        if done:
            return REACHED
    return GOING


def greedy(grounded: Grounded, most_changes: int, given: Array, deadline: Deadline) -> Array | None:
    """The cheapest point found by climbing with several weights of cost against gain, and from a given point.

    most_changes: -1 for any number. given: cells of a point with the goal, empty where none is known.
    Returns cells; None if no point was found before the deadline.
    """
    ground, forest, aim = grounded.ground, grounded.forest, grounded.aim
    rows, total, leaves = room(grounded)
    best: Array | None = None

    def reach(part: int, power: float) -> Array | None:
        point = ground.start.copy()
        most = 6 * len(point) + 6
        for first in range(0, most, ROUNDS):
            if deadline.over:
                return None
            left = min(ROUNDS, most - first)
            ended = climb(ground, forest, aim, part, power, most_changes, rows, total, leaves, point, left)
            if ended != GOING:
                return point if ended == REACHED else None
        return None

    for part in range(len(aim.begin) - 1):
        for power in POWERS:
            point = given.copy() if power is None and len(given) else None if power is None else reach(part, power)
            if point is None:
                continue
            while not deadline.over and pull_back(ground, forest, aim, part, point, rows, total, leaves):
                pass
            if best is None or cost_of(ground, point) < cost_of(ground, best):
                best = point
    return best


def from_near(grounded: Grounded, most_changes: int, given: Array, deadline: Deadline) -> Array | None:
    """The cheapest point found by climbing from given cells and pulling back; None if that leads to none."""
    ground, forest, aim = grounded.ground, grounded.forest, grounded.aim
    rows, total, leaves = room(grounded)
    best: Array | None = None
    for part in range(len(aim.begin) - 1):
        point, ended = given.copy(), GOING
        if accepted(ground, forest, aim, point, leaves):
            ended = REACHED
        for _ in range(0, 6 * len(point) + 6, ROUNDS):
            if ended == GOING and not deadline.over:
                ended = climb(ground, forest, aim, part, 1.0, most_changes, rows, total, leaves, point, ROUNDS)
        if ended != REACHED:
            continue
        while not deadline.over and pull_back(ground, forest, aim, part, point, rows, total, leaves):
            pass
        if best is None or cost_of(ground, point) < cost_of(ground, best):
            best = point
    return best


def room(grounded: Grounded) -> Room:
    """Room for what the climbs and sweeps of one question need."""
    ground = grounded.ground
    ends = [*ground.base[1:].tolist(), len(ground.at)]
    widest = max([ground.order.shape[1] + 2, 4, *(end - base + 3 for base, end in zip(ground.base, ends, strict=True))])
    return Room(
        np.zeros((grounded.depth + 4, 3), np.int64),
        np.zeros((len(grounded.aim.need), widest), np.int64),
        np.zeros(len(grounded.forest.roots), np.int64),
    )
