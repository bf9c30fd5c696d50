"""The compiled search: boxes of cells, nearest first, each refuted, split or handed back as a witness.

In:  the arrays of `cells.py`, a `Book` of nodes, the scaled limit below which boxes are of interest.
Out: the book, filled in, and why the search paused (the constants below).
Promise: a node is closed as `TREES`, `CELL` or `CHANGES` only when no point of its box below the limit can have the
goal; everything that needs exact distances, rules or exclusions is left to the caller.

A popped box is not split once but as often as it takes to refute what remains around its nearest point: each split
cuts the best leaves of some trees off, the far side waits in the heap under its own key, and of the trees only those
that lost their best leaf are walked again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.solve.compiled import lean
from mace.solve.ensembles.arrays.cells import NO_TURN, Aim, Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, Stack, best_leaf, has_goal, leaf_of, measure
from mace.solve.ensembles.boxes.book import (
    CELL,
    CHANGES,
    DOUBTED,
    DOUBTFUL,
    HEAP,
    NODES,
    POPPED,
    TREES,
    WAITING,
    WITNESS,
    WORK,
    Book,
    Scratch,
    load,
    pop,
    push,
    split,
)
from mace.solve.ensembles.boxes.inherited import best_again, leave, near_again, place_of
from mace.solve.ensembles.boxes.separating import choose, undecided

# Why `run` pauses: no box of interest is left in the heap; the nearest point of a box has the goal; the book is full;
# the walks are used up; the gap is met; the list of pending boxes is full. `GOES_ON` is of `next_box` alone.
DONE, GOAL, FULL, BUDGET, GAP, PENDING, GOES_ON = 0, 1, 2, 3, 4, 5, 6
A_WALK = 8  # trees that inherit both of their leaves take as long as one that is walked


@lean
def added(gain: Array, leaves: Array) -> int:
    """What leaves add up to."""
    total = np.int64(0)
    for t in range(len(leaves)):
        total += gain[leaves[t]]
    return total  # type: ignore[return-value]


@lean
def may_have_goal(forest: Forest, aim: Aim, near: Array) -> bool:
    """Whether the sums of these leaves, with all their rounding slack, allow the goal."""
    for p in range(len(aim.begin) - 1):
        every = True
        for i in range(aim.begin[p], aim.begin[p + 1]):
            c = aim.part_of[i]
            if added(forest.gain[c], near) < aim.need[c]:
                every = False
                break
        if every:
            return True
    return False


@lean
def walk_again(
    ground: Ground, forest: Forest, gain: Array, box: Box, limit: int, best: Array, scratch: Scratch, stack: Stack,
    axis: int, cut: int, side: int,
) -> int:  # fmt: skip
    """Renew the best leaf of every tree that lost it when the box was cut to one side; returns how many did."""
    work, sides = 0, scratch.kept.sides
    for t in range(len(best)):
        leaf = best[t]
        if leaf == scratch.near[t] or not (scratch.kept.axes[leaf] >> (axis & 63)) & 1:
            continue
        gone: Any = False
        for k in range(sides.begin[leaf], sides.begin[leaf + 1]):
            if sides.axis[k] == axis:
                if ground.grid[axis] and ground.turn[axis] == NO_TURN:
                    gone = sides.above[k] >= cut if side == 0 else sides.below[k] <= cut
                else:  # what is left of the leaf's levels may be dearer
                    gone = True
                break
        if gone:
            best[t] = best_leaf(ground, forest, gain, forest.roots[t], box, limit, scratch.near[t], stack)
            work += 1
    return work


@lean
def next_box(
    ground: Ground, forest: Forest, book: Book, box: Box, scratch: Scratch, limit: int, width: int, stop: int,
    most_changes: int, end: int,
) -> tuple[int, int]:  # fmt: skip
    """`GOES_ON` and the next node of interest, its box loaded, the leaves of its nearest point in `scratch.near`; or
    why the search pauses, and no node. Boxes with too many changes are closed, those too near to the limit wait.

    Arguments as in `run`; end: the work from which on it pauses.
    """
    count, trees = book.count, len(forest.roots)
    while True:
        if count[HEAP] == 0 or book.key[book.heap[0]] >= limit:
            return DONE, -1
        if book.key[book.heap[0]] >= stop:
            return GAP, -1
        if count[WORK] >= end:
            return BUDGET, -1
        if count[NODES] + 2 > len(book.key):
            return FULL, -1
        if count[WAITING] >= len(book.pending):
            return PENDING, -1
        node = pop(book)
        if book.key[node] + width >= limit and book.settled[node] == 0:
            book.pending[count[WAITING]] = node
            count[WAITING] += 1
            continue
        count[POPPED] += 1
        load(ground, book, node, box)
        changed = measure(ground, box)
        if 0 <= most_changes < changed:
            book.state[node] = CHANGES
            continue
        place = place_of(scratch.kept, node)
        if place >= 0:
            again = near_again(ground, forest, box, scratch.kept, place, book.axis[node], scratch.near)
            count[WORK] += trees // A_WALK + again
        else:
            for t in range(trees):
                scratch.near[t] = leaf_of(ground, forest, forest.roots[t], box.near)
            count[WORK] += trees
        return GOES_ON, node


@lean
def divide(
    ground: Ground, book: Book, node: int, box: Box, axis: int, cut: int, limit: int, scratch: Scratch, part: int,
    first: int, last: int, part_of: Array,
) -> tuple[int, int]:  # fmt: skip
    """The near child of a node and its side, as `split`; the far one inherits what is known of its leaves.

    part, first, last, part_of: of the goal, as `leave` takes them.
    """
    node = split(ground, book, node, box, axis, cut, limit)
    side = int(book.side[node])
    far = node - 1 if side else node + 1
    if book.key[far] < limit:
        leave(scratch.kept, far, part, first, last, part_of, scratch.near, scratch.best)
    return node, side


@lean
def best_from_roots(
    ground: Ground, forest: Forest, gain: Array, need: int, box: Box, limit: int, near: Array, best: Array, stack: Stack
) -> int:
    """The best leaves for one comparison, every tree walked from its root; returns how many were.

    It ends early, with roots that only bound what their trees have, once all together cannot add up to `need`.
    """
    for t in range(len(best)):
        best[t] = forest.roots[t]
    total = added(gain, best)
    for t in range(len(best)):  # Invariant: the best leaves add up to no more than `total`.
        root = forest.roots[t]
        best[t] = best_leaf(ground, forest, gain, root, box, limit, near[t], stack)
        total += gain[best[t]] - gain[root]
        if total < need:
            return t + 1
    return len(best)


@lean
def in_reach(
    ground: Ground, forest: Forest, aim: Aim, part: int, box: Box, limit: int, scratch: Scratch, place: int, came: int,
    stack: Stack, count: Array,
) -> bool:  # fmt: skip
    """Whether the best leaves of a box reach every comparison of a part of the goal; a part that they do not is out of
    reach in every smaller box.

    place: where best leaves for this part are kept for the box, which was cut off along the axis `came`; -1 for none.
    Those that are known for it already, by `scratch.fresh`, are only added up.
    """
    for i in range(aim.begin[part], aim.begin[part + 1]):
        c = aim.part_of[i]
        gain, need, best = forest.gain[c], aim.need[c], scratch.best[c]
        if scratch.fresh[c] != part + 1:
            scratch.fresh[c] = part + 1
            if place >= 0:
                count[WORK] += best_again(
                    ground, forest, gain, need, box, limit, scratch.kept, place, c, came, scratch.near, best, stack
                )
            else:
                count[WORK] += best_from_roots(ground, forest, gain, need, box, limit, scratch.near, best, stack)
        if added(gain, best) < need:
            return False
    return True


@lean
def nearest_refuted(forest: Forest, aim: Aim, part: int, scratch: Scratch) -> tuple[int, int]:
    """The comparison of a part that the nearest point fails and that is nearest to being refuted, and what its best
    leaves have to spare; -1 where the nearest point fails none."""
    chosen, spare = -1, np.int64(0)
    for i in range(aim.begin[part], aim.begin[part + 1]):
        c = aim.part_of[i]
        beyond = added(forest.gain[c], scratch.best[c]) - aim.need[c]
        if added(forest.gain[c], scratch.near) < aim.need[c] and (chosen < 0 or beyond < spare):
            chosen, spare = c, beyond
    return chosen, spare  # type: ignore[return-value]


@lean
def run(
    ground: Ground, forest: Forest, whole: Forest, aim: Aim, book: Book, box: Box, scratch: Scratch, stack: Stack,
    limit: int, width: int, stop: int, most_changes: int, budget: int,
) -> int:  # fmt: skip
    """Search until something is to be decided outside.

    limit:  boxes with a key >= limit are of no interest. width: keys lie less than this below the exact distance.
    stop:   a smallest open key >= stop is good enough.
    budget: about how many trees to walk.
    Invariant: every point below the limit that may have the goal lies in a box that is in the heap, pending, or handed
    to the caller.
    """
    count, leaves, parts = book.count, scratch.leaves, len(aim.begin) - 1
    end = count[WORK] + budget
    while True:
        why, node = next_box(ground, forest, book, box, scratch, limit, width, stop, most_changes, end)
        if why != GOES_ON:
            return int(why)
        key, came, place = book.key[node], book.axis[node], place_of(scratch.kept, node)
        if may_have_goal(forest, aim, scratch.near):
            for t in range(len(leaves)):
                leaves[t] = forest.leaf[scratch.near[t]]
            if book.settled[node] != DOUBTED and (aim.fuzzy or has_goal(aim, whole.value, leaves)):
                count[WITNESS] = node
                return GOAL
        inherited = scratch.kept.part[place] if place >= 0 else -1
        part = max(inherited, 0)
        for c in range(len(scratch.fresh)):
            scratch.fresh[c] = 0
        while True:
            while part < parts and not in_reach(
                ground, forest, aim, part, box, limit, scratch, place if part == inherited else -1, came, stack, count
            ):
                part += 1
            if part == parts:
                book.state[node] = TREES
                break
            chosen, spare = nearest_refuted(forest, aim, part, scratch)
            if chosen >= 0:
                axis, cut = choose(ground, forest.gain[chosen], box, scratch.best[chosen], scratch, spare, key, limit)
            else:  # Too close to call by sums: only the cell of the nearest point is decided by its float sums.
                axis, cut = undecided(ground, whole, box)
                if axis < 0:
                    book.state[node] = DOUBTFUL if aim.fuzzy or book.settled[node] == DOUBTED else CELL
                    break
            if count[NODES] + 2 > len(book.key):
                push(book, node)
                return FULL
            first, last = aim.begin[part], aim.begin[part + 1]
            node, side = divide(ground, book, node, box, axis, cut, limit, scratch, part, first, last, aim.part_of)
            for i in range(first, last):
                c = aim.part_of[i]
                count[WORK] += walk_again(
                    ground, forest, forest.gain[c], box, limit, scratch.best[c], scratch, stack, axis, cut, side
                )
