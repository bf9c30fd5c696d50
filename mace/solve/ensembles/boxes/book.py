"""The nodes of the compiled branch and bound, the open ones in a heap, and the arrays that it works in.

In:  the arrays of a question (`cells.py`).
Out: a `Book` of nodes: how each came about, which box it stands for, how it was closed.
Promise: a node is its parent's box, cut at one place; its box is put together again from there (`load`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Forest, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, Halves, halves_of
from mace.solve.ensembles.boxes.inherited import Inherited, new_inherited

# `Book.state`: open, or closed: its best leaves do not reach the goal; it is too far; its one cell lacks the goal; it
# has too many changes; an exclusion or a rule closes it; rounding decides; multipliers of linear rules close it.
OPEN, TREES, DISTANCE, CELL, CHANGES, AVOID, RULE, DOUBTFUL, LINED = 0, 1, 2, 3, 4, 5, 6, 7, 8
# `Book.count`: how many nodes, in the heap, pending; trees walked; the node to look at after `GOAL`; boxes evaluated.
NODES, HEAP, WAITING, WORK, WITNESS, POPPED = 0, 1, 2, 3, 4, 5
NEAR_ENOUGH, DOUBTED = 1, 2  # `Book.settled`


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
