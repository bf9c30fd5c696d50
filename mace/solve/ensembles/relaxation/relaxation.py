"""The linear relaxation of the distance to a goal of trees, and what any multipliers prove of it in whole numbers.

In:  the arrays of a question (`Grounded`), a forest cut down to a ball, and one part of the goal.
Out: `Relaxation`: its arrays for compiled code (`frame`), and `bound`: what given multipliers prove of a box.
Promise: `bound` is a lower bound of the distance of every point of the box, inside the ball, that has the part of the
goal, whatever prices it is given; the checker, which evaluates the same prices, finds no less.

Variables are shares, from 0 to 1: of every leaf; for every cut of an ordered axis that some tree tests, of the side
below it; of each level of an axis of levels. The shares of a tree's leaves sum to 1. Rows: for each tree and each side
of a cut, the leaves that lie on that side whole have together no more than the side's share. The dual multiplier of
such a row is its price, which certificates hold. A piece is the cells of an axis between two neighbouring cuts, or one
level; its cost counts once, whichever trees need it, so that all trees share one distance.
Source: Misic 2020, "Optimization of tree ensembles" (his rows are the splits of a tree; those of one cut are one here).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mace.base.bits import members
from mace.base.deadline import NEVER, Deadline
from mace.problem.proof import Cliques, Prices
from mace.solve.ensembles.arrays.cells import Forest, Ground, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.gains import ALWAYS
from mace.solve.ensembles.arrays.spots import Spots
from mace.solve.ensembles.arrays.walk import new_box
from mace.solve.ensembles.relaxation.ascent import Climbed, ascend
from mace.solve.ensembles.relaxation.exact_bound import NOTHING, proved, rounded
from mace.solve.ensembles.relaxation.frame import ANYTHING, Active, RelaxationArrays
from mace.solve.ensembles.relaxation.narrowing import narrowed
from mace.solve.ensembles.relaxation.opening import opened, whole
from mace.solve.ensembles.relaxation.paths import leaves_of
from mace.solve.ensembles.relaxation.sides import sides_of

DIGITS = 40  # binary digits of the limit in units, and of a multiplier of a comparison
MOST_BITS = 56  # a distance of about 1 in units still leaves room for sums
HUGE = 2**62
MARGIN = 2e-3  # of what trees may gain, by which a goal is to be missed
FAINT = 3e-5  # of the limit; cliques whose prices are less are not looked at below


class Pace(NamedTuple):
    """How the steps of a dual ascent follow one another.

    kept: this part of the last direction goes on in the next one. patient: rounds without a better bound, after which
    steps get `shorter` times as long.
    """

    kept: float
    patient: int
    shorter: float


class Effort(NamedTuple):
    """What is spent on the dual ascent in a box.

    rounds: at most. aim: it ends at so many times the limit; what is too much is spent on rounding. step: how long its
    first steps are, as a part of Polyak's. pace: at the usual one shares of leaves and pieces come nearer to those of
    the solution, at others the bound grows faster.
    """

    rounds: int
    aim: float = 1.08
    step: float = 0.3
    pace: Pace = Pace(0.6, 10, 0.8)


class Exact(NamedTuple):
    """Multipliers in whole numbers.

    prices: (rows,) in 2^coarse units. goal: units per scaled gain, doubles of at most `DIGITS` digits.
    shares: per axis of the linf part, doubles of at most 30 digits. lines: of linear rules, likewise.
    """

    prices: Array
    coarse: int
    goal: Array
    shares: Array
    lines: Array

    def within(self, active: Active) -> Exact:
        """The same without the prices of rows that a box does not leave open."""
        prices = np.zeros_like(self.prices)
        used = active.number[active.number < len(prices)]
        prices[used] = self.prices[used]
        return self._replace(prices=prices)


class Columns(NamedTuple):
    """The columns of one axis: the cuts (local, in order) or the levels that they stand for."""

    axis: int
    items: Array


class Relaxation:
    """One part of the goal of one question, for a forest that was cut down (`shrink`): every test divides its box.

    free: nothing costs anything, so that any bound above 0 proves that a box holds no point with the part of the goal:
    it can be multiplied. Of a distance that is the largest change alone, boxes of balls are asked that.
    Raises TimeOverError: the rows of a large forest take seconds.
    """

    def __init__(
        self, grounded: Grounded, forest: Forest, part: int, size: Fraction, deadline: Deadline = NEVER, *,
        free: bool = False,
    ) -> None:  # fmt: skip
        # size, about the distance that is to be proved, has `DIGITS` digits in units of 2^-bits.
        unit = grounded.exponent  # that of a distance of about 1
        self.bits = min(DIGITS - math.frexp(float(size / Fraction(2) ** unit) or 1.0)[1], MOST_BITS) - unit
        self.ground, self.scale, self.exponent = grounded.ground, grounded.scale, grounded.aim.exponent
        self.roots = grounded.forest.roots
        self.leaves = leaves_of(self.ground, forest)
        self.tree = self.leaves.tree
        self.nodes = forest.leaf[self.leaves.node] - self.roots[self.tree]  # in their trees
        self.first_leaf = np.flatnonzero(np.diff(self.tree, prepend=-1))
        self._aimed(grounded, forest, part)
        self.columns = _columns(self.ground, forest)
        self.free = free
        self.largest = not free and bool(self.ground.top.any() or self.ground.level_top.any())
        self.spots = Spots(grounded, self.bits)
        self.lines = grounded.lines
        self.sides, self.at, self.rows = sides_of(grounded, forest, self.leaves, deadline)
        self.cliques: list[Array] = []

    def _aimed(self, grounded: Grounded, forest: Forest, part: int) -> None:
        """What differs between the parts of a goal: which comparisons, what they need, and the gains of leaves."""
        aim = grounded.aim
        self.compares = [int(c) for c in aim.part_of[aim.begin[part] : aim.begin[part + 1]]]
        # One less than what the sum of rounded gains needs: the checker rounds neither gains nor needs.
        self.need = [int(aim.need[c]) - 1 for c in self.compares]
        self.gain = np.ascontiguousarray(forest.gain[np.array(self.compares)][:, self.leaves.node])
        # (C, trees) between the most and the least that a tree may gain; where that is 0 it makes no difference.
        most, least = (op.reduceat(self.gain, self.first_leaf, axis=1) for op in (np.maximum, np.minimum))
        self.spreads = most - least

    def beside(self, grounded: Grounded, forest: Forest, part: int) -> Relaxation:
        """That of another part of the goal, for the same forest: leaves, rows and pieces are shared."""
        frame, everything, made = self.framed, self.whole, copy.copy(self)
        made._aimed(grounded, forest, part)
        made.framed = frame._replace(gain=made.gain, need=np.array(made.need, np.int64))
        made.whole = everything
        return made

    @cached_property
    def framed(self) -> RelaxationArrays:
        """The arrays for compiled code, made once."""
        return self.frame()

    @cached_property
    def whole(self) -> Active:
        """All leaves, rows and pieces."""
        return whole(self.framed)

    def frame(self) -> RelaxationArrays:
        """The arrays for compiled code, with costs in units of 2^-bits of a distance of 1."""
        columns, sides, grid = self.columns, self.sides, self.ground.grid
        place = np.zeros(len(sides.cut), np.int64)
        for one in columns:
            here = sides.axis == one.axis
            place[here] = np.searchsorted(one.items, sides.cut[here])
        pieces = [self._pieces(one) for one in columns]
        costs = [self._costs(one) for one in columns]
        begin = np.cumsum([0, *(len(first) for first, _ in pieces), 1])  # the last piece is that of cliques
        read, spots, *of_spots = self.spots.of([(one.axis, *piece) for one, piece in zip(columns, pieces, strict=True)])
        none = np.zeros(1, np.int64)
        return RelaxationArrays(
            np.append(self.first_leaf, len(self.tree)),
            self.at,
            self.rows,
            self.gain,
            np.array(self.need, np.int64),
            sides.axis,
            sides.limits(self.ground),
            sides.side,
            place,
            np.append(grid, True),
            begin,
            np.concatenate([*(first for first, _ in pieces), none]),
            np.concatenate([*(last for _, last in pieces), none]),
            self._units(np.concatenate([*(part for part, _ in costs), none])),
            self._units(np.concatenate([*(top for _, top in costs), none])),
            np.append(read, False),
            np.append(spots, spots[-1]),
            *of_spots,
        )

    def add(self, cliques: Sequence[Array]) -> None:
        """Add rows of cliques, each as its leaves by place in `tree`, to those that there are."""
        frame, rows = self.framed, len(self.framed.axis)
        leaf = np.concatenate([np.zeros(0, np.int64), *cliques])
        row = np.repeat(rows + np.arange(len(cliques)), np.array([len(one) for one in cliques], np.int64))
        order = np.argsort(leaf, kind="stable")
        at = frame.at + np.searchsorted(leaf[order], np.arange(len(frame.at)))
        row = np.insert(frame.rows, frame.at[leaf[order] + 1], row[order])  # those of cliques come last

        def more(column: Array, value: int) -> Array:
            return np.append(column, np.full(len(cliques), value, column.dtype))

        # Their side is the whole piece: what lies above a cut before it.
        self.framed = frame._replace(
            at=at, rows=row, axis=more(frame.axis, len(frame.grid) - 1),
            cut=more(frame.cut, -1), side=more(frame.side, 1), place=more(frame.place, -1),
        )  # fmt: skip
        self.whole = whole(self.framed)
        self.cliques = [*self.cliques, *cliques]

    def _units(self, costs: Array) -> Array:
        """Scaled costs in units, rounded down."""
        shift = (1 << self.bits) if self.bits >= 0 else Fraction(1, 1 << -self.bits)
        return np.array([int(cost) * shift // self.scale for cost in costs], np.int64)

    def _pieces(self, columns: Columns) -> tuple[Array, Array]:
        """The first and last cell of each piece of an axis; a level twice."""
        if not self.ground.grid[columns.axis]:
            return columns.items, columns.items
        return np.concatenate([[0], columns.items + 1]), np.append(columns.items, HUGE)

    def _costs(self, columns: Columns) -> tuple[Array, Array]:
        """Scaled costs (sum part, linf part) of the pieces of an axis, or of its levels."""
        ground, j = self.ground, columns.axis
        if not ground.grid[j]:
            return ground.level_part[j, columns.items], ground.level_top[j, columns.items]
        first, last = self._pieces(columns)
        first, last = np.maximum(first, ground.low[j]), np.minimum(last, ground.high[j])
        start, base = ground.start[j], ground.base[j]
        near = np.where(first > start, base + first - 1, base + last)
        # "Missing", the last cell, may be nearer than the values below it.
        near = np.where((first >= ground.turn[j]) & (last == ground.high[j]), base + ground.high[j] - 1, near)
        away = (first > start) | (last < start)
        near = np.where(away & (first <= last), near, 0)
        if not len(ground.part):
            return np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
        return np.where(away, ground.part[near], 0), np.where(away, ground.top[near], 0)

    def open(
        self, low: Array, high: Array, limit: int, above: Active | None = None, paid: Array | None = None
    ) -> Active:
        """What a box of cells and masks leaves open to points at a scaled distance below a limit.

        above: what a larger box left open, with a limit no smaller; None looks at all leaves.
        paid: prices by row; cliques without one are left out, but for those that it says nothing of. None: all stay.
        """
        box = new_box(len(low))
        box.low[:], box.high[:] = low, high
        idle = np.zeros(len(self.cliques), np.bool_)
        if paid is not None:
            rows = paid[len(self.sides.tree) :]
            idle[: len(rows)] = rows < FAINT * 2.0**DIGITS
        return opened(self.framed, self.ground, box, limit, above or self.whole, idle)

    def units(self, scaled: int) -> float:
        """A scaled distance in the units of the relaxation, nearly."""
        up, down = max(self.bits, 0), max(-self.bits, 0)
        # Of whole numbers: fractions take ten times as long.
        return (scaled * self.scale.denominator << up) / (self.scale.numerator << down)

    def climb(self, active: Active, start: Climbed, effort: Effort, limit: int) -> Climbed:
        """Better multipliers than given ones, by dual ascent towards a scaled distance."""
        rounds, aim, step, pace = effort
        goal = self._paying() if self.free and not start.goal.any() else start.goal
        return ascend(
            self.framed, active, self._each(start.prices), goal, start.shares, start.lines, float(1 << DIGITS),
            aim * self.wanted(limit), rounds, self.largest, self.free, step, *pace,
        )  # fmt: skip

    def _paying(self) -> Array:
        """Multipliers of comparisons to start from, where nothing has a cost that they could be measured by.

        With them what those trees gain that make a difference changes by a tenth of a price, in the mean.
        """
        spread = np.maximum(self.spreads.sum(axis=1, dtype=np.float64), 1.0)
        return np.asarray(np.ldexp(np.count_nonzero(self.spreads, axis=1) / (10 * spread * len(spread)), DIGITS))

    def wanted(self, limit: int) -> float:
        """The bound, in units, that an ascent aims at, to prove a scaled distance."""
        if not self.free:
            return self.units(limit)
        return MARGIN * float(np.count_nonzero(self.spreads, axis=1).mean()) / 10 * float(1 << DIGITS)

    def _each(self, prices: Array) -> Array:
        """Prices by row, 0 for cliques that came later."""
        later = len(self.framed.axis) - len(prices)
        return np.append(prices, np.zeros(later, prices.dtype)) if later else prices

    # ------------------------------------------------------------------------------------------ whole numbers

    def nothing(self) -> Exact:
        """Multipliers that are all 0."""
        rows, axes = len(self.sides.tree), len(self.framed.grid)
        compares, lines = len(self.compares), len(self.lines)
        return Exact(np.zeros(rows, np.int64), 0, np.zeros(compares), np.zeros(axes), np.zeros(lines))

    def exact(self, climbed: Climbed, digits: int, smallest: float) -> Exact:
        """Multipliers rounded to what is written: prices to so many digits of the limit.

        smallest: prices below this part of the limit are dropped.
        """
        coarse = max(0, DIGITS - digits)
        prices = rounded(climbed.prices, coarse, max(smallest * 2.0**DIGITS, 0.5))
        # What always holds needs even less than is known here, so that a checker finds less than these numbers prove.
        told = np.isfinite(climbed.goal) & (self.framed.need >= ALWAYS)
        goal = np.where(told, np.maximum(climbed.goal, 0.0), 0.0)
        fine = int(DIGITS - np.frexp(max(float(goal.max(initial=0.0)), 2.0**-300))[1])
        rough = np.floor(np.ldexp(goal, fine))
        shares = np.zeros(len(climbed.shares))
        if self.largest:
            some = np.floor(np.maximum(np.nan_to_num(climbed.shares), 0.0) * (2.0**30 - 64)) / 2.0**30
            shares = some if some.sum() <= 1.0 else shares
        lines = np.where(np.isfinite(climbed.lines), np.maximum(climbed.lines, 0.0), 0.0)
        lines = np.floor(np.minimum(lines, 2.0**20) * 2.0**24) / 2.0**24
        return Exact(prices, coarse, np.ldexp(rough, -fine), shares, lines)

    def coarser(self, exact: Exact, digits: int, smallest: float) -> Exact:
        """Multipliers rounded once more; as they are, where they have no more digits."""
        if DIGITS - digits <= exact.coarse:
            return exact
        prices = exact.prices * float(1 << exact.coarse)
        none = np.zeros(0)
        return self.exact(Climbed(0.0, prices, exact.goal, exact.shares, exact.lines, none, none), digits, smallest)

    def bound(self, exact: Exact, active: Active) -> int:
        """No point of a box that has the part of the goal is nearer, in units."""
        given = (self._each(exact.prices << exact.coarse), exact.goal, exact.shares, exact.lines)
        return proved(self.framed, active, *given, self.framed.need)

    def narrow(self, exact: Exact, active: Active, low: Array, high: Array, enough: int) -> tuple[Array, Array]:
        """What a box has left where prices prove that points elsewhere in it are at `enough` units; see `narrowed`."""
        low, high = low.copy(), high.copy()
        spare, prices = enough - self.bound(exact, active), self._each(exact.prices << exact.coarse)
        if spare > 0:
            narrowed(self.framed, active, prices, exact.shares, exact.lines, spare, low, high)
        return low, high

    def narrows(self, exact: Exact, active: Active, box: tuple[Array, Array, Array, Array], enough: int) -> bool:
        """Whether prices take from a box, the first two, all that a smaller one, the last two, has not."""
        if (bound := self.bound(exact, active)) >= enough:
            return True
        low, high = self.narrow(exact, active, *box[:2], enough)
        inside = np.where(self.ground.grid, low >= box[2], low & ~box[2] == 0)
        return bool(bound > NOTHING and (inside & (high <= box[3])).all())

    def enough(self, limit: int, whole: bool) -> int:
        """The least bound whose key is a scaled distance, or more; whole: as in `key`."""
        return 1 if self.free else self._enough(limit, whole=whole)

    def _enough(self, limit: int, *, whole: bool) -> int:
        unit = Fraction(2) ** self.bits / self.scale
        return math.floor((limit - 1) * unit) + 1 if whole else math.ceil(limit * unit)

    def key(self, bound: int, whole: bool) -> int:
        """The scaled distance that a bound proves; whole: every distance is whole, so that the next one counts."""
        if bound == ANYTHING or (self.free and bound > 0):
            return HUGE
        scaled = bound * self.scale * Fraction(2) ** -self.bits
        return max(0, min(HUGE, math.ceil(scaled) if whole else math.floor(scaled)))

    def prices(self, exact: Exact, active: Active, limit: int = 0) -> Prices:
        """What a certificate says of the multipliers in a box; those of sides that no cut divides are left out.

        limit: the scaled distance that those of a `free` relaxation are to prove.
        """
        known = active.number[active.number < len(exact.prices)]
        used = known[exact.prices[known] > 0]
        used, cliques = used[used < len(self.sides.tree)], used[used >= len(self.sides.tree)]
        trees = self.sides.tree[used]
        nodes = self.sides.node[used] - self.roots[trees]
        # Where any bound above 0 can be multiplied, one unit becomes enough.
        times = Fraction(2) ** (self._enough(limit, whole=False).bit_length() if self.free else 0)
        unit = times * Fraction(2) ** (exact.coarse - self.bits)
        factor = times * Fraction(2) ** (self.exponent - self.bits)
        order = np.lexsort((nodes, trees))
        written = zip(*(column[order].tolist() for column in (trees, nodes, exact.prices[used])), strict=True)
        shares = {j: Fraction(share) for j, share in enumerate(exact.shares.tolist()) if share}
        goal = tuple(Fraction(q) * factor for q in exact.goal.tolist())
        priced = zip((cliques - len(self.sides.tree)).tolist(), exact.prices[cliques].tolist(), strict=True)
        rules = self.spots.rules(exact.lines * float(times))
        return Prices(goal, shares, unit, tuple(written), rules=rules, cliques=tuple(priced))

    def written_cliques(self) -> Cliques:
        """What a certificate says of the cliques."""
        pairs = ((self.tree[one].tolist(), self.nodes[one].tolist()) for one in self.cliques)
        return Cliques(tuple(tuple(zip(*pair, strict=True)) for pair in pairs))


# ---------------------------------------------------------------------------------------------- the forest's arrays


def _columns(ground: Ground, forest: Forest) -> list[Columns]:
    """The columns of every axis: of its cuts that some tree tests, or of its levels."""
    found = []
    inner = forest.test[forest.test[:, 0] >= 0]
    for axis in range(len(ground.grid)):
        found.append(Columns(axis, _items(ground, axis, np.unique(inner[inner[:, 0] == axis, 1]).tolist())))
    return found


def _items(ground: Ground, axis: int, cuts: Sequence[int]) -> Array:
    if ground.grid[axis]:
        return np.array(cuts, np.int64)
    return np.array(members(int(ground.low[axis])), np.int64)
