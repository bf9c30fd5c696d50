"""Trees over axes as plain arrays: cuts, cells, costs and leaf gains in scaled integers.

In:  a Question about an Ensemble under a Norm.
Out: `Grounded`: for every axis the places where some tree changes its answer, for every tree node a test on an axis,
     and for every comparison of the goal what a leaf adds to it, all as numpy arrays of integers.
Promise: every rounding goes in the sound direction. The scaled cost of a box is a lower bound of its exact distance and
less than `width` below it (width 0: equal); the scaled gain of a leaf is an upper bound of its exact gain.

A grid axis with cuts c_0 < .. < c_(m-1) has the cells 0..m, cell k being the indices in (c_(k-1), c_k], on which every
tree answers alike. Cuts, and so cells, are those of the feature's whole range; a row may allow a part of it. A test of
a tree is "cell <= k": k = -1 for a test that no value passes, m for one that all pass. A level axis keeps a bit mask of
levels, a test is the mask of levels that go left. Several columns of one feature (one-hot, thermometer) act on one
axis, so a category has one value by construction.
Source: proofs/FORMAT.md for the statement; mace.tables.margins for the rounding of sums.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mace.base.cache import Kept, Recent
from mace.base.deadline import NEVER, Deadline
from mace.problem.distance import Charge, Norm
from mace.problem.lines import Line, both_ways
from mace.problem.question import Question
from mace.solve.ensembles.arrays.costs import EXACT, charges_of, costs_of, reach, scale_of
from mace.solve.ensembles.arrays.cuts import Array, Tests, Trees, no_cut, tests_of
from mace.solve.ensembles.arrays.gains import gains_of, is_fuzzy
from mace.solve.ensembles.arrays.tariff import tariff_of
from mace.space.axes import Axis, Box, GridAxis, LevelAxis, Point
from mace.tables.table import Decision, Ensemble

MOST_LEVELS = 63
NO_TURN = 2**62
NO_LIMIT = 2**62  # a scaled distance that nothing has


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
    value: (M, K) what a leaf adds to the float scores, for the M nodes of the whole forest, by its number there.
    leaf:  (N,) the node's number in the whole forest, which this one may be a part of (`shrink`).
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
    exponent: scaled sums are in units of 2^-exponent.
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
    exponent: int


class _Ends(NamedTuple):
    """What grid axes allow, where they start, and how many cuts they have; of others 0, but for cuts."""

    lower: Array
    upper: Array
    start: Array
    cuts: Array


@dataclass
class Grounded:
    """All arrays of a question; `scale` units of cost are a distance of 1, `depth` is that of the deepest tree, and
    `tests` are those of the model, whatever cuts the arrays have beside.

    charges: what changes cost, exactly. lines: what linear rules say. part: of the goal, where one alone is aimed at.
    exponent: of the norm's unit, see `Norm.exponent`.
    """

    axes: tuple[Axis, ...]
    ground: Ground
    forest: Forest
    aim: Aim
    scale: int | Fraction
    width: int
    depth: int
    tests: Tests
    charges: tuple[Charge, ...] = ()
    lines: tuple[Line, ...] = ()
    part: int | None = None
    exponent: int = 0

    def cuts(self, axis: int) -> Array:
        """The cuts of one axis, in order (a view)."""
        base = self.ground.base
        end = base[axis + 1] if axis + 1 < len(base) else len(self.ground.at)
        return self.ground.at[base[axis] : end]

    def nearest(self, low: Array, high: Array) -> Point:
        """The point of a box (in cells and masks) that is nearest to the start."""
        ground, ends = self.ground, self._ends
        if ends is None:
            point = [
                axis.nearest(*self.interval(j, int(low[j]), int(high[j]))) if isinstance(axis, GridAxis) else 0
                for j, axis in enumerate(self.axes)
            ]
        else:  # the same, of all axes at once
            at, far = ground.at, len(ground.at) - 1
            # Masks of levels lead anywhere.
            after = at[np.minimum(np.maximum(ground.base + low - 1, 0), far)] + 1
            until = at[np.minimum(np.maximum(ground.base + high, 0), far)]
            first = np.where(low <= 0, ends.lower, np.maximum(ends.lower, after))
            last = np.where(high >= ends.cuts, ends.upper, np.minimum(ends.upper, until))
            point = np.minimum(np.maximum(ends.start, first), last).tolist()
        for j, order in self._orders:
            mask = int(low[j])
            point[j] = next(k for k in order if mask >> k & 1)
        return tuple(point)

    @cached_property
    def _orders(self) -> list[tuple[int, list[int]]]:
        """Of each axis of levels, these by cost."""
        order = self.ground.order.tolist()
        return [(j, order[j]) for j, axis in enumerate(self.axes) if isinstance(axis, LevelAxis)]

    @cached_property
    def _ends(self) -> _Ends | None:
        """The ends of all grid axes; None where one may be missing, or 64 bits do not hold its indices."""
        grids = [(j, axis) for j, axis in enumerate(self.axes) if isinstance(axis, GridAxis)]
        held = all(
            axis.missing is None
            and (axis.grid.kind != "step" or max(map(abs, (axis.lower, axis.upper, axis.start))) < EXACT)
            for _, axis in grids
        )
        if not held or not len(self.ground.at):
            return None
        found = np.zeros((3, len(self.axes)), np.int64)
        for j, axis in grids:
            found[:, j] = axis.lower, axis.upper, axis.start
        lower, upper, start = found
        base = self.ground.base
        return _Ends(lower, upper, start, np.append(base[1:], len(self.ground.at)) - base)

    def point(self, cells: Array) -> Point:
        """The point of some cells and levels that is nearest to the start."""
        grid = self.ground.grid
        return self.nearest(np.where(grid, cells, np.int64(1) << np.where(grid, 0, cells)), cells)

    def interval(self, axis: int, low: int, high: int) -> tuple[int, int]:
        """The first and last index of the cells low..high of a grid axis."""
        one, cuts = self.axes[axis], self.cuts(axis)
        assert isinstance(one, GridAxis)
        # The first and the last cell of what is allowed may be parts of cells.
        first = one.lower if low <= 0 else max(one.lower, int(cuts[low - 1]) + 1)
        return first, one.upper if high >= len(cuts) else min(one.upper, int(cuts[high]))

    def sides(self, low: Array, high: Array) -> Box:
        """A box of cells and masks in indices of the axes."""
        return tuple(
            int(first) if isinstance(axis, LevelAxis) else self.interval(j, int(first), int(last))
            for j, (axis, first, last) in enumerate(zip(self.axes, low, high, strict=True))
        )

    def inside(self, low: Array, high: Array) -> Grounded:
        """The arrays for a box of cells and masks alone, as if nothing else were allowed."""
        ground = self.ground
        # Without its last cell an axis has no "missing".
        turn = np.where(ground.grid & (high < ground.high), NO_TURN, ground.turn)
        return replace(self, ground=ground._replace(low=low, high=high, turn=turn))

    def aimed_at(self, part: int, forest: Forest) -> tuple[Grounded, Forest]:
        """The arrays for one part of the goal alone; and the same of a part of the forest."""
        aim = self.aim
        own = aim.part_of[aim.begin[part] : aim.begin[part + 1]]
        which = np.unique(own)
        need, plus, minus, than, strict = (a[which] for a in (aim.need, aim.plus, aim.minus, aim.than, aim.strict))
        begin = np.array([0, len(own)], np.int64)
        one = aim._replace(
            need=need, part_of=np.searchsorted(which, own), begin=begin, plus=plus, minus=minus, than=than,
            strict=strict,
        )  # fmt: skip
        whole, less = (trees._replace(gain=np.ascontiguousarray(trees.gain[which])) for trees in (self.forest, forest))
        return replace(self, aim=one, forest=whole, part=part), less

    def cells(self, point: Point) -> Array:
        """The cell or level of every coordinate of a point."""
        found = np.empty(len(self.axes), np.int64)
        for j, index in enumerate(point):
            found[j] = np.searchsorted(self.cuts(j), index) if self.ground.grid[j] else index
        return found


# Who proves asks first, then who writes the proof down: an audit after as many questions as it hands to a process.
_GROUNDED: Recent[Grounded] = Recent(64)


def ground(question: Question, deadline: Deadline = NEVER) -> Grounded:
    """The arrays of a question that `refusal` has nothing against, not to be changed; raises TimeOverError."""
    return _GROUNDED.get(question, lambda: _ground(question, deadline))


def _ground(question: Question, deadline: Deadline) -> Grounded:
    model, norm = question.model, question.distance
    assert isinstance(model, Ensemble) and isinstance(norm, Norm)

    def look() -> None:
        deadline.look("preparing the trees")

    tests = tests_of(question, model, look)
    scale, width = scale_of(question.axes, norm)
    look()
    axes = _axes(question.axes, norm, tests, scale)
    look()
    trees = tests.trees
    aimed = _AIMS.get(model, question.goal.decision, lambda: _aim(model, question.goal.decision, trees))
    forest = Forest(tests.test, trees.up, trees.roots, aimed.gain, trees.value, trees.number)
    depth, lines = len(trees.rows), both_ways(question.rules)
    if any(getattr(question.axes[j], "missing", None) is not None for line in lines for j, _ in line.factors):
        lines = ()
    whole = Grounded(
        question.axes, axes, forest, aimed.aim, scale, width, depth, tests, norm.charges, lines, exponent=norm.exponent
    )
    return _leaving(whole, norm)


def refusal(question: Question) -> str | None:
    """Why this prover does not take a question; None if it does."""
    if not isinstance(question.model, Ensemble):
        return f"it takes tree ensembles, and the model is a {question.model.name}"
    if not isinstance(question.distance, Norm):
        return "the distance is a program"
    for axis in question.axes:
        if isinstance(axis, LevelAxis) and axis.count > MOST_LEVELS:
            return f"`{axis.name}` has {axis.count} levels, and it takes up to {MOST_LEVELS}"
        if not math.isfinite(reach(axis)):
            return f"the range of `{axis.name}` is too large for doubles"
    return no_cut(question, question.model)


# ---------------------------------------------------------------------------------------------- axes


def _axes(axes: Sequence[Axis], norm: Norm, tests: Tests, scale: int | Fraction) -> Ground:
    """The axes of a row, with the costs of what the trees' cuts divide."""
    tariff = tariff_of(axes, norm, tests, scale)
    found = tariff.at_once(axes)
    low, high, start = found.low, found.high, found.start
    turn = np.full(len(axes), NO_TURN, np.int64)
    levels = max([1, *(axes[j].count for j in tariff.levels)])  # type: ignore[union-attr]
    order = np.full((len(axes), levels), -1, np.int64)
    level_part, level_top = (np.zeros((len(axes), levels), np.int64) for _ in range(2))
    for j in tariff.levels:
        axis = axes[j]
        assert isinstance(axis, LevelAxis)
        low[j], start[j], every = axis.allowed, axis.start, tariff.of_levels(j, axis)
        level_part[j, : axis.count], level_top[j, : axis.count] = every.costs
        order[j, : axis.count] = every.order
    for j in found.left:
        axis, cuts = axes[j], tests.cuts[j]
        assert isinstance(axis, GridAxis)
        start[j], low[j], high[j] = np.searchsorted(cuts, [axis.start, axis.lower, axis.upper])
        turn[j] = _turn(axis, cuts)
        # Other cuts divide nothing that is allowed, and their costs nothing that is compared.
        first, last = min(low[j], start[j]), max(high[j], start[j])
        here = slice(tests.base[j] + first, tests.base[j] + last)
        cuts = cuts[first:last]
        # The side without the start begins right after the cut, or ends at it.
        found.part[here], found.top[here] = costs_of(axis, tariff.charges[j], cuts + (cuts >= axis.start))
    part, top = found.part, found.top
    return Ground(tariff.grid, tests.base, tests.at, part, top, low, high, start, turn, order, level_part, level_top)


def _leaving(grounded: Grounded, norm: Norm) -> Grounded:
    """The same arrays with a cut between a start that is not allowed and what is: it costs what is allowed first."""
    for j, axis in enumerate(grounded.axes):
        if not isinstance(axis, GridAxis) or axis.allows(axis.start):
            continue
        below = axis.start < axis.lower
        cut = axis.lower - 1 if below else axis.upper
        if cut in grounded.cuts(j):
            continue
        grounded, _ = with_cut(grounded, norm, j, cut)
        side = (grounded.ground.low if below else grounded.ground.high).copy()
        side[j] += 1 if below else -1
        changed = grounded.ground._replace(low=side) if below else grounded.ground._replace(high=side)
        grounded = replace(grounded, ground=changed)
    return grounded


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
        charge = charges_of(norm, grounded.scale)[axis]
        part, top = costs_of(one, charge, np.array([index + (index >= one.start)]))
        high[axis] += 1
        start[axis] += index < one.start
        test = moved(test, axis, place)
        turn[axis] = _turn(one, _with(cuts, place, index))
    changed = ground._replace(
        base=base,
        at=_with(ground.at, where, index),
        part=_with(ground.part, where, part[0]),
        top=_with(ground.top, where, top[0]),
        low=low,
        high=high,
        start=start,
        turn=turn,
    )
    return replace(grounded, ground=changed, forest=grounded.forest._replace(test=test)), place


def moved(test: Array, axis: int, place: int) -> Array:
    """Tests of trees after one more cut at a place of an axis."""
    test = test.copy()
    here = np.flatnonzero(test[:, 0] == axis)  # few of all nodes
    test[here[test[here, 1] >= place], 1] += 1
    return test


def _with(values: Array, place: int, value: int) -> Array:
    """Values with one more of them at a place: of a few hundred `np.insert` takes five times as long."""
    found = np.empty(len(values) + 1, values.dtype)
    found[:place], found[place], found[place + 1 :] = values[:place], value, values[place:]
    return found


# ---------------------------------------------------------------------------------------------- the goal


class Aimed(NamedTuple):
    """The goal, and what each leaf adds to its comparisons: `gain` as in `Forest`."""

    aim: Aim
    gain: Array


_AIMS: Kept[Aimed] = Kept(8)


def _aim(model: Ensemble, decision: Decision, trees: Trees) -> Aimed:
    compares = list(dict.fromkeys(compare for part in decision for compare in part))
    found = gains_of(model, compares, trees)
    aim = Aim(
        found.need,
        np.array([compares.index(compare) for part in decision for compare in part], np.int64),
        np.cumsum([0, *map(len, decision)]).astype(np.int64),
        np.array([-1 if c.plus is None else c.plus for c in compares], np.int64),
        np.array([-1 if c.minus is None else c.minus for c in compares], np.int64),
        np.array([c.than for c in compares], np.float64),
        np.array([c.strict for c in compares]),
        model.start.astype(model.dtype).astype(np.float64),
        model.dtype == "float32",
        float(model.divide),
        is_fuzzy(model, decision),
        found.exponent,
    )
    return Aimed(aim, found.gain)
