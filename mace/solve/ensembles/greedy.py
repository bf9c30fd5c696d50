"""A first point with the goal: climb from the start one feature at a time, then pull back.

In:  the arrays of `cells.py`.    Out: cells of a point that has the goal, or none.
Promise: nothing but a good guess; the caller checks the point by the model's own sums.
Once a point is known, only what nearer ones may reach of the trees is walked: what is found beyond is not taken.
How: with all other features held, the score is a step function of one feature; one walk per tree, branching on that
feature only, gives the whole function.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from mace.base.deadline import Deadline, TimeOverError, now
from mace.solve.compiled import interruptible, lean
from mace.solve.ensembles.cells import NO_LIMIT, NO_TURN, Aim, Forest, Ground, Grounded
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.walk import ball, has_goal, leaf_of

STUCK, GOING, REACHED = 0, 1, 2
ROUNDS = 8  # steps of a climb between two looks at the clock
MANY = 20_000  # features times trees: of so many one step may take a second
LOOK = 0.05  # seconds between two looks at the clock then
POWERS = (0.6, 1.0, 0.2)  # of the cost against the gain: points of the first are hardly ever farther than the others'


class SweepRoom(NamedTuple):
    """Room for the walks of a sweep, for its sums by cell, and for a leaf of every tree."""

    rows: Array
    total: Array
    leaves: Array


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
def sweep(
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, axis: int, limit: int, rows: Array, total: Array
) -> Window:
    """Scaled sums of each comparison of a part for every level of an axis, or its cells below a limit: which these are.

    At the point's own cell, where that is none of them, the sums are 0.
    """
    cells = window(ground, axis, limit)
    first, last = aim.begin[part], aim.begin[part + 1]
    total[: last - first, cells.first : cells.end + 1] = 0
    low_end, high_end = ground.low[axis], ground.high[axis]
    if ground.grid[axis]:
        low_end, high_end = cells.first, cells.end - 1
    for t in range(len(forest.roots)):
        rows[0, 0], rows[0, 1], rows[0, 2] = forest.roots[t], low_end, high_end
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
                    for level in range(cells.end):
                        if (low >> level) & 1:
                            total[i - first, level] += gain
    if ground.grid[axis]:
        running(total, last - first, cells)
    if not cells.first <= point[axis] < cells.end:
        total[: last - first, point[axis]] = 0
    return cells


@lean
def running(total: Array, count: int, cells: Window) -> None:
    """Add up, in each of some rows, what changes from cell to cell."""
    for i in range(count):
        for cell in range(cells.first + 1, cells.end):
            total[i, cell] += total[i, cell - 1]


@lean
def allowed(ground: Ground, axis: int, cell: int) -> bool:
    """Whether a cell or level lies in the box of all allowed points."""
    if ground.grid[axis]:
        return bool(ground.low[axis] <= cell <= ground.high[axis])
    return bool((ground.low[axis] >> cell) & 1)


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
        leaves[t] = forest.leaf[leaf_of(ground, forest, forest.roots[t], point)]
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
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, limit: int, rows: Array, total: Array,
    leaves: Array, begin: int, end: int,
) -> bool:  # fmt: skip
    """Move one of some features after the other, once, to its cheapest cell that keeps the goal; whether any moved."""
    moved = False
    for axis in range(begin, end):
        before = point[axis]
        if before == ground.start[axis]:
            continue
        cells = sweep(ground, forest, aim, part, point, axis, limit, rows, total)
        best = cost_of(ground, point)
        chosen = before
        for cell in range(cells.first, cells.end):
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
    ground: Ground, forest: Forest, aim: Aim, part: int, power: float, most_changes: int, limit: int, rows: Array,
    total: Array, leaves: Array, point: Array, rounds: int,
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
            cells = sweep(ground, forest, aim, part, point, axis, limit, rows, total)
            lack = missing(aim, part, total, before)
            for cell in range(cells.first, cells.end):
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
    """The cheapest point found by climbing to each part of the goal, and from a given point.

    Other weights of cost against gain are tried as long as no point is known.
    most_changes: -1 for any number. given: cells of a point with the goal, empty where none is known.
    Returns cells; None if no point was found before the deadline.
    """
    ground, forest, aim = grounded.ground, grounded.forest, grounded.aim
    rows, total, leaves = room(grounded)
    best: Array | None = None
    reached: Array | None = None
    limit = NO_LIMIT

    def reach(part: int, power: float) -> Array | None:
        point = ground.start.copy()
        for begin, end in strides(6 * len(point) + 6, ROUNDS, ground, forest, deadline):
            ended = climb(
                ground, forest, aim, part, power, most_changes, limit, rows, total, leaves, point, end - begin
            )
            if ended != GOING:
                return point if ended == REACHED else None
        return None

    with suppress(TimeOverError), interruptible(deadline):
        for part in range(len(aim.begin) - 1):
            powers = POWERS if best is None else POWERS[:1]
            climbed = (point for power in powers if (point := reach(part, power)) is not None)
            for point in (next(climbed, None), given.copy() if len(given) else None):
                if point is None:
                    continue
                reached = point.copy()
                pull_in(ground, forest, aim, part, point, limit, (rows, total, leaves), deadline)
                if best is None or cost_of(ground, point) < cost_of(ground, best):
                    # What is farther is of no interest, and in what is left of the forest all goes faster.
                    limit = int(cost_of(ground, point)) + grounded.width + 1
                    forest = ball(ground, forest, grounded.depth, limit)
                    best = point
    return reached if best is None else best


def from_near(
    grounded: Grounded, forest: Forest, limit: int, most_changes: int, given: Array, part: int, deadline: Deadline,
    power: float = 1.0,
) -> Array | None:  # fmt: skip
    """The point found by climbing from given cells to a part of the goal and pulling back; None if that leads to none.

    forest: what points at a scaled distance below the limit may reach of it; what is found beyond may lack the goal.
    power:  of the cost against the gain.
    """
    ground, aim = grounded.ground, grounded.aim
    rows, total, leaves = room(grounded)
    point, ended = given.copy(), GOING
    if accepted(ground, forest, aim, point, leaves):
        ended = REACHED
    parts = strides(6 * len(point) + 6, ROUNDS, ground, forest, deadline)
    while ended == GOING and (bounds := next(parts, None)) is not None:
        left = bounds[1] - bounds[0]
        ended = climb(ground, forest, aim, part, power, most_changes, limit, rows, total, leaves, point, left)
    if ended != REACHED:
        return None
    pull_in(ground, forest, aim, part, point, limit, (rows, total, leaves), deadline)
    return point


def pull_in(
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, limit: int, room: tuple[Array, Array, Array],
    deadline: Deadline,
) -> None:  # fmt: skip
    """Pull a point back, in place, until no feature moves or the deadline is over."""
    moved = True
    while moved:
        moved = False  # nor is anything once the deadline is over
        for begin, end in strides(len(point), len(point), ground, forest, deadline):
            moved |= pull_back(ground, forest, aim, part, point, limit, *room, begin, end)


def strides(count: int, longest: int, ground: Ground, forest: Forest, deadline: Deadline) -> Iterator[tuple[int, int]]:
    """Begins and ends of parts of so many steps, until the deadline is over; short ones where steps are long."""
    many = len(ground.start) * len(forest.roots) > MANY
    begin, length = 0, 1 if many else longest
    while begin < count and not deadline.over:
        began, end = now(), min(begin + length, count)
        yield begin, end
        begin = end
        if many:
            length = min(2 * length, longest) if now() - began < LOOK else max(length // 2, 1)


def room(grounded: Grounded) -> SweepRoom:
    """Room for what the climbs and sweeps of one question need."""
    ground = grounded.ground
    ends = [*ground.base[1:].tolist(), len(ground.at)]
    widest = max([ground.order.shape[1] + 2, 4, *(end - base + 3 for base, end in zip(ground.base, ends, strict=True))])
    return SweepRoom(
        np.zeros((grounded.depth + 4, 3), np.int64),
        np.zeros((int(np.diff(grounded.aim.begin).max(initial=0)), widest), np.int64),  # one for each of a part
        np.zeros(len(grounded.forest.roots), np.int64),
    )
