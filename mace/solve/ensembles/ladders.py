"""Ensembles whose trees test one axis or two: sums of functions of these, as arrays.

In:  the arrays of a question.
Out: `Terms`, or None where some tree tests more axes, or levels by masks that stand in no order.
Promise: the terms of a model are made once, whatever row is asked about; only what cells cost is the row's.

On each axis that it tests a tree tells classes of cells apart: its *ladder*. Its rungs are the tests between a class
and the next, each with the nodes of the tree that lead to what lies below and above. A tree of one axis adds a number
for each class, one of two axes has a table, and leaves of which each is a box of classes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mace.base.cache import Recent
from mace.solve.ensembles.cells import Forest, Ground, Grounded
from mace.solve.ensembles.cuts import Array

MOST_CELLS = 2_000_000  # of all tables


class Terms(NamedTuple):
    """J axes that are tested, I cells (levels) of these, L ladders, C classes of these, P tables, N leaves of tables.

    axis:  (J,) their numbers in the question. first: (J + 1,) where the cells of each begin; cell: (I,) their numbers.
    whole: (I,) what all trees of one axis add. fixed: what trees without a test add.
    tree, on: (L,) of a ladder the tree, and its axis by place; those of tables follow the others, two by two.
    kinds: (L,) where the classes of the axis's cells begin in `kind`. begin: (L + 1,) where classes begin.
    gain:  (C,) what a class of a tree of one axis adds; 0 for others.
    below, above: (C,) nodes, counted from the tree's root, of the test between a class and the next.
    near:  (J + 1,) where in `ladder` those of each axis begin: tables alone.
    table: (P + 1,) where in `entry` the table of each begins, rows being classes of its first ladder.
    which: (E,) the leaf of each entry; box, adds: (N,) of a leaf the first and last classes on both ladders, and what
           it adds.
    """

    axis: Array
    first: Array
    cell: Array
    whole: Array
    fixed: int
    tree: Array
    on: Array
    kinds: Array
    kind: Array
    begin: Array
    gain: Array
    below: Array
    above: Array
    near: Array
    ladder: Array
    table: Array
    entry: Array
    which: Array
    box: Array
    adds: Array


class Ladder(NamedTuple):
    """kind: the class of each cell of an axis. below, above: nodes, one less than there are classes."""

    axis: int
    kind: Array
    below: Array
    above: Array


class _Made(NamedTuple):
    """Terms, and the arrays that they were made of: as long as they are kept, nothing else has their identity."""

    terms: Terms | None
    test: Array
    gain: Array


_MADE: Recent[_Made] = Recent(4)


def terms_of(grounded: Grounded) -> Terms | None:
    """The terms of a question with one comparison."""
    forest, ground = grounded.forest, grounded.ground
    counts = tuple(np.diff(ground.base, append=len(ground.at)).tolist())
    levels = tuple(ground.order.shape[1] if not grid else 0 for grid in ground.grid.tolist())
    key = (id(forest.test), id(forest.gain), counts, levels)
    return _MADE.get(key, lambda: _Made(_terms(grounded), forest.test, forest.gain)).terms


def cropped(terms: Terms, kept: Array) -> Terms:
    """These terms without some cells, of which each axis keeps one at least."""
    parts = [terms.kind[at : at + size][kept[first : first + size]] for at, first, size in zip(
        terms.kinds.tolist(), terms.first[terms.on].tolist(), np.diff(terms.first)[terms.on].tolist(), strict=True,
    )]  # fmt: skip
    return terms._replace(
        first=np.concatenate([[0], np.cumsum(np.add.reduceat(kept, terms.first[:-1]))]),
        cell=terms.cell[kept],
        whole=terms.whole[kept],
        kinds=np.cumsum([0, *map(len, parts)])[:-1],
        kind=np.concatenate(parts),
    )


def _terms(grounded: Grounded) -> Terms | None:
    ground, forest = grounded.ground, grounded.forest
    ends = [*forest.roots[1:].tolist(), len(forest.test)]
    spans = list(zip(forest.roots.tolist(), ends, strict=True))
    tested = []
    for root, end in spans:
        axes = np.unique(forest.test[root:end, 0])
        tested.append(axes[axes >= 0].tolist())
        if len(tested[-1]) > 2:  # as the first tree of most models does
            return None
    singles: list[tuple[int, Ladder, Array]] = []
    tables: list[tuple[int, Ladder, Ladder, Array]] = []
    fixed = 0
    for tree, (root, end) in enumerate(spans):
        ladders = [_ladder(grounded, root, end, axis) for axis in tested[tree]]
        some = [one for one in ladders if one is not None]
        if len(some) < len(ladders):
            return None
        if not some:
            fixed += int(forest.gain[0][root])
        elif len(some) == 1:
            singles.append((tree, some[0], _reached(ground, forest, root, some)))
        else:
            tables.append((tree, some[0], some[1], _reached(ground, forest, root, some)))
    if not singles and not tables or sum(leaf.size for *_, leaf in tables) > MOST_CELLS:
        return None
    return _together(grounded, fixed, singles, tables)


def _cells(grounded: Grounded, axis: int) -> int:
    """How many cells or levels an axis has."""
    ground = grounded.ground
    return len(grounded.cuts(axis)) + 1 if ground.grid[axis] else int((ground.order[axis] >= 0).sum())


def _ladder(grounded: Grounded, root: int, end: int, axis: int) -> Ladder | None:
    """The classes of an axis for the tree whose nodes are root..end - 1; None if they stand in no order."""
    ground, test = grounded.ground, grounded.forest.test
    inner = root + np.flatnonzero(test[root:end, 0] == axis)
    count = _cells(grounded, axis)
    if ground.grid[axis]:
        inner = inner[(test[inner, 1] >= 0) & (test[inner, 1] < count - 1)]  # others lie outside of the range
        cuts, one = np.unique(test[inner, 1], return_index=True)
        kind = np.searchsorted(cuts, np.arange(count))
        return Ladder(axis, kind, test[inner[one], 2] - root, test[inner[one], 3] - root)
    every = (1 << count) - 1
    sides: dict[int, tuple[int, int]] = {}
    for node in inner.tolist():
        mask = int(ground.at[ground.base[axis] + test[node, 1]]) & every
        left, right = int(test[node, 2]) - root, int(test[node, 3]) - root
        if 0 < mask < every and mask not in sides and every & ~mask not in sides:
            sides[mask] = left, right
    # Each test one way or the other, so that each holds the one before: the one that has no level of the others first.
    chain: list[tuple[int, tuple[int, int]]] = []
    first = min((min(mask, every & ~mask, key=int.bit_count) for mask in sides), key=int.bit_count, default=0)
    for mask, (left, right) in sides.items():
        turned = mask & first != first
        chain.append((every & ~mask, (right, left)) if turned else (mask, (left, right)))
    chain.sort(key=lambda one: one[0].bit_count())
    if any(small & ~large for (small, _), (large, _) in pairwise(chain)):
        return None
    kind = np.array([sum(not mask >> level & 1 for mask, _ in chain) for level in range(count)], np.int64)
    nodes = np.array([pair for _, pair in chain], np.int64).reshape(-1, 2)
    return Ladder(axis, kind, nodes[:, 0], nodes[:, 1])


def _reached(ground: Ground, forest: Forest, root: int, ladders: list[Ladder]) -> Array:
    """The leaf that each combination of classes reaches: of shape (classes,), or (classes, classes)."""
    # Of a class without a cell any one will do.
    some = [np.array([np.argmax(one.kind == k) for k in range(len(one.below) + 1)]) for one in ladders]
    shape = tuple(map(len, some))
    point = dict(zip([one.axis for one in ladders], np.meshgrid(*some, indexing="ij"), strict=True))
    flat = {axis: cells.ravel() for axis, cells in point.items()}
    node = np.full(int(np.prod(shape)), root)
    while len(here := np.flatnonzero(forest.test[node, 0] >= 0)):
        test = forest.test[node[here]].astype(np.int64)
        left = np.zeros(len(here), bool)
        for axis, cells in flat.items():
            mine = test[:, 0] == axis
            if ground.grid[axis]:
                left[mine] = cells[here[mine]] <= test[mine, 1]
            else:
                left[mine] = ground.at[ground.base[axis] + test[mine, 1]] >> cells[here[mine]] & 1
        node[here] = np.where(left, test[:, 2], test[:, 3])
    return node.reshape(shape)


def _together(
    grounded: Grounded,
    fixed: int,
    singles: list[tuple[int, Ladder, Array]],
    tables: list[tuple[int, Ladder, Ladder, Array]],
) -> Terms:
    ladders = [one for _, one, _ in singles] + [one for _, *two, _ in tables for one in two]
    trees = [tree for tree, _, _ in singles] + [tree for tree, _, _, _ in tables for _ in range(2)]
    axis = np.unique([one.axis for one in ladders])
    sizes = [_cells(grounded, j) for j in axis.tolist()]
    first = np.concatenate([[0], np.cumsum(sizes)])
    gains = grounded.forest.gain[0]
    gain = [gains[leaf] for _, _, leaf in singles]
    whole = np.zeros(int(first[-1]), np.int64)
    for (_, one, _), own in zip(singles, gain, strict=True):
        j = int(np.searchsorted(axis, one.axis))
        whole[first[j] : first[j + 1]] += own[one.kind]
    classes = [len(one.below) + 1 for one in ladders]
    on = np.searchsorted(axis, [one.axis for one in ladders])
    pairs = np.arange(len(singles), len(ladders))
    order = pairs[np.argsort(on[pairs], kind="stable")]
    boxes = [_boxes(leaf) for *_, leaf in tables]
    starts = np.cumsum([0, *(len(one.nodes) for one in boxes)])[:-1].tolist()
    none = np.zeros(0, np.int64)
    last = np.full(1, -1)

    def ends(counts: list[int]) -> Array:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    return Terms(
        axis,
        first,
        np.concatenate([np.arange(size) for size in sizes]),
        whole.astype(np.float64),
        fixed,
        np.array(trees, np.int64),
        on,
        ends([len(one.kind) for one in ladders])[:-1],
        np.concatenate([one.kind for one in ladders]).astype(np.int64),
        ends(classes),
        np.concatenate([*gain, *(np.zeros(n) for n in classes[len(singles) :])]).astype(np.float64),
        np.concatenate([part for one in ladders for part in (one.below, last)]).astype(np.int64),
        np.concatenate([part for one in ladders for part in (one.above, last)]).astype(np.int64),
        np.searchsorted(on[order], np.arange(len(axis) + 1)),
        order,
        ends([leaf.size for *_, leaf in tables]),
        np.concatenate([none, *(gains[leaf].ravel() for *_, leaf in tables)]).astype(np.float64),
        np.concatenate([none, *(one.which + start for one, start in zip(boxes, starts, strict=True))]),
        np.concatenate([none.reshape(0, 4), *(one.box for one in boxes)]),
        np.concatenate([none, *(gains[one.nodes] for one in boxes)]).astype(np.float64),
    )


class _Boxes(NamedTuple):
    """The leaves of a table, which of them each entry is, and of each the first and last row, the first and last
    column."""

    nodes: Array
    which: Array
    box: Array


def _boxes(leaf: Array) -> _Boxes:
    nodes, back = np.unique(leaf, return_inverse=True)
    back = back.reshape(leaf.shape)
    row, column = np.indices(leaf.shape)
    box = np.empty((len(nodes), 4), np.int64)
    for k, place in enumerate((row, row, column, column)):
        least = np.minimum if k % 2 == 0 else np.maximum
        box[:, k] = leaf.size if k % 2 == 0 else -1
        least.at(box[:, k], back.ravel(), place.ravel())
    return _Boxes(nodes, back.ravel(), box)
