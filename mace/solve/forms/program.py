"""The linear relaxation of a question about forms, for scipy's HiGHS: made once, solved for many boxes.

In:  a `Frame`.
Out: `Program.solve(box)`: multipliers for `Frame.bound`, and how the relaxation shares out the pieces and where it
     puts the numbers. None of it is believed: the bound is worked out again from the multipliers.

Columns: the share of each piece; the change of each number; the size of each form; the share of each leaf; what is
missing to each comparison, at a price at which it is rather reached where that is possible at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, vstack

from mace.solve.forms.frame import Array, Frame, Multipliers
from mace.space.axes import Box, GridAxis

MISSING = 1000.0  # times the largest form over the largest comparison: the price of what is missing to the goal


class Relaxed(NamedTuple):
    """shares: (items,) change: (axes,) of numbers. missing: whether the relaxation does not reach the goal."""

    by: Multipliers
    shares: Array
    change: Array
    missing: bool


class Program:
    """The relaxation of one part of the goal."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.grid = np.array([isinstance(axis, GridAxis) for axis in frame.axes])
        items, axes, forms = len(frame.items.low), len(frame.axes), frame.forms
        leaves = 0 if frame.trees is None else len(frame.trees.tree)
        self.widths = [items, axes, forms, leaves, len(frame.need)]
        self.at = np.cumsum([0, *self.widths])
        self.owner = np.repeat(np.arange(axes), np.diff(frame.items.begin))
        self.equal = self._equalities(leaves)
        self.upper, self.limit = self._inequalities()
        spread = np.abs(frame.effects).sum(axis=1).max(initial=0.0) + np.abs(frame.slopes).sum(axis=1).max(initial=0.0)
        score = np.abs(frame.scores).max(initial=0.0) + np.abs(frame.rates).max(initial=0.0)
        score += 0.0 if frame.trees is None else np.abs(frame.trees.gain).max(initial=0.0)
        self.price = MISSING * spread / (score or 1.0)
        self.cost = np.concatenate([np.zeros(items + axes), np.ones(forms), np.zeros(leaves)])
        self.cost = np.concatenate([self.cost, np.full(len(frame.need), self.price)])

    def _block(self, **blocks: csr_array) -> csr_array:
        """Rows with some blocks of columns, the others 0."""
        names = ("shares", "change", "sizes", "leaves", "missing")
        rows = next(iter(blocks.values())).shape[0]
        parts = [
            csr_array(blocks[name]) if name in blocks else csr_array((rows, width))
            for name, width in zip(names, self.widths, strict=True)
        ]
        return hstack(parts, format="csr")

    def _equalities(self, leaves: int) -> csr_array:
        """The shares of an axis, and of a tree, are one."""
        items, axes = self.widths[:2]
        one = csr_array((np.ones(items), (self.owner, np.arange(items))), shape=(axes, items))
        rows = [self._block(shares=one)]
        if self.frame.trees is not None:
            tree = self.frame.trees.tree
            each = csr_array((np.ones(leaves), (tree, np.arange(leaves))), shape=(len(self.frame.trees.first), leaves))
            rows.append(self._block(leaves=each))
        return vstack(rows, format="csr")

    def _inequalities(self) -> tuple[csr_array, Array]:
        """Forms, goal and sides, whose multipliers are read; then what ties numbers to their pieces."""
        frame, (items, axes, forms, _, goals) = self.frame, self.widths
        sizes = identity(forms, format="csr")
        effects, slopes = csr_array(frame.effects.T), csr_array(frame.slopes.T)
        rows = [
            self._block(shares=effects, change=slopes, sizes=-sizes),
            self._block(shares=-effects, change=-slopes, sizes=-sizes),
        ]
        goal = {"shares": -csr_array(frame.scores.T), "change": -csr_array(frame.rates.T)}
        goal["missing"] = -identity(goals, format="csr")
        if frame.trees is not None:
            goal["leaves"] = -csr_array(frame.trees.gain)
        rows.append(self._block(**goal))
        limits = [np.zeros(2 * forms), -frame.need]
        if frame.trees is not None:
            one = frame.trees
            ones = np.ones(len(one.leaf_of))
            whole = csr_array((ones, (one.row_of, one.leaf_of)), shape=(len(one.sides), len(one.tree)))
            rows.append(self._block(shares=-csr_array(one.sides.astype(float)), leaves=whole))
            limits.append(np.zeros(len(one.sides)))
        grids = np.flatnonzero(self.grid)
        number = csr_array((np.ones(len(grids)), (np.arange(len(grids)), grids)), shape=(len(grids), axes))
        place = np.full(axes, -1)
        place[grids] = np.arange(len(grids))
        mine = np.flatnonzero(self.grid[self.owner])
        for sign, ends in ((1, frame.items.high), (-1, frame.items.low)):
            reach = csr_array((ends[mine], (place[self.owner[mine]], mine)), shape=(len(grids), items))
            rows.append(self._block(shares=-sign * reach, change=sign * number))
            limits.append(np.zeros(len(grids)))
        return vstack(rows, format="csr"), np.concatenate(limits)

    def solve(self, box: Box) -> Relaxed | None:
        """The relaxation in a box; None where HiGHS does not say."""
        frame, (items, axes, forms, _, goals) = self.frame, self.widths
        has, low, high = frame.active(box)
        top = np.full(sum(self.widths), np.inf)
        bottom = np.zeros(sum(self.widths))
        top[:items] = has
        there = frame.items.begin[:-1]
        least = np.minimum.reduceat(np.where(has, low, np.inf), there)
        most = np.maximum.reduceat(np.where(has, high, -np.inf), there)
        bottom[items : items + axes] = np.where(self.grid, least, 0.0)
        top[items : items + axes] = np.where(self.grid, most, 0.0)
        if frame.trees is not None:
            top[self.at[3] : self.at[4]] = frame.reached(has)
        found = linprog(
            self.cost, A_ub=self.upper, b_ub=self.limit, A_eq=self.equal, b_eq=np.ones(self.equal.shape[0]),
            bounds=np.column_stack([bottom, top]), method="highs",
        )  # fmt: skip
        if found.x is None or found.ineqlin is None or found.status != 0:
            return None
        duals = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        v = np.clip(duals[:forms] - duals[forms : 2 * forms], -1.0, 1.0)
        rest = duals[2 * forms :]
        prices = rest[goals : goals + (0 if frame.trees is None else len(frame.trees.sides))]
        x = np.asarray(found.x)
        missing = bool(x[self.at[4] :].max(initial=0.0) > 1e-9)
        return Relaxed(Multipliers(v, rest[:goals], prices).written(), x[:items], x[items : items + axes], missing)


__all__ = ["Program", "Relaxed"]
