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
Source: proofs/FORMAT.md for the statement; mace.tables.margins for the rounding of sums.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.base.exact import exact, nearest
from mace.problem.distance import Norm
from mace.problem.question import Question
from mace.solve.ensembles.cuts import Array, no_cut, tests_of, values_of
from mace.space.axes import Axis, GridAxis, LevelAxis, Point
from mace.tables.margins import compare_slack, needed
from mace.tables.table import Compare, Ensemble

MOST_LEVELS = 63
NO_TURN = 2**62
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
    turn:   (J,) of a grid axis that may lose its value: the first cell above the start that costs more than "missing",
            which is the last cell; `NO_TURN` for all others.
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
    turn: Array
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
                point.append(axis.nearest(*self.interval(j, int(low[j]), int(high[j]))))
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


def ground(question: Question, deadline: Deadline = NEVER) -> Grounded:
    """The arrays of a question that `refusal` has nothing against; raises TimeOverError."""
    model, norm = question.model, question.distance
    assert isinstance(model, Ensemble) and isinstance(norm, Norm)

    def look() -> None:
        deadline.look("preparing the trees")

    test, up, roots, value, depth, cuts = tests_of(question, model, look)
    scale, width = _scale(question.axes, norm)
    look()
    axes = _axes(question.axes, norm, cuts, scale)
    look()
    aim, gain = _aim(question, model, test, up, value, len(roots))
    forest = Forest(test, up, roots, gain, value, np.arange(len(test), dtype=np.int32))
    return Grounded(question.axes, axes, forest, aim, scale, width, depth)


def refusal(question: Question) -> str | None:
    """Why this prover does not take a question; None if it does."""
    if not isinstance(question.model, Ensemble):
        return f"it takes tree ensembles, and the model is a {question.model.name}"
    if not isinstance(question.distance, Norm):
        return "the distance is a program"
    for axis in question.axes:
        if isinstance(axis, LevelAxis) and axis.count > MOST_LEVELS:
            return f"`{axis.name}` has {axis.count} levels, and it takes up to {MOST_LEVELS}"
        if isinstance(axis, GridAxis) and axis.missing is None and not _finite(axis):
            return f"the range of `{axis.name}` is too large for doubles"
    return no_cut(question, question.model)


def _finite(axis: GridAxis) -> bool:
    """Whether the largest change of an axis, divided by its scale, is a finite double."""
    scale, start = nearest(axis.scale), nearest(axis.start_value)
    ends = [abs(nearest(axis.value(index)) - start) for index in (axis.lower, axis.upper)]
    return scale > 0 and all(math.isfinite(end) and math.isfinite(end / scale) for end in ends)


# ---------------------------------------------------------------------------------------------- costs


def _steps(axis: Axis, norm: Norm, number: int) -> list[Fraction] | None:
    """Numbers of which every cost on the axis is a sum of multiples; None if there are no such few."""
    weight = norm.weights[number]
    slopes = [weight * norm.beta, weight * norm.gamma]
    if axis.fixed and axis.allows(axis.start) or not any(slopes):
        return [weight * norm.alpha]
    units = [] if axis.missing is None else [axis.missing_cost]
    if isinstance(axis, LevelAxis):
        units.append(Fraction(1, max(axis.count - 1 - len(units), 1)) if axis.ordered else Fraction(1))
    elif axis.grid.kind == "step" and axis.grid.extra is None:
        units.append(axis.grid.step / axis.scale)
    elif not axis.lacks:
        return None
    return [weight * norm.alpha, *(slope * unit for slope in slopes for unit in units)]


def largest_delta(axis: Axis) -> Fraction:
    """The largest delta on an axis."""
    if isinstance(axis, LevelAxis):
        return max(axis.delta(level) for level in axis.levels())
    return max(axis.delta(index) for index in axis.ends(axis.lower, axis.upper))


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
    if isinstance(axis, LevelAxis) or len(indices) < 64 or axis.grid.kind == "step" or axis.missing is not None:
        deltas = [axis.delta(int(index)) for index in indices]
        part = np.array([math.floor(norm.part(number, d) * scale) for d in deltas], np.int64)
        return part, np.array([math.floor(norm.gamma * weight * d * scale) for d in deltas], np.int64)
    # Differences of doubles, quotients and products: each operation errs by one part in 2^53.
    with np.errstate(over="ignore"):
        delta = np.abs(values_of(axis, indices) - nearest(axis.start_value)) / nearest(axis.scale)
    alpha, beta, gamma = (nearest(weight * share) for share in (norm.alpha, norm.beta, norm.gamma))
    moved = delta > 0
    part = np.where(moved, np.floor((alpha + beta * delta) * float(scale) * _ROUNDED), 0.0)
    return part.astype(np.int64), np.floor(gamma * delta * float(scale) * _ROUNDED).astype(np.int64)


def _axes(axes: Sequence[Axis], norm: Norm, cuts: list[Array], scale: int) -> Ground:
    count, levels = len(axes), max([1, *(axis.count for axis in axes if isinstance(axis, LevelAxis))])
    base = np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64)
    part, top = (np.zeros(base[-1], np.int64) for _ in range(2))
    low, high, start = (np.zeros(count, np.int64) for _ in range(3))
    turn = np.full(count, NO_TURN, np.int64)
    order = np.full((count, levels), -1, np.int64)
    level_part, level_top = (np.zeros((count, levels), np.int64) for _ in range(2))
    for j, axis in enumerate(axes):
        here = slice(base[j], base[j + 1])
        if isinstance(axis, GridAxis):
            start[j], high[j] = np.searchsorted(cuts[j], [axis.start, axis.upper])
            turn[j] = _turn(axis, cuts[j])
            # The side without the start begins right after the cut, or ends at it.
            part[here], top[here] = costs_of(axis, norm, j, cuts[j] + (cuts[j] >= axis.start), scale)
        else:
            low[j], start[j] = axis.allowed, axis.start
            every = np.arange(axis.count)
            level_part[j, : axis.count], level_top[j, : axis.count] = costs_of(axis, norm, j, every, scale)
            order[j, : axis.count] = sorted(range(axis.count), key=lambda level, a=axis: (a.delta(level), level))  # type: ignore[misc]
    grid = np.array([isinstance(axis, GridAxis) for axis in axes])
    at = np.concatenate([np.zeros(0, np.int64), *cuts]).astype(np.int64)
    return Ground(grid, base[:-1].copy(), at, part, top, low, high, start, turn, order, level_part, level_top)


def _turn(axis: GridAxis, cuts: Array) -> int:
    """The first cell above the start's from which "missing" is nearer to the start; see `Ground`."""
    if not axis.may_lack or axis.lacks:
        return NO_TURN
    above = np.flatnonzero(cuts >= axis.start)
    # Deltas grow with the cells, save that of "missing", the last one.
    place = bisect_right(above, axis.missing_cost, hi=len(above) - 1, key=lambda cut: axis.delta(int(cuts[cut]) + 1))
    return int(above[place]) + 1


def with_cut(grounded: Grounded, norm: Norm, axis: int, index: int) -> tuple[Grounded, int]:
    """The same arrays with one more cut on a grid axis (or a mask on a level axis), and its place on the axis.

    Only for cuts that are not there yet: tests on the axis from that place on move up by one.
    """
    ground, one = grounded.ground, grounded.axes[axis]
    cuts = grounded.cuts(axis)
    place = int(np.searchsorted(cuts, index)) if isinstance(one, GridAxis) else len(cuts)
    where = int(ground.base[axis]) + place
    base, low, high, start = ground.base.copy(), ground.low.copy(), ground.high.copy(), ground.start.copy()
    turn = ground.turn.copy()
    base[axis + 1 :] += 1
    part = top = np.zeros(1, np.int64)
    test = grounded.forest.test
    if isinstance(one, GridAxis):
        part, top = costs_of(one, norm, axis, np.array([index + (index >= one.start)]), grounded.scale)
        high[axis] += 1
        start[axis] += index < one.start
        test = moved(test, axis, place)
        turn[axis] = _turn(one, np.insert(cuts, place, index))
    changed = ground._replace(
        base=base,
        at=np.insert(ground.at, where, index),
        part=np.insert(ground.part, where, part[0]),
        top=np.insert(ground.top, where, top[0]),
        low=low,
        high=high,
        start=start,
        turn=turn,
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
        least = needed(compare, compare_slack(model, compare), sure=False)
        first = Fraction(0)
        for sign, side in ((1, compare.plus), (-1, compare.minus)):
            first += sign * exact(model.start[side]) if side is not None else 0
        wanted = (exact(compare.than) * model.divide - first + least.bound) * unit
        limit = math.floor(wanted) + 1 if least.strict else math.ceil(wanted)
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
