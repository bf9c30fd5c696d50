"""Ensembles whose trees test one axis or two: sums of functions of these, as arrays.

In:  the arrays of a question.
Out: `SumTerms`, or None where some tree tests more axes, or levels by masks that stand in no order.
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
from mace.solve.ensembles.arrays.cells import Grounded
from mace.solve.ensembles.arrays.cuts import Array

MOST_CELLS = 2_000_000  # of all tables


class SumTerms(NamedTuple):
    """The terms of a sum of functions.

    J axes that are tested, I cells (levels) of these, L ladders, C classes of these, P tables, N leaves of tables.

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


class _Made(NamedTuple):
    """Terms, and the arrays that they were made of: as long as they are kept, nothing else has their identity."""

    terms: SumTerms | None
    test: Array
    gain: Array


_MADE: Recent[_Made] = Recent(4)


def terms_of(grounded: Grounded) -> SumTerms | None:
    """The terms of a question with one comparison."""
    forest, ground = grounded.forest, grounded.ground
    counts = tuple(np.diff(ground.base, append=len(ground.at)).tolist())
    levels = tuple(ground.order.shape[1] if not grid else 0 for grid in ground.grid.tolist())
    key = (id(forest.test), id(forest.gain), counts, levels)
    return _MADE.get(key, lambda: _Made(_terms(grounded), forest.test, forest.gain)).terms


def cropped(terms: SumTerms, kept: Array) -> SumTerms:
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


class _Tested(NamedTuple):
    """L ladders, those of trees of one axis first, and R nodes with a test: what they are of.

    singles, tables: the trees with one axis, and with two. tree, axis: (L,) of a ladder. cells: (J,) of every axis.
    inner: (R,) nodes; of: (R,) their ladders. second: (R,) whether that is the second one of its tree.
    """

    singles: Array
    tables: Array
    tree: Array
    axis: Array
    cells: Array
    inner: Array
    of: Array
    second: Array


class _Rungs(NamedTuple):
    """The rungs of all ladders, and where the nodes of `_Tested` stand on them.

    kinds: (L + 1,) where the classes of the cells of a ladder begin in `kind`. begin, below, above: as in `SumTerms`.
    up_to:  (R,) how many classes the lower side of a node's test has; turned: (R,) whether that is its right side.
    """

    kinds: Array
    kind: Array
    begin: Array
    below: Array
    above: Array
    up_to: Array
    turned: Array


def _terms(grounded: Grounded) -> SumTerms | None:
    tested = _tested(grounded) if len(grounded.forest.roots) else None
    if tested is None or not len(tested.tree):
        return None
    rungs = _rungs(grounded, tested)
    if rungs is None:
        return None
    pairs = len(tested.singles) + 2 * np.arange(len(tested.tables))
    classes = np.diff(rungs.begin)
    table = _ends(classes[pairs] * classes[pairs + 1])
    if table[-1] > MOST_CELLS:
        return None
    return _together(grounded, tested, rungs, table)


def _tested(grounded: Grounded) -> _Tested | None:
    """Which axes each tree tests; None where one tests more than two."""
    forest, ground = grounded.forest, grounded.ground
    ends = np.append(forest.roots[1:], len(forest.test))
    first = forest.test[: ends[0], 0]
    if len(np.unique(first[first >= 0])) > 2:  # as the first tree of most models does
        return None
    inner = np.flatnonzero(forest.test[:, 0] >= 0)
    axis = forest.test[inner, 0]
    tree = np.repeat(np.arange(len(ends)), ends - forest.roots)[inner]
    some = np.zeros((len(ends), len(ground.grid)), bool)
    some[tree, axis] = True
    count = some.sum(axis=1)
    if (count > 2).any():
        return None
    singles, tables = np.flatnonzero(count == 1), np.flatnonzero(count == 2)
    owner = np.concatenate([singles, tables.repeat(2)])
    axes = np.concatenate([np.nonzero(some[trees])[1] for trees in (singles, tables)])
    number = np.zeros(some.shape, np.int32)
    number[owner, axes] = np.arange(len(owner))
    of = number[tree, axis]
    cells = np.diff(ground.base, append=len(ground.at)) + 1
    cells[~ground.grid] = (ground.order[~ground.grid] >= 0).sum(axis=1)
    return _Tested(singles, tables, owner, axes, cells, inner, of, (of >= len(singles)) & ((of - len(singles)) % 2 > 0))


def _rungs(grounded: Grounded, tested: _Tested) -> _Rungs | None:
    """The ladders; None where tests of levels stand in no order."""
    ground, forest, cells = grounded.ground, grounded.forest, tested.cells[tested.axis]
    # Of each ladder every test that its axis may have, from the one that no cell passes to the one that all pass.
    places = _ends(cells + 1)
    cut, turned = forest.test[tested.inner, 1].astype(np.int64), np.zeros(len(tested.inner), bool)
    chains: list[tuple[int, Array]] = []
    for ladder in np.flatnonzero(~ground.grid[tested.axis]).tolist():
        here = np.flatnonzero(tested.of == ladder)
        chain = _chain(grounded.cuts(int(tested.axis[ladder])), cut[here], int(cells[ladder]))
        if chain is None:
            return None
        cut[here], turned[here], kind = chain
        chains.append((ladder, kind))
    at = places[tested.of] + cut + 1
    node = np.full(places[-1], -1)
    node[at[::-1]] = tested.inner[::-1]  # of those with the same test the first, which is assigned last
    last = places[1:] - 1
    node[places[:-1]] = node[last] = -1
    there = node >= 0
    there[last] = True
    rank: Array = np.cumsum(there)
    before = np.concatenate([[0], rank[last]])
    rank -= before[:-1].repeat(cells + 1)
    kind = np.delete(rank, last)
    kinds = _ends(cells)
    for ladder, own in chains:
        kind[kinds[ladder] : kinds[ladder + 1]] = own
    root = forest.roots[tested.tree].repeat(np.diff(before))
    chosen = node[there]
    first = np.searchsorted(tested.inner, chosen)
    sides = np.where(turned[first, None], forest.test[chosen, 3:1:-1], forest.test[chosen, 2:]) - root[:, None]
    sides[chosen < 0] = -1
    below, above = np.ascontiguousarray(sides.T, np.int64)
    return _Rungs(kinds, kind, before, below, above, rank[at], turned)


def _chain(masks: Array, cut: Array, count: int) -> tuple[Array, Array, Array] | None:
    """Tests of levels as rungs: of each its place, and whether it is turned; and the class of every level.

    masks: of the axis; cut: which of them is tested. None where the tests cannot be put in order: each of them one way
    or the other, so that each holds the one before; first comes the one that has no level of the others.
    """
    every, some = (1 << count) - 1, list[int]()
    asked = list(dict.fromkeys(cut.tolist()))
    for mask in (int(masks[k]) & every for k in asked):
        if 0 < mask < every and mask not in some and every & ~mask not in some:
            some.append(mask)
    first = min((min(mask, every & ~mask, key=int.bit_count) for mask in some), key=int.bit_count, default=0)
    chain = sorted((mask if mask & first == first else every & ~mask for mask in some), key=int.bit_count)
    if any(small & ~large for small, large in pairwise(chain)):
        return None
    rung = {0: -1, every: count - 1} | {mask: k for k, mask in enumerate(chain)}
    place, turned = np.zeros(len(masks), np.int64), np.zeros(len(masks), bool)
    for k in asked:
        mask = int(masks[k]) & every
        turned[k] = mask not in rung
        place[k] = rung[every & ~mask if turned[k] else mask]
    kind = np.array([sum(not mask >> level & 1 for mask in chain) for level in range(count)], np.int64)
    return place[cut], turned[cut], kind


def _reached(grounded: Grounded, tested: _Tested, rungs: _Rungs) -> Array:
    """Of every node the first class and the one after the last that lead to it, on both ladders of its tree: (4, N)."""
    forest, size, second = grounded.forest, len(grounded.forest.test), len(tested.singles)
    place = np.empty(size, np.int64)
    place[tested.inner] = np.arange(len(tested.inner))
    box, classes = np.zeros((4, size), np.int64), np.diff(rungs.begin)
    box[1::2] = 1
    box[1, forest.roots[tested.singles]] = classes[:second]
    box[1::2, forest.roots[tested.tables]] = classes[second:].reshape(-1, 2).T
    left, right = np.ascontiguousarray(forest.test[:, 2:].T, np.int64)
    for row in grounded.tests.trees.rows:
        here = place[row]
        side, up_to, turned = 2 * tested.second[here], rungs.up_to[here], rungs.turned[here]
        one, other = left[row], right[row]
        low, high = np.where(turned, other, one), np.where(turned, one, other)
        for end in box:
            end[low] = end[high] = end[row]
        box[side + 1, low] = np.minimum(box[side + 1, low], up_to)
        box[side, high] = np.maximum(box[side, high], up_to)
    return box


class _Leaves(NamedTuple):
    """Leaves that some cell reaches: their nodes, by which of some trees they are of, and their boxes of classes."""

    node: Array
    of: Array
    box: Array


def _leaves(grounded: Grounded, box: Array, trees: Array) -> _Leaves:
    """The leaves of some trees; box: what leads to each node."""
    forest = grounded.forest
    place = np.full(len(forest.roots), -1)
    place[trees] = np.arange(len(trees))
    node = np.flatnonzero((forest.test[:, 0] < 0) & (box[0] < box[1]) & (box[2] < box[3]))
    of = place[np.searchsorted(forest.roots, node, side="right") - 1]
    node, of = node[of >= 0], of[of >= 0]
    return _Leaves(node, of, box[:, node])


def _together(grounded: Grounded, tested: _Tested, rungs: _Rungs, table: Array) -> SumTerms:
    """table: where the entries of every table begin."""
    roots, gains, singles = grounded.forest.roots, grounded.forest.gain[0], len(tested.singles)
    axis = np.unique(tested.axis)
    on, first = np.searchsorted(axis, tested.axis), _ends(tested.cells[axis])
    reached = _reached(grounded, tested, rungs)
    # Trees of one axis.
    leaf = _leaves(grounded, reached, tested.singles)
    gain = np.zeros(int(rungs.begin[-1]), np.int64)
    run = _runs(int(rungs.begin[singles]), rungs.begin[leaf.of] + leaf.box[0])
    gain[: len(run)] = gains[leaf.node][run]
    whole = np.zeros(int(first[-1]), np.int64)
    for k, j in enumerate(on[:singles].tolist()):
        kind = rungs.kind[rungs.kinds[k] : rungs.kinds[k + 1]]
        whole[first[j] : first[j + 1]] += gain[rungs.begin[k] + kind]
    # Tables, of which a leaf has a run of entries in each of its rows.
    pairs = np.arange(singles, len(on))
    order = pairs[np.argsort(on[pairs], kind="stable")]
    leaf = _leaves(grounded, reached, tested.tables)
    low, high, left, right = leaf.box
    rows, columns = high - low, np.diff(rungs.begin)[singles + 1 :: 2]
    run = np.arange(len(rows)).repeat(rows)
    row = np.arange(len(run)) - (np.cumsum(rows) - rows)[run] + low[run]
    of = leaf.of[run]
    which = run[_runs(int(table[-1]), table[of] + row * columns[of] + left[run])]
    adds = gains[leaf.node].astype(np.float64)
    return SumTerms(
        axis,
        first,
        np.concatenate([np.arange(size) for size in tested.cells[axis].tolist()]),
        whole.astype(np.float64),
        int(gains[np.setdiff1d(roots, roots[tested.tree])].sum()),
        tested.tree,
        on,
        rungs.kinds[:-1],
        rungs.kind,
        rungs.begin,
        gain.astype(np.float64),
        rungs.below,
        rungs.above,
        np.searchsorted(on[order], np.arange(len(axis) + 1)),
        order,
        table,
        adds[which],
        which,
        np.stack([low, high - 1, left, right - 1], axis=1),
        adds,
    )


def _runs(size: int, starts: Array) -> Array:
    """Of each of so many entries the run that it lies in; one begins at each of `starts`, and ends before the next."""
    begun = np.full(size, -1)
    begun[starts] = np.arange(len(starts))
    at = np.flatnonzero(begun >= 0)
    return np.asarray(begun[at].repeat(np.diff(at, append=size)))


def _ends(counts: Array) -> Array:
    """Where parts of such sizes begin, and the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
