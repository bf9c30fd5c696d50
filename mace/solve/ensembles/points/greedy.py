"""A first point with the goal: climb from the start one feature at a time, then pull back.

In:  the arrays of `cells.py`.    Out: cells of a point that has the goal, or none.
Promise: nothing but a good guess; the caller checks the point by the model's own sums.
Once a point is known, only what nearer ones may reach of the trees is walked: what is found beyond is not taken.
How: with all other features held, the score is a step function of one feature (`mace.solve.ensembles.arrays.sweeping`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from mace.base.deadline import Deadline, TimeOverError, now
from mace.solve.compiled import interruptible, lean
from mace.solve.ensembles.arrays.cells import NO_LIMIT, Aim, Forest, Ground, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.sweeping import SweepRoom, cost, follow, room, sweep
from mace.solve.ensembles.arrays.walk import ball, has_goal, leaf_of

STUCK, GOING, REACHED = 0, 1, 2
ROUNDS = 8  # steps of a climb between two looks at the clock
MANY = 20_000  # features times trees: of so many one step may take a second
LOOK = 0.05  # seconds between two looks at the clock then
POWERS = (0.6, 1.0, 0.2)  # of the cost against the gain: points of the first are hardly ever farther than the others'


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
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, limit: int, room: SweepRoom, begin: int,
    end: int,
) -> bool:  # fmt: skip
    """Move one of some features after the other, once, to its cheapest cell that keeps the goal; whether any moved."""
    moved = False
    follow(ground, forest, aim, part, point, room)
    for axis in range(begin, end):
        before = point[axis]
        if before == ground.start[axis]:
            continue
        cells = sweep(ground, forest, aim, part, point, axis, limit, room)
        best = cost_of(ground, point)
        chosen = before
        for cell in range(cells.first, cells.end):
            if not allowed(ground, axis, cell):
                continue
            if missing(aim, part, room.total, cell) > 0.0:
                continue
            point[axis] = cell
            price = cost_of(ground, point)
            if price < best and accepted(ground, forest, aim, point, room.leaves):
                best, chosen = price, cell
        point[axis] = chosen
        if chosen != before:
            moved = True
            follow(ground, forest, aim, part, point, room)
    return moved


@lean
def climb(
    ground: Ground, forest: Forest, aim: Aim, part: int, power: float, most_changes: int, limit: int, room: SweepRoom,
    point: Array, rounds: int,
) -> int:  # fmt: skip
    """Raise the sums at `point` towards one part of the goal, in so many steps at most: STUCK, GOING or REACHED."""
    axes = len(point)
    lack = -1.0
    for _ in range(rounds):
        follow(ground, forest, aim, part, point, room)
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
            cells = sweep(ground, forest, aim, part, point, axis, limit, room)
            lack = missing(aim, part, room.total, before)
            for cell in range(cells.first, cells.end):
                if cell == before or not allowed(ground, axis, cell):
                    continue
                here = missing(aim, part, room.total, cell)
                if here >= lack:
                    continue
                point[axis] = cell
                price = cost_of(ground, point)
                if here == 0.0:
                    if (not done or price < cheapest_done) and accepted(ground, forest, aim, point, room.leaves):
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
    space = room(grounded)
    best: Array | None = None
    reached: Array | None = None
    limit = NO_LIMIT

    def reach(part: int, power: float) -> Array | None:
        point = ground.start.copy()
        for begin, end in strides(6 * len(point) + 6, ROUNDS, ground, forest, deadline):
            ended = climb(ground, forest, aim, part, power, most_changes, limit, space, point, end - begin)
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
                pull_in(ground, forest, aim, part, point, limit, space, deadline)
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
    space = room(grounded)
    point, ended = given.copy(), GOING
    if accepted(ground, forest, aim, point, space.leaves):
        ended = REACHED
    parts = strides(6 * len(point) + 6, ROUNDS, ground, forest, deadline)
    while ended == GOING and (bounds := next(parts, None)) is not None:
        left = bounds[1] - bounds[0]
        ended = climb(ground, forest, aim, part, power, most_changes, limit, space, point, left)
    if ended != REACHED:
        return None
    pull_in(ground, forest, aim, part, point, limit, space, deadline)
    return point


def pull_in(
    ground: Ground, forest: Forest, aim: Aim, part: int, point: Array, limit: int, room: SweepRoom,
    deadline: Deadline,
) -> None:  # fmt: skip
    """Pull a point back, in place, until no feature moves or the deadline is over."""
    moved = True
    while moved:
        moved = False  # nor is anything once the deadline is over
        for begin, end in strides(len(point), len(point), ground, forest, deadline):
            moved |= pull_back(ground, forest, aim, part, point, limit, room, begin, end)


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
