"""A first point with the goal where the largest change alone counts: the goal reached in smaller and smaller balls.

In:  the arrays of `cells.py`, of a norm that sums nothing.    Out: cells of a point that has the goal, or none.
Promise: nothing but a good guess; the caller checks the point by the model's own sums.
How: inside a ball every value of every feature is free. So the ball is narrowed to the best leaf of one tree after the
other that is left; where its nearest point misses the goal, each feature of the best point known goes where the sums
are highest. The radius is bisected between the point found last and the largest ball without success. A ball in which
the best leaves of all trees together miss the goal is passed over.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from mace.base.deadline import Deadline, TimeOverError
from mace.solve.compiled import compiled, interruptible, lean
from mace.solve.ensembles.arrays.cells import Aim, Forest, Ground, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.sweeping import SweepRoom, cost, follow, room, sweep, window
from mace.solve.ensembles.arrays.walk import Box, Stack, best_leaf, leaf_of, measure, new_box, new_stack, shrink
from mace.solve.ensembles.points.greedy import accepted, allowed, cost_of, missing

FINE = 64  # the radius is bisected to this part of it
ROUNDS = 4  # of all features, that a point may climb in one ball
AT_ONCE = 2_000_000  # features times nodes of the trees, in all balls between two looks at the clock
BELOW, ABOVE, KNOWN = 0, 1, 2


def sums_nothing(ground: Ground) -> bool:
    """Whether a distance is that of the largest change alone."""
    return not ground.part.any() and not ground.level_part.any()


@lean
def whole(ground: Ground, box: Box) -> None:
    """Make a box that of all allowed points."""
    for axis in range(len(box.low)):
        box.low[axis], box.high[axis] = ground.low[axis], ground.high[axis]
    measure(ground, box)


@lean
def dive(ground: Ground, forest: Forest, gain: Array, order: Array, limit: int, box: Box, stack: Stack) -> None:
    """Narrow a box to the best leaf, nearer than a limit, of one tree after the other, as far as the box reaches it."""
    for t in order:
        root = forest.roots[t]
        child = best_leaf(ground, forest, gain, root, box, limit, leaf_of(ground, forest, root, box.near), stack)
        node = forest.up[child]
        while node >= 0:
            axis, cut = forest.test[node, 0], np.int64(forest.test[node, 1])
            left = forest.test[node, 2] == child
            if not ground.grid[axis]:
                mask = ground.at[ground.base[axis] + cut]
                box.low[axis] &= mask if left else ~mask
            elif left:
                box.high[axis] = min(box.high[axis], cut)
            else:
                box.low[axis] = max(box.low[axis], cut + 1)
            child, node = node, forest.up[node]
        measure(ground, box)


@lean
def pull_in(ground: Ground, home: Array, point: Array, limit: int) -> None:
    """Move the features of a point that lie beyond a limit to where they are just below it; home: those of a start."""
    for axis in range(len(point)):
        if cost(ground, axis, point[axis]).top < limit:
            continue
        cells = window(ground, axis, limit)
        if ground.grid[axis] and point[axis] >= cells.end:
            point[axis] = cells.end - 1
        elif ground.grid[axis] and point[axis] < cells.first:
            point[axis] = cells.first
        else:
            point[axis] = home[axis]


@lean
def ascend(ground: Ground, forest: Forest, aim: Aim, part: int, limit: int, room: SweepRoom, point: Array) -> bool:
    """Move one feature of a point after the other to where the sums miss one part of the goal by least, below a limit.

    Returns whether the point has the goal then.
    """
    still = 0
    follow(ground, forest, aim, part, point, room)
    for turn in range(ROUNDS * len(point)):
        axis = turn % len(point)
        cells = sweep(ground, forest, aim, part, point, axis, limit, room)
        chosen = point[axis]
        least = missing(aim, part, room.total, chosen)
        for cell in range(cells.first, cells.end):
            if not allowed(ground, axis, cell) or cost(ground, axis, cell).top >= limit:
                continue
            here = missing(aim, part, room.total, cell)
            if here < least:
                least, chosen = here, cell
        still += 1
        if chosen != point[axis]:
            still, point[axis] = 0, chosen
            follow(ground, forest, aim, part, point, room)
        if least == 0.0 and accepted(ground, forest, aim, point, room.leaves):
            return True
        if still == len(point):
            break
    return False


@compiled
def by_promise(ground: Ground, forest: Forest, gain: Array, near: Array) -> Array:
    """The trees, those first whose best leaf brings most beyond that of a point."""
    brings = np.empty(len(forest.roots), np.int64)
    for t in range(len(brings)):
        root = forest.roots[t]
        brings[t] = gain[leaf_of(ground, forest, root, near)] - gain[root]
    return np.argsort(brings, kind="mergesort")


@lean
def hardest(forest: Forest, aim: Aim, part: int) -> int:
    """The comparison of a part of the goal that the best leaves of all trees meet by least; -1 if they miss one."""
    chosen, least = -1, np.int64(0)
    for i in range(aim.begin[part], aim.begin[part + 1]):
        c = aim.part_of[i]
        spare = -aim.need[c]
        for t in range(len(forest.roots)):
            spare += forest.gain[c, forest.roots[t]]
        if spare < 0:
            return -1
        if chosen < 0 or spare < least:
            chosen, least = int(c), spare
    return chosen


@compiled
def bisect(
    ground: Ground, forest: Forest, aim: Aim, part: int, best: Array, span: Array, box: Box, stack: Stack,
    room: SweepRoom, balls: int,
) -> bool:  # fmt: skip
    """Look for the goal, by one of its parts, in so many balls; whether it is worth going on.

    best: the cells of the best point known; any where none is.
    span: BELOW, a radius without success; ABOVE, the scaled distance of the best point, or more than any point's; and
          whether one is KNOWN.
    """
    whole(ground, box)
    home = box.near.copy()
    forest = shrink(ground, forest, box, span[ABOVE], stack)
    for _ in range(balls):
        below, above = span[BELOW], span[ABOVE]
        if above - below <= max(1, above // FINE):
            return False
        radius = (below + above) // 2
        if span[KNOWN] == 0 and below < above // 32:  # small balls are looked through soonest
            radius = max(8 * below, above // 64, 1)
        whole(ground, box)
        span[BELOW] = radius
        if box.total[1] >= radius:
            continue
        inside = shrink(ground, forest, box, radius, stack)
        chosen = hardest(inside, aim, part)
        if chosen < 0:
            continue
        gain = inside.gain[chosen]
        dive(ground, inside, gain, by_promise(ground, inside, gain, home), radius, box, stack)
        if not accepted(ground, inside, aim, box.near, room.leaves):
            box.near[:] = best if span[KNOWN] == 1 else home
            pull_in(ground, home, box.near, radius)
            if not ascend(ground, inside, aim, part, radius, room, box.near):
                continue
        if cost_of(ground, box.near) < above:
            best[:], span[BELOW], span[ABOVE], span[KNOWN] = box.near, below, cost_of(ground, box.near), 1
            forest = inside
    return True


def in_balls(grounded: Grounded, given: Array, deadline: Deadline) -> Array | None:
    """A point near to the start with the goal.

    given: cells of a point with the goal, empty where none is known.
    Returns cells; None if no point was found before the deadline.
    """
    ground, forest, aim = grounded.ground, grounded.forest, grounded.aim
    best = given.copy() if len(given) else ground.start.copy()
    above = cost_of(ground, best) if len(given) else max(ground.top.max(initial=0), ground.level_top.max(initial=0)) + 1
    span = np.array([0, above, len(given) > 0], np.int64)
    box, stack, space = new_box(len(best)), new_stack(grounded.depth), room(grounded)
    balls = max(1, AT_ONCE // (len(best) * len(forest.up)))
    with suppress(TimeOverError), interruptible(deadline):  # a guess is checked: half a move does no harm
        for part in range(len(aim.begin) - 1):
            span[BELOW] = 0
            while not deadline.over and bisect(ground, forest, aim, part, best, span, box, stack, space, balls):
                pass
    return best if span[KNOWN] else None
