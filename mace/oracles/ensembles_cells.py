"""Trees over axes as plain arrays: cuts, cells, costs and leaf gains in scaled integers.

In:  a Question about an Ensemble under a Norm.
Out: `Grounded`: for every axis the places where some tree changes its answer, for every tree node a test on an axis,
     and for every comparison of the goal what a leaf adds to it, all as numpy arrays of integers.
Promise: every rounding goes in the sound direction. The scaled cost of a box is a lower bound of its exact distance and
less than `width` below it (width 0: equal); the scaled gain of a leaf is an upper bound of its exact gain.

A grid axis with cuts c_0 < .. < c_(m-1) has the cells 0..m, cell k being the indices in (c_(k-1), c_k], on which every
tree answers alike. A test of a tree is "cell <= k": k = -1 for a test that no allowed value passes, m for one that all
pass. A level axis keeps a bit mask of levels, a test is the mask of levels that go left. Several columns of one feature
(one-hot, thermometer) act on one axis, so a category has one value by construction.
Source: proofs/FORMAT.md for the statement; mace.margins for the rounding of sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.axes import Axis, GridAxis, LevelAxis, Point
from mace.columns import Column
from mace.distance import Norm
from mace.errors import ModelError
from mace.exact import exact, nearest
from mace.margins import compare_slack, exact_margin, exact_scores, surely
from mace.question import Question
from mace.tables import Compare, Ensemble, Tree

Array: TypeAlias = NDArray[Any]
MOST_LEVELS = 63
_LARGEST_SUM = 2**60
_ROUNDED = 1.0 - 2.0**-48  # more than the relative error of the few float operations that give a cost


class Ground(NamedTuple):
    """The axes of a question. J axes, G cuts of all axes together, L the largest number of levels.

    grid:   (J,) whether an axis is ordered.
    base:   (J,) where the axis's cuts begin in the arrays of length G.
    at:     (G,) the cut: the largest index of the left side, or the mask of levels.
    part, top: (G,) scaled cost (sum part, linf part) of the side of the cut that does not hold the start.
    low, high: (J,) the box of all allowed points, in cells; for a level axis `low` is the mask.
    start:  (J,) the start's cell, or level.
    order, level_part, level_top: (J, L) levels by cost, and their costs.
    """

    grid: Array
    base: Array
    at: Array
    part: Array
    top: Array
    low: Array
    high: Array
    start: Array
    order: Array
    level_part: Array
    level_top: Array


class Forest(NamedTuple):
    """Trees over cells. N nodes of all trees together, T trees, C comparisons, K outputs.

    test:  (N, 4) axis, cut (local to the axis), left, right; axis -1 for a leaf.
    up:    (N,) the parent, -1 for a root.
    roots: (T,)
    gain:  (C, N) the largest scaled gain of a leaf below the node.
    value: (N, K) what a leaf adds to the float scores; empty in a shrunk forest.
    leaf:  (N,) the node's number in the whole forest.
    """

    test: Array
    up: Array
    roots: Array
    gain: Array
    value: Array
    leaf: Array


class Aim(NamedTuple):
    """The goal over float scores and over scaled sums.

    need:  (C,) a comparison cannot hold when its scaled sum is below this.
    part_of, begin: part p has the comparisons part_of[begin[p]:begin[p + 1]].
    plus, minus (-1: absent), than, strict: (C,) the comparison of floats.
    start: (K,) float scores before the first tree.
    single: whether sums are float32; divide: by how much sums are divided.
    fuzzy:  whether the library's last bits are not known (trees added in any order, a squashed score): then sums within
            the slack of a comparison are in doubt.
    """

    need: Array
    part_of: Array
    begin: Array
    plus: Array
    minus: Array
    than: Array
    strict: Array
    start: Array
    single: bool
    divide: float
    fuzzy: bool


@dataclass
class Grounded:
    """All arrays of a question; `scale` units of cost are a distance of 1, `depth` is that of the deepest tree."""

    axes: tuple[Axis, ...]
    ground: Ground
    forest: Forest
    aim: Aim
    scale: int
    width: int
    depth: int

    def cuts(self, axis: int) -> Array:
        """The cuts of one axis, in order (a view)."""
        base = self.ground.base
        end = base[axis + 1] if axis + 1 < len(base) else len(self.ground.at)
        return self.ground.at[base[axis] : end]

    def nearest(self, low: Array, high: Array) -> Point:
        """The point of a box (in cells and masks) that is nearest to the start."""
        point = []
        for j, axis in enumerate(self.axes):
            if isinstance(axis, LevelAxis):
                point.append(next(int(k) for k in self.ground.order[j] if int(low[j]) >> int(k) & 1))
            else:
                first, last = self.interval(j, int(low[j]), int(high[j]))
                point.append(min(max(axis.start, first), last))
        return tuple(point)

    def interval(self, axis: int, low: int, high: int) -> tuple[int, int]:
        """The first and last index of the cells low..high of a grid axis."""
        one, cuts = self.axes[axis], self.cuts(axis)
        assert isinstance(one, GridAxis)
        return (int(cuts[low - 1]) + 1 if low > 0 else one.lower), (int(cuts[high]) if high < len(cuts) else one.upper)

    def cells(self, point: Point) -> Array:
        """The cell or level of every coordinate of a point."""
        found = np.empty(len(self.axes), np.int64)
        for j, index in enumerate(point):
            found[j] = np.searchsorted(self.cuts(j), index) if self.ground.grid[j] else index
        return found


def ground(question: Question) -> Grounded:
    """The arrays of a question; raises ModelError for what this prover does not take."""
    model, norm = question.model, question.distance
    if not isinstance(model, Ensemble) or not isinstance(norm, Norm):
        raise ModelError("the prover for tree ensembles takes ensembles and norms", hint='Use oracle="smt".')
    for axis in question.axes:
        if isinstance(axis, LevelAxis) and axis.count > MOST_LEVELS:
            raise ModelError(
                f"feature `{axis.name}` has {axis.count} levels; this prover takes up to {MOST_LEVELS}",
                hint='Use oracle="smt".',
            )
    test, up, roots, value, depth, cuts = _tests(question, model)
    scale, width = _scale(question.axes, norm)
    axes = _axes(question.axes, norm, cuts, scale)
    aim, gain = _aim(question, model, test, up, value, len(roots))
    forest = Forest(test, up, roots, gain, value, np.arange(len(test), dtype=np.int32))
    return Grounded(question.axes, axes, forest, aim, scale, width, depth)


# ---------------------------------------------------------------------------------------------- tests on axes


def _tests(question: Question, model: Ensemble) -> tuple[Array, Array, Array, Array, int, list[Array]]:
    """All trees in one array of tests on axes, and the cuts of every axis."""
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
        here = np.flatnonzero(column == number)
        axis = question.axes[source.feature]
        if not len(here):
            continue
        if source.values is None:
            assert isinstance(axis, GridAxis)
            if members and not members.keys().isdisjoint(here.tolist()):
                raise ModelError(
                    f"{model.name} tests `{axis.name}` for membership in a set, but the space declares it a number",
                    hint='Declare the feature categorical, or use oracle="smt".',
                )
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
                left = [missing[node] if value != value else value in members[node] for value in model.seen(values)]
                answers[node] = np.array(left, np.int64) @ bits
            answers[here] &= axis.allowed

    cuts: list[Array] = []
    for j, axis in enumerate(question.axes):
        here = np.flatnonzero(test[:, 0] == j)
        found = np.unique(answers[here])
        if isinstance(axis, GridAxis):
            found = found[(found >= axis.lower) & (found < axis.upper)]
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


def _decreasing(source: Column) -> bool:
    """Whether the column falls where the feature rises.

    Raises ModelError when it does neither: then a test is no cut of the axis.
    """
    falls = False
    for step in source.chain:
        if step[0] == "mul" or step[0] == "div":
            falls ^= step[1] < 0
        elif step[0] == "steps":
            values = list(step[1][1])
            if values == sorted(values, reverse=True) and values[0] != values[-1]:
                falls = not falls
            elif values != sorted(values):
                raise ModelError(
                    f"column `{source.name}` rises and falls with its feature; this prover takes one direction only",
                    hint='Use oracle="smt".',
                )
    return falls


def _cut_indices(axis: GridAxis, source: Column, thresholds: Array, model: Ensemble) -> Array:
    """For each threshold the largest index on the low side of the test; lower - 1 or upper if all are on one side.

    A guess for each, kept if the library's test confirms it at both neighbours; bisection for the others.
    """
    flip = _decreasing(source)

    def low_side(indices: Array, which: Array) -> Array:
        return model.passes(source.of_many(_values(axis, indices)), thresholds[which]) ^ flip

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
    while len(which) and (high - 1 > low).any():  # Invariant: low is on the low side, high is not.
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # ranks of doubles: the sum would overflow
        side = low_side(middle, which)
        low, high = np.where(side, middle, low), np.where(side, high, middle)
    found[which] = low
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
        return np.clip(np.nan_to_num(places), -(2.0**62), 2.0**62).astype(np.int64)


def _values(axis: GridAxis, indices: Array) -> Array:
    """The float64 that the model is given for each index."""
    if axis.grid.kind == "float64":
        size = np.abs(indices).view(np.float64)
        return np.where(indices >= 0, size, -size)
    if axis.grid.kind == "float32":
        small = np.abs(indices).astype(np.int32).view(np.float32).astype(np.float64)
        return np.where(indices >= 0, small, -small)
    step = axis.grid.step
    largest = max(abs(axis.lower), abs(axis.upper)) + 2
    if axis.grid.extra is None and largest * step.numerator < 2**53 and step.denominator < 2**53:
        return indices * float(step.numerator) / float(step.denominator)  # both exact: the quotient is rounded once
    return np.array([nearest(axis.grid.value(int(index))) for index in indices])


# ---------------------------------------------------------------------------------------------- costs


def _steps(axis: Axis, norm: Norm, number: int) -> list[Fraction] | None:
    """Numbers of which every cost on the axis is a sum of multiples; None if there are no such few."""
    weight = norm.weights[number]
    slopes = [weight * norm.beta, weight * norm.gamma]
    if axis.fixed or not any(slopes):
        return [weight * norm.alpha]
    if isinstance(axis, LevelAxis):
        unit = Fraction(1, max(axis.count - 1, 1)) if axis.ordered else Fraction(1)
    elif axis.grid.kind == "step" and axis.grid.extra is None:
        unit = axis.grid.step / axis.scale
    else:
        return None
    return [weight * norm.alpha, *(slope * unit for slope in slopes)]


def largest_delta(axis: Axis) -> Fraction:
    """The largest delta on an axis."""
    if isinstance(axis, LevelAxis):
        return max(axis.delta(level) for level in axis.levels())
    return max(axis.delta(axis.lower), axis.delta(axis.upper))


def _scale(axes: Sequence[Axis], norm: Norm) -> tuple[int, int]:
    """How many units a distance of 1 has, and how far a scaled cost may lie below the exact one."""
    largest = [largest_delta(axis) for axis in axes]
    total = norm.of(largest) + 1
    denominator: int | None = 1
    for number, axis in enumerate(axes):
        steps = _steps(axis, norm, number)
        if steps is None or denominator is None:
            denominator = None
            break
        denominator = math.lcm(denominator, *(step.denominator for step in steps))
    if denominator is not None and denominator * total < _LARGEST_SUM:
        return denominator, 0
    scale = 2**52
    while scale * total >= _LARGEST_SUM:
        scale //= 2
    width = 0
    for number, delta in enumerate(largest):
        part = (norm.part(number, delta) + norm.gamma * norm.weights[number] * delta) * scale
        width += math.ceil(part / 2**46) + 4
    return scale, width


def costs_of(axis: Axis, norm: Norm, number: int, indices: Array, scale: int) -> tuple[Array, Array]:
    """Scaled costs (sum part, linf part) of indices of one axis, rounded down."""
    weight = norm.weights[number]
    if isinstance(axis, LevelAxis) or len(indices) < 64 or axis.grid.kind == "step":
        deltas = [axis.delta(int(index)) for index in indices]
        part = np.array([math.floor(norm.part(number, d) * scale) for d in deltas], np.int64)
        return part, np.array([math.floor(norm.gamma * weight * d * scale) for d in deltas], np.int64)
    # Differences of doubles, quotients and products: each operation errs by one part in 2^53.
    with np.errstate(over="ignore"):
        delta = np.abs(_values(axis, indices) - nearest(axis.start_value)) / nearest(axis.scale)
    if not np.isfinite(delta).all():
        raise ModelError(f"the range of `{axis.name}` is too large", hint='Use oracle="smt".')
    alpha, beta, gamma = (nearest(weight * share) for share in (norm.alpha, norm.beta, norm.gamma))
    moved = delta > 0
    part = np.where(moved, np.floor((alpha + beta * delta) * float(scale) * _ROUNDED), 0.0)
    return part.astype(np.int64), np.floor(gamma * delta * float(scale) * _ROUNDED).astype(np.int64)


def _axes(axes: Sequence[Axis], norm: Norm, cuts: list[Array], scale: int) -> Ground:
    count, levels = len(axes), max([1, *(axis.count for axis in axes if isinstance(axis, LevelAxis))])
    base = np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64)
    part, top = (np.zeros(base[-1], np.int64) for _ in range(2))
    low, high, start = (np.zeros(count, np.int64) for _ in range(3))
    order = np.full((count, levels), -1, np.int64)
    level_part, level_top = (np.zeros((count, levels), np.int64) for _ in range(2))
    for j, axis in enumerate(axes):
        here = slice(base[j], base[j + 1])
        if isinstance(axis, GridAxis):
            start[j] = np.searchsorted(cuts[j], axis.start)
            high[j] = len(cuts[j])
            # The side without the start begins right after the cut, or ends at it.
            part[here], top[here] = costs_of(axis, norm, j, cuts[j] + (cuts[j] >= axis.start), scale)
        else:
            low[j], start[j] = axis.allowed, axis.start
            every = np.arange(axis.count)
            level_part[j, : axis.count], level_top[j, : axis.count] = costs_of(axis, norm, j, every, scale)
            order[j, : axis.count] = sorted(range(axis.count), key=lambda level, a=axis: (a.delta(level), level))  # type: ignore[misc]
    grid = np.array([isinstance(axis, GridAxis) for axis in axes])
    at = np.concatenate([np.zeros(0, np.int64), *cuts]).astype(np.int64)
    return Ground(grid, base[:-1].copy(), at, part, top, low, high, start, order, level_part, level_top)


def with_cut(grounded: Grounded, norm: Norm, axis: int, index: int) -> tuple[Grounded, int]:
    """The same arrays with one more cut on a grid axis (or a mask on a level axis), and its place on the axis.

    Only for cuts that are not there yet: tests on the axis from that place on move up by one.
    """
    ground, one = grounded.ground, grounded.axes[axis]
    cuts = grounded.cuts(axis)
    place = int(np.searchsorted(cuts, index)) if isinstance(one, GridAxis) else len(cuts)
    where = int(ground.base[axis]) + place
    base, low, high, start = ground.base.copy(), ground.low.copy(), ground.high.copy(), ground.start.copy()
    base[axis + 1 :] += 1
    part = top = np.zeros(1, np.int64)
    test = grounded.forest.test
    if isinstance(one, GridAxis):
        part, top = costs_of(one, norm, axis, np.array([index + (index >= one.start)]), grounded.scale)
        high[axis] += 1
        start[axis] += index < one.start
        test = moved(test, axis, place)
    changed = ground._replace(
        base=base,
        at=np.insert(ground.at, where, index),
        part=np.insert(ground.part, where, part[0]),
        top=np.insert(ground.top, where, top[0]),
        low=low,
        high=high,
        start=start,
    )
    forest = grounded.forest._replace(test=test)
    axes, aim, scale, width, depth = (grounded.axes, grounded.aim, grounded.scale, grounded.width, grounded.depth)
    return Grounded(axes, changed, forest, aim, scale, width, depth), place


def moved(test: Array, axis: int, place: int) -> Array:
    """Tests of trees after one more cut at a place of an axis."""
    test = test.copy()
    test[(test[:, 0] == axis) & (test[:, 1] >= place), 1] += 1
    return test


# ---------------------------------------------------------------------------------------------- the goal


def _aim(question: Question, model: Ensemble, test: Array, up: Array, value: Array, trees: int) -> tuple[Aim, Array]:
    compares: list[Compare] = []
    part_of: list[int] = []
    begin = [0]
    for part in question.goal.decision:
        for compare in part:
            if compare not in compares:
                compares.append(compare)
            part_of.append(compares.index(compare))
        begin.append(len(part_of))
    leaves = np.flatnonzero(test[:, 0] < 0)
    sides = [_sides(compare, value[leaves]) for compare in compares]
    largest = max([1e-300, *(float(np.abs(plus - minus).max()) for plus, minus in sides)])
    exponent = 58 - math.frexp(largest * (trees + 1))[1]
    unit = Fraction(2) ** exponent
    gain = np.zeros((len(compares), len(test)), np.int64)
    need = np.zeros(len(compares), np.int64)
    for c, (compare, (plus, minus)) in enumerate(zip(compares, sides, strict=True)):
        difference = plus - minus
        rounded = difference - plus  # Knuth's TwoSum: zero when the difference is exact
        error = (plus - (difference - rounded)) - (minus + rounded)
        scaled = np.ldexp(difference, exponent)
        if not error.any() and (scaled == np.floor(scaled)).all():
            gain[c, leaves] = scaled.astype(np.int64)
        else:
            spare = np.ceil(np.abs(scaled) * 2.0**-52) + 1
            gain[c, leaves] = np.ceil(scaled).astype(np.int64) + spare.astype(np.int64)
        slack = compare_slack(model, compare).possible
        first = Fraction(0)
        for sign, side in ((1, compare.plus), (-1, compare.minus)):
            first += sign * exact(model.start[side]) if side is not None else 0
        wanted = (exact(compare.than) * model.divide - first - slack) * unit
        limit = math.floor(wanted) + 1 if compare.strict and slack == 0 else math.ceil(wanted)
        need[c] = min(max(limit, -(2**61)), 2**61)
    _spread(test, up, gain)
    aim = Aim(
        need,
        np.array(part_of, np.int64),
        np.array(begin, np.int64),
        np.array([-1 if c.plus is None else c.plus for c in compares], np.int64),
        np.array([-1 if c.minus is None else c.minus for c in compares], np.int64),
        np.array([c.than for c in compares], np.float64),
        np.array([c.strict for c in compares]),
        model.start.astype(model.dtype).astype(np.float64),
        model.dtype == "float32",
        float(model.divide),
        is_fuzzy(question),
    )
    return aim, gain


def is_fuzzy(question: Question) -> bool:
    """Whether some comparison of the goal cannot be decided by repeating the sums in the order of the trees."""
    model = question.model
    assert isinstance(model, Ensemble)
    if model.certain:
        return False
    compares = {compare for part in question.goal.decision for compare in part}
    return any(any(compare_slack(model, compare)) for compare in compares)


def has_goal_for_certain(question: Question, point: Point) -> bool:
    """Whether the deployed model has the goal at a point, in whatever order it adds its trees."""
    if not is_fuzzy(question):
        return question.has_goal(point)
    model = question.model
    assert isinstance(model, Ensemble)
    scores = exact_scores(model, question.row(point))
    return any(
        all(surely(c, exact_margin(model, c, scores), compare_slack(model, c)) for c in part)
        for part in question.goal.decision
    )


def _sides(compare: Compare, value: Array) -> tuple[Array, Array]:
    zero = np.zeros(len(value))
    return (
        value[:, compare.plus] if compare.plus is not None else zero,
        value[:, compare.minus] if compare.minus is not None else zero,
    )


def _spread(test: Array, up: Array, gain: Array) -> None:
    """Give every inner node the largest gain below it, from the deepest row upwards."""
    rows, row = [], np.flatnonzero(up < 0)
    while len(row := row[test[row, 0] >= 0]):
        rows.append(row)
        row = test[row, 2:].ravel()
    for row in reversed(rows):
        gain[:, row] = np.maximum(gain[:, test[row, 2]], gain[:, test[row, 3]])
