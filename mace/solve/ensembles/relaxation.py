"""The linear relaxation of the distance to a goal of trees, and what any dual of it proves in exact numbers.

In:  the arrays of a question (`Grounded`), a forest cut down to a ball, and one part of the goal.
Out: `Relaxation`: the linear program in floats, the box of a node as bounds of its columns, and `bound`: the exact
     bound that given prices prove in a box.
Promise: `bound` is a lower bound of the distance of every point of the box, inside the ball, that has the part of the
goal, whatever prices it is given; the checker, which evaluates the same prices, finds no less.

Columns: the share of every leaf; for every cut of an ordered axis that some tree tests, the share of the side below it;
for a row of levels the share of each. The shares of a tree's leaves sum to 1. For each tree and each side of a cut, the
leaves that lie on that side whole have no more than the side's share: the rows whose dual prices are written. A cell is
paid for once, whichever trees need it: so all trees share one budget.
Source: Misic 2020, "Optimization of tree ensembles" (his rows are the splits of a tree; those of one cut are one here).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from mace.problem.proof import Prices
from mace.solve.ensembles.cells import Forest, Ground, Grounded
from mace.solve.ensembles.cuts import Array

PRICE_BITS = 44  # prices are whole numbers below 2^44 units: sums of many fit into 64 bits
GOAL_BITS = 40  # digits of the multipliers of comparisons
ELASTIC = 1e5  # missing the goal altogether costs so many times the size: so the program always has a solution
HUGE = 2**62


class Duals(NamedTuple):
    """Multipliers in floats: one per row of sides, per comparison, and per axis of the linf part."""

    prices: Array
    goal: Array
    shares: Array


class Exact(NamedTuple):
    """Multipliers in whole numbers.

    prices: (rows,) in units of 2^-bits of a distance of 1.
    goal:   in units of 2^-fine of a distance of 1 for a scaled gain of 1.
    """

    prices: Array
    bits: int
    goal: tuple[int, ...]
    fine: int
    shares: dict[int, Fraction]


class Sides(NamedTuple):
    """The rows of sides, by number: tree, axis, cut (local to the axis), side (0: cell <= cut, or level in the mask).

    node: the node of the whole forest that the side's test leads to.
    """

    tree: Array
    axis: Array
    cut: Array
    side: Array
    node: Array


class Columns(NamedTuple):
    """The columns of one axis, from `first` on: the cuts (local, in order) or the levels that they stand for."""

    axis: int
    first: int
    items: Array


class Program(NamedTuple):
    """min cost @ x + constant, in units of `size`, with low <= matrix @ x <= high and 0 <= x <= upper.

    start, column, value: the matrix by rows.
    """

    size: float
    cost: Array
    constant: float
    start: Array
    column: Array
    value: Array
    low: Array
    high: Array
    upper: Array


class _Rows:
    """Rows of a program, one after the other."""

    def __init__(self) -> None:
        self.columns: list[Array] = []
        self.values: list[Array] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, columns: Iterable[int], values: Iterable[float], low: float, high: float) -> None:
        self.columns.append(np.array(list(columns), np.int32))
        self.values.append(np.array(list(values), float))
        self.low.append(low)
        self.high.append(high)


class Relaxation:
    """One part of the goal of one question, for a forest that was cut down (`shrink`): every test divides its box."""

    def __init__(self, grounded: Grounded, forest: Forest, part: int) -> None:
        aim = grounded.aim
        self.ground, self.scale, self.exponent = grounded.ground, grounded.scale, aim.exponent
        self.compares = [int(c) for c in aim.part_of[aim.begin[part] : aim.begin[part + 1]]]
        # One less than what the sum of rounded gains needs: the checker rounds neither gains nor needs.
        self.need = [int(aim.need[c]) - 1 for c in self.compares]
        self.roots = grounded.forest.roots
        numbers, self.tree, boxes = _leaves(self.ground, forest)
        self.gain = forest.gain[np.array(self.compares)][:, numbers]
        self.first_leaf = np.flatnonzero(np.diff(self.tree, prepend=-1))
        self.columns = _columns(self.ground, forest, len(numbers))
        self.largest = bool(self.ground.top.any() or self.ground.level_top.any())
        self.sides, self.leaf_of, self.row_of = self._sides(_entered(grounded, forest), boxes)
        self.scales = np.maximum(np.abs(self.gain).max(axis=1, initial=0).astype(float), 1.0)

    def _sides(self, entered: list[dict[Any, int]], boxes: list[dict[int, Any]]) -> tuple[Sides, Array, Array]:
        """The rows of sides; and, in pairs, each leaf and each row on whose side it lies whole."""
        rows: list[tuple[int, int, int, int, int]] = []
        leaf_of: list[int] = []
        row_of: list[int] = []
        ends = [*self.first_leaf[1:].tolist(), len(self.tree)]
        for t, (begin, end) in enumerate(zip(self.first_leaf.tolist(), ends, strict=True)):
            for (axis, cut, side), node in entered[t].items():
                held = self._holds(axis, cut, side)
                inside = [i for i in range(begin, end) if axis in boxes[i] and held(boxes[i][axis])]
                if inside:
                    leaf_of += inside
                    row_of += [len(rows)] * len(inside)
                    rows.append((t, axis, cut, side, node))
        table = np.array(rows, np.int64).reshape(-1, 5)
        return Sides(*(table[:, k].copy() for k in range(5))), np.array(leaf_of, np.int64), np.array(row_of, np.int64)

    def _holds(self, axis: int, cut: int, side: int) -> Callable[[tuple[int, int]], bool]:
        """Whether an interval of cells, or a mask, lies on a side of a cut whole."""
        if self.ground.grid[axis]:
            return (lambda box: box[1] <= cut) if side == 0 else (lambda box: box[0] > cut)
        mask = int(self.ground.at[self.ground.base[axis] + cut])
        return (lambda box: not box[0] & ~mask) if side == 0 else (lambda box: not box[0] & mask)

    # ------------------------------------------------------------------------------------------ the program

    def program(self, size: float) -> Program:
        """The program, with distances in units of `size`.

        The rows of sides come first, then comparisons, then those of the largest change.
        """
        leaves = len(self.tree)
        wide = leaves + sum(len(columns.items) for columns in self.columns)
        rows = _Rows()
        by_row = np.split(self.leaf_of, np.flatnonzero(np.diff(self.row_of)) + 1)
        for r, inside in enumerate(by_row[: len(self.sides.tree)]):
            numbers, values, shift = self._share(
                int(self.sides.axis[r]), int(self.sides.cut[r]), int(self.sides.side[r])
            )
            rows.add([*inside, *numbers], [*[1.0] * len(inside), *values], -np.inf, shift)
        cost, upper = np.zeros(wide), np.ones(wide)
        for k in range(len(self.compares)):
            gain, need = self.gain[k] / self.scales[k], self.need[k] / self.scales[k]
            rows.add([*range(leaves), wide + k], [*gain, 1.0], need, np.inf)
            reach = np.abs(np.maximum.reduceat(gain, self.first_leaf)).sum() + abs(need)
            cost, upper = np.append(cost, ELASTIC / max(reach, 1e-9)), np.append(upper, np.inf)
        if self.largest:
            cost, upper = np.append(cost, 1.0 / size), np.append(upper, np.inf)
        constant = 0.0
        for columns in self.columns:
            part, top = (costs / self.scale for costs in self._costs(columns, self.ground.low, self.ground.high))
            here = slice(columns.first, columns.first + len(columns.items))
            grid = bool(self.ground.grid[columns.axis])
            part = part / size
            cost[here] = part[:-1] - part[1:] if grid else part
            constant += float(part[-1]) if grid else 0.0
            if self.largest:
                slopes, shift = (top[:-1] - top[1:], float(top[-1])) if grid else (top, 0.0)
                reached = [*range(here.start, here.stop), len(cost) - 1]
                rows.add(reached, [*slopes, -1.0], -np.inf, -shift)
        self._closing_rows(rows)
        start = np.cumsum([0, *map(len, rows.columns)]).astype(np.int32)
        column, value = np.concatenate(rows.columns), np.concatenate(rows.values)
        return Program(size, cost, constant, start, column, value, np.array(rows.low), np.array(rows.high), upper)

    def _share(self, axis: int, cut: int, side: int) -> tuple[list[int], list[float], float]:
        """Minus the share of a side, as columns, values, and a constant on the other side of the row."""
        columns = self.columns[axis]
        if self.ground.grid[axis]:
            column = columns.first + int(np.searchsorted(columns.items, cut))
            return [column], [-1.0 if side == 0 else 1.0], 0.0 if side == 0 else 1.0
        mask = int(self.ground.at[self.ground.base[axis] + cut])
        inside = [columns.first + k for k, level in enumerate(columns.items) if (mask >> int(level) & 1) == (side == 0)]
        return inside, [-1.0] * len(inside), 0.0

    def _closing_rows(self, rows: _Rows) -> None:
        """One leaf a tree, one level an axis, and shares of cells that are not negative."""
        for begin, end in zip(self.first_leaf, [*self.first_leaf[1:], len(self.tree)], strict=True):
            rows.add(range(begin, end), [1.0] * (end - begin), 1.0, 1.0)
        for columns in self.columns:
            numbers = range(columns.first, columns.first + len(columns.items))
            if not self.ground.grid[columns.axis]:
                rows.add(numbers, [1.0] * len(numbers), 1.0, 1.0)
                continue
            for k in numbers[1:]:
                rows.add([k - 1, k], [-1.0, 1.0], 0.0, np.inf)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Lower and upper bounds of the columns of the axes, for a box in cells and masks."""
        lower, upper = [np.zeros(0)], [np.zeros(0)]
        for columns in self.columns:
            j, items = columns.axis, columns.items
            if self.ground.grid[j]:
                lower.append((items >= high[j]).astype(float))
                upper.append((items >= low[j]).astype(float))
            else:
                lower.append(np.zeros(len(items)))
                upper.append((int(low[j]) >> items & 1).astype(float))
        return np.concatenate(lower), np.concatenate(upper)

    def _costs(self, columns: Columns, low: Array, high: Array) -> tuple[Array, Array]:
        """Scaled costs (sum part, linf part) of the cells between the cuts of an axis, met with a box; or of levels."""
        ground, j = self.ground, columns.axis
        if not ground.grid[j]:
            return ground.level_part[j, columns.items], ground.level_top[j, columns.items]
        first = np.maximum(np.concatenate([[0], columns.items + 1]), low[j])
        last = np.minimum(np.concatenate([columns.items, [HUGE]]), high[j])
        start, base = ground.start[j], ground.base[j]
        near = np.where(first > start, base + first - 1, base + last)
        # "Missing", the last cell, may be nearer than the values below it.
        near = np.where((first >= ground.turn[j]) & (last == ground.high[j]), base + ground.high[j] - 1, near)
        away = (first > start) | (last < start)
        near = np.where(away & (first <= last), near, 0)
        if not len(ground.part):
            return np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
        return np.where(away, ground.part[near], 0), np.where(away, ground.top[near], 0)

    # ------------------------------------------------------------------------------------------ exact bounds

    def exact(self, duals: Duals, limit: Fraction, digits: int) -> Exact:
        """Multipliers rounded to whole numbers, with prices of about so many bits for the size of the limit."""
        duals = Duals(*(np.nan_to_num(one, nan=0.0, posinf=0.0, neginf=0.0) for one in duals))
        largest = max(float(duals.prices.max(initial=0.0)), 2.0**-200)
        unit = digits - np.frexp(float(limit) or 1.0)[1]
        bits = int(min(unit, PRICE_BITS - np.frexp(largest)[1]))
        prices = np.floor(np.ldexp(np.maximum(duals.prices, 0.0), bits) + 0.5).astype(np.int64)
        goal = np.maximum(duals.goal, 0.0) / self.scales
        fine = int(GOAL_BITS - np.frexp(max(float(goal.max(initial=0.0)), 2.0**-300))[1])
        total = sum(max(0.0, float(share)) for share in duals.shares)
        shares = {}
        if self.largest:
            for columns, share in zip(self.columns, duals.shares, strict=True):
                number = int(max(0.0, float(share)) / max(total, 1.0) * (2**30 - 64))
                if number:
                    shares[columns.axis] = Fraction(number, 2**30)
        return Exact(prices, bits, tuple(int(np.ldexp(q, fine)) for q in goal), fine, shares)

    def cutting(self, exact: Exact, low: Array, high: Array) -> Exact:
        """The same multipliers without the prices of sides that hold all of a box, or nothing of it: they cancel."""
        sides, ground = self.sides, self.ground
        grid = ground.grid[sides.axis]
        below, above = low[sides.axis], high[sides.axis]
        mask = ground.at[ground.base[sides.axis] + sides.cut]
        cuts = np.where(grid, (below <= sides.cut) & (sides.cut < above), (below & mask != 0) & (below & ~mask != 0))
        return exact._replace(prices=np.where(cuts, exact.prices, 0))

    def bound(self, exact: Exact, low: Array, high: Array) -> Fraction | None:
        """No point of a box that has the part of the goal is nearer; None if there is no such point."""
        exact = self.cutting(exact, low, high)
        sides = self.sides
        paid = np.bincount(self.leaf_of, exact.prices[self.row_of].astype(float), len(self.tree))
        if paid.max(initial=0) >= 2**53:  # beyond what these sums hold exactly
            paid = np.zeros(len(self.tree), np.int64)
            np.add.at(paid, self.leaf_of, exact.prices[self.row_of])
        worth = paid.astype(np.int64).astype(object) * (1 << exact.fine)
        for factor, gain in zip(exact.goal, self.gain, strict=True):
            if factor:
                worth -= gain.astype(object) * (factor << exact.bits)
        reached = np.ones(len(self.tree), bool)
        reached[self.leaf_of[self._outside(low, high)[self.row_of]]] = False
        if not np.logical_or.reduceat(reached, self.first_leaf).all():
            return None
        worth[~reached] = 1 << 4000
        total = sum(np.minimum.reduceat(worth, self.first_leaf).tolist())
        total += sum(q * need for q, need in zip(exact.goal, self.need, strict=True)) << exact.bits
        found = Fraction(total, 1 << (exact.bits + exact.fine))
        rows = np.argsort(sides.axis, kind="stable")
        ends = np.searchsorted(sides.axis[rows], np.arange(len(self.ground.grid) + 1))
        for j in range(len(self.ground.grid)):
            found += self._axis(j, rows[ends[j] : ends[j + 1]], exact, low, high)
        return found

    def _outside(self, low: Array, high: Array) -> Array:
        """Which rows are of sides that hold nothing of a box."""
        sides, ground = self.sides, self.ground
        below, above, mask = low[sides.axis], high[sides.axis], ground.at[ground.base[sides.axis] + sides.cut]
        grid = np.where(sides.side == 0, below > sides.cut, above <= sides.cut)
        levels = np.where(sides.side == 0, below & mask == 0, below & ~mask == 0)
        return np.where(ground.grid[sides.axis], grid, levels)

    def _axis(self, j: int, rows: Array, exact: Exact, low: Array, high: Array) -> Fraction:
        """The least cost of a cell of an axis without the prices of the sides that it is on."""
        columns = self.columns[j]
        items, prices, side, cut = columns.items, exact.prices[rows], self.sides.side[rows], self.sides.cut[rows]
        part, top = self._costs(columns, low, high)
        if self.ground.grid[j]:
            paid = np.zeros(len(items) + 1, np.int64)
            at = np.searchsorted(items, cut)
            np.add.at(paid, at[side == 0], prices[side == 0])  # every cell up to the cut pays
            paid = np.cumsum(paid[::-1])[::-1]
            above = np.zeros(len(items) + 1, np.int64)
            np.add.at(above, at[side == 1] + 1, prices[side == 1])
            paid += np.cumsum(above)
            inside = np.concatenate([items, [HUGE]]) >= low[j]
            inside &= np.concatenate([[-1], items]) < high[j]
        else:
            masks = self.ground.at[self.ground.base[j] + cut]
            on = (masks[:, None] >> items[None] & 1 == 1) == (side == 0)[:, None]
            paid = (on * prices[:, None]).sum(axis=0)
            inside = (int(low[j]) >> items & 1) == 1
        share = exact.shares.get(j, Fraction(0))
        below = self.scale * share.denominator
        worth = part.astype(object) * (share.denominator << exact.bits) - paid.astype(object) * below
        if share:
            worth += top.astype(object) * (share.numerator << exact.bits)
        return Fraction(int(min(worth[inside])), below << exact.bits)

    def prices(self, exact: Exact, low: Array, high: Array) -> Prices:
        """What a certificate says of the multipliers in a box."""
        kept = self.cutting(exact, low, high)
        used = np.flatnonzero(kept.prices)
        trees = self.sides.tree[used]
        nodes = self.sides.node[used] - self.roots[trees]
        unit = Fraction(1, 2) ** exact.bits
        factor = Fraction(2) ** (self.exponent - exact.fine)
        written = tuple(zip(trees.tolist(), nodes.tolist(), kept.prices[used].tolist(), strict=True))
        return Prices(tuple(q * factor for q in exact.goal), dict(exact.shares), unit, written)


# ---------------------------------------------------------------------------------------------- the forest's arrays


def _leaves(ground: Ground, forest: Forest) -> tuple[Array, Array, list[dict[int, tuple[int, int]]]]:
    """The leaves of each tree in order, their trees, and for each axis on their way an interval of cells, or a mask."""
    test = forest.test.tolist()
    numbers: list[int] = []
    trees: list[int] = []
    boxes: list[dict[int, tuple[int, int]]] = []
    for t, root in enumerate(forest.roots.tolist()):
        todo: list[tuple[int, dict[int, tuple[int, int]]]] = [(root, {})]
        while todo:
            node, box = todo.pop()
            axis, cut, left, right = test[node]
            if axis < 0:
                numbers.append(node)
                trees.append(t)
                boxes.append(box)
            elif ground.grid[axis]:
                low, high = box.get(axis, (int(ground.low[axis]), int(ground.high[axis])))
                todo.append((right, {**box, axis: (max(low, cut + 1), high)}))
                todo.append((left, {**box, axis: (low, min(high, cut))}))
            else:
                mask, (inside, _) = int(ground.at[ground.base[axis] + cut]), box.get(axis, (int(ground.low[axis]), 0))
                todo.append((right, {**box, axis: (inside & ~mask, 0)}))
                todo.append((left, {**box, axis: (inside & mask, 0)}))
    return np.array(numbers, np.int64), np.array(trees, np.int64), boxes


def _columns(ground: Ground, forest: Forest, first: int) -> list[Columns]:
    """The columns of every axis: of its cuts that some tree tests, or of its levels."""
    found = []
    inner = forest.test[forest.test[:, 0] >= 0]
    for axis in range(len(ground.grid)):
        items = _items(ground, axis, np.unique(inner[inner[:, 0] == axis, 1]).tolist())
        found.append(Columns(axis, first, items))
        first += len(items)
    return found


def _items(ground: Ground, axis: int, cuts: Sequence[int]) -> Array:
    if ground.grid[axis]:
        return np.array(cuts, np.int64)
    mask = int(ground.low[axis])
    return np.array([level for level in range(mask.bit_length()) if mask >> level & 1], np.int64)


def _entered(grounded: Grounded, forest: Forest) -> list[dict[Any, int]]:
    """For each tree, each (axis, cut, side) that it tests, with a node of the whole forest to which that test leads."""
    whole = grounded.forest.test
    ends = [*forest.roots[1:].tolist(), len(forest.test)]
    found = []
    for begin, end in zip(forest.roots.tolist(), ends, strict=True):
        entered: dict[Any, int] = {}
        for axis, cut, number in zip(
            forest.test[begin:end, 0], forest.test[begin:end, 1], forest.leaf[begin:end], strict=True
        ):
            if axis >= 0:
                for side in (0, 1):
                    entered.setdefault((int(axis), int(cut), side), int(whole[number, 2 + side]))
        found.append(entered)
    return found
