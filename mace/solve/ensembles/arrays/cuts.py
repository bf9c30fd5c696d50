"""Where the tests of trees cut the axes of a question.

In:  a Question about an Ensemble.
Out: every tree node as a test on an axis, numbered among the cuts of that axis (`tests_of`).
Nothing here depends on where a row starts, but for a start off its axis's grid: what was found for a model is kept, by
everything it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Kept, Recent
from mace.errors import ModelError
from mace.problem.question import Question
from mace.solve.ensembles.arrays.grid_cuts import cut_indices, falls
from mace.space.axes import Axis, GridAxis, LevelAxis
from mace.space.columns import Column
from mace.tables import leaves
from mace.tables.members import Members, among
from mace.tables.table import Ensemble, Tree

Array: TypeAlias = NDArray[Any]


class Trees(NamedTuple):
    """All trees of a model in one array. N nodes of all trees together, T trees, K outputs.

    column, threshold, missing: (N,) what a node tests, -1 for a leaf; whether NaN goes left.
    members:  node -> the set that it tests for instead.
    children: (N, 2) left and right, -1 for a leaf. up: (N,) the parent, -1 for a root. roots: (T,)
    value:    (N, K) what a leaf adds to the float scores.
    number:   (N,) the nodes' own numbers.
    rows:     the inner nodes of each depth, the roots first: as many as the longest path has tests.
    testing:  for each column the nodes that test it, in order.
    """

    column: Array
    threshold: Array
    missing: Array
    members: Mapping[int, Members]
    children: Array
    up: Array
    roots: Array
    value: Array
    number: Array
    rows: tuple[Array, ...]
    testing: tuple[Array, ...]


class OnAxis(NamedTuple):
    """The tests of all columns of one feature, on its axis.

    nodes:   (n,) which nodes test it; place: (n,) the cut of each, as a number among `cuts`.
    swapped: (n,) whether the node's left and right change places: its column falls where the feature rises.
    cuts:    the cuts in order: the largest index of the left side, or the mask of levels.
    """

    nodes: Array
    place: Array
    swapped: Array
    cuts: Array


class Tests(NamedTuple):
    """All trees as tests on the axes of a question.

    test: (N, 4) axis, cut (local to the axis), left, right; axis -1 for a leaf.
    cuts: per axis; at: (G,) those of all axes together, and base: (J,) where each axis's begin.
    charged: what changes cost, as `mace.solve.ensembles.arrays.tariff` keeps it.
    """

    test: Array
    cuts: tuple[Array, ...]
    at: Array
    base: Array
    trees: Trees
    charged: Recent[Any]


_TREES: Kept[Trees] = Kept(1)
_ON_AXIS: Kept[OnAxis] = Kept(256)
_TESTS: Kept[tuple[tuple[Column, ...], Tests]] = Kept(4)
_NO_CUT: Kept[tuple[tuple[Column, ...], str | None]] = Kept(4)


def tests_of(question: Question, model: Ensemble, look: Callable[[], None]) -> Tests:
    """All trees in one array of tests on axes, and the cuts of every axis. Who takes them must not change them.

    look: called before every axis, and may raise.
    Raises ModelError where a test is no cut of an axis (`no_cut`).
    """
    reason = no_cut(question, model)
    if reason is not None:
        raise ModelError(reason)
    ranges = tuple(_range(question, j, axis) for j, axis in enumerate(question.axes))

    def make() -> Tests:
        trees, found = trees_of(model), []
        columns: list[list[tuple[int, Column]]] = [[] for _ in question.axes]
        for number, column in enumerate(question.columns):
            columns[column.feature].append((number, column))
        for j, (axis, mine, key) in enumerate(zip(question.axes, columns, ranges, strict=True)):
            look()
            whole = _widened(axis, key)
            found.append(_ON_AXIS.get(model, (j, *mine, *key), lambda a=whole, c=mine: _on_axis(model, trees, a, c)))  # type: ignore[misc]
        return _together(trees, found)

    # With the columns, whose id is then no other's: to compare them takes longer than all else here.
    columns = question.columns
    return _TESTS.get(model, (id(columns), ranges), lambda: (columns, make()))[1]


def trees_of(model: Ensemble) -> Trees:
    """The trees of a model in one array."""
    return _TREES.get(model, None, lambda: _flattened(model))


def _flattened(model: Ensemble) -> Trees:
    flat = leaves.flat(model)
    column, roots, value = flat.column, flat.roots.astype(np.int32), np.ascontiguousarray(flat.value, np.float64)
    if model.dtype == "float32":
        value = value.astype(np.float32).astype(np.float64)
    tests = column >= 0
    inner = np.flatnonzero(tests).astype(np.int32)
    children = np.empty((len(column), 2), np.int32)
    up = np.full(len(column), -1, np.int32)
    for side, below in enumerate((flat.left, flat.right)):
        children[:, side] = np.where(tests, below, -1)
        up[below.take(inner)] = inner
    members = {
        int(r) + node: cell for r, tree in zip(roots, model.trees, strict=True) for node, cell in tree.members.items()
    }
    tested = column[inner]
    # Numbers of 16 bits are sorted in linear time.
    order = np.argsort(tested.astype(np.int16 if model.columns < 2**15 else np.int64), kind="stable")
    begins = np.cumsum(np.bincount(tested, minlength=model.columns))[:-1]
    return Trees(
        column,
        flat.threshold,
        flat.missing,
        members,
        children,
        up,
        roots,
        value,
        np.arange(len(column), dtype=np.int32),
        _rows(children, roots, tests),
        tuple(np.split(inner[order], begins)),
    )


def _range(question: Question, j: int, axis: Axis) -> tuple[object, ...]:
    """Everything that the tests on an axis depend on, beside the model and its columns."""
    feature = question.space.features[j]
    if isinstance(axis, LevelAxis):
        return (axis.count,)
    # Cuts are looked for on the whole range of the feature, of which a row may allow a part.
    ends = (axis.lower, axis.last)
    if feature.numeric and axis.grid.extra is None:
        lower, upper = feature.ends
        ends = (min(axis.lower, lower), max(axis.last, upper))
    return (axis.grid, *ends, axis.missing is not None)


def _widened(axis: Axis, key: tuple[object, ...]) -> Axis:
    """The axis with the range that was found for it, and without "missing"."""
    if isinstance(axis, LevelAxis):
        return axis
    lower, upper, lacking = key[-3:]
    assert isinstance(lower, int) and isinstance(upper, int)
    return replace(axis, lower=lower, upper=upper, missing=upper + 1 if lacking else None)


class Answers(NamedTuple):
    """Something for each of several nodes, every kind of it once: `kinds[back]`."""

    kinds: Array
    back: Array


def _on_axis(model: Ensemble, trees: Trees, axis: Axis, columns: Sequence[tuple[int, Column]]) -> OnAxis:
    """The tests of some columns on the axis of their feature."""
    none = np.zeros(0, np.int64)
    nodes = [trees.testing[number] for number, _ in columns]
    answers = [
        _of_grid(model, trees, here, axis, column)
        if isinstance(axis, GridAxis)
        else _of_levels(model, trees, here, axis, column)
        for here, (_, column) in zip(nodes, columns, strict=True)
    ]
    # Only what differs is sorted: many nodes have one answer. (`np.unique` without an inverse hashes, which is slower.)
    found = np.sort(np.concatenate([none, *(one.kinds for one in answers)]))
    found = found[np.diff(found, prepend=found[:1] - 1) != 0]
    if isinstance(axis, GridAxis):
        found = found[(found >= axis.lower) & (found < axis.last)]
        if axis.missing is not None:  # A cell of its own, whether it is allowed or not.
            found = np.union1d(found, [axis.last])
    place, swapped = [none], [np.zeros(0, bool)]
    for here, (_, column), one in zip(nodes, columns, answers, strict=True):
        places = np.searchsorted(found, one.kinds)
        if isinstance(axis, GridAxis):
            places[one.kinds < axis.lower] = -1
        place.append(places[one.back])
        swapped.append(np.full(len(here), column.values is None and falls(column)))
    return OnAxis(np.concatenate([none, *nodes]), np.concatenate(place), np.concatenate(swapped), found)


def _kinds(given: Array) -> Answers:
    """What is different among what each node has."""
    if len(given) and (given == given[0]).all():  # as thresholds of nearly all columns of zeros and ones
        return Answers(given[:1], np.zeros(len(given), np.int64))
    return Answers(*np.unique(given, return_inverse=True))


def _of_grid(model: Ensemble, trees: Trees, here: Array, axis: GridAxis, column: Column) -> Answers:
    """The largest index on the low side of each node's test."""
    assert column.values is None
    thresholds, back = _kinds(trees.threshold[here])
    return Answers(cut_indices(axis, column, thresholds, model) if len(here) else np.zeros(0, np.int64), back)


def _of_levels(model: Ensemble, trees: Trees, here: Array, axis: LevelAxis, column: Column) -> Answers:
    """The mask of levels, allowed or not, that each node's test sends to the left."""
    assert column.values is not None
    kinds, back = _kinds(trees.threshold[here])
    values = np.array(column.values)
    bits = np.int64(1) << np.arange(axis.count, dtype=np.int64)

    def masks(*, left: bool) -> Array:
        """The masks of all kinds of tests, where what is missing goes left or right."""
        return model.passes(values[None, :], kinds[:, None], left).astype(np.int64) @ bits

    gone = trees.missing[here] if np.isnan(values).any() else np.zeros(1, bool)
    if not gone.any() and not trees.members:
        return Answers(masks(left=False), back)
    own = np.where(gone, masks(left=True)[back], masks(left=False)[back])
    for place, node in enumerate(here.tolist() if trees.members else ()):
        if node in trees.members:
            cell = trees.members[node]
            left = [trees.missing[node] if x != x else among(cell, x) for x in model.seen(values).tolist()]
            own[place] = np.array(left, np.int64) @ bits
    return _kinds(own)


def _together(trees: Trees, found: Sequence[OnAxis]) -> Tests:
    """The tests on all axes in one array."""
    test = np.full((len(trees.column), 4), -1, np.int32)
    test[:, 2], test[:, 3] = trees.children.T  # one after the other: numpy is slow at copying short rows
    for j, on in enumerate(found):
        test[on.nodes, 0], test[on.nodes, 1] = j, on.place
        turned = on.nodes[on.swapped]
        # The large values pass, those with index <= cut do not.
        test[turned, 2], test[turned, 3] = trees.children[turned, 1], trees.children[turned, 0]
    cuts = tuple(on.cuts for on in found)
    base = np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64)[:-1].copy()
    at = np.concatenate([np.zeros(0, np.int64), *cuts]).astype(np.int64, copy=False)
    return Tests(test, cuts, at, base, trees, Recent(4))


def _flags(tree: Tree) -> Array:
    """Per node, whether NaN goes left."""
    return np.zeros(tree.nodes, bool) if tree.missing_left is None else np.asarray(tree.missing_left, bool)


def _rows(children: Array, roots: Array, tests: Array) -> tuple[Array, ...]:
    """The inner nodes of each depth, the roots first; tests: which nodes are inner ones."""
    rows, row = [], roots
    while len(row := row[tests.take(row)]):
        rows.append(row)
        row = children.take(row, axis=0).ravel()
    return tuple(rows)


def no_cut(question: Question, model: Ensemble) -> str | None:
    """Why some test of a tree does not cut its axis in two; None if all do."""
    lacking = tuple(isinstance(axis, GridAxis) and axis.may_lack for axis in question.axes)
    names = tuple(axis.name for axis in question.axes)
    columns = question.columns
    return _NO_CUT.get(model, (id(columns), lacking, names), lambda: (columns, _no_cut(question, model)))[1]


def _no_cut(question: Question, model: Ensemble) -> str | None:
    sets = {int(tree.column[node]) for tree in model.trees for node in tree.members}
    for number, source in enumerate(question.columns):
        if source.values is not None:
            continue
        if number in sets:
            return f"{model.name} tests `{source.name}`, a number, for membership in a set"
        if _turns(source):
            return f"column `{source.name}` rises and falls with its feature"
        axis = question.axes[source.feature]
        if isinstance(axis, GridAxis) and axis.may_lack and _missing_below(model, number, source):
            return f"a test of `{source.name}` puts what is missing among the numbers"
    return None


def _missing_below(model: Ensemble, number: int, source: Column) -> bool:
    """Whether some test of a column sends "missing", which lies above all values of its axis, to the low side."""
    assert source.missing is not None
    value = np.array([source.missing])
    tests = [(tree, tree.column == number) for tree in model.trees]
    left = (model.passes(value, tree.threshold[here], _flags(tree)[here]).any() for tree, here in tests)
    return falls(source) or any(left)


def _turns(source: Column) -> bool:
    """Whether the column neither only rises nor only falls with its feature."""
    steps = [list(step[1][1]) for step in source.chain if step[0] == "steps"]
    return any(values not in (sorted(values), sorted(values, reverse=True)) for values in steps)
