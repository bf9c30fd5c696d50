"""The compiled search: boxes of cells, nearest first, each refuted, split or handed back as a witness.

In:  the arrays of `ensembles_cells`, a `Book` of nodes, the scaled limit below which boxes are of interest.
Out: the book, filled in, and why the search paused (the constants below).
Promise: a node is closed as `TREES`, `CELL` or `CHANGES` only when no point of its box below the limit can have the
goal; everything that needs exact distances, rules or exclusions is left to the caller.

A popped box is not split once but as often as it takes to refute what remains around its nearest point: each split
cuts the best leaves of some trees off, the far side waits in the heap under its own key, and of the trees only those
that lost their best leaf are walked again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.cells import NO_TURN, Aim, Forest, Ground
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.inherited import (
    Inherited,
    best_again,
    leave,
    near_again,
    new_inherited,
    place_of,
)
from mace.solve.ensembles.walk import Box, Halves, Stack, best_leaf, halves_of, has_goal, leaf_of, measure, passes

DONE, GOAL, FULL, BUDGET, GAP, PENDING, GOES_ON = 0, 1, 2, 3, 4, 5, 6
OPEN, TREES, DISTANCE, CELL, CHANGES, AVOID, RULE, DOUBTFUL, LINED = 0, 1, 2, 3, 4, 5, 6, 7, 8
NODES, HEAP, WAITING, WORK, WITNESS, POPPED = 0, 1, 2, 3, 4, 5
NEAR_ENOUGH, DOUBTED = 1, 2
NO_LIMIT = 2**62
A_WALK = 8  # trees that inherit both of their leaves take as long as one that is walked


class Book(NamedTuple):
    """All nodes of a search, the open ones in a heap. Capacity N.

    parent, axis, cut, side: how a node came about (side 0: cell <= cut, or level in the mask); parent -1 for the root.
    child:   the first of two children, -1 if there are none.
    state:   how it was closed; note: which exclusion or rule did it, or which multipliers of linear rules.
    key:     scaled distance of the box, rounded down.
    settled: NEAR_ENOUGH: its exact distance was found to be within the present limit; DOUBTED: and its nearest point
             may have the goal, for all that is known of the order of sums, but not for certain.
    heap:    node numbers, by key, the younger first.
    pending: nodes whose key is too near to the limit to tell.
    count:   NODES, HEAP, WAITING .. as above.
    """

    parent: Array
    axis: Array
    cut: Array
    side: Array
    child: Array
    state: Array
    note: Array
    key: Array
    settled: Array
    heap: Array
    pending: Array
    count: Array  # type: ignore[assignment]


class Place(NamedTuple):
    """Where to split: an axis, and a cut of it; -1 for nowhere."""

    axis: Any
    cut: Any


class Scratch(NamedTuple):
    """Room for one dive: leaves by tree, marks by cut; and what is kept for boxes that wait."""

    near: Array
    leaves: Array
    best: Array
    fresh: Array
    score: Array
    marked: Array
    touched: Array
    kept: Inherited


def new_book(capacity: int) -> Book:
    """A book with the root alone, open, in the heap."""
    small = (np.full(capacity, -1, np.int32) for _ in range(3))
    parent, cut, child = small
    axis, side = np.full(capacity, -1, np.int32), np.zeros(capacity, np.int8)
    state, settled = np.zeros(capacity, np.int8), np.zeros(capacity, np.int8)
    note, key = np.zeros(capacity, np.int32), np.zeros(capacity, np.int64)
    count = np.zeros(8, np.int64)
    count[NODES] = count[HEAP] = 1
    heap, pending = np.zeros(capacity, np.int32), np.zeros(4096, np.int32)
    return Book(parent, axis, cut, side, child, state, note, key, settled, heap, pending, count)


def grown(book: Book) -> Book:
    """The same book with twice the room."""
    fixed = ("pending", "count")
    return Book(*(a if n in fixed else np.concatenate([a, np.full_like(a, -1)]) for n, a in book._asdict().items()))


def new_scratch(ground: Ground, forest: Forest) -> Scratch:
    trees, compares, cuts = len(forest.roots), len(forest.gain), len(ground.at)
    near, leaves = np.zeros(trees, np.int64), np.zeros(trees, np.int64)
    best, fresh = np.zeros((compares, trees), np.int64), np.zeros(compares, np.int64)
    score, marked = np.zeros(cuts + 1, np.float64), np.zeros(cuts + 1, np.int8)
    touched = np.zeros(cuts + 1, np.int64)
    return Scratch(near, leaves, best, fresh, score, marked, touched, new_inherited(ground, forest))


@lean
def push(book: Book, node: int) -> None:
    heap, key = book.heap, book.key
    place = book.count[HEAP]
    book.count[HEAP] += 1
    while place > 0:
        above = (place - 1) >> 1
        other = heap[above]
        if key[other] < key[node] or (key[other] == key[node] and other > node):
            break
        heap[place] = other
        place = above
    heap[place] = node


@lean
def pop(book: Book) -> int:
    heap, key = book.heap, book.key
    first = heap[0]
    book.count[HEAP] -= 1
    size = book.count[HEAP]
    node = heap[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size:
            one, two = heap[below], heap[below + 1]
            if key[two] < key[one] or (key[two] == key[one] and two > one):
                below += 1
        other = heap[below]
        if key[node] < key[other] or (key[node] == key[other] and node > other):
            break
        heap[place] = other
        place = below
    heap[place] = node
    return int(first)


@lean
def load(ground: Ground, book: Book, node: int, box: Box) -> None:
    """The box of a node, from the splits above it."""
    for j in range(len(box.low)):
        box.low[j], box.high[j] = ground.low[j], ground.high[j]
    while book.parent[node] >= 0:
        axis, cut = book.axis[node], np.int64(book.cut[node])
        if ground.grid[axis]:
            if book.side[node] == 0:
                box.high[axis] = min(box.high[axis], cut)
            else:
                box.low[axis] = max(box.low[axis], cut + 1)
        else:
            mask = ground.at[ground.base[axis] + cut]
            box.low[axis] &= mask if book.side[node] == 0 else ~mask
        node = book.parent[node]


@lean
def far_key(box: Box, axis: int, halves: Halves) -> int:
    """The key of the half that the box's nearest point does not lie in."""
    return int(box.total[0] - box.part[axis] + halves.part + max(box.total[1], halves.top))


@lean
def split(ground: Ground, book: Book, node: int, box: Box, axis: int, cut: int, limit: int) -> int:
    """Two children; the far one goes into the heap if it is below the limit. Returns the near one, narrows the box."""
    first = book.count[NODES]
    book.count[NODES] += 2
    book.child[node] = first
    halves = halves_of(ground, axis, cut, box.low[axis], box.high[axis])
    away = far_key(box, axis, halves)
    for child in (first, first + 1):
        book.parent[child] = node
        book.axis[child] = axis
        book.cut[child] = cut
        book.side[child] = child - first
        book.child[child] = -1
        book.state[child] = OPEN
        book.note[child] = 0
        book.settled[child] = 0
    near, far = first + halves.near, first + 1 - halves.near
    book.key[near] = book.key[node]
    book.settled[near] = book.settled[node]
    book.key[far] = away
    if away < limit:
        push(book, far)
    box.low[axis], box.high[axis] = halves.low, halves.high
    return int(near)


@compiled
def standing(child: Array, state: Array, key: Array, claim: int) -> Array:
    """For every node the one whose proof stands for it: itself, or one half of its box where the other is far away.

    child, state, key: as in `Book`; claim: keys from it on are far away for certain.
    Lemma: let no point of one half be nearer than the claim. On the axis that was cut, a leaf costs in the box what it
    costs in the cheaper half, on all others what it costs in both. So the leaves that the box reaches nearer than the
    claim are those of the other half, and what closes that by its leaves closes the box.
    """
    place, by_leaves = np.arange(len(child)), np.zeros(len(child), np.bool_)
    for node in range(len(child) - 1, -1, -1):  # children come after their parents
        if child[node] < 0:
            by_leaves[node] = state[node] not in (CHANGES, AVOID, RULE, LINED)
            continue
        one, other = place[child[node]], place[child[node] + 1]
        by_leaves[node] = by_leaves[one] and by_leaves[other]
        for half, rest in ((one, other), (other, one)):
            away = key[rest] >= claim and (state[rest] == OPEN or state[rest] == DISTANCE)
            if child[rest] < 0 and away and by_leaves[half]:
                place[node] = half
    return place


@compiled
def preorder(child: Array, place: Array) -> Array:
    """Nodes, each followed by its first child's tree and then its second child's; child: as in `Book`.

    place: which node comes in the place of each.
    """
    order = np.empty(len(child), np.int64)
    stack = np.empty(len(child) + 1, np.int64)
    stack[0] = place[0]
    waiting, count = 1, 0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        order[count] = node
        count += 1
        if child[node] >= 0:
            stack[waiting], stack[waiting + 1] = place[child[node] + 1], place[child[node]]
            waiting += 2
    return order[:count]


@lean
def may_have_goal(forest: Forest, aim: Aim, near: Array) -> bool:
    """Whether the sums of these leaves, with all their rounding slack, allow the goal."""
    for p in range(len(aim.begin) - 1):
        every = True
        for i in range(aim.begin[p], aim.begin[p + 1]):
            total = np.int64(0)
            for t in range(len(near)):
                total += forest.gain[aim.part_of[i], near[t]]
            if total < aim.need[aim.part_of[i]]:
                every = False
                break
        if every:
            return True
    return False


@lean
def mark(ground: Ground, gain: Array, box: Box, best: Array, scratch: Scratch) -> int:
    """Score every cut on the way to a tree's best leaf by the margin of that leaf; returns how many cuts there are.

    What is marked stands in `scratch.touched`, not in order; `choose` takes the marks back.
    """
    sides = scratch.kept.sides
    count = 0
    for t in range(len(best)):
        leaf, near = best[t], scratch.near[t]
        if leaf == near:
            continue
        margin = float(gain[leaf] - gain[near])
        for side in range(sides.begin[leaf], sides.begin[leaf + 1]):
            axis, above, below = sides.axis[side], np.int64(sides.above[side]), np.int64(sides.below[side])
            # Of several tests of one grid axis the tightest counts; levels are tested by different masks.
            if ground.grid[axis]:
                if above < box.near[axis] <= below:
                    continue
                cut = above if box.near[axis] <= above else below
            elif passes(ground, axis, above, box.near[axis]) == (below == 1):
                continue
            else:
                cut = above
            g = ground.base[axis] + cut
            if scratch.marked[g] == 0:
                scratch.marked[g] = 1
                scratch.touched[count] = g
                scratch.score[g] = 0.0
                count += 1
            scratch.score[g] += margin
    return count


@lean
def add_beyond(score: Array, touched: Array, begin: int, end: int, near: int) -> None:
    """Add up the scores of an ordered axis, touched[begin:end]: a cut takes the leaves beyond it away, too.

    Below the cut `near`, at which the nearest point lies, they add up from the lowest cut, above it from the highest.
    """
    total = 0.0
    for i in range(begin, end):
        if touched[i] >= near:
            break
        total += score[touched[i]]
        score[touched[i]] = total
    total = 0.0
    for i in range(end - 1, begin - 1, -1):
        if touched[i] < near:
            break
        total += score[touched[i]]
        score[touched[i]] = total


@compiled
def choose(
    ground: Ground, gain: Array, box: Box, best: Array, scratch: Scratch, spare: Any, key: int, limit: int
) -> Place:
    """The cut that costs the far side most for the margin that it takes from the near side.

    Separating tests are those on the way to a tree's best leaf that the nearest point answers otherwise. A cut at one
    of them takes away the best leaf of every tree whose leaf lies beyond it.
    """
    touched = scratch.touched[: mark(ground, gain, box, best, scratch)]
    touched.sort()
    count = len(touched)
    chosen_axis, chosen_cut, highest = -1, -1, -1.0
    deficit = float(spare) + 1.0
    reach = limit - key if limit < NO_LIMIT else box.total[0] + box.total[1] + 64
    floor = 0.03 * float(reach)  # a cut that costs nothing is still worth something
    begin = 0
    axis = 0
    while begin < count:
        while axis + 1 < len(ground.base) and touched[begin] >= ground.base[axis + 1]:
            axis += 1
        end = begin
        stop = ground.base[axis + 1] if axis + 1 < len(ground.base) else len(ground.at)
        while end < count and touched[end] < stop:
            end += 1
        if ground.grid[axis]:
            add_beyond(scratch.score, touched, begin, end, ground.base[axis] + box.near[axis])
        for i in range(begin, end):
            g = touched[i]
            scratch.marked[g] = 0
            cut = g - ground.base[axis]
            halves = halves_of(ground, axis, cut, box.low[axis], box.high[axis])
            value = min(scratch.score[g], deficit) * (float(far_key(box, axis, halves) - key) + floor)
            if value > highest:
                highest, chosen_axis, chosen_cut = value, axis, cut
        begin = end
    return Place(np.int64(chosen_axis), np.int64(chosen_cut))


@compiled
def undecided(ground: Ground, whole: Forest, box: Box, leaves: Array) -> Place:
    """A test of some tree on the nearest point's way that the box leaves open; axis -1 if there is none."""
    tight_low, tight_high = box.low.copy(), box.high.copy()
    for t in range(len(leaves)):
        node = whole.up[leaves[t]]
        while node >= 0:
            axis, cut = whole.test[node, 0], np.int64(whole.test[node, 1])
            if ground.grid[axis]:
                if box.near[axis] <= cut:
                    tight_high[axis] = min(tight_high[axis], cut)
                else:
                    tight_low[axis] = max(tight_low[axis], cut + 1)
            else:
                inside = box.low[axis] & ground.at[ground.base[axis] + cut]
                if inside != 0 and inside != box.low[axis]:
                    return Place(np.int64(axis), np.int64(cut))
            node = whole.up[node]
    for axis in range(len(ground.grid)):
        if ground.grid[axis]:
            if tight_high[axis] < box.high[axis]:
                return Place(np.int64(axis), np.int64(tight_high[axis]))
            if tight_low[axis] > box.low[axis]:
                return Place(np.int64(axis), np.int64(tight_low[axis] - 1))
    return Place(np.int64(-1), np.int64(-1))


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
    Long because it is left in seven ways, each with the node in hand put where it is found again.
    """
    count = book.count
    trees, parts = len(forest.roots), len(aim.begin) - 1
    end = count[WORK] + budget
    near, leaves = scratch.near, scratch.leaves
    while True:
        why, node = next_box(ground, forest, book, box, scratch, limit, width, stop, most_changes, end)
        if why != GOES_ON:
            return int(why)
        key, came, place = book.key[node], book.axis[node], place_of(scratch.kept, node)
        if may_have_goal(forest, aim, near):
            for t in range(trees):
                leaves[t] = forest.leaf[near[t]]
            if book.settled[node] != DOUBTED and (aim.fuzzy or has_goal(aim, whole.value, leaves)):
                count[WITNESS] = node
                return GOAL
        part = inherited = 0
        if place >= 0:
            part = inherited = scratch.kept.part[place]
        for c in range(len(scratch.fresh)):
            scratch.fresh[c] = 0
        while True:
            # Which parts of the goal are out of reach? They stay so in every smaller box.
            open_part = False
            while part < parts and not open_part:
                open_part = True
                for i in range(aim.begin[part], aim.begin[part + 1]):
                    c = aim.part_of[i]
                    total = np.int64(0)
                    if scratch.fresh[c] != part + 1 and place >= 0 and part == inherited:
                        scratch.fresh[c] = part + 1
                        count[WORK] += best_again(
                            ground, forest, forest.gain[c], aim.need[c], box, limit, scratch.kept, place, c, came,
                            near, scratch.best[c], stack,
                        )  # fmt: skip
                        for t in range(trees):
                            total += forest.gain[c, scratch.best[c, t]]
                    elif scratch.fresh[c] != part + 1:
                        scratch.fresh[c] = part + 1
                        for t in range(trees):
                            total += forest.gain[c, forest.roots[t]]
                        for t in range(trees):  # Invariant: the best leaves add up to no more than `total`.
                            best = best_leaf(
                                ground, forest, forest.gain[c], forest.roots[t], box, limit, near[t], stack
                            )
                            scratch.best[c, t] = best
                            total += forest.gain[c, best] - forest.gain[c, forest.roots[t]]
                            count[WORK] += 1
                            if total < aim.need[c]:
                                scratch.fresh[c] = 0
                                break
                    else:
                        for t in range(trees):
                            total += forest.gain[c, scratch.best[c, t]]
                    if total < aim.need[c]:
                        part += 1
                        open_part = False
                        break
            if part == parts:
                book.state[node] = TREES
                break
            # The comparison that the nearest point fails and that is nearest to being refuted.
            chosen, spare = -1, np.int64(0)
            for i in range(aim.begin[part], aim.begin[part + 1]):
                c = aim.part_of[i]
                here = total = np.int64(0)
                for t in range(trees):
                    total += forest.gain[c, scratch.best[c, t]]
                    here += forest.gain[c, near[t]]
                if here < aim.need[c] and (chosen < 0 or total - aim.need[c] < spare):
                    chosen, spare = c, total - aim.need[c]
            if chosen >= 0:
                axis, cut = choose(ground, forest.gain[chosen], box, scratch.best[chosen], scratch, spare, key, limit)
            else:  # Too close to call by sums: only the cell of the nearest point is decided by its float sums.
                axis, cut = undecided(ground, whole, box, leaves)
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
