"""Where the tests of trees cut the axes of a question.

In:  a Question about an Ensemble.
Out: every tree node as a test on an axis, numbered among the cuts of that axis (`tests_of`).
Promise: a cut is confirmed by the model's own test on the float64 values at both sides of it; a guess, from the
threshold and the cast, only saves time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import first_holding_each, nearest
from mace.errors import ModelError
from mace.problem.question import Question
from mace.space.axes import GridAxis, LevelAxis
from mace.space.columns import Column
from mace.tables.members import among
from mace.tables.table import Ensemble, Tree

Array: TypeAlias = NDArray[Any]


def tests_of(
    question: Question, model: Ensemble, look: Callable[[], None]
) -> tuple[Array, Array, Array, Array, int, list[Array]]:
    """All trees in one array of tests on axes, and the cuts of every axis.

    look: called before every column, and may raise.
    Raises ModelError where a test is no cut of an axis (`no_cut`).
    """
    reason = no_cut(question, model)
    if reason is not None:
        raise ModelError(reason)
    sizes = np.array([tree.nodes for tree in model.trees], np.int64)
    roots = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int32)
    shift = np.repeat(roots, sizes)
    column = np.concatenate([tree.column for tree in model.trees])
    threshold = np.concatenate([tree.threshold for tree in model.trees])
    value = np.ascontiguousarray(np.concatenate([tree.value for tree in model.trees]), np.float64)
    if model.dtype == "float32":
        value = value.astype(np.float32).astype(np.float64)
    inner = column >= 0
    test = np.full((len(column), 4), -1, np.int32)
    test[inner, 2] = (np.concatenate([tree.left for tree in model.trees]) + shift)[inner]
    test[inner, 3] = (np.concatenate([tree.right for tree in model.trees]) + shift)[inner]
    up = np.full(len(column), -1, np.int32)
    places = np.flatnonzero(inner).astype(np.int32)
    up[test[places, 2]] = places
    up[test[places, 3]] = places

    answers = np.zeros(len(column), np.int64)  # per node: the cut's index, or the mask
    tested = np.array([source.feature for source in question.columns], np.int32)
    test[inner, 0] = tested[column[inner]]
    missing = np.concatenate([_flags(tree) for tree in model.trees])
    members = {
        int(r) + node: cell for r, tree in zip(roots, model.trees, strict=True) for node, cell in tree.members.items()
    }
    for number, source in enumerate(question.columns):
        look()
        here = np.flatnonzero(column == number)
        axis = question.axes[source.feature]
        if not len(here):
            continue
        if source.values is None:
            assert isinstance(axis, GridAxis)
            distinct, back = np.unique(threshold[here], return_inverse=True)
            answers[here] = _cut_indices(axis, source, distinct, model)[back]
            if _decreasing(source):  # the large values pass, those with index <= cut do not: the children change places
                test[here[:, None], [2, 3]] = test[here[:, None], [3, 2]]
        else:
            assert isinstance(axis, LevelAxis)
            kinds, back = np.unique(np.stack([threshold[here], missing[here]]), axis=1, return_inverse=True)
            values = np.array(source.values[: axis.count])  # an ordinal's axis may lack its last, the missing one
            passed = model.passes(values[None, :], kinds[0][:, None], kinds[1][:, None] > 0)
            bits = np.int64(1) << np.arange(axis.count, dtype=np.int64)
            answers[here] = (passed.astype(np.int64) @ bits)[back.ravel()]
            for node in members.keys() & set(here.tolist()):
                left = [missing[node] if x != x else among(members[node], x) for x in model.seen(values).tolist()]
                answers[node] = np.array(left, np.int64) @ bits
            answers[here] &= axis.allowed

    cuts: list[Array] = []
    for j, axis in enumerate(question.axes):
        look()
        here = np.flatnonzero(test[:, 0] == j)
        found = np.unique(answers[here])
        if isinstance(axis, GridAxis):
            found = found[(found >= axis.lower) & (found < axis.upper)]
            if axis.missing is not None:  # A cell of its own, whether it is allowed or not.
                found = np.union1d(found, [axis.last])
            place = np.searchsorted(found, answers[here])
            place[answers[here] < axis.lower] = -1
        else:
            place = np.searchsorted(found, answers[here])
        test[here, 1] = place
        cuts.append(found)
    return test, up, roots, value, _depth(test, roots), cuts


def _flags(tree: Tree) -> Array:
    """Per node, whether NaN goes left."""
    return np.zeros(tree.nodes, bool) if tree.missing_left is None else np.asarray(tree.missing_left, bool)


def _depth(test: Array, roots: Array) -> int:
    """How many tests the longest path has."""
    depth, row = 0, roots
    while len(row := row[test[row, 0] >= 0]):
        depth, row = depth + 1, test[row, 2:].ravel()
    return depth


def no_cut(question: Question, model: Ensemble) -> str | None:
    """Why some test of a tree does not cut its axis in two; None if all do."""
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
    return _decreasing(source) or any(left)


def _turns(source: Column) -> bool:
    """Whether the column neither only rises nor only falls with its feature."""
    steps = [list(step[1][1]) for step in source.chain if step[0] == "steps"]
    return any(values not in (sorted(values), sorted(values, reverse=True)) for values in steps)


def _decreasing(source: Column) -> bool:
    """Whether the column falls where the feature rises; it does one of the two."""
    falls = False
    for step in source.chain:
        if step[0] == "mul" or step[0] == "div":
            falls ^= step[1] < 0
        elif step[0] == "steps":
            values = list(step[1][1])
            falls ^= values[0] > values[-1]
    return falls


def _cut_indices(axis: GridAxis, source: Column, thresholds: Array, model: Ensemble) -> Array:
    """For each threshold the largest index on the low side of the test; lower - 1 or upper if all are on one side.

    A guess for each, kept if the library's test confirms it at both neighbours; bisection for the others.
    """
    flip = _decreasing(source)
    axis = replace(axis.present, missing=None)

    def low_side(indices: Array, which: Array) -> Array:
        return model.passes(source.of_many(_given(axis, indices)), thresholds[which]) ^ flip

    found = np.full(len(thresholds), axis.lower - 1, np.int64)
    every = np.arange(len(thresholds))
    first = low_side(np.full(len(thresholds), axis.lower), every)
    last = low_side(np.full(len(thresholds), axis.upper), every)
    found[last] = axis.upper
    open_ = first & ~last
    guess = _guess(axis, _back(source, _last_passing(thresholds, model)))
    for offset in (0, -1, 1):
        which = np.flatnonzero(open_)
        index = np.clip(guess[which] + offset, axis.lower, axis.upper - 1)
        right = low_side(index, which) & ~low_side(index + 1, which)
        found[which[right]] = index[right]
        open_[which[right]] = False
    which = np.flatnonzero(open_)
    low, high = np.full(len(which), axis.lower), np.full(len(which), axis.upper)
    found[which] = first_holding_each(lambda middle: ~low_side(middle, which), low, high) - 1
    return found


def _back(source: Column, numbers: Array) -> Array:
    """About the feature's value for a column's value; only the speed of finding cuts depends on it."""
    with np.errstate(all="ignore"):
        for step in reversed(source.chain):
            if step[0] == "add":
                numbers = numbers - step[1]
            elif step[0] == "sub":
                numbers = numbers + step[1]
            elif step[0] == "mul":
                numbers = numbers / step[1]
            elif step[0] == "div":
                numbers = numbers * step[1]
            elif step[0] == "log1p":
                numbers = np.expm1(numbers)
            elif step[0] == "sqrt":
                numbers = numbers * numbers
    return np.nan_to_num(numbers)


def _last_passing(thresholds: Array, model: Ensemble) -> Array:
    """About the largest double that passes each test."""
    if model.cast == "float64":
        return thresholds if model.test == "<=" else np.nextafter(thresholds, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        low = thresholds.astype(np.float32)
        above = low > thresholds if model.test == "<=" else low >= thresholds
        low = np.where(above, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.nextafter(low, np.float32(np.inf))
        middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
        return np.asarray(np.where(middle.astype(np.float32) <= low, middle, np.nextafter(middle, -np.inf)))


def _guess(axis: GridAxis, last: Array) -> Array:
    """The index of the last grid value that is <= each number, right in nearly all cases."""
    with np.errstate(over="ignore", invalid="ignore"):
        if axis.grid.kind == "float64":
            bits = (last + 0.0).view(np.int64)
            return np.where(bits >= 0, bits, -(bits & 0x7FFF_FFFF_FFFF_FFFF))
        if axis.grid.kind == "float32":
            single = last.astype(np.float32)
            single = np.where(single > last, np.nextafter(single, np.float32(-np.inf)), single)
            small = (single + np.float32(0)).view(np.int32).astype(np.int64)
            return np.where(small >= 0, small, -(small & 0x7FFF_FFFF))
        places = np.floor(last / nearest(axis.grid.step))
        return np.asarray(np.clip(np.nan_to_num(places), -(2.0**62), 2.0**62).astype(np.int64))


def _given(axis: GridAxis, indices: Array) -> Array:
    """The float that the model is given for each index."""
    if axis.grid.rounded_to == "float64":
        return values_of(axis, indices)
    return np.array([axis.given(int(index)) for index in indices])


def values_of(axis: GridAxis, indices: Array) -> Array:
    """The float64 nearest to the value with each index."""
    if axis.grid.kind == "float64":
        size = np.abs(indices).view(np.float64)
        return np.where(indices >= 0, size, -size)
    if axis.grid.kind == "float32":
        small = np.abs(indices).astype(np.int32).view(np.float32).astype(np.float64)
        return np.where(indices >= 0, small, -small)
    step = axis.grid.step
    largest = max(abs(axis.lower), abs(axis.upper)) + 2
    if axis.grid.extra is None and largest * step.numerator < 2**53 and step.denominator < 2**53:
        # Product and divisor are exact, so that the quotient is rounded once.
        return np.asarray(indices * float(step.numerator) / float(step.denominator))
    return np.array([nearest(axis.grid.value(int(index))) for index in indices])
